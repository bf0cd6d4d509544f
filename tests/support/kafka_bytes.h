// Big-endian access and checksums of the model of Kafka, independent of the library's own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace oncelog::test::kafka {

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

/// Kafka would fail the load of the partition.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Kafka would split the segment: an offset in it does not fit its base. Not modelled further.
struct Overflow : Refused {
  using Refused::Refused;
};
/// Kafka's CorruptRecordException: a batch's size or CRC is wrong.
struct CorruptRecord : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Kafka's InvalidRecordException: a record, here a marker, cannot be read.
struct InvalidRecord : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Kafka's InvalidOffsetException: an index entry does not rise.
struct InvalidOffset : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The big-endian unsigned integer of `count` bytes at `at`; bytes beyond the end read as zero.
inline std::uint64_t big_endian(ByteSpan bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    value = (value << 8) | (i < bytes.size() ? std::to_integer<std::uint64_t>(bytes[i]) : 0);
  }
  return value;
}
inline std::int64_t get64(ByteSpan bytes, std::size_t at) {
  return static_cast<std::int64_t>(big_endian(bytes, at, 8));
}
inline std::int32_t get32(ByteSpan bytes, std::size_t at) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(big_endian(bytes, at, 4)));
}
inline std::int16_t get16(ByteSpan bytes, std::size_t at) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(big_endian(bytes, at, 2)));
}
inline std::int8_t get8(ByteSpan bytes, std::size_t at) {
  return static_cast<std::int8_t>(static_cast<std::uint8_t>(big_endian(bytes, at, 1)));
}

/// Appends `value` as `count` big-endian bytes.
inline void put(Bytes& out, std::int64_t value, std::size_t count) {
  const auto bits = static_cast<std::uint64_t>(value);
  for (std::size_t i = count; i > 0; --i) {
    out.push_back(static_cast<std::byte>((bits >> (8 * (i - 1))) & 0xffU));
  }
}

template <std::uint32_t Polynomial>
std::uint32_t reflected_crc(ByteSpan bytes) {
  static const std::array<std::uint32_t, 256> crc_table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit)
        crc = (crc >> 1) ^ ((crc & 1U) != 0 ? Polynomial : 0U);
      table.at(i) = crc;
    }
    return table;
  }();
  std::uint32_t crc = 0xffffffffU;
  for (const std::byte byte : bytes) {
    crc = (crc >> 8) ^ crc_table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
  }
  return ~crc;
}
inline std::uint32_t crc32c_of(ByteSpan bytes) {
  return reflected_crc<0x82F63B78U>(bytes);
}
inline std::uint32_t crc32_of(ByteSpan bytes) {
  return reflected_crc<0xEDB88320U>(bytes);
}

}  // namespace oncelog::test::kafka
