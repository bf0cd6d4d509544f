// gzip: RFC 1952 members, one after the other.
#include <algorithm>
#include <limits>

// zlib's pointers are not const unless asked.
#define ZLIB_CONST  // NOLINT(readability-identifier-naming)
#include <zlib.h>

#include "storage/base/assert.h"
#include "storage/format/codec_streams.h"

namespace oncelog::gzip {
namespace {

constexpr int kWindowBits = 15 + 16;  // 16: a gzip header, not a zlib one
constexpr int kMemoryLevel = 8;
constexpr std::size_t kPieceBytesMax = std::numeric_limits<uInt>::max();

uInt piece(std::size_t bytes) {
  return static_cast<uInt>(std::min(bytes, kPieceBytesMax));
}

/// Ends the stream's memory with the scope.
struct InflateStream {
  InflateStream() = default;
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;
  InflateStream(InflateStream&&) = delete;
  InflateStream& operator=(InflateStream&&) = delete;
  ~InflateStream() { inflateEnd(&z); }
  z_stream z{};
};

}  // namespace

Result<std::vector<std::byte>> decompress(std::span<const std::byte> bytes,
                                          const DecompressOptions& options) {
  InflateStream stream;
  z_stream& z = stream.z;
  if (inflateInit2(&z, kWindowBits) != Z_OK) return codec_error(Codec::kGzip, "no memory");
  BoundedOutput out(options.bytes_max);
  std::span<const std::byte> rest = bytes;
  while (true) {
    const auto room = out.room(kPieceBytesMax);
    z.next_in = reinterpret_cast<const Bytef*>(rest.data());
    z.avail_in = piece(rest.size());
    z.next_out = reinterpret_cast<Bytef*>(room.data());
    z.avail_out = piece(room.size());
    const uInt in_before = z.avail_in;
    const uInt out_before = z.avail_out;
    const int code = inflate(&z, Z_NO_FLUSH);
    rest = rest.subspan(in_before - z.avail_in);
    out.wrote(out_before - z.avail_out);
    if (out.overflowed()) return codec_overflow(Codec::kGzip, options.bytes_max);
    if (code == Z_STREAM_END) {
      if (rest.empty()) return std::move(out).take();
      if (inflateReset(&z) != Z_OK) return codec_error(Codec::kGzip, "cannot start a member");
      continue;
    }
    if (code != Z_OK) {
      return codec_error(Codec::kGzip, code == Z_BUF_ERROR ? "cut short" : "broken stream");
    }
    // With input used up and output room left, more calls would change nothing.
    if (rest.empty() && z.avail_out != 0) return codec_error(Codec::kGzip, "cut short");
  }
}

std::vector<std::byte> compress(std::span<const std::byte> bytes, int level) {
  const int used = level == 0 ? Z_DEFAULT_COMPRESSION : std::clamp(level, 1, Z_BEST_COMPRESSION);
  z_stream z{};
  const int init =
      deflateInit2(&z, used, Z_DEFLATED, kWindowBits, kMemoryLevel, Z_DEFAULT_STRATEGY);
  ONCELOG_ASSERT(init == Z_OK);
  gz_header header{};  // no name, no time, OS 0: what Kafka's writer puts there
  deflateSetHeader(&z, &header);
  std::vector<std::byte> out(deflateBound(&z, static_cast<uLong>(bytes.size())));
  std::span<const std::byte> in = bytes;
  std::size_t written = 0;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    z.next_in = reinterpret_cast<const Bytef*>(in.data());
    z.avail_in = piece(in.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data() + written);
    z.avail_out = piece(out.size() - written);
    const uInt in_before = z.avail_in;
    const uInt out_before = z.avail_out;
    code = deflate(&z, in_before == in.size() ? Z_FINISH : Z_NO_FLUSH);
    ONCELOG_ASSERT(code == Z_OK || code == Z_STREAM_END);
    in = in.subspan(in_before - z.avail_in);
    written += out_before - z.avail_out;
  }
  deflateEnd(&z);
  out.resize(written);
  return out;
}

}  // namespace oncelog::gzip
