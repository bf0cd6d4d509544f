// Dispatch to the codecs, and their bounded output.
#include "storage/format/codec.h"

#include <algorithm>
#include <string>

#include "storage/format/codec_streams.h"

namespace oncelog {
namespace {

constexpr std::size_t kFirstRoomBytes = std::size_t{16} << 10;

}  // namespace

std::span<std::byte> BoundedOutput::room(std::size_t want) {
  const std::size_t limit = bytes_max_ + 1;  // see the class comment
  if (bytes_.size() == used_) {
    const std::size_t grown = std::max(kFirstRoomBytes, bytes_.size() * 2);
    bytes_.resize(std::max(std::min(grown, limit), used_ + 1));
  }
  return std::span(bytes_).subspan(used_, std::min(want, bytes_.size() - used_));
}

Error codec_error(Codec codec, const std::string& what) {
  return make_error(ErrorCode::kCorruptBatch, std::string(to_string(codec)) + " data: " + what);
}

Error codec_overflow(Codec codec, std::int64_t bytes_max) {
  return codec_error(codec, "opens to more than " + std::to_string(bytes_max) + " bytes");
}

std::optional<Codec> codec_from_bits(int bits) {
  if (bits < 0 || bits > static_cast<int>(Codec::kZstd)) return std::nullopt;
  return static_cast<Codec>(bits);
}

Result<std::vector<std::byte>> decompress(Codec codec, std::span<const std::byte> bytes,
                                          const DecompressOptions& options) {
  switch (codec) {
    case Codec::kNone:
      if (static_cast<std::int64_t>(bytes.size()) > options.bytes_max) {
        return codec_overflow(codec, options.bytes_max);
      }
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    case Codec::kGzip:
      return gzip::decompress(bytes, options);
    case Codec::kSnappy:
      return xerial::decompress(bytes, options);
    case Codec::kLz4:
      return lz4::decompress(bytes, options);
    case Codec::kZstd:
      return zstd::decompress(bytes, options);
  }
  return codec_error(codec, "unknown codec");
}

std::vector<std::byte> compress(Codec codec, std::span<const std::byte> bytes, int level) {
  switch (codec) {
    case Codec::kNone:
      break;
    case Codec::kGzip:
      return gzip::compress(bytes, level);
    case Codec::kSnappy:
      return xerial::compress(bytes);
    case Codec::kLz4:
      return lz4::compress(bytes, level);
    case Codec::kZstd:
      return zstd::compress(bytes, level);
  }
  return {bytes.begin(), bytes.end()};
}

}  // namespace oncelog
