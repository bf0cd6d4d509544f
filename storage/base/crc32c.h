// CRC-32C (Castagnoli), the checksum of batches and snapshots (FORMAT.md 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace oncelog {

/// CRC-32C of `bytes` (initial and final xor 0xFFFFFFFF), continued from `previous`:
/// crc32c(b, crc32c(a)) == crc32c(ab). Check value of "123456789": 0xE3069283.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous = 0) noexcept;

}  // namespace oncelog
