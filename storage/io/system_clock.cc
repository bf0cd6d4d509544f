// Clock of the real machine.
#include "storage/io/system_clock.h"

#include <ctime>

#include "storage/io/monotonic_time.h"

namespace oncelog {

std::int64_t SystemClock::wall_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

std::int64_t SystemClock::monotonic_ns() {
  return monotonic_now_ns();
}

}  // namespace oncelog
