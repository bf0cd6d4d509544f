// The monotonic clock, and time-outs measured on it.
#pragma once

#include <cstdint>
#include <ctime>

namespace oncelog {

inline constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

/// Nanoseconds of CLOCK_MONOTONIC.
std::int64_t monotonic_now_ns() noexcept;

/// When a call with a time-out must return: -1 (any negative) never, 0 at once.
class Deadline {
 public:
  explicit Deadline(std::int64_t timeout_ns) noexcept;
  bool never() const noexcept { return never_; }
  bool passed() const noexcept { return left_ns() == 0; }
  /// 0 when it has passed. REQUIRES: !never(), else the largest number.
  std::int64_t left_ns() const noexcept;
  timespec left() const noexcept;

 private:
  bool never_;
  std::int64_t end_ns_ = 0;  // 0: passed before it began, no clock is asked
};

}  // namespace oncelog
