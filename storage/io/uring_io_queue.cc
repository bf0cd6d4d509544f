// IoQueue on one io_uring.
#include "storage/io/uring_io_queue.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iterator>
#include <limits>
#include <utility>

#include "storage/base/assert.h"
#include "storage/io/os_error.h"
#include "storage/io/request_check.h"
#include "storage/io/uring_refusal.h"

#if defined(__SANITIZE_THREAD__)
#define ONCELOG_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ONCELOG_TSAN 1
#endif
#endif
#ifdef ONCELOG_TSAN
extern "C" {
void __tsan_acquire(void* address);  // NOLINT(bugprone-reserved-identifier)
void __tsan_release(void* address);  // NOLINT(bugprone-reserved-identifier)
}
#endif

namespace oncelog {
namespace {

constexpr std::uint64_t kEventToken = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kBytesPerCallMax = 0x7ffff000;  // read(2): Linux moves no more in one call
constexpr std::size_t kBuffersPerCallMax = 1024;      // IOV_MAX
constexpr std::int64_t kBackOffNs = 1'000'000;

// Without these (all there since Linux 5.11) completions can be lost, iovecs must outlive the
// submission, a time-out takes a ring entry, or reading the eventfd holds a kernel thread.
constexpr unsigned kFeaturesNeeded =
    IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_EXT_ARG | IORING_FEAT_FAST_POLL;

/// The kernel hands the operation to whoever polls; ThreadSanitizer cannot see that.
void hand_over(void* operation) {
#ifdef ONCELOG_TSAN
  __tsan_release(operation);
#else
  static_cast<void>(operation);
#endif
}

void take_over(void* operation) {
#ifdef ONCELOG_TSAN
  __tsan_acquire(operation);
#else
  static_cast<void>(operation);
#endif
}

/// liburing maps rings by raw system calls: a new ring may lie where another thread's old one was.
char ring_memory;

const char* what_failed(IoRequest::Kind kind) {
  switch (kind) {
    case IoRequest::Kind::kWrite:
      return "cannot write";
    case IoRequest::Kind::kSync:
      return "cannot sync";
    case IoRequest::Kind::kRead:
      return "cannot read";
  }
  return "cannot do";
}

Error refused(int number) {
  Error error =
      os_error(number, "io_uring refused: " + uring_refusal(number, uring_disabled_sysctl()), {});
  error.code = ErrorCode::kUnsupported;
  return error;
}

}  // namespace

Result<std::unique_ptr<IoQueue>> UringIoQueue::create(std::uint32_t entries) {
  std::unique_ptr<UringIoQueue> queue(new UringIoQueue);
  ONCELOG_TRY(queue->start(entries));
  return std::unique_ptr<IoQueue>(std::move(queue));
}

Status UringIoQueue::start(std::uint32_t entries) {
  event_.reset(::eventfd(0, EFD_CLOEXEC));  // blocking: the ring would answer EAGAIN otherwise
  if (!event_.valid()) return os_error(errno, "cannot make an eventfd", {});
  io_uring_params params{};
  const int made = io_uring_queue_init_params(entries, &ring_, &params);
  if (made < 0) return refused(-made);
  ring_made_ = true;
  take_over(&ring_memory);
  if ((params.features & kFeaturesNeeded) != kFeaturesNeeded) {
    return make_error(ErrorCode::kUnsupported, "io_uring refused: the kernel is older than 5.11");
  }
  const int flags = ::fcntl(ring_.ring_fd, F_GETFD);
  ONCELOG_ASSERT(flags >= 0);
  ONCELOG_ASSERT((flags & FD_CLOEXEC) != 0);  // a child must not inherit our files through it
  in_kernel_max_ = params.cq_entries - 1;     // one place for the eventfd
  fill_ring();
  // A policy may allow to make a ring and forbid to use it.
  const int submitted = io_uring_submit(&ring_);
  if (submitted < 0) {
    event_armed_ = false;
    return refused(-submitted);
  }
  return {};
}

UringIoQueue::~UringIoQueue() {
  if (!ring_made_) return;
  std::vector<IoCompletion> dropped;
  while (in_flight_ > 0) {
    poll(dropped, -1);
    dropped.clear();
  }
  closing_ = true;
  while (event_armed_) {
    wake();
    poll(dropped, -1);
  }
  hand_over(&ring_memory);
  io_uring_queue_exit(&ring_);
}

void UringIoQueue::submit(IoRequest request) {
  ++in_flight_;
  Status status = check_request(request);
  if (status.ok() && request.file->native_handle() < 0) {
    status = make_error(ErrorCode::kUnsupported, "not a file of the operating system")
                 .at(request.file->path());
  }
  const Transfer transfer(request.kind, status.ok() ? request_bytes(request) : 0);
  const bool needs_kernel = status.ok() && transfer.needs_os();
  const std::size_t index = take_operation(std::move(request), transfer);
  if (needs_kernel) {
    waiting_.push_back(index);
  } else {
    release(index, std::move(status), refused_);
  }
}

std::size_t UringIoQueue::take_operation(IoRequest request, const Transfer& transfer) {
  if (free_operations_.empty()) {
    free_operations_.push_back(operations_.size());
    operations_.emplace_back();
  }
  const std::size_t index = free_operations_.back();
  free_operations_.pop_back();
  operations_[index].request = std::move(request);
  operations_[index].transfer = transfer;
  return index;
}

void UringIoQueue::release(std::size_t index, Status status, std::vector<IoCompletion>& done) {
  Operation& operation = operations_[index];
  IoCompletion completion;
  completion.kind = operation.request.kind;
  completion.token = operation.request.token;
  if (status.ok() && completion.kind == IoRequest::Kind::kRead) {
    completion.bytes = static_cast<std::int64_t>(operation.transfer.bytes_done());
  }
  completion.status = std::move(status);
  completion.buffers = std::move(operation.request.buffers);
  done.push_back(std::move(completion));
  operation.request = IoRequest{};  // lets the file go
  operation.iovecs.clear();
  free_operations_.push_back(index);
}

void UringIoQueue::fill_ring() {
  if (!event_armed_ && !closing_) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) return;
    io_uring_prep_read(entry, event_.get(), &event_count_, sizeof event_count_, 0);
    io_uring_sqe_set_data64(entry, kEventToken);
    event_armed_ = true;
  }
  while (!waiting_.empty() && in_kernel_ < in_kernel_max_) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) return;
    const std::size_t index = waiting_.front();
    waiting_.pop_front();
    prepare(operations_[index], *entry);
    io_uring_sqe_set_data64(entry, index);
    hand_over(&operations_[index]);
    ++in_kernel_;
  }
}

