// From errno to Error.
#include "storage/io/os_error.h"

#include <cerrno>
#include <utility>

namespace oncelog {

ErrorCode code_of_errno(int number) noexcept {
  switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorCode::kDiskFull;
    case ENOENT:
      return ErrorCode::kNotFound;
    case EEXIST:
      return ErrorCode::kAlreadyExists;
    default:
      return ErrorCode::kIo;
  }
}

Error os_error(int number, std::string message, std::string path) {
  Error error = make_error(code_of_errno(number), std::move(message)).at(std::move(path));
  error.sys_errno = number;
  return error;
}

}  // namespace oncelog
