// The real machine with a clock that a script moves and background work that can be waited for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
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

/// Knows whether all that was handed to another executor has been done.
///
/// THREADS  any thread.
class CountedExecutor final : public Executor {
 public:
  explicit CountedExecutor(Executor& inner) : inner_(inner) {}
  void run(std::function<void()> task) override {
    {
      const std::lock_guard lock(mutex_);
      ++pending_;
    }
    inner_.run([this, task = std::move(task)] {
      task();
      const std::lock_guard lock(mutex_);
      --pending_;
      idle_.notify_all();
    });
  }
  /// Returns when nothing is left; true when there was something.
  bool wait_idle() {
    std::unique_lock lock(mutex_);
    const bool any = pending_ != 0;
    idle_.wait(lock, [this] { return pending_ == 0; });
    return any;
  }

 private:
  Executor& inner_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::int64_t pending_ = 0;
};

/// `inner` with another clock and executor.
class ClockedIo final : public Io {
 public:
  ClockedIo(std::shared_ptr<Io> inner, std::shared_ptr<ScriptClock> clock)
      : inner_(std::move(inner)), clock_(std::move(clock)), executor_(inner_->executor()) {}
  FileSystem& files() override { return inner_->files(); }
  CountedExecutor& executor() override { return executor_; }
  Clock& clock() override { return *clock_; }
  Result<std::unique_ptr<IoQueue>> make_queue() override { return inner_->make_queue(); }
  std::string description() const override { return inner_->description(); }
  bool has_threads() const noexcept override { return inner_->has_threads(); }

 private:
  std::shared_ptr<Io> inner_;
  std::shared_ptr<ScriptClock> clock_;
  CountedExecutor executor_;
};

}  // namespace oncelog::tools::script