void UringIoQueue::prepare(Operation& operation, io_uring_sqe& entry) {
  const int fd = operation.request.file->native_handle();
  const std::size_t begin = operation.transfer.bytes_done();
  switch (operation.request.kind) {
    case IoRequest::Kind::kWrite:
      prepare_write(operation, entry);
      return;
    case IoRequest::Kind::kSync:
      io_uring_prep_fsync(&entry, fd, IORING_FSYNC_DATASYNC);
      return;
    case IoRequest::Kind::kRead: {
      const auto bytes = std::min(operation.transfer.bytes_left(), kBytesPerCallMax);
      std::byte* into = operation.request.buffers.front().mutable_bytes().data() + begin;
      io_uring_prep_read(&entry, fd, into, static_cast<unsigned>(bytes),
                         static_cast<std::uint64_t>(operation.request.position) + begin);
      return;
    }
  }
}

void UringIoQueue::prepare_write(Operation& operation, io_uring_sqe& entry) {
  const int fd = operation.request.file->native_handle();
  const std::size_t begin = operation.transfer.bytes_done();
  const std::uint64_t position = static_cast<std::uint64_t>(operation.request.position) + begin;
  operation.iovecs.clear();
  std::size_t skip = begin;
  for (Buffer& buffer : operation.request.buffers) {
    if (operation.iovecs.size() == kBuffersPerCallMax) break;  // like a short write
    const std::size_t skipped = std::min(skip, buffer.size());
    skip -= skipped;
    if (skipped == buffer.size()) continue;
    operation.iovecs.push_back({buffer.mutable_bytes().data() + skipped, buffer.size() - skipped});
  }
  ONCELOG_ASSERT(!operation.iovecs.empty());
  if (operation.iovecs.size() == 1) {
    const auto bytes = std::min(operation.iovecs.front().iov_len, kBytesPerCallMax);
    io_uring_prep_write(&entry, fd, operation.iovecs.front().iov_base, static_cast<unsigned>(bytes),
                        position);
    return;
  }
  io_uring_prep_writev(&entry, fd, operation.iovecs.data(),
                       static_cast<unsigned>(operation.iovecs.size()), position);
}

