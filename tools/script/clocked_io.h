// The real machine with a clock that a script moves.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "oncelog/io.h"

namespace oncelog::tools::script {

/// Stands still until it is set; the monotonic clock follows the wall clock but never back.
///
/// THREADS  any thread.
class ScriptClock final : public Clock {
 public:
  explicit ScriptClock(std::int64_t wall_ms) : wall_ms_(wall_ms) {}
  std::int64_t wall_ms() override { return wall_ms_; }
  std::int64_t monotonic_ns() override { return monotonic_ms_ * 1'000'000; }
  void set(std::int64_t wall_ms) {
    const std::int64_t before = wall_ms_.exchange(wall_ms);
    if (wall_ms > before) monotonic_ms_ += wall_ms - before;
  }

 private:
  std::atomic<std::int64_t> wall_ms_;
  std::atomic<std::int64_t> monotonic_ms_ = 0;
};

/// `inner` with another clock.
class ClockedIo final : public Io {
 public:
  ClockedIo(std::shared_ptr<Io> inner, std::shared_ptr<ScriptClock> clock)
      : inner_(std::move(inner)), clock_(std::move(clock)) {}
  FileSystem& files() override { return inner_->files(); }
  Executor& executor() override { return inner_->executor(); }
  Clock& clock() override { return *clock_; }
  Result<std::unique_ptr<IoQueue>> make_queue() override { return inner_->make_queue(); }
  std::string description() const override { return inner_->description(); }
  bool has_threads() const noexcept override { return inner_->has_threads(); }

 private:
  std::shared_ptr<Io> inner_;
  std::shared_ptr<ScriptClock> clock_;
};

}  // namespace oncelog::tools::script
