// A forked child in which chosen system calls fail.
#include "tests/io/sandbox.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <linux/filter.h>
#include <linux/seccomp.h>

namespace oncelog {

int run_in_child(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return 1;
  if (child == 0) {
    const int code = body();
    std::fflush(nullptr);
    ::_exit(code);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void refuse_call(long number, int errno_value) {
  // Reads the number of the call; on a match the errno, else the call goes through. The
  // architecture is not looked at: the child makes native calls only.
  std::array<sock_filter, 4> code{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<std::uint32_t>(number)},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(errno_value)},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    ::_exit(kSandboxSkipped);
  }
}

int check(bool condition, const std::string& what) {
  if (!condition) std::fprintf(stderr, "in the child: %s\n", what.c_str());
  return condition ? 0 : 1;
}

}  // namespace oncelog
