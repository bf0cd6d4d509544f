// The header of a record batch v2: decoding, encoding, patching in place.
#include "storage/format/batch_header.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/crc32c.h"
#include "storage/base/endian.h"
#include "storage/format/codec.h"
#include "storage/format/sequence.h"

namespace oncelog {

namespace field = batch_field;

Sequence BatchHeader::last_sequence() const {
  return base_sequence < 0 ? kNoSequence : increment_sequence(base_sequence, last_offset_delta);
}

Result<BatchHeader> decode_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kBatchHeaderBytes) {
    return make_error(ErrorCode::kCorruptBatch,
                      "batch header cut short: " + std::to_string(bytes.size()) + " of " +
                          std::to_string(kBatchHeaderBytes) + " bytes");
  }
  BatchHeader out;
  out.base_offset = load_be<Offset>(bytes, field::kBaseOffset.offset);
  out.batch_length = load_be<std::int32_t>(bytes, field::kBatchLength.offset);
  out.leader_epoch = load_be<LeaderEpoch>(bytes, field::kLeaderEpoch.offset);
  out.magic = load_be<std::int8_t>(bytes, field::kMagic.offset);
  out.crc = load_be<std::uint32_t>(bytes, field::kCrc.offset);
  out.attributes = load_be<std::int16_t>(bytes, field::kAttributes.offset);
  out.last_offset_delta = load_be<std::int32_t>(bytes, field::kLastOffsetDelta.offset);
  out.base_timestamp = load_be<TimestampMs>(bytes, field::kBaseTimestamp.offset);
  out.max_timestamp = load_be<TimestampMs>(bytes, field::kMaxTimestamp.offset);
  out.producer_id = load_be<ProducerId>(bytes, field::kProducerId.offset);
  out.producer_epoch = load_be<ProducerEpoch>(bytes, field::kProducerEpoch.offset);
  out.base_sequence = load_be<Sequence>(bytes, field::kBaseSequence.offset);
  out.record_count = load_be<std::int32_t>(bytes, field::kRecordCount.offset);
  return out;
}

void encode_header(const BatchHeader& header, std::span<std::byte> out) {
  ONCELOG_ASSERT(out.size() >= kBatchHeaderBytes);
  store_be(out, field::kBaseOffset.offset, header.base_offset);
  store_be(out, field::kBatchLength.offset, header.batch_length);
  store_be(out, field::kLeaderEpoch.offset, header.leader_epoch);
  store_be(out, field::kMagic.offset, header.magic);
  store_be(out, field::kCrc.offset, header.crc);
  store_be(out, field::kAttributes.offset, header.attributes);
  store_be(out, field::kLastOffsetDelta.offset, header.last_offset_delta);
  store_be(out, field::kBaseTimestamp.offset, header.base_timestamp);
  store_be(out, field::kMaxTimestamp.offset, header.max_timestamp);
  store_be(out, field::kProducerId.offset, header.producer_id);
  store_be(out, field::kProducerEpoch.offset, header.producer_epoch);
  store_be(out, field::kBaseSequence.offset, header.base_sequence);
  store_be(out, field::kRecordCount.offset, header.record_count);
}

std::uint32_t batch_crc(std::span<const std::byte> batch) {
  ONCELOG_ASSERT(batch.size() >= kBatchHeaderBytes);
  return crc32c(batch.subspan(field::kAttributes.offset));
}

void set_base_offset(std::span<std::byte> batch, Offset base_offset) {
  store_be(batch, field::kBaseOffset.offset, base_offset);
}

void set_leader_epoch(std::span<std::byte> batch, LeaderEpoch leader_epoch) {
  store_be(batch, field::kLeaderEpoch.offset, leader_epoch);
}

bool set_max_timestamp(std::span<std::byte> batch, TimestampType type, TimestampMs max_timestamp) {
  const auto old_attributes = load_be<std::int16_t>(batch, field::kAttributes.offset);
  const int bit = type == TimestampType::kLogAppendTime ? batch_attribute::kLogAppendTime : 0;
  const bool same_type = (old_attributes & batch_attribute::kLogAppendTime) == bit;
  if (same_type && load_be<TimestampMs>(batch, field::kMaxTimestamp.offset) == max_timestamp)
    return false;

  const int kept =
      old_attributes & batch_attribute::kKnownMask & ~int{batch_attribute::kLogAppendTime};
  store_be(batch, field::kAttributes.offset, static_cast<std::int16_t>(kept | bit));
  store_be(batch, field::kMaxTimestamp.offset, max_timestamp);
  store_be(batch, field::kCrc.offset, batch_crc(batch));
  return true;
}

Buffer assemble_batch(const BatchHeader& header, std::span<const std::byte> records, Codec codec,
                      int level) {
  BatchHeader full = header;
  std::vector<std::byte> compressed;
  std::span<const std::byte> payload = records;
  const Codec used = records.empty() ? Codec::kNone : codec;
  if (used != Codec::kNone) {
    compressed = compress(used, records, level);
    payload = compressed;
  }
  full.attributes = static_cast<std::int16_t>((full.attributes & ~batch_attribute::kCodecMask) |
                                              static_cast<int>(used));
  const std::size_t size = kBatchHeaderBytes + payload.size();
  ONCELOG_ASSERT(size <= std::numeric_limits<std::int32_t>::max());
  full.batch_length = static_cast<std::int32_t>(size - kBatchLogOverheadBytes);

  std::vector<std::byte> out(size);
  encode_header(full, out);
  std::copy(payload.begin(), payload.end(), out.begin() + kBatchHeaderBytes);
  store_be(std::span<std::byte>(out), field::kCrc.offset, batch_crc(out));
  return Buffer(std::move(out));
}

Buffer make_emptied_batch(const BatchHeader& header) {
  BatchHeader emptied = header;
  emptied.attributes = static_cast<std::int16_t>(header.attributes & batch_attribute::kKnownMask &
                                                 ~int{batch_attribute::kDeleteHorizon});
  emptied.base_timestamp = kNoTimestamp;
  emptied.record_count = 0;
  return assemble_batch(emptied, {});
}

}  // namespace oncelog
