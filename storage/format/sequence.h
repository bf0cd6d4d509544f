// Arithmetic of producer sequences: a ring of 31 bits (PRODUCER_STATE.md 3).
#pragma once

#include <cstdint>

#include "oncelog/types.h"

namespace oncelog {

/// (sequence + count) mod 2^31: 0 follows 2147483647. `sequence` in 0..2^31-1.
constexpr Sequence increment_sequence(Sequence sequence, std::int32_t count) noexcept {
  return static_cast<Sequence>((std::int64_t{sequence} + count) & 0x7fffffff);
}

/// (sequence - count) mod 2^31, in 0..2^31-1.
constexpr Sequence decrement_sequence(Sequence sequence, std::int32_t count) noexcept {
  return static_cast<Sequence>((std::int64_t{sequence} - count) & 0x7fffffff);
}

/// Whether `next` follows `last`; after "nothing yet" (-1) comes 0.
constexpr bool in_sequence(Sequence last, Sequence next) noexcept {
  return next == increment_sequence(last, 1);
}

}  // namespace oncelog
