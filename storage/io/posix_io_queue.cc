// IoQueue that makes the blocking calls of File on a few threads.
#include "storage/io/posix_io_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <iterator>
#include <utility>

#include <poll.h>

#include "storage/base/assert.h"
#include "storage/io/background_thread.h"
#include "storage/io/monotonic_time.h"
#include "storage/io/os_error.h"
#include "storage/io/request_check.h"

namespace oncelog {
namespace {

Status write_all(IoRequest& request) {
  std::int64_t position = request.position;
  for (const Buffer& buffer : request.buffers) {
    ONCELOG_TRY(request.file->write_at(position, buffer.bytes()));
    position += static_cast<std::int64_t>(buffer.size());
  }
  return {};
}

IoCompletion execute(IoRequest request) {
  IoCompletion completion;
  completion.kind = request.kind;
  completion.token = request.token;
  completion.status = check_request(request);
  if (completion.status.ok()) {
    switch (request.kind) {
      case IoRequest::Kind::kWrite:
        completion.status = write_all(request);
        break;
      case IoRequest::Kind::kSync:
        completion.status = request.file->sync();
        break;
      case IoRequest::Kind::kRead: {
        const Result<std::size_t> read =
            request.file->read_at(request.position, request.buffers.front().mutable_bytes());
        completion.status = read.status();
        if (read.ok()) completion.bytes = static_cast<std::int64_t>(*read);
        break;
      }
    }
  }
  completion.buffers = std::move(request.buffers);
  return completion;  // the reference to the file goes here, before anyone hears of the end
}

/// Sleeps until `fd` is readable or the deadline passes; a signal may end it early.
void wait_readable(int fd, const Deadline& deadline) {
  pollfd wanted{fd, POLLIN, 0};
  const timespec left = deadline.left();
  static_cast<void>(::ppoll(&wanted, 1, deadline.never() ? nullptr : &left, nullptr));
}

}  // namespace

Result<std::unique_ptr<IoQueue>> PosixIoQueue::create() {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return os_error(errno, "cannot make an eventfd", {});
  std::unique_ptr<PosixIoQueue> queue(new PosixIoQueue(std::move(event)));
  PosixIoQueue& self = *queue;
  ONCELOG_TRY_ASSIGN(queue->threads_, start_background_threads(
                                          kWorkers, "oncelog-io", [&self] { self.work(); },
                                          [&self] { self.stop(); }));
  return std::unique_ptr<IoQueue>(std::move(queue));
}

PosixIoQueue::~PosixIoQueue() {
  stop();
  for (std::thread& thread : threads_)
    thread.join();
}

void PosixIoQueue::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  work_to_do_.notify_all();
}

void PosixIoQueue::submit(IoRequest request) {
  ++in_flight_;
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(request));
  work_to_do_.notify_one();
}

void PosixIoQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_to_do_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;  // stopping, and everything is done
    IoRequest request = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    IoCompletion completion = execute(std::move(request));
    lock.lock();
    done_.push_back(std::move(completion));
    signal_event();
  }
}

void PosixIoQueue::signal_event() {
  if (std::exchange(event_signalled_, true)) return;
  const std::uint64_t one = 1;
  ONCELOG_ASSERT(::write(event_.get(), &one, sizeof one) == sizeof one);
}

void PosixIoQueue::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  signal_event();
}

std::size_t PosixIoQueue::take_done(std::vector<IoCompletion>& done, bool& woken) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(event_signalled_, false)) {
    std::uint64_t count = 0;
    ONCELOG_ASSERT(::read(event_.get(), &count, sizeof count) == sizeof count);
  }
  woken = std::exchange(woken_, false);
  const std::size_t taken = done_.size();
  done.insert(done.end(), std::make_move_iterator(done_.begin()),
              std::make_move_iterator(done_.end()));
  done_.clear();
  in_flight_ -= taken;
  return taken;
}

std::size_t PosixIoQueue::poll(std::vector<IoCompletion>& done, std::int64_t timeout_ns) {
  const Deadline deadline(timeout_ns);
  for (;;) {
    bool woken = false;
    const std::size_t taken = take_done(done, woken);
    if (taken > 0 || woken || deadline.passed()) return taken;
    wait_readable(event_.get(), deadline);
  }
}

}  // namespace oncelog
