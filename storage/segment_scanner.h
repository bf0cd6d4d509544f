// The one loop over the batches of a log file: recovery, verify, dump, rebuild and fetch use it.
//
// FORMAT  FORMAT.md 1, 8 and 10: a log file is a bare row of batches of magic 0..2.
// INVARIANTS
//   I5   offsets rise strictly from batch to batch and stay within what a segment can hold. The
//        CRC covers neither base offset nor length, so both are checked here, on every scan.
//   I10  a length is compared with what remains of the file before memory is taken for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncelog/file_system.h"
#include "oncelog/record_batch.h"
#include "oncelog/result.h"

namespace oncelog {

struct ScannedBatch {
  std::int64_t position = 0;  ///< of its first byte in the file
  /// Of magic 0 and 1 as `legacy_header` describes them: offsets and count are right, there is no
  /// producer.
  BatchHeader header;
  /// The whole batch; with `headers_only` the first 61 bytes of a batch v2. Valid until the next
  /// call of `next`.
  std::span<const std::byte> bytes;

  std::int64_t end() const { return position + header.size_bytes(); }
};

/// Why no batch stands at a position.
enum class BadKind : std::uint8_t {
  kTruncated,    ///< header or body reach past the end
  kZeros,        ///< everything from here to the end is zero: never written
  kLength,       ///< the length is smaller than any batch of that magic
  kMagic,        ///< not 0, 1 or 2
  kCrc,          ///< the bytes do not have the CRC that they carry
  kOffsetOrder,  ///< base offset below the expected one, or out of the segment's range
  kHeader,       ///< impossible fields, or a legacy entry that is not filled by key and value
};
std::string_view to_string(BadKind kind) noexcept;

/// Where a scan had to stop.
struct BadSpot {
  BadKind kind = BadKind::kTruncated;
  std::int64_t position = 0;   ///< of the byte where a batch should begin
  Offset expected_offset = 0;  ///< smallest offset that may come here
  std::string what;            ///< a sentence about it, without position
};

struct ScanOptions {
  std::int64_t begin = 0;             ///< a batch border
  std::int64_t end = -1;              ///< exclusive; -1: the file's size at the first `next`
  Offset segment_base = 0;            ///< the number in the file's name, >= 0
  Offset expected_offset = -1;        ///< smallest offset of the first batch; -1: `segment_base`
  bool check_crc = true;              ///< ignored with `headers_only`
  bool headers_only = false;          ///< jump over bodies of batches v2; no CRC
  std::size_t chunk_bytes = 1 << 20;  ///< read size; small ones suit `headers_only`
  DecompressLimits limits = {};       ///< for wrappers of magic 0 and 1
};

/// Walks batches in file order until the end or the first bad spot.
///
/// LIFETIME  borrows the file. THREADS  one at a time.
class SegmentScanner {
 public:
  SegmentScanner(File& file, const ScanOptions& options);

  /// The next batch, or nothing at the end or at a bad spot (see `bad_spot`). Errors are those of
  /// reading the file; the scan may not go on after one.
  Result<std::optional<ScannedBatch>> next();
  /// Set when the scan stopped before the end.
  const std::optional<BadSpot>& bad_spot() const { return bad_spot_; }
  /// End of the last good batch; where the bad spot is, if there is one.
  std::int64_t position() const { return position_; }
  /// One more than the last good batch's last offset; at first the expected offset.
  Offset next_offset() const { return next_offset_; }
  /// Exclusive end of what is scanned. Known after the first `next`.
  std::int64_t end() const { return end_; }

 private:
  Result<std::span<const std::byte>> bytes_at_position(std::int64_t count);
  Result<std::optional<ScannedBatch>> inspect();
  Result<std::optional<ScannedBatch>> finish_legacy(std::int64_t size);
  Result<std::optional<ScannedBatch>> finish_v2(BatchHeader header);
  std::optional<BadSpot> check_sizes(std::span<const std::byte> head) const;
  std::optional<BadSpot> check_header(const BatchHeader& header) const;
  Result<bool> zero_to_the_end();
  BadSpot bad(BadKind kind, std::string what) const;
  std::optional<ScannedBatch> stop(BadSpot spot);
  std::optional<ScannedBatch> accept(const BatchHeader& header, std::span<const std::byte> bytes);

  File& file_;
  ScanOptions options_;
  std::int64_t position_ = 0;
  std::int64_t end_ = 0;
  Offset next_offset_ = 0;
  std::optional<BadSpot> bad_spot_;
  std::vector<std::byte> buffer_;
  std::int64_t buffer_position_ = 0;  // in the file
  std::size_t buffered_ = 0;          // bytes of buffer_ that hold file content
};

}  // namespace oncelog
