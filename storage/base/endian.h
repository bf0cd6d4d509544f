// Big-endian integers in byte spans.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "storage/base/assert.h"

namespace oncelog {

/// Reads a big-endian integer at `position`. REQUIRES: position + sizeof(T) <= bytes.size().
template <std::integral T>
constexpr T load_be(std::span<const std::byte> bytes, std::size_t position = 0) {
  ONCELOG_ASSERT(position <= bytes.size() && bytes.size() - position >= sizeof(T));
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out = (out << 8) | std::to_integer<std::uint64_t>(bytes[position + i]);
  }
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(out));
}

/// Writes a big-endian integer at `position`. REQUIRES: position + sizeof(T) <= bytes.size().
template <std::integral T>
constexpr void store_be(std::span<std::byte> bytes, std::size_t position, T value) {
  ONCELOG_ASSERT(position <= bytes.size() && bytes.size() - position >= sizeof(T));
  auto rest = static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
  for (std::size_t i = sizeof(T); i-- > 0;) {
    bytes[position + i] = static_cast<std::byte>(rest & 0xffU);
    rest >>= 8;
  }
}

}  // namespace oncelog
