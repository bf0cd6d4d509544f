// lz4: the LZ4 frame format v1 as far as Kafka reads it.
//
// FORMAT  magic, FLG, BD, [content size], header checksum, then blocks: uint32 size (top bit:
// stored), data, [block checksum]; a size of 0 ends; [content checksum]. All little-endian.
// Blocks are independent. The content checksum is skipped, as Kafka does: the batch has a CRC.
#include <algorithm>
#include <array>
#include <optional>

#include <lz4.h>
#include <lz4frame.h>

#include "storage/base/assert.h"
#include "storage/base/xxh3.h"
#include "storage/format/codec_streams.h"

namespace oncelog::lz4 {
namespace {

constexpr std::uint32_t kMagic = 0x184D2204;
constexpr std::size_t kFlagsAt = 4;
constexpr unsigned kVersionMask = 0xC0;
constexpr unsigned kVersion1 = 0x40;
constexpr unsigned kIndependent = 0x20;
constexpr unsigned kBlockChecksum = 0x10;
constexpr unsigned kContentSize = 0x08;
constexpr unsigned kContentChecksum = 0x04;
constexpr unsigned kFlagsReserved = 0x03;
constexpr unsigned kBlockSizeReserved = 0x8F;
constexpr unsigned kBlockSizeCodeMin = 4;  // 64 KiB; each step is four times more, up to 7
constexpr std::uint32_t kStored = 0x80000000;
constexpr std::size_t kChecksumBytes = 4;
constexpr std::size_t kContentSizeBytes = 8;
// One compressed byte stands for at most 255; a few more for the last sequence.
constexpr std::size_t kRatioMax = 256;
constexpr std::size_t kRatioSlack = 64;

std::uint32_t load_le32(std::span<const std::byte> bytes) {
  std::uint32_t out = 0;
  for (unsigned i = 0; i < 4; ++i) {
    out |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  }
  return out;
}

struct FrameHeader {
  std::size_t bytes = 0;
  std::size_t block_bytes_max = 0;
  bool block_checksum = false;
  bool content_checksum = false;
};

Error broken(const char* what) {
  return codec_error(Codec::kLz4, what);
}

Result<FrameHeader> parse_header(std::span<const std::byte> bytes, bool ignore_checksum) {
  constexpr std::size_t kShortestBytes = 7;
  if (bytes.size() < kShortestBytes) return broken("header is cut short");
  if (load_le32(bytes) != kMagic) return broken("magic is wrong");
  const auto flags = std::to_integer<unsigned>(bytes[kFlagsAt]);
  const auto block_size = std::to_integer<unsigned>(bytes[kFlagsAt + 1]);
  if ((flags & kVersionMask) != kVersion1) return broken("version is not 1");
  if ((flags & kFlagsReserved) != 0) return broken("reserved flags are set");
  if ((flags & kIndependent) == 0) return broken("linked blocks are not supported");
  const unsigned code = block_size >> 4;
  if ((block_size & kBlockSizeReserved) != 0 || code < kBlockSizeCodeMin) {
    return broken("block size code is wrong");
  }
  FrameHeader out;
  out.block_bytes_max = std::size_t{1} << (8 + 2 * code);
  out.block_checksum = (flags & kBlockChecksum) != 0;
  out.content_checksum = (flags & kContentChecksum) != 0;
  const std::size_t checksum_at =
      kFlagsAt + 2 + ((flags & kContentSize) != 0 ? kContentSizeBytes : 0);
  if (bytes.size() <= checksum_at) return broken("header is cut short");
  const auto expected = (xxh32(bytes.subspan(kFlagsAt, checksum_at - kFlagsAt)) >> 8) & 0xffU;
  if (!ignore_checksum && std::to_integer<std::uint32_t>(bytes[checksum_at]) != expected) {
    return broken("header checksum is wrong");
  }
  out.bytes = checksum_at + 1;
  return out;
}

/// Appends one block's bytes to `out`.
Status add_block(std::span<const std::byte> block, bool stored, std::size_t block_bytes_max,
                 std::vector<std::byte>& out) {
  if (stored) {
    out.insert(out.end(), block.begin(), block.end());
    return {};
  }
  const std::size_t before = out.size();
  const std::size_t room = std::min(block_bytes_max, block.size() * kRatioMax + kRatioSlack);
  out.resize(before + room);
  const int size = LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()),
                                       reinterpret_cast<char*>(out.data() + before),
                                       static_cast<int>(block.size()), static_cast<int>(room));
  if (size < 0) return broken("broken block");
  out.resize(before + static_cast<std::size_t>(size));
  return {};
}

}  // namespace

Result<std::vector<std::byte>> decompress(std::span<const std::byte> bytes,
                                          const DecompressOptions& options) {
  ONCELOG_TRY_ASSIGN(const FrameHeader header,
                     parse_header(bytes, options.ignore_lz4_header_checksum));
  std::span<const std::byte> rest = bytes.subspan(header.bytes);
  std::vector<std::byte> out;
  while (true) {
    if (rest.size() < sizeof(kMagic)) return broken("end mark is missing");
    const std::uint32_t word = load_le32(rest);
    rest = rest.subspan(sizeof(kMagic));
    if (word == 0) break;
    const std::size_t size = word & ~kStored;
    if (size > header.block_bytes_max) return broken("block is larger than its maximum");
    const std::size_t checksum_bytes = header.block_checksum ? kChecksumBytes : 0;
    if (rest.size() < size + checksum_bytes) return broken("block is cut short");
    const auto block = rest.first(size);
    if (header.block_checksum && load_le32(rest.subspan(size)) != xxh32(block)) {
      return broken("block checksum is wrong");
    }
    ONCELOG_TRY(add_block(block, (word & kStored) != 0, header.block_bytes_max, out));
    if (static_cast<std::int64_t>(out.size()) > options.bytes_max) {
      return codec_overflow(Codec::kLz4, options.bytes_max);
    }
    rest = rest.subspan(size + checksum_bytes);
  }
  if (rest.size() != (header.content_checksum ? kChecksumBytes : 0)) {
    return broken("bytes follow the end mark");
  }
  return out;
}

std::vector<std::byte> compress(std::span<const std::byte> bytes, int level) {
  constexpr int kFastLevel = 9;  // Kafka's default is named 9 and means the fast compressor
  constexpr int kLevelMax = 17;
  constexpr int kHighLevelMin = 3;  // the library takes lower ones as fast
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockSizeID = LZ4F_max64KB;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  if (level != 0 && level != kFastLevel) {
    preferences.compressionLevel = std::clamp(level, kHighLevelMin, kLevelMax);
  }
  std::vector<std::byte> out(LZ4F_compressFrameBound(bytes.size(), &preferences));
  const std::size_t size =
      LZ4F_compressFrame(out.data(), out.size(), bytes.data(), bytes.size(), &preferences);
  ONCELOG_ASSERT(LZ4F_isError(size) == 0U);
  out.resize(size);
  return out;
}

}  // namespace oncelog::lz4
