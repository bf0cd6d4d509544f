// Checks bytes that are to be appended, before any lock: shape, CRC, records, timestamps, codec.
//
// FORMAT  APPEND.md 2, 3 and 9. Stricter than Kafka where its brokers store what breaks readers:
// record deltas must be 0, 1, 2, ...; producer fields must fit each other; lengths below -1, a
// delete horizon and LogAppendTime set by a client are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "oncelog/buffer.h"
#include "oncelog/control_record.h"
#include "oncelog/record_batch.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

struct ValidationRules {
  AppendOrigin origin = AppendOrigin::kClient;
  /// Largest batch as stored; not for replicas.
  std::int64_t message_bytes_max = 1048588;
  /// Largest append as a whole, for every origin.
  std::int64_t segment_bytes_max = kSegmentBytesMax;
  bool compacted = false;  ///< every record needs a key; not for replicas
  /// Codec to store with; nothing keeps the producer's. Control batches keep theirs.
  std::optional<Codec> target_codec = std::nullopt;
  int compression_level = 0;  ///< for recompression; 0 is the codec's default
  TimestampType timestamp_type = TimestampType::kCreateTime;
  TimestampMs now_ms = 0;
  /// How far a client's timestamps may lie before and after now; for kCreateTime only.
  std::int64_t timestamp_before_max_ms = INT64_MAX;
  std::int64_t timestamp_after_max_ms = 3600000;
  DecompressLimits limits = {};
};

struct ValidatedAppend {
  /// Whole batches only, as they are to be stored but for base offsets and leader epochs.
  Buffer bytes;
  std::vector<BatchHeader> batches;     ///< as in `bytes`
  std::vector<std::int64_t> positions;  ///< of each batch in `bytes`
  /// Per batch: its end-of-transaction marker; nothing for data, other control types and control
  /// batches without records.
  std::vector<std::optional<EndTxnMarker>> markers;
  TimestampMs max_timestamp = kNoTimestamp;    ///< over all batches
  TimestampMs log_append_time = kNoTimestamp;  ///< now, if this append was stamped with it
  std::int64_t bytes_ignored = 0;              ///< of an incomplete batch at the end, dropped
};

/// Checks `bytes` and makes them what is to be stored. A pure function of its arguments.
///
/// Clients and coordinators: exactly one batch v2. The timestamp type and a wrong maximum are
/// corrected in place (with the CRC, only then); another target codec makes a new batch. Control
/// batches come from coordinators only and hold one well-formed end-of-transaction marker.
/// Replicas: any number of batches, none too, stored as they are; offsets must rise, and the
/// records of uncompressed batches must fit their header.
///
/// Errors: kCorruptBatch (size, magic, CRC, broken compression), kInvalidRecord (structure, counts,
/// number of batches, producer fields, control, null key; legacy magic from a client),
/// kInvalidTimestamp (wins over null keys), kMessageTooLarge, kRecordListTooLarge,
/// kUnsupportedCompression (unknown codec), kUnsupportedFormat (legacy magic otherwise),
/// kOffsetsOutOfOrder (replicas).
///
/// THREADS  any. The bytes are patched, so the buffer must not be shared.
Result<ValidatedAppend> validate_append(Buffer bytes, const ValidationRules& rules);

}  // namespace oncelog
