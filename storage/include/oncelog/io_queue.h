// The asynchronous half of the seam to the OS: writes, syncs and reads. Part of oncelog/io.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "oncelog/buffer.h"
#include "oncelog/file_system.h"
#include "oncelog/result.h"

namespace oncelog {

/// One operation handed to an IoQueue. The file and the buffers are kept alive by the queue.
struct IoRequest {
  enum class Kind : std::uint8_t { kWrite, kSync, kRead };
  Kind kind = Kind::kWrite;
  std::uint64_t token = 0;  ///< chosen by the caller, comes back in the completion
  std::shared_ptr<File> file;
  std::int64_t position = 0;    ///< kWrite, kRead
  std::vector<Buffer> buffers;  ///< kWrite: written one after the other; kRead: one, filled
};

/// The end of one operation. The buffers come back.
struct IoCompletion {
  IoRequest::Kind kind = IoRequest::Kind::kWrite;
  std::uint64_t token = 0;
  Status status;           ///< a write succeeds only when every byte is written
  std::int64_t bytes = 0;  ///< kRead: bytes read, fewer than asked only at the end of the file
  std::vector<Buffer> buffers;
};

/// Asynchronous writes, syncs and reads of one shard.
///
/// No order is kept between operations in flight: a caller that needs one waits for the first. A
/// sync covers the writes whose completion was polled before it was submitted. Short writes are
/// finished and EINTR/EAGAIN are resubmitted inside; a full ring queues; ECANCELED is a failure.
///
/// THREADS  one driver at a time (need not be the same thread); `wake` from any thread.
class IoQueue {
 public:
  IoQueue() = default;
  IoQueue(const IoQueue&) = delete;
  IoQueue& operator=(const IoQueue&) = delete;
  /// Waits for everything in flight.
  virtual ~IoQueue() = default;

  /// Queues an operation. Never fails itself: trouble comes as a completion.
  virtual void submit(IoRequest request) = 0;
  /// Hands queued operations to the kernel and appends what has completed to `done`. With
  /// `timeout_ns` != 0 it sleeps until a completion, a `wake` or the time-out (-1: none);
  /// 0 returns at once. Returns the number of completions appended.
  virtual std::size_t poll(std::vector<IoCompletion>& done, std::int64_t timeout_ns) = 0;
  /// Makes a sleeping (or the next) `poll` return. Any thread, async-signal-unsafe, cheap.
  virtual void wake() = 0;
  /// Operations submitted and not yet returned by `poll`.
  virtual std::size_t in_flight() const = 0;
  /// A descriptor that is readable when `poll` has something to do (completion or wake); for the
  /// caller's event loop. -1 in the simulator.
  virtual int native_handle() const noexcept = 0;
};

}  // namespace oncelog
