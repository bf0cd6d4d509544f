// Decides whether an operation is done, goes on or failed.
#include "storage/io/transfer.h"

#include <cerrno>

namespace oncelog {

Transfer::Next Transfer::advance(std::int64_t result) noexcept {
  if (result >= 0) return advance_by(static_cast<std::size_t>(result));
  const int number = static_cast<int>(-result);
  // Neither has begun, so sending it again is no retry of a failed fsync. ECANCELED is not among
  // them: nobody here cancels, so it means that something is wrong.
  const bool interrupted = number == EINTR || number == EAGAIN;
  if (!interrupted || retries_ == kRetriesMax) return fail(number);
  ++retries_;
  return Next::kContinue;
}

Transfer::Next Transfer::advance_by(std::size_t bytes) noexcept {
  if (kind_ == IoRequest::Kind::kSync) return Next::kDone;
  if (bytes > bytes_left()) return fail(EIO);
  if (bytes == 0 && bytes_left() > 0) {
    return kind_ == IoRequest::Kind::kRead ? Next::kDone : fail(EIO);
  }
  retries_ = 0;
  bytes_done_ += bytes;
  return bytes_left() == 0 ? Next::kDone : Next::kContinue;
}

Transfer::Next Transfer::fail(int number) noexcept {
  error_number_ = number;
  return Next::kFail;
}

}  // namespace oncelog
