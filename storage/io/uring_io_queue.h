// IoQueue on one io_uring.
//
// An operation waits in a FIFO, then is in the kernel, then is done; a short write or an
// interruption sends it back to the head of the FIFO. At most as many are in the kernel as the
// completion ring holds, so a completion is never dropped.
//
// `wake` writes to an eventfd that the ring itself reads, so that the ring's descriptor is the only
// thing to sleep on. No thread of the kernel polls for us and no flag binds the ring to a thread:
// the driver of a shard changes.
//
// INVARIANTS
//   What the kernel may touch (the operations' buffers, iovecs, the eventfd's counter) lives until
//   its completion was seen; the destructor waits for all of it.
// THREADS  one driver at a time; `wake` from any thread.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <liburing.h>

#include "oncelog/io_queue.h"

#include "storage/io/monotonic_time.h"
#include "storage/io/transfer.h"
#include "storage/io/unique_fd.h"

namespace oncelog {

class UringIoQueue final : public IoQueue {
 public:
  /// `entries` is the size of the submission ring, 1..4096. When the kernel refuses, the message of
  /// the error names the cause (see uring_refusal.h).
  static Result<std::unique_ptr<IoQueue>> create(std::uint32_t entries);
  UringIoQueue(const UringIoQueue&) = delete;
  UringIoQueue& operator=(const UringIoQueue&) = delete;
  ~UringIoQueue() override;

  void submit(IoRequest request) override;
  std::size_t poll(std::vector<IoCompletion>& done, std::int64_t timeout_ns) override;
  void wake() override;
  std::size_t in_flight() const override { return in_flight_; }
  int native_handle() const noexcept override { return ring_.ring_fd; }

 private:
  struct Operation {
    IoRequest request;
    Transfer transfer{IoRequest::Kind::kSync, 0};
    std::vector<iovec> iovecs;
  };

  UringIoQueue() = default;
  Status start(std::uint32_t entries);

  std::size_t take_operation(IoRequest request, const Transfer& transfer);
  /// Moves operations from the FIFO to the submission ring while both rings have room.
  void fill_ring();
  void prepare(Operation& operation, io_uring_sqe& entry);
  void prepare_write(Operation& operation, io_uring_sqe& entry);
  /// Hands everything to the kernel; with `wait_until` sleeps for a completion.
  void enter(const Deadline* wait_until);
  /// Takes all completions; whether `wake` was among them.
  bool reap(std::vector<IoCompletion>& done);
  void finish(std::size_t index, std::int64_t result, std::vector<IoCompletion>& done);
  void release(std::size_t index, Status status, std::vector<IoCompletion>& done);

  io_uring ring_{};
  bool ring_made_ = false;
  UniqueFd event_;
  std::uint64_t event_count_ = 0;  // written by the kernel while the eventfd is being read
  bool event_armed_ = false;       // the ring reads the eventfd
  bool closing_ = false;
  std::atomic<bool> wake_sent_{false};  // the eventfd is readable and poll has not seen it

  std::deque<Operation> operations_;  // addresses stay while it grows
  std::vector<std::size_t> free_operations_;
  std::deque<std::size_t> waiting_;    // not in the kernel
  std::vector<IoCompletion> refused_;  // answered without the kernel
  std::size_t in_kernel_ = 0;
  std::size_t in_kernel_max_ = 0;
  std::size_t in_flight_ = 0;
};

}  // namespace oncelog
