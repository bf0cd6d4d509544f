// Errors of the simulator and of injected faults, with the codes of the real implementations.
#pragma once

#include <cstdint>
#include <string>

#include "oncelog/result.h"

namespace oncelog::sim {

/// REQUIRES: sys_errno != 0. `position` is -1 when there is none.
Error errno_error(int sys_errno, const std::string& path, std::int64_t position = -1);

/// kInvalidArgument for a range that no file has.
Status check_range(const std::string& path, std::int64_t position, std::int64_t bytes);

}  // namespace oncelog::sim
