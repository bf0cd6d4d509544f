// Why the kernel refused io_uring.
#include "storage/io/uring_refusal.h"

#include <cerrno>
#include <fstream>
#include <system_error>

namespace oncelog {

int uring_disabled_sysctl() {
  std::ifstream file("/proc/sys/kernel/io_uring_disabled");
  int value = -1;
  return file >> value ? value : -1;
}

std::string uring_refusal(int number, int disabled_sysctl) {
  switch (number) {
    case ENOSYS:
      return "ENOSYS: the kernel has no io_uring, or seccomp hides it";
    case EPERM:
    case EACCES:
      if (disabled_sysctl > 0) {
        return "EPERM: sysctl kernel.io_uring_disabled=" + std::to_string(disabled_sysctl);
      }
      return "EPERM: seccomp or another security policy forbids it";
    case ENOMEM:
      return "ENOMEM: the limit of locked memory (RLIMIT_MEMLOCK) is too small";
    default:
      return std::generic_category().message(number);
  }
}

}  // namespace oncelog
