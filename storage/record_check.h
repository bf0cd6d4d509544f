// The checks of single records on the append path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "oncelog/record_batch.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

struct RecordCheckRules {
  bool client = true;          ///< timestamps are checked against now
  bool keys_required = false;  ///< compacted log
  TimestampType timestamp_type = TimestampType::kCreateTime;  ///< of the log
  TimestampMs now_ms = 0;
  std::int64_t before_max_ms = 0;
  std::int64_t after_max_ms = 0;
  DecompressLimits limits = {};
};

/// The records of a good batch. Move-only: `plain` may point into `storage`.
struct CheckedRecords {
  CheckedRecords() = default;
  CheckedRecords(const CheckedRecords&) = delete;
  CheckedRecords& operator=(const CheckedRecords&) = delete;
  CheckedRecords(CheckedRecords&&) = default;
  CheckedRecords& operator=(CheckedRecords&&) = default;
  ~CheckedRecords() = default;

  std::vector<std::byte> storage;    ///< decompressed bytes, if the batch is compressed
  std::span<const std::byte> plain;  ///< the records without compression
  TimestampMs first_timestamp = kNoTimestamp;
  TimestampMs max_timestamp = kNoTimestamp;
};

/// Every record of the one batch of a leader append: structure, deltas 0, 1, 2, ..., count, keys,
/// timestamps. kInvalidTimestamp wins over kInvalidRecord for null keys; structure comes first.
Result<CheckedRecords> check_leader_records(const RecordBatchView& batch,
                                            const RecordCheckRules& rules);

/// The records of a batch that is stored as it is, if they are not compressed: structure, count,
/// deltas that rise and stay within the header's (H-060).
Status check_stored_records(const RecordBatchView& batch);

/// The records encoded against the first record's timestamp, which becomes the header's base
/// timestamp. `header` still has the base timestamp that `records` were encoded with.
std::vector<std::byte> rebase_timestamps(BatchHeader& header, const CheckedRecords& records);

}  // namespace oncelog
