// The monotonic clock, and time-outs measured on it.
#include "storage/io/monotonic_time.h"

#include <algorithm>
#include <limits>

namespace oncelog {
namespace {

constexpr std::int64_t kForeverNs = std::numeric_limits<std::int64_t>::max();

}  // namespace

std::int64_t monotonic_now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNanosPerSecond + now.tv_nsec;
}

Deadline::Deadline(std::int64_t timeout_ns) noexcept : never_(timeout_ns < 0) {
  if (timeout_ns <= 0) return;
  const std::int64_t now = monotonic_now_ns();
  end_ns_ = timeout_ns > kForeverNs - now ? kForeverNs : now + timeout_ns;
}

std::int64_t Deadline::left_ns() const noexcept {
  if (never_) return kForeverNs;
  if (end_ns_ == 0) return 0;
  return std::max<std::int64_t>(0, end_ns_ - monotonic_now_ns());
}

timespec Deadline::left() const noexcept {
  const std::int64_t ns = left_ns();
  return {ns / kNanosPerSecond, ns % kNanosPerSecond};
}

}  // namespace oncelog
