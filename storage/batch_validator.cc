// Checks bytes that are to be appended.
#include "storage/batch_validator.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "storage/base/endian.h"
#include "storage/format/batch_header.h"
#include "storage/format/codec.h"
#include "storage/format/legacy_batch.h"
#include "storage/record_check.h"

namespace oncelog {
namespace {

Error invalid(std::string what) {
  return make_error(ErrorCode::kInvalidRecord, std::move(what));
}

Error corrupt(std::string what) {
  return make_error(ErrorCode::kCorruptBatch, std::move(what));
}

/// The batch at the front of `rest`, or nothing when it is incomplete (APPEND.md 2, "Splitting").
Result<std::optional<RecordBatchView>> take_batch(std::span<const std::byte> rest,
                                                  AppendOrigin origin) {
  const std::optional<RecordBatchView> incomplete;
  if (rest.size() < kBatchLogOverheadBytes) return incomplete;
  const auto length = load_be<std::int32_t>(rest, batch_field::kBatchLength.offset);
  if (length < kLegacySizeMinV0) {
    return corrupt("batch length " + std::to_string(length) + " is too small");
  }
  if (rest.size() < batch_field::kMagic.end()) return incomplete;
  const auto magic = load_be<std::int8_t>(rest, batch_field::kMagic.offset);
  if (magic < 0 || magic > 2) return corrupt("magic is " + std::to_string(magic));
  if (magic < 2) {
    const auto code =
        origin == AppendOrigin::kClient ? ErrorCode::kInvalidRecord : ErrorCode::kUnsupportedFormat;
    return make_error(code, "batches of magic " + std::to_string(magic) + " are read-only");
  }
  if (length < kBatchLengthMin) {
    return corrupt("batch length " + std::to_string(length) + " is too small");
  }
  if (static_cast<std::size_t>(length) > rest.size() - kBatchLogOverheadBytes) return incomplete;
  ONCELOG_TRY_ASSIGN(const RecordBatchView view, RecordBatchView::parse(rest));
  return std::optional<RecordBatchView>(view);
}

/// What holds for batches of every origin.
Status check_batch(const RecordBatchView& batch, const ValidationRules& rules) {
  const BatchHeader& header = batch.header();
  if (rules.origin == AppendOrigin::kClient && header.base_offset != 0) {
    return invalid("base offset is " + std::to_string(header.base_offset) + ", must be 0");
  }
  if (rules.origin != AppendOrigin::kReplica && header.size_bytes() > rules.message_bytes_max) {
    return make_error(ErrorCode::kMessageTooLarge,
                      "batch of " + std::to_string(header.size_bytes()) + " bytes, at most " +
                          std::to_string(rules.message_bytes_max) + " are allowed");
  }
  if (!batch.crc_matches()) return corrupt("CRC does not match");
  if (!codec_from_bits(header.codec_bits())) {
    return make_error(ErrorCode::kUnsupportedCompression,
                      "codec " + std::to_string(header.codec_bits()) + " is unknown");
  }
  if (header.last_offset_delta < 0 || header.record_count < 0 ||
      header.record_count - 1 > header.last_offset_delta) {
    return invalid("record count " + std::to_string(header.record_count) +
                   " does not fit last offset delta " + std::to_string(header.last_offset_delta));
  }
  return {};
}

/// Producer id, epoch, base sequence and the transactional bit must fit each other (H-008).
Status check_producer_fields(const BatchHeader& header) {
  if (!header.has_producer()) {
    if (header.producer_id != kNoProducerId || header.producer_epoch != kNoProducerEpoch ||
        header.base_sequence != kNoSequence) {
      return invalid("producer epoch or sequence without a producer id");
    }
    if (header.is_transactional()) return invalid("transactional batch without a producer id");
    return {};
  }
  if (header.producer_epoch < 0) {
    return invalid("producer epoch is " + std::to_string(header.producer_epoch));
  }
  if (header.base_sequence < 0 && !header.is_control()) {
    return invalid("base sequence is " + std::to_string(header.base_sequence));
  }
  return {};
}

/// The header of the one batch that a client or coordinator appends.
Status check_leader_header(const BatchHeader& header, AppendOrigin origin) {
  if (header.record_count == 0) return invalid("batch without records");
  if (header.record_count - 1 != header.last_offset_delta) {
    return invalid("record count " + std::to_string(header.record_count) +
                   " is not last offset delta " + std::to_string(header.last_offset_delta) +
                   " plus one");
  }
  ONCELOG_TRY(check_producer_fields(header));
  if (header.has_delete_horizon()) return invalid("delete horizon is set");
  if (!header.is_control()) return {};
  if (origin == AppendOrigin::kClient) return invalid("control batch from a client");
  if (header.record_count != 1 || !header.has_producer() || !header.is_transactional()) {
    return invalid("control batch is not one transaction marker of a producer");
  }
  return {};
}

/// The marker of a control batch; nothing for other types and batches without records. The first
/// record decides.
Result<std::optional<EndTxnMarker>> marker_of(const RecordBatchView& batch,
                                              const DecompressLimits& limits) {
  if (!batch.header().is_control() || batch.header().record_count == 0) {
    return std::optional<EndTxnMarker>{};
  }
  ONCELOG_TRY_ASSIGN(RecordReader reader, RecordReader::open(batch, limits));
  ONCELOG_TRY_ASSIGN(const std::optional<RecordView> record, reader.next());
  if (!record) return std::optional<EndTxnMarker>{};
  return decode_end_txn_marker(*record);
}

void note_batch(ValidatedAppend& out, const BatchHeader& header, std::int64_t position,
                const std::optional<EndTxnMarker>& marker) {
  out.batches.push_back(header);
  out.positions.push_back(position);
  out.markers.push_back(marker);
  out.max_timestamp = std::max(out.max_timestamp, header.max_timestamp);
}

/// Offsets of a replica's batches must be usable and rise (I5).
Status check_offsets(const BatchHeader& header, Offset expected_offset) {
  const bool usable =
      header.base_offset >= 0 &&
      header.base_offset < std::numeric_limits<Offset>::max() - header.last_offset_delta;
  if (usable && header.base_offset >= expected_offset) return {};
  return make_error(ErrorCode::kOffsetsOutOfOrder,
                    "base offset " + std::to_string(header.base_offset) + " where " +
                        std::to_string(expected_offset) + " or more was expected")
      .with_offset(header.base_offset);
}

Status validate_replica(ValidatedAppend& out, const std::vector<RecordBatchView>& batches,
                        const ValidationRules& rules) {
  Offset expected_offset = 0;
  std::int64_t position = 0;
  for (const RecordBatchView& batch : batches) {
    ONCELOG_TRY(check_offsets(batch.header(), expected_offset));
    ONCELOG_TRY(check_stored_records(batch));
    ONCELOG_TRY_ASSIGN(const auto marker, marker_of(batch, rules.limits));
    note_batch(out, batch.header(), position, marker);
    expected_offset = batch.header().next_offset();
    position += batch.header().size_bytes();
  }
  return {};
}

/// Stamps or rebuilds the batch whose records were found good.
Status finish_leader_batch(ValidatedAppend& out, const RecordBatchView& batch,
                           const CheckedRecords& records, const ValidationRules& rules) {
  const bool stamped = rules.timestamp_type == TimestampType::kLogAppendTime;
  const TimestampMs max_timestamp = stamped ? rules.now_ms : records.max_timestamp;
  const auto codec = static_cast<Codec>(batch.header().codec_bits());
  const Codec target = batch.header().is_control() ? codec : rules.target_codec.value_or(codec);
  if (target == codec) {
    set_max_timestamp(out.bytes.mutable_bytes(), rules.timestamp_type, max_timestamp);
  } else {
    BatchHeader header = batch.header();
    const int kept = batch_attribute::kTransactional;
    const int stamp = stamped ? int{batch_attribute::kLogAppendTime} : 0;
    header.attributes = static_cast<std::int16_t>((header.attributes & kept) | stamp);
    header.max_timestamp = max_timestamp;
    const auto plain = rebase_timestamps(header, records);
    out.bytes = assemble_batch(header, plain, target, rules.compression_level);
    if (static_cast<std::int64_t>(out.bytes.size()) > rules.message_bytes_max) {
      return make_error(ErrorCode::kMessageTooLarge,
                        "recompressed batch has " + std::to_string(out.bytes.size()) + " bytes");
    }
  }
  if (stamped) out.log_append_time = rules.now_ms;
  return {};
}

Status validate_leader(ValidatedAppend& out, const std::vector<RecordBatchView>& batches,
                       const ValidationRules& rules) {
  if (batches.size() != 1) {
    return invalid("append of " + std::to_string(batches.size()) + " batches, must be one");
  }
  const RecordBatchView& batch = batches.front();
  ONCELOG_TRY(check_leader_header(batch.header(), rules.origin));
  ONCELOG_TRY_ASSIGN(const CheckedRecords records,
                     check_leader_records(batch, {.client = rules.origin == AppendOrigin::kClient,
                                                  .keys_required = rules.compacted,
                                                  .timestamp_type = rules.timestamp_type,
                                                  .now_ms = rules.now_ms,
                                                  .before_max_ms = rules.timestamp_before_max_ms,
                                                  .after_max_ms = rules.timestamp_after_max_ms,
                                                  .limits = rules.limits}));
  ONCELOG_TRY_ASSIGN(const auto marker, marker_of(batch, rules.limits));
  if (batch.header().is_control() && !marker) return invalid("control record is no marker");
  ONCELOG_TRY(finish_leader_batch(out, batch, records, rules));
  ONCELOG_TRY_ASSIGN(const BatchHeader header, decode_header(out.bytes.bytes()));
  note_batch(out, header, 0, marker);
  return {};
}

}  // namespace

Result<ValidatedAppend> validate_append(Buffer bytes, const ValidationRules& rules) {
  std::vector<RecordBatchView> batches;
  std::span<const std::byte> rest = bytes.bytes();
  while (!rest.empty()) {
    ONCELOG_TRY_ASSIGN(const std::optional<RecordBatchView> batch, take_batch(rest, rules.origin));
    if (!batch) break;
    ONCELOG_TRY(check_batch(*batch, rules));
    rest = rest.subspan(batch->bytes().size());
    batches.push_back(*batch);
  }
  ValidatedAppend out;
  out.bytes_ignored = static_cast<std::int64_t>(rest.size());
  bytes.shrink(bytes.size() - rest.size());
  out.bytes = std::move(bytes);  // the views stay right: a buffer's bytes do not move with it

  ONCELOG_TRY(rules.origin == AppendOrigin::kReplica ? validate_replica(out, batches, rules)
                                                     : validate_leader(out, batches, rules));
  if (static_cast<std::int64_t>(out.bytes.size()) > rules.segment_bytes_max) {
    return make_error(ErrorCode::kRecordListTooLarge,
                      "append of " + std::to_string(out.bytes.size()) + " bytes, at most " +
                          std::to_string(rules.segment_bytes_max) + " are allowed");
  }
  return out;
}

}  // namespace oncelog
