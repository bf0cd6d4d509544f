// Batches of magic 0 and 1, read only: an entry that is one record, or a wrapper of compressed
// ones.
//
// FORMAT  FORMAT.md 8, big-endian: offset int64, size int32 (bytes that follow), crc uint32
// (CRC-32 IEEE from the magic on), magic int8, attributes int8 (bits 0-2 codec, bit 3 timestamp
// type of magic 1), [magic 1: timestamp int64], key length int32 (-1 null), key, value length,
// value. A wrapper's value is a compressed sequence of entries and its offset is that of the last
// one; inner offsets are absolute in magic 0 and relative in magic 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "oncelog/record_batch.h"
#include "oncelog/result.h"

namespace oncelog {

/// Smallest legal `size` field.
inline constexpr std::int32_t kLegacySizeMinV0 = 14;
inline constexpr std::int32_t kLegacySizeMinV1 = 22;

/// One entry as it stands in the bytes.
///
/// LIFETIME  borrows the bytes. THREADS  immutable.
class LegacyBatchView {
 public:
  /// The entry at the front of `bytes`, which may hold more behind it; the CRC is not checked.
  /// kCorruptBatch when it is cut short, its size is too small, or the magic is not 0 or 1;
  /// kInvalidRecord when its key or value do not fill it.
  static Result<LegacyBatchView> parse(std::span<const std::byte> bytes);

  std::span<const std::byte> bytes() const { return bytes_; }
  Offset offset() const { return offset_; }
  int magic() const { return magic_; }
  std::uint32_t crc() const { return crc_; }
  bool crc_matches() const;
  int codec_bits() const { return attributes_ & 0x07; }
  /// Magic 0 has no timestamps: kCreateTime and -1.
  TimestampType timestamp_type() const;
  TimestampMs timestamp() const { return timestamp_; }
  const OptionalBytes& key() const { return key_; }
  const OptionalBytes& value() const { return value_; }

 private:
  LegacyBatchView() = default;
  std::span<const std::byte> bytes_;
  Offset offset_ = 0;
  std::uint32_t crc_ = 0;
  std::int8_t magic_ = 0;
  std::int8_t attributes_ = 0;
  TimestampMs timestamp_ = kNoTimestamp;
  OptionalBytes key_;
  OptionalBytes value_;
};

/// The records of an entry: itself, or what it wraps. Nothing has headers or a sequence.
/// kCorruptBatch for bad compression, kInvalidRecord for broken inner entries.
Result<Records> read_legacy_records(const LegacyBatchView& batch,
                                    const DecompressLimits& limits = {});

/// The entry described like a batch v2: magic, CRC, codec and timestamp type as stored, offsets and
/// count of its records (a wrapper is opened for that), no producer, leader epoch -1. A wrapper
/// that cannot be opened counts as one record at its offset: reading its records says why.
BatchHeader legacy_header(const LegacyBatchView& batch, const DecompressLimits& limits = {});

/// The records of one whole batch of any magic 0..2.
Result<Records> read_records_of(std::span<const std::byte> batch,
                                const DecompressLimits& limits = {});

}  // namespace oncelog
