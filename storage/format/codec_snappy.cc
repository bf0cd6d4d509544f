// snappy: the xerial block framing that Kafka writes, and bare snappy as some clients write it.
//
// FORMAT  82 'SNAPPY' 00, int32 version, int32 oldest compatible version, then blocks: int32
// length, raw snappy. All big-endian. The header may come again between blocks.
#include <algorithm>
#include <array>

#include <snappy.h>

#include "storage/base/endian.h"
#include "storage/format/codec_streams.h"

namespace oncelog::xerial {
namespace {

constexpr std::array<std::byte, 8> kMagic{std::byte{0x82}, std::byte{'S'}, std::byte{'N'},
                                          std::byte{'A'},  std::byte{'P'}, std::byte{'P'},
                                          std::byte{'Y'},  std::byte{0}};
constexpr std::size_t kHeaderBytes = 16;
constexpr std::size_t kLengthBytes = 4;
constexpr std::int32_t kVersion = 1;
constexpr std::size_t kBlockBytes = std::size_t{32} << 10;
// A snappy copy makes at most 64 bytes of 3, so a block that claims more than this lies.
constexpr std::size_t kRatioMax = 22;

const char* chars(std::span<const std::byte> bytes) {
  return reinterpret_cast<const char*>(bytes.data());
}

bool begins_with_magic(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), bytes.begin());
}

Status add_block(std::span<const std::byte> block, std::vector<std::byte>& out,
                 std::int64_t bytes_max) {
  std::size_t size = 0;
  if (!snappy::GetUncompressedLength(chars(block), block.size(), &size) ||
      size / kRatioMax > block.size()) {
    return codec_error(Codec::kSnappy, "block size is broken");
  }
  if (bytes_max < 0 || size > static_cast<std::uint64_t>(bytes_max) - out.size()) {
    return codec_overflow(Codec::kSnappy, bytes_max);
  }
  const std::size_t before = out.size();
  out.resize(before + size);
  if (!snappy::RawUncompress(chars(block), block.size(),
                             reinterpret_cast<char*>(out.data() + before))) {
    return codec_error(Codec::kSnappy, "broken block");
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> decompress(std::span<const std::byte> bytes,
                                          const DecompressOptions& options) {
  std::vector<std::byte> out;
  if (!begins_with_magic(bytes)) {
    ONCELOG_TRY(add_block(bytes, out, options.bytes_max));
    return out;
  }
  std::span<const std::byte> rest = bytes;
  while (!rest.empty()) {
    if (begins_with_magic(rest)) {
      if (rest.size() < kHeaderBytes) return codec_error(Codec::kSnappy, "header is cut short");
      if (load_be<std::int32_t>(rest, kMagic.size()) < kVersion) {
        return codec_error(Codec::kSnappy, "version is below 1");
      }
      rest = rest.subspan(kHeaderBytes);
      continue;
    }
    if (rest.size() < kLengthBytes) return codec_error(Codec::kSnappy, "cut short");
    const auto length = load_be<std::int32_t>(rest);
    rest = rest.subspan(kLengthBytes);
    if (length < 0 || static_cast<std::size_t>(length) > rest.size()) {
      return codec_error(Codec::kSnappy, "block is cut short");
    }
    ONCELOG_TRY(add_block(rest.first(static_cast<std::size_t>(length)), out, options.bytes_max));
    rest = rest.subspan(static_cast<std::size_t>(length));
  }
  return out;
}

std::vector<std::byte> compress(std::span<const std::byte> bytes) {
  std::vector<std::byte> out(kHeaderBytes);
  std::copy(kMagic.begin(), kMagic.end(), out.begin());
  store_be(std::span<std::byte>(out), kMagic.size(), kVersion);
  store_be(std::span<std::byte>(out), kMagic.size() + sizeof(kVersion), kVersion);
  std::span<const std::byte> rest = bytes;
  while (!rest.empty()) {
    const auto block = rest.first(std::min(rest.size(), kBlockBytes));
    const std::size_t at = out.size();
    out.resize(at + kLengthBytes + snappy::MaxCompressedLength(block.size()));
    std::size_t length = 0;
    snappy::RawCompress(chars(block), block.size(),
                        reinterpret_cast<char*>(out.data() + at + kLengthBytes), &length);
    store_be(std::span<std::byte>(out), at, static_cast<std::int32_t>(length));
    out.resize(at + kLengthBytes + length);
    rest = rest.subspan(block.size());
  }
  return out;
}

}  // namespace oncelog::xerial
