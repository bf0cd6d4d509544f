// Zig-zag variable-length integers: encoding, and decoding of more than one byte.
#include "storage/base/varint.h"

#include <algorithm>

namespace oncelog {
namespace {

constexpr std::uint64_t kPayloadMask = 0x7f;
constexpr unsigned kGroupBits = 7;

std::uint64_t zig_zag(std::int64_t value) noexcept {
  const auto bits = static_cast<std::uint64_t>(value);
  return (bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : std::uint64_t{0});
}

std::size_t group_count(std::uint64_t raw) noexcept {
  std::size_t out = 1;
  while (raw > kPayloadMask) {
    raw >>= kGroupBits;
    ++out;
  }
  return out;
}

void append_groups(std::vector<std::byte>& out, std::uint64_t raw) {
  while (raw > kPayloadMask) {
    out.push_back(static_cast<std::byte>((raw & kPayloadMask) | 0x80U));
    raw >>= kGroupBits;
  }
  out.push_back(static_cast<std::byte>(raw));
}

}  // namespace

// The zig-zag of a 32-bit value taken in 64 bits fits 33 bits only for values outside int32, so
// one function serves both widths.
std::size_t varint_bytes(std::int32_t value) noexcept {
  return group_count(zig_zag(value));
}
std::size_t varlong_bytes(std::int64_t value) noexcept {
  return group_count(zig_zag(value));
}
void append_varint(std::vector<std::byte>& out, std::int32_t value) {
  append_groups(out, zig_zag(value));
}
void append_varlong(std::vector<std::byte>& out, std::int64_t value) {
  append_groups(out, zig_zag(value));
}

std::optional<std::uint64_t> ByteCursor::groups(std::size_t bytes_max) {
  const std::size_t end = std::min(bytes_max, rest_.size());
  std::uint64_t raw = 0;
  for (std::size_t i = 0; i < end; ++i) {
    const auto group = std::to_integer<std::uint64_t>(rest_[i]);
    raw |= (group & kPayloadMask) << (kGroupBits * i);
    if ((group & 0x80U) != 0) continue;
    // The 10th byte has room for one bit of the 64.
    if (i + 1 == kVarlongBytesMax && group > 1) return std::nullopt;
    rest_ = rest_.subspan(i + 1);
    return raw;
  }
  return std::nullopt;
}

std::optional<std::int32_t> ByteCursor::long_varint() {
  const auto wide = groups(kVarintBytesMax);
  if (!wide) return std::nullopt;
  const auto raw = static_cast<std::uint32_t>(*wide & 0xffffffffU);
  return static_cast<std::int32_t>((raw >> 1) ^ (0U - (raw & 1U)));
}

std::optional<std::int64_t> ByteCursor::varlong() {
  const auto raw = groups(kVarlongBytesMax);
  if (!raw) return std::nullopt;
  return static_cast<std::int64_t>((*raw >> 1) ^ (std::uint64_t{0} - (*raw & 1U)));
}

}  // namespace oncelog
