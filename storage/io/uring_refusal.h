// Why the kernel refused io_uring, in words for the operator.
#pragma once

#include <string>

namespace oncelog {

/// Value of the sysctl kernel.io_uring_disabled (0, 1, 2), -1 when it does not exist.
int uring_disabled_sysctl();

/// The cause behind errno `number` of io_uring_setup(2), e.g. "sysctl kernel.io_uring_disabled=2".
std::string uring_refusal(int number, int disabled_sysctl);

}  // namespace oncelog
