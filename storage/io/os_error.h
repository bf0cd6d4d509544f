// From errno to Error: the one place that decides what an errno means for the caller.
#pragma once

#include <string>

#include "oncelog/result.h"

namespace oncelog {

/// kDiskFull for ENOSPC, EDQUOT and EFBIG, kNotFound for ENOENT, kAlreadyExists for EEXIST, kIo
/// for the rest; `number` and `path` go into the error.
ErrorCode code_of_errno(int number) noexcept;

/// `message` says what was tried, e.g. "cannot write".
Error os_error(int number, std::string message, std::string path);

}  // namespace oncelog
