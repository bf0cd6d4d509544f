// File over a POSIX descriptor.
#include "storage/io/posix_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "storage/io/os_error.h"
#include "storage/io/transfer.h"

namespace oncelog {
namespace {

struct flock whole_file(int type) {
  struct flock lock {};
  lock.l_type = static_cast<decltype(lock.l_type)>(type);
  lock.l_whence = SEEK_SET;
  return lock;  // start 0, length 0: all bytes, and pid 0 as open-file locks demand
}

/// Repeats `call` (which returns like a system call) until it does something else than EINTR.
template <class Call>
int retry_interrupted(Call call) {
  Transfer transfer(IoRequest::Kind::kSync, 0);
  for (;;) {
    const int result = call();
    switch (transfer.advance(result < 0 ? -errno : result)) {
      case Transfer::Next::kContinue:
        continue;
      case Transfer::Next::kDone:
        return 0;
      case Transfer::Next::kFail:
        return transfer.error_number();
    }
  }
}

}  // namespace

FileStat to_file_stat(const struct ::stat& from) noexcept {
  FileStat to;
  to.type = S_ISREG(from.st_mode)   ? FileType::kRegular
            : S_ISDIR(from.st_mode) ? FileType::kDirectory
                                    : FileType::kOther;
  to.size = from.st_size;
  to.link_count = static_cast<std::int64_t>(from.st_nlink);
  to.modified_ms = from.st_mtim.tv_sec * 1000 + from.st_mtim.tv_nsec / 1'000'000;
  return to;
}

PosixFile::PosixFile(UniqueFd fd, std::shared_ptr<const UniqueFd> placeholder, std::string path,
                     bool writable)
    : fd_(std::move(fd)),
      placeholder_(std::move(placeholder)),
      path_(std::move(path)),
      writable_(writable) {}

Error PosixFile::not_open() const {
  return make_error(ErrorCode::kNotOpen, "file was closed").at(path_);
}

Error PosixFile::failed(int number, const char* what) const {
  if (number == EBADF && closed_) return not_open();  // closed while the call ran
  return os_error(number, what, path_);
}

Status PosixFile::check_call(std::int64_t position, std::int64_t bytes) const {
  if (closed_) return not_open();
  if (position < 0 || bytes < 0 || bytes > std::numeric_limits<std::int64_t>::max() - position) {
    return make_error(ErrorCode::kInvalidArgument, "range outside a file").at(path_, position);
  }
  return {};
}

Result<std::size_t> PosixFile::read_at(std::int64_t position, std::span<std::byte> into) {
  ONCELOG_TRY(check_call(position, static_cast<std::int64_t>(into.size())));
  Transfer transfer(IoRequest::Kind::kRead, into.size());
  while (transfer.needs_os()) {
    const std::span<std::byte> rest = into.subspan(transfer.bytes_done());
    const std::int64_t at = position + static_cast<std::int64_t>(transfer.bytes_done());
    const ssize_t result = ::pread(fd_.get(), rest.data(), rest.size(), at);
    const Transfer::Next next = transfer.advance(result < 0 ? -errno : result);
    if (next == Transfer::Next::kDone) break;
    if (next == Transfer::Next::kFail) {
      return failed(transfer.error_number(), "cannot read").at(path_, at);
    }
  }
  return transfer.bytes_done();
}

Status PosixFile::write_at(std::int64_t position, std::span<const std::byte> bytes) {
  ONCELOG_TRY(check_call(position, static_cast<std::int64_t>(bytes.size())));
  Transfer transfer(IoRequest::Kind::kWrite, bytes.size());
  while (transfer.needs_os()) {
    const std::span<const std::byte> rest = bytes.subspan(transfer.bytes_done());
    const std::int64_t at = position + static_cast<std::int64_t>(transfer.bytes_done());
    const ssize_t result = ::pwrite(fd_.get(), rest.data(), rest.size(), at);
    const Transfer::Next next = transfer.advance(result < 0 ? -errno : result);
    if (next == Transfer::Next::kDone) break;
    if (next == Transfer::Next::kFail) {
      return failed(transfer.error_number(), "cannot write").at(path_, at);
    }
  }
  return {};
}

Status PosixFile::truncate(std::int64_t size) {
  ONCELOG_TRY(check_call(size, 0));
  const int number = retry_interrupted([&] { return ::ftruncate(fd_.get(), size); });
  if (number != 0) return failed(number, "cannot truncate").at(path_, size);
  return {};
}

Status PosixFile::allocate(std::int64_t position, std::int64_t bytes) {
  ONCELOG_TRY(check_call(position, bytes));
  if (bytes == 0) return {};  // the kernel calls an empty range invalid
  const int number = retry_interrupted(
      [&] { return ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, position, bytes); });
  if (number == 0) return {};
  Error error = failed(number, "cannot allocate blocks").at(path_, position);
  if (number == EOPNOTSUPP || number == ENOSYS) error.code = ErrorCode::kUnsupported;
  return error;
}

