// Errors by errno, and the check of ranges that comes before any call.
#include "storage/sim/errno_error.h"

#include <limits>
#include <utility>

#include "storage/io/os_error.h"

namespace oncelog::sim {

Error errno_error(int sys_errno, const std::string& path, std::int64_t position) {
  Error error = os_error(sys_errno, "simulated failure", path);
  error.position = position;
  return error;
}

Status check_range(const std::string& path, std::int64_t position, std::int64_t bytes) {
  if (position < 0 || bytes < 0 || bytes > std::numeric_limits<std::int64_t>::max() - position)
    return make_error(ErrorCode::kInvalidArgument, "range outside a file").at(path, position);
  return {};
}

}  // namespace oncelog::sim
