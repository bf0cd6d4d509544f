// zstd: streamed frames without a content size, as Kafka's encoder writes them.
#include <algorithm>
#include <bit>
#include <memory>

#include <zstd.h>

#include "storage/base/assert.h"
#include "storage/format/codec_streams.h"

namespace oncelog::zstd {
namespace {

constexpr int kLevelMin = -131072;
constexpr int kLevelMax = 22;
// The decoder allocates the window that a frame claims. 2^27 is what any standard encoder uses at
// most; below that, the window need not be larger than what may come out, except that encoders
// that do not know the size take up to 2^23 at ordinary levels.
constexpr int kWindowLogMin = 23;
constexpr int kWindowLogMax = 27;

struct FreeDecoder {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
struct FreeEncoder {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

}  // namespace

Result<std::vector<std::byte>> decompress(std::span<const std::byte> bytes,
                                          const DecompressOptions& options) {
  const std::unique_ptr<ZSTD_DCtx, FreeDecoder> context(ZSTD_createDCtx());
  if (!context) return codec_error(Codec::kZstd, "no memory");
  BoundedOutput out(options.bytes_max);
  const int window_log =
      std::clamp(static_cast<int>(std::bit_width(out.bytes_max())), kWindowLogMin, kWindowLogMax);
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, window_log);

  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  while (true) {
    const auto room = out.room(bytes.size() + out.bytes_max());
    ZSTD_outBuffer to{room.data(), room.size(), 0};
    const std::size_t in_before = in.pos;
    const std::size_t code = ZSTD_decompressStream(context.get(), &to, &in);
    if (ZSTD_isError(code) != 0U) {
      return codec_error(Codec::kZstd, ZSTD_getErrorName(code));
    }
    out.wrote(to.pos);
    if (out.overflowed()) return codec_overflow(Codec::kZstd, options.bytes_max);
    if (in.pos < in.size) continue;
    if (code == 0) return std::move(out).take();
    // Input is used up inside a frame: the rest is in the decoder, or missing.
    if (to.pos < to.size && in.pos == in_before) return codec_error(Codec::kZstd, "cut short");
  }
}

std::vector<std::byte> compress(std::span<const std::byte> bytes, int level) {
  const std::unique_ptr<ZSTD_CCtx, FreeEncoder> context(ZSTD_createCCtx());
  ONCELOG_ASSERT(context != nullptr);
  const int used = level == 0 ? ZSTD_CLEVEL_DEFAULT : std::clamp(level, kLevelMin, kLevelMax);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, used);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 0);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 0);
  std::vector<std::byte> out(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
  ONCELOG_ASSERT(ZSTD_isError(size) == 0U);
  out.resize(size);
  return out;
}

}  // namespace oncelog::zstd
