// Decides, after each answer of the OS, whether a read, write or sync is done, goes on or failed.
//
// Both implementations of the seam ask this class, so short writes, EINTR and the like are treated
// in one way, and the decision can be tested without an OS that misbehaves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "oncelog/io_queue.h"

namespace oncelog {

/// One operation on its way. The caller sends the part [bytes_done(), bytes_done() + bytes_left())
/// to the OS, in one call or in part, and reports each answer to `advance`.
class Transfer {
 public:
  enum class Next : std::uint8_t {
    kDone,      ///< nothing is left; a read may have met the end of the file
    kContinue,  ///< send what is left (the same again after EINTR or EAGAIN)
    kFail,      ///< see error_number()
  };

  /// Interruptions in a row, without progress, after which the operation fails with that errno.
  static constexpr int kRetriesMax = 100;

  /// `bytes_wanted` is 0 for a sync.
  Transfer(IoRequest::Kind kind, std::size_t bytes_wanted) noexcept
      : kind_(kind), bytes_wanted_(bytes_wanted) {}

  /// `result` as io_uring gives it: a count of bytes, or a negative errno. A write that moves
  /// nothing fails with EIO: repeating it could go on for ever.
  Next advance(std::int64_t result) noexcept;

  /// Whether the OS must be asked at all: an empty read or write is done before it begins.
  bool needs_os() const noexcept { return kind_ == IoRequest::Kind::kSync || bytes_wanted_ > 0; }
  std::size_t bytes_done() const noexcept { return bytes_done_; }
  std::size_t bytes_left() const noexcept { return bytes_wanted_ - bytes_done_; }
  /// 0 unless `advance` returned kFail.
  int error_number() const noexcept { return error_number_; }

 private:
  Next fail(int number) noexcept;
  Next advance_by(std::size_t bytes) noexcept;

  IoRequest::Kind kind_;
  std::size_t bytes_wanted_;
  std::size_t bytes_done_ = 0;
  int retries_ = 0;
  int error_number_ = 0;
};

}  // namespace oncelog
