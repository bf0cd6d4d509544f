// What the codec implementations share: bounded output, and one pair of functions per codec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "oncelog/result.h"

#include "storage/format/codec.h"

namespace oncelog {

/// Output that grows with what is written and never beyond its limit. One byte more than the
/// limit may be offered, so that a stream that ends exactly there is told from one that goes on.
class BoundedOutput {
 public:
  explicit BoundedOutput(std::int64_t bytes_max)
      : bytes_max_(bytes_max < 0 ? 0 : static_cast<std::size_t>(bytes_max)) {}

  /// Room for more bytes: at least one, at most `want`.
  std::span<std::byte> room(std::size_t want);
  /// The first `count` bytes of the last room were written.
  void wrote(std::size_t count) { used_ += count; }
  /// More than the limit was written.
  bool overflowed() const { return used_ > bytes_max_; }
  /// Bytes that may still be written within the limit.
  std::size_t left() const { return used_ > bytes_max_ ? 0 : bytes_max_ - used_; }
  std::size_t bytes_max() const { return bytes_max_; }
  std::vector<std::byte> take() && {
    bytes_.resize(used_);
    return std::move(bytes_);
  }

 private:
  std::size_t bytes_max_;
  std::size_t used_ = 0;
  std::vector<std::byte> bytes_;
};

Error codec_error(Codec codec, const std::string& what);
Error codec_overflow(Codec codec, std::int64_t bytes_max);

namespace gzip {
Result<std::vector<std::byte>> decompress(std::span<const std::byte> bytes,
                                          const DecompressOptions& options);
std::vector<std::byte> compress(std::span<const std::byte> bytes, int level);
}  // namespace gzip
namespace xerial {
Result<std::vector<std::byte>> decompress(std::span<const std::byte> bytes,
                                          const DecompressOptions& options);
std::vector<std::byte> compress(std::span<const std::byte> bytes);
}  // namespace xerial
namespace lz4 {
Result<std::vector<std::byte>> decompress(std::span<const std::byte> bytes,
                                          const DecompressOptions& options);
std::vector<std::byte> compress(std::span<const std::byte> bytes, int level);
}  // namespace lz4
namespace zstd {
Result<std::vector<std::byte>> decompress(std::span<const std::byte> bytes,
                                          const DecompressOptions& options);
std::vector<std::byte> compress(std::span<const std::byte> bytes, int level);
}  // namespace zstd

}  // namespace oncelog
