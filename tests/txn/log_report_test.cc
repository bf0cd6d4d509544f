// The recovery report of a log that was opened: what each phase read and how long it took.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/txn/log_support.h"

namespace oncelog::testing {
namespace {

/// A clock on which every look takes a millisecond.
class TickingClock final : public Clock {
 public:
  std::int64_t wall_ms() override { return SimClock::kStartMs; }
  std::int64_t monotonic_ns() override { return now_ns_ += 1'000'000; }

 private:
  std::int64_t now_ns_ = 0;
};

class TickingIo final : public Io {
 public:
  explicit TickingIo(std::shared_ptr<SimDisk> disk) : inner_(std::move(disk)) {}
  FileSystem& files() override { return inner_.files(); }
  Executor& executor() override { return inner_.executor(); }
  Clock& clock() override { return clock_; }
  Result<std::unique_ptr<IoQueue>> make_queue() override { return inner_.make_queue(); }
  std::string description() const override { return inner_.description(); }
  bool has_threads() const noexcept override { return false; }

 private:
  SimIo inner_;
  TickingClock clock_;
};

TEST(RecoveryReport, SaysHowLongEachPhaseTook) {
  StoreOptions options;
  options.data_dirs = {"data"};
  options.io = std::make_shared<TickingIo>(std::make_shared<SimDisk>());
  options.driver = Driver::kCaller;
  options.background = false;

  const Result<std::shared_ptr<Store>> store = Store::open(options);
  ASSERT_TRUE(store.ok()) << to_string(store.error());
  const Result<std::shared_ptr<Log>> log = (*store)->open_log({"t", 0}, LogOptions{});
  ASSERT_TRUE(log.ok()) << to_string(log.error());
  const std::vector<RecoveryPhase>& phases = (*log)->recovery_report().phases;

  ASSERT_FALSE(phases.empty());
  EXPECT_TRUE(std::all_of(phases.begin(), phases.end(),
                          [](const RecoveryPhase& phase) { return phase.duration_ns > 0; }));
}

}  // namespace
}  // namespace oncelog::testing
