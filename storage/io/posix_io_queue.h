// IoQueue that makes the blocking calls of File on a few threads: where io_uring is refused.
//
// THREADS  one driver at a time; `wake` from any thread. Workers start at once with what is
// submitted and need no `poll` to go on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "oncelog/io_queue.h"

#include "storage/io/unique_fd.h"

namespace oncelog {

class PosixIoQueue final : public IoQueue {
 public:
  /// Syncs of different files should run at the same time; more threads than this gain little.
  static constexpr std::size_t kWorkers = 4;

  static Result<std::unique_ptr<IoQueue>> create();
  PosixIoQueue(const PosixIoQueue&) = delete;
  PosixIoQueue& operator=(const PosixIoQueue&) = delete;
  ~PosixIoQueue() override;

  void submit(IoRequest request) override;
  std::size_t poll(std::vector<IoCompletion>& done, std::int64_t timeout_ns) override;
  void wake() override;
  std::size_t in_flight() const override { return in_flight_; }
  int native_handle() const noexcept override { return event_.get(); }

 private:
  explicit PosixIoQueue(UniqueFd event) : event_(std::move(event)) {}
  void work();
  void stop();
  void signal_event();  // REQUIRES: mutex_ is held
  std::size_t take_done(std::vector<IoCompletion>& done, bool& woken);

  const UniqueFd event_;  // readable while event_signalled_
  std::atomic<std::size_t> in_flight_{0};
  std::mutex mutex_;  // guards what follows, up to the threads
  std::condition_variable work_to_do_;
  std::deque<IoRequest> waiting_;
  std::vector<IoCompletion> done_;
  bool event_signalled_ = false;
  bool woken_ = false;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace oncelog
