// Compression of the records of one batch: gzip, snappy, lz4 and zstd as Kafka frames them.
//
// FORMAT  FORMAT.md 5: one stream per batch, over the records only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

/// The codec of attribute bits 0-2; nothing for 5..7.
std::optional<Codec> codec_from_bits(int bits);

struct DecompressOptions {
  std::int64_t bytes_max = 0;  ///< limit of the output, reached in a stream, never allocated ahead
  /// Entries of magic 0 carry a wrong lz4 header checksum that readers ignore.
  bool ignore_lz4_header_checksum = false;
};

/// Decompresses a whole stream. kCorruptBatch when it is broken, cut short, followed by other
/// bytes, or opens to more than `bytes_max`. Memory follows what was really decompressed, never
/// a size that the stream claims.
Result<std::vector<std::byte>> decompress(Codec codec, std::span<const std::byte> bytes,
                                          const DecompressOptions& options);

/// Compresses. `level` 0 is the codec's default; others are brought into the codec's range: gzip
/// 1..9, lz4 1..17 (9 is the fast compressor, as in Kafka), zstd -131072..22, snappy and none have
/// no levels.
std::vector<std::byte> compress(Codec codec, std::span<const std::byte> bytes, int level);

}  // namespace oncelog
