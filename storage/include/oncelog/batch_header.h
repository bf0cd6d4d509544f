// The header of a record batch v2 as a value.
//
// FORMAT  FORMAT.md 1 and 2: 61 bytes before the records, big-endian, -1 is "none".
#pragma once

#include <cstddef>
#include <cstdint>

#include "oncelog/types.h"

namespace oncelog {

inline constexpr std::size_t kBatchHeaderBytes = 61;
/// Bytes before those that `batchLength` counts: base offset and the length itself.
inline constexpr std::size_t kBatchLogOverheadBytes = 12;

/// Every field of a batch header, decoded. A plain value.
struct BatchHeader {
  Offset base_offset = 0;
  std::int32_t batch_length = 0;  ///< bytes after this field: size - 12
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  std::int8_t magic = 2;
  std::uint32_t crc = 0;
  std::int16_t attributes = 0;
  std::int32_t last_offset_delta = 0;
  TimestampMs base_timestamp = kNoTimestamp;  ///< or the delete horizon
  TimestampMs max_timestamp = kNoTimestamp;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = kNoProducerEpoch;
  Sequence base_sequence = kNoSequence;
  std::int32_t record_count = 0;

  std::int64_t size_bytes() const { return std::int64_t{batch_length} + 12; }
  /// These two wrap instead of overflowing: a header from a disk may say anything.
  Offset last_offset() const { return sum(base_offset, last_offset_delta); }
  Offset next_offset() const { return sum(last_offset(), 1); }
  bool has_producer() const { return producer_id > kNoProducerId; }
  /// Sequence of the last record, wrapped at 2^31; -1 when there is none.
  Sequence last_sequence() const;
  int codec_bits() const { return attributes & 0x07; }  ///< 5..7 are no codec
  TimestampType timestamp_type() const {
    return (attributes & 0x08) != 0 ? TimestampType::kLogAppendTime : TimestampType::kCreateTime;
  }
  bool is_transactional() const { return (attributes & 0x10) != 0; }
  bool is_control() const { return (attributes & 0x20) != 0; }
  bool has_delete_horizon() const { return (attributes & 0x40) != 0; }
  friend bool operator==(const BatchHeader&, const BatchHeader&) = default;

 private:
  static Offset sum(Offset a, std::int64_t b) {
    return static_cast<Offset>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};

}  // namespace oncelog
