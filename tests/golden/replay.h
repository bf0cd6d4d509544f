// Replays what Apache Kafka's storage code was told to do, through the public interface.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "oncelog/io.h"
#include "oncelog/store.h"

#include "tests/support/golden.h"

namespace oncelog::test {

/// The system's seam with a clock that stands where it was put.
class ManualClockIo final : public Io {
 public:
  explicit ManualClockIo(std::shared_ptr<Io> inner) : inner_(std::move(inner)) {}
  FileSystem& files() override { return inner_->files(); }
  Executor& executor() override { return inner_->executor(); }
  Clock& clock() override { return clock_; }
  Result<std::unique_ptr<IoQueue>> make_queue() override { return inner_->make_queue(); }
  std::string description() const override { return inner_->description() + ", manual clock"; }
  bool has_threads() const noexcept override { return inner_->has_threads(); }
  void set_wall_ms(std::int64_t wall_ms) { clock_.wall = wall_ms; }

 private:
  class ManualClock final : public Clock {
   public:
    std::int64_t wall_ms() override { return wall; }
    std::int64_t monotonic_ns() override { return monotonic += 1000; }
    std::int64_t wall = 0;
    std::int64_t monotonic = 0;
  };
  std::shared_ptr<Io> inner_;
  ManualClock clock_;
};

/// Why a case cannot be replayed; empty when it can: what its operations appended is all still in
/// its log files.
std::string why_not_replayable(const GoldenCase& golden);

/// Options of the case's configuration; fails the test on a name that is not known.
LogOptions options_of(const GoldenCase& golden);
TopicPartition partition_of(const GoldenCase& golden);
/// A store on the system's disk that nobody drives but its caller, at the case's time.
Result<std::shared_ptr<Store>> open_store_at(const GoldenCase& golden,
                                             const std::string& directory);

/// Executes a case's operations in `directory` and closes the store cleanly; each operation's
/// result is expected to be Kafka's.
void replay(const GoldenCase& golden, const std::string& directory);

}  // namespace oncelog::test
