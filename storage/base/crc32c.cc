// CRC-32C by isa-l. Its function takes an int length and does no inversion: wrapped once, here.
#include "storage/base/crc32c.h"

#include <isa-l/crc.h>

namespace oncelog {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous) noexcept {
  constexpr std::size_t kPieceBytesMax = std::size_t{1} << 30;  // the length is an int
  std::uint32_t state = ~previous;
  while (!bytes.empty()) {
    const auto piece = bytes.first(bytes.size() < kPieceBytesMax ? bytes.size() : kPieceBytesMax);
    // isa-l's parameter is not const, but it only reads.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(piece.data()));
    state = crc32_iscsi(data, static_cast<int>(piece.size()), state);
    bytes = bytes.subspan(piece.size());
  }
  return ~state;
}

}  // namespace oncelog
