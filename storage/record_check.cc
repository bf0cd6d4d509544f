// The checks of single records on the append path.
#include "storage/record_check.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "storage/base/assert.h"
#include "storage/base/varint.h"
#include "storage/format/batch_header.h"
#include "storage/format/codec.h"
#include "storage/format/record.h"

namespace oncelog {
namespace {

/// a - b, held at the ends of the range.
std::int64_t saturating_difference(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (!__builtin_sub_overflow(a, b, &out)) return out;
  return b < 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

/// Indexes of bad records: all are counted, the first few are named.
class BadRecords {
 public:
  void add(std::int32_t index) {
    constexpr std::int32_t kNamedMax = 3;
    if (++count_ <= kNamedMax) names_ += (names_.empty() ? "" : ", ") + std::to_string(index);
  }
  bool any() const { return count_ > 0; }
  Error error(ErrorCode code, const char* what) const {
    return make_error(code, std::to_string(count_) + " records " + what + ", at index " + names_ +
                                (count_ > 3 ? ", ..." : ""));
  }

 private:
  std::int32_t count_ = 0;
  std::string names_;
};

Error bad_record(std::int32_t index, const std::string& what) {
  return make_error(ErrorCode::kInvalidRecord, "record " + std::to_string(index) + ": " + what);
}

Error left_over(std::size_t bytes) {
  return make_error(ErrorCode::kInvalidRecord,
                    std::to_string(bytes) + " bytes follow the last record");
}

bool in_time_range(TimestampMs timestamp, const RecordCheckRules& rules) {
  return saturating_difference(rules.now_ms, timestamp) <= rules.before_max_ms &&
         saturating_difference(timestamp, rules.now_ms) <= rules.after_max_ms;
}

}  // namespace

Result<CheckedRecords> check_leader_records(const RecordBatchView& batch,
                                            const RecordCheckRules& rules) {
  const BatchHeader& header = batch.header();
  CheckedRecords out;
  out.plain = batch.payload();
  const auto codec = codec_from_bits(header.codec_bits());
  ONCELOG_ASSERT(codec.has_value());  // the header was checked before
  if (*codec != Codec::kNone) {
    ONCELOG_TRY_ASSIGN(out.storage, decompress(*codec, batch.payload(),
                                               {.bytes_max = rules.limits.batch_bytes_max}));
    out.plain = out.storage;
  }
  if (header.timestamp_type() == TimestampType::kLogAppendTime) {
    return make_error(ErrorCode::kInvalidTimestamp, "producer set LogAppendTime");
  }
  const bool time_checked = rules.client && rules.timestamp_type == TimestampType::kCreateTime;
  BadRecords without_key;
  BadRecords out_of_time;
  ByteCursor cursor(out.plain);
  for (std::int32_t i = 0; i < header.record_count; ++i) {
    auto record = take_record(cursor, RecordRules::kStrict, nullptr);
    if (!record.ok()) return bad_record(i, record.error().message);
    if (record->offset_delta != i) {
      return bad_record(i, "offset delta is " + std::to_string(record->offset_delta));
    }
    const TimestampMs timestamp = record_timestamp(header, record->timestamp_delta);
    if (i == 0) out.first_timestamp = timestamp;
    out.max_timestamp = std::max(out.max_timestamp, timestamp);
    if (rules.keys_required && !record->key) without_key.add(i);
    if (time_checked && timestamp != kNoTimestamp && !in_time_range(timestamp, rules)) {
      out_of_time.add(i);
    }
  }
  if (cursor.left() != 0) return left_over(cursor.left());
  if (out_of_time.any()) {
    return out_of_time.error(ErrorCode::kInvalidTimestamp, "lie too far from now");
  }
  if (without_key.any()) {
    return without_key.error(ErrorCode::kInvalidRecord, "have no key in a compacted log");
  }
  return out;
}

Status check_stored_records(const RecordBatchView& batch) {
  const BatchHeader& header = batch.header();
  if (header.codec_bits() != 0) return {};
  ByteCursor cursor(batch.payload());
  std::int32_t last_delta = -1;
  for (std::int32_t i = 0; i < header.record_count; ++i) {
    auto record = take_record(cursor, RecordRules::kAsStored, nullptr);
    if (!record.ok()) return bad_record(i, record.error().message);
    if (record->offset_delta <= last_delta || record->offset_delta > header.last_offset_delta) {
      return bad_record(i, "offset delta is " + std::to_string(record->offset_delta));
    }
    last_delta = record->offset_delta;
  }
  if (cursor.left() != 0) return left_over(cursor.left());
  return {};
}

std::vector<std::byte> rebase_timestamps(BatchHeader& header, const CheckedRecords& records) {
  std::vector<std::byte> out;
  if (header.base_timestamp == records.first_timestamp) {
    out.assign(records.plain.begin(), records.plain.end());
    return out;
  }
  out.reserve(records.plain.size());
  const auto shift = static_cast<std::uint64_t>(header.base_timestamp) -
                     static_cast<std::uint64_t>(records.first_timestamp);
  std::vector<RecordHeaderView> headers;
  ByteCursor cursor(records.plain);
  for (std::int32_t i = 0; i < header.record_count; ++i) {
    auto record = take_record(cursor, RecordRules::kStrict, &headers);
    ONCELOG_ASSERT(record.ok());  // they were checked before
    record->timestamp_delta =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(record->timestamp_delta) + shift);
    append_record(out, *record, headers);
  }
  header.base_timestamp = records.first_timestamp;
  return out;
}

}  // namespace oncelog