void UringIoQueue::enter(const Deadline* wait_until) {
  fill_ring();
  while (!waiting_.empty() && in_kernel_ < in_kernel_max_) {  // only the submission ring is full
    if (io_uring_submit(&ring_) <= 0) break;
    fill_ring();
  }
  int result = 0;
  if (wait_until != nullptr) {
    const timespec left = wait_until->left();
    __kernel_timespec timeout{left.tv_sec, left.tv_nsec};
    io_uring_cqe* ignored = nullptr;
    result = io_uring_submit_and_wait_timeout(&ring_, &ignored, 1,
                                              wait_until->never() ? nullptr : &timeout, nullptr);
  } else if (io_uring_sq_ready(&ring_) > 0) {
    result = io_uring_submit(&ring_);
  }
  if (result >= 0 || result == -ETIME || result == -EINTR) return;
  // Short of memory, or completions must be taken first: what is in the submission ring stays
  // there for the next call. Any other answer means that the ring is broken under us, and nobody
  // could say any more what the kernel still does with our buffers.
  ONCELOG_ASSERT(result == -EAGAIN || result == -EBUSY || result == -ENOMEM);
  if (wait_until == nullptr) return;
  const timespec pause{0, kBackOffNs};
  ::nanosleep(&pause, nullptr);
}

bool UringIoQueue::reap(std::vector<IoCompletion>& done) {
  bool woken = false;
  io_uring_cqe* completion = nullptr;
  while (io_uring_peek_cqe(&ring_, &completion) == 0) {
    const std::uint64_t token = completion->user_data;
    const std::int64_t result = completion->res;
    io_uring_cqe_seen(&ring_, completion);
    if (token != kEventToken) {
      finish(token, result, done);
      continue;
    }
    // Also when the read failed (the thread that armed it has ended): once too often is harmless.
    event_armed_ = false;
    wake_sent_.exchange(false, std::memory_order_acq_rel);
    woken = true;
  }
  return woken;
}

void UringIoQueue::finish(std::size_t index, std::int64_t result, std::vector<IoCompletion>& done) {
  Operation& operation = operations_[index];
  take_over(&operation);
  --in_kernel_;
  switch (operation.transfer.advance(result)) {
    case Transfer::Next::kDone:
      release(index, {}, done);
      return;
    case Transfer::Next::kContinue:
      waiting_.push_front(index);
      return;
    case Transfer::Next::kFail:
      break;
  }
  const IoRequest& request = operation.request;
  const int number = operation.transfer.error_number();
  if (number == EBADF) {  // closed on our side, or not open for this
    Status still_open = request.file->stat().status();
    if (!still_open.ok()) return release(index, std::move(still_open), done);
  }
  Error error = os_error(number, what_failed(request.kind), request.file->path());
  if (request.kind != IoRequest::Kind::kSync) {
    error.position = request.position + static_cast<std::int64_t>(operation.transfer.bytes_done());
  }
  release(index, std::move(error), done);
}

void UringIoQueue::wake() {
  if (wake_sent_.exchange(true, std::memory_order_acq_rel)) return;
  const std::uint64_t one = 1;
  ONCELOG_ASSERT(::write(event_.get(), &one, sizeof one) == sizeof one);
}

std::size_t UringIoQueue::poll(std::vector<IoCompletion>& done, std::int64_t timeout_ns) {
  const Deadline deadline(timeout_ns);
  const std::size_t before = done.size();
  std::move(refused_.begin(), refused_.end(), std::back_inserter(done));
  refused_.clear();
  bool woken = false;
  const auto finished = [&] { return woken || done.size() > before || deadline.passed(); };
  do {
    enter(finished() ? nullptr : &deadline);
    woken = reap(done);
  } while (!finished());
  // What came back to be sent again, and the eventfd, must not wait for the next poll: the caller
  // may sleep on the ring's descriptor.
  enter(nullptr);
  const std::size_t taken = done.size() - before;
  in_flight_ -= taken;
  return taken;
}

}  // namespace oncelog
