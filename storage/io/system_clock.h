// Clock of the real machine.
#pragma once

#include <cstdint>

#include "oncelog/io.h"

namespace oncelog {

class SystemClock final : public Clock {
 public:
  std::int64_t wall_ms() override;
  std::int64_t monotonic_ns() override;
};

}  // namespace oncelog
