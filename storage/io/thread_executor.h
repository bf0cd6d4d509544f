// Executor on a fixed number of threads.
//
// THREADS  `run` from any thread, from a task too. The destructor returns when every accepted task,
// and what those handed in, has ended; it must not be called from a task.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "oncelog/io.h"

namespace oncelog {

class ThreadExecutor final : public Executor {
 public:
  static Result<std::unique_ptr<ThreadExecutor>> create(std::size_t threads);
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;
  ~ThreadExecutor() override;
  void run(std::function<void()> task) override;

 private:
  ThreadExecutor() = default;
  void work();
  void stop();

  std::mutex mutex_;  // guards what follows, up to the threads
  std::condition_variable work_to_do_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace oncelog
