// Zig-zag variable-length integers of records (FORMAT.md 4), and a bounds-checked byte cursor.
//
// FORMAT  zig-zag, then groups of 7 bits, lowest first, high bit = more follows; at most 5 bytes
// for 32 bits and 10 for 64. Longer than needed is accepted, a set high bit in the last possible
// byte is not. Spare bits of a 5th byte are dropped as Kafka drops them; spare bits of a 10th byte
// are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace oncelog {

inline constexpr std::size_t kVarintBytesMax = 5;
inline constexpr std::size_t kVarlongBytesMax = 10;

/// Bytes that the shortest encoding takes.
std::size_t varint_bytes(std::int32_t value) noexcept;
std::size_t varlong_bytes(std::int64_t value) noexcept;

/// Appends the shortest encoding.
void append_varint(std::vector<std::byte>& out, std::int32_t value);
void append_varlong(std::vector<std::byte>& out, std::int64_t value);

/// Takes values off the front of borrowed bytes. Every call checks what remains and returns
/// nothing when it does not suffice or the encoding is broken; the position is then unspecified.
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::size_t left() const noexcept { return rest_.size(); }
  std::span<const std::byte> rest() const noexcept { return rest_; }

  std::optional<std::int32_t> varint() {
    // Most varints of a record are one byte.
    if (!rest_.empty() && (rest_.front() & std::byte{0x80}) == std::byte{0}) {
      const auto raw = std::to_integer<std::uint32_t>(rest_.front());
      rest_ = rest_.subspan(1);
      return static_cast<std::int32_t>((raw >> 1) ^ (0U - (raw & 1U)));
    }
    return long_varint();
  }
  std::optional<std::int64_t> varlong();
  std::optional<std::byte> byte() {
    if (rest_.empty()) return std::nullopt;
    const std::byte out = rest_.front();
    rest_ = rest_.subspan(1);
    return out;
  }
  /// Borrowed like the whole. Nothing when `count` is negative or more than what is left.
  std::optional<std::span<const std::byte>> bytes(std::int64_t count) {
    if (count < 0 || static_cast<std::uint64_t>(count) > rest_.size()) return std::nullopt;
    const auto out = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(out.size());
    return out;
  }

 private:
  std::optional<std::int32_t> long_varint();
  std::optional<std::uint64_t> groups(std::size_t bytes_max);
  std::span<const std::byte> rest_;
};

}  // namespace oncelog