Status PosixFile::start_writeback(std::int64_t position, std::int64_t bytes) {
  ONCELOG_TRY(check_call(position, bytes));
  if (bytes == 0) return {};  // 0 would mean "to the end of the file"
  const int number = retry_interrupted(
      [&] { return ::sync_file_range(fd_.get(), position, bytes, SYNC_FILE_RANGE_WRITE); });
  if (number == 0) return {};
  Error error = failed(number, "cannot start writeback").at(path_, position);
  if (number == EOPNOTSUPP || number == ENOSYS) error.code = ErrorCode::kUnsupported;
  return error;
}

Status PosixFile::sync() {
  ONCELOG_TRY(check_call(0, 0));
  const int number = retry_interrupted([&] { return ::fdatasync(fd_.get()); });
  if (number != 0) return failed(number, "cannot sync");
  return {};
}

Result<FileStat> PosixFile::stat() {
  ONCELOG_TRY(check_call(0, 0));
  struct ::stat found {};
  if (::fstat(fd_.get(), &found) != 0) return failed(errno, "cannot stat");
  if (closed_) return not_open();  // the placeholder can be stat'ed: do not show it
  return to_file_stat(found);
}

Status PosixFile::lock() {
  ONCELOG_TRY(check_call(0, 0));
  if (!writable_) {
    return make_error(ErrorCode::kInvalidArgument, "a lock needs a file open for writing")
        .at(path_);
  }
  struct flock lock = whole_file(F_WRLCK);
  const int number = retry_interrupted([&] {
    const int result = ::fcntl(fd_.get(), F_OFD_SETLK, &lock);
    if (result != 0 && errno == EAGAIN) errno = EACCES;  // both say "held"; EAGAIN would retry
    return result;
  });
  if (number == 0) return {};
  Error error = failed(number, number == EACCES ? "locked by someone else" : "cannot lock");
  if (number == EACCES) error.code = ErrorCode::kLocked;
  return error;
}

Result<bool> PosixFile::is_locked() {
  ONCELOG_TRY(check_call(0, 0));
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(fd_.get(), F_OFD_GETLK, &lock) != 0) return failed(errno, "cannot ask for a lock");
  return lock.l_type != F_UNLCK;
}

Status PosixFile::close() {
  if (closed_.exchange(true)) return not_open();
  // The lock goes even if a forked child still has the descriptor.
  struct flock lock = whole_file(F_UNLCK);
  if (writable_) static_cast<void>(::fcntl(fd_.get(), F_OFD_SETLK, &lock));
  // File systems that fail in close(2) do so when any descriptor of the file is closed, and tell
  // the first one only; so close a duplicate and read its answer, then give up the file itself.
  const int duplicate = ::fcntl(fd_.get(), F_DUPFD_CLOEXEC, kDescriptorMin);
  const int duplicate_errno = duplicate < 0 ? errno : 0;
  const int close_errno = duplicate >= 0 && ::close(duplicate) != 0 ? errno : 0;
  const int replace_errno =
      retry_interrupted([&] { return ::dup3(placeholder_->get(), fd_.get(), O_CLOEXEC); });
  if (close_errno != 0) return os_error(close_errno, "closing failed", path_);
  if (duplicate_errno != 0) {
    return os_error(duplicate_errno, "cannot tell whether closing worked", path_);
  }
  if (replace_errno != 0) return os_error(replace_errno, "cannot give up the descriptor", path_);
  return {};
}

}  // namespace oncelog
