// Executor on a fixed number of threads.
#include "storage/io/thread_executor.h"

#include <utility>

#include "storage/io/background_thread.h"

namespace oncelog {

Result<std::unique_ptr<ThreadExecutor>> ThreadExecutor::create(std::size_t threads) {
  std::unique_ptr<ThreadExecutor> executor(new ThreadExecutor);
  ThreadExecutor& self = *executor;
  ONCELOG_TRY_ASSIGN(executor->threads_, start_background_threads(
                                             threads, "oncelog-bg", [&self] { self.work(); },
                                             [&self] { self.stop(); }));
  return executor;
}

ThreadExecutor::~ThreadExecutor() {
  stop();
  for (std::thread& thread : threads_)
    thread.join();
}

void ThreadExecutor::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  work_to_do_.notify_all();
}

void ThreadExecutor::run(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(task));
  work_to_do_.notify_one();
}

void ThreadExecutor::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_to_do_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;  // stopping; a task that still runs elsewhere drains its own
    std::function<void()> task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds is released before the lock is taken
    lock.lock();
  }
}

}  // namespace oncelog
