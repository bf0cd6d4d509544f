// A forked child in which chosen system calls fail: what no file system does on demand.
#pragma once

#include <functional>
#include <string>

namespace oncelog {

inline constexpr int kSandboxSkipped = 77;  ///< exit code: the machine allows no such filter

/// Runs `body` in a forked child and returns its exit code: 0 is success, kSandboxSkipped when
/// `refuse_call` found no seccomp, 128 + signal when it was killed. What the child prints to stderr
/// appears in the test's output. REQUIRES: this process has one thread.
int run_in_child(const std::function<int()>& body);

/// From now on system call `number` fails with `errno_value` in this process, for ever; 0 makes it
/// return 0. Ends the child with kSandboxSkipped where seccomp is not to be had.
void refuse_call(long number, int errno_value);

/// 0 when `condition` holds, else prints `what` and returns 1.
int check(bool condition, const std::string& what);

}  // namespace oncelog
