// The 61-byte header of a record batch v2: byte table, decoding, encoding, patching in place.
//
// FORMAT  FORMAT.md 1. The CRC-32C covers the bytes from `kAttributes` to the end of the batch;
// the four fields before it and the magic are unprotected, so offsets and leader epochs are
// assigned without hashing again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "oncelog/buffer.h"
#include "oncelog/record_batch.h"
#include "oncelog/result.h"

namespace oncelog {

/// One fixed field of a byte table.
struct Field {
  std::uint32_t offset;
  std::uint32_t bytes;
  constexpr std::uint32_t end() const { return offset + bytes; }
};

namespace batch_field {
inline constexpr Field kBaseOffset{0, 8};
inline constexpr Field kBatchLength{kBaseOffset.end(), 4};  // counts the bytes after itself
inline constexpr Field kLeaderEpoch{kBatchLength.end(), 4};
inline constexpr Field kMagic{kLeaderEpoch.end(), 1};  // at this place in all formats
inline constexpr Field kCrc{kMagic.end(), 4};
inline constexpr Field kAttributes{kCrc.end(), 2};  // the CRC covers from here on
inline constexpr Field kLastOffsetDelta{kAttributes.end(), 4};
inline constexpr Field kBaseTimestamp{kLastOffsetDelta.end(), 8};
inline constexpr Field kMaxTimestamp{kBaseTimestamp.end(), 8};
inline constexpr Field kProducerId{kMaxTimestamp.end(), 8};
inline constexpr Field kProducerEpoch{kProducerId.end(), 2};
inline constexpr Field kBaseSequence{kProducerEpoch.end(), 4};
inline constexpr Field kRecordCount{kBaseSequence.end(), 4};

static_assert(kBatchLength.end() == kBatchLogOverheadBytes);
static_assert(kMagic.offset == 16 && kCrc.offset == 17 && kAttributes.offset == 21);
static_assert(kRecordCount.end() == kBatchHeaderBytes);
}  // namespace batch_field

/// Bits of `attributes` (FORMAT.md 2). Only the low byte has a meaning.
namespace batch_attribute {
inline constexpr std::int16_t kCodecMask = 0x07;
inline constexpr std::int16_t kLogAppendTime = 0x08;
inline constexpr std::int16_t kTransactional = 0x10;
inline constexpr std::int16_t kControl = 0x20;
inline constexpr std::int16_t kDeleteHorizon = 0x40;
inline constexpr std::int16_t kKnownMask = 0xff;
}  // namespace batch_attribute

/// Smallest legal `batch_length`: a header without records.
inline constexpr std::int32_t kBatchLengthMin =
    static_cast<std::int32_t>(kBatchHeaderBytes - kBatchLogOverheadBytes);
static_assert(kBatchLengthMin == 49);

/// Decodes the fields whatever they say, of any magic: the caller checks. kCorruptBatch when
/// fewer than 61 bytes are there.
Result<BatchHeader> decode_header(std::span<const std::byte> bytes);

/// Writes all fields, the CRC as it stands in `header`. REQUIRES: out.size() >= 61.
void encode_header(const BatchHeader& header, std::span<std::byte> out);

/// The CRC-32C that a whole batch should carry. REQUIRES: batch.size() >= 61.
std::uint32_t batch_crc(std::span<const std::byte> batch);

/// The functions below patch a whole batch in memory. REQUIRES: batch.size() >= 61.
/// These two need no new CRC:
void set_base_offset(std::span<std::byte> batch, Offset base_offset);
void set_leader_epoch(std::span<std::byte> batch, LeaderEpoch leader_epoch);
/// Sets timestamp type and maximum. Rehashes only when one of them changes; then unknown high
/// attribute bits are cleared, as Kafka does. Returns whether it rehashed.
bool set_max_timestamp(std::span<std::byte> batch, TimestampType type, TimestampMs max_timestamp);

/// A batch of the fields of `header` and `records` (plain bytes), compressed by `codec` unless
/// there are none. Length, codec bits and CRC are computed; everything else is as given.
/// `level` 0 is the codec's default. REQUIRES: the whole fits 2^31-1 bytes.
Buffer assemble_batch(const BatchHeader& header, std::span<const std::byte> records,
                      Codec codec = Codec::kNone, int level = 0);

/// What compaction leaves of a batch without surviving records (FORMAT.md 7): 61 bytes, no codec,
/// no delete horizon, base timestamp -1, everything else kept.
Buffer make_emptied_batch(const BatchHeader& header);

}  // namespace oncelog
