// XXH3, the checksum of our own files and of header chains, and XXH32, that of lz4 frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace oncelog {

/// XXH32 with seed 0, as the lz4 frame format uses it.
std::uint32_t xxh32(std::span<const std::byte> bytes) noexcept;

std::uint64_t xxh3_64(std::span<const std::byte> bytes) noexcept;

/// 128 bits as two words; a plain value that can be stored and compared.
struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};
Hash128 xxh3_128(std::span<const std::byte> bytes) noexcept;

}  // namespace oncelog
