// Building record batches v2.
#include <algorithm>
#include <utility>

#include "oncelog/record_batch.h"

#include "storage/base/assert.h"
#include "storage/format/batch_header.h"
#include "storage/format/record.h"

namespace oncelog {
namespace {

OptionalBytes bytes_of(const std::optional<std::string_view>& text) {
  if (!text) return std::nullopt;
  return std::as_bytes(std::span(text->data(), text->size()));
}

}  // namespace

RecordBatchBuilder::RecordBatchBuilder(const RecordBatchOptions& options) : options_(options) {}

void RecordBatchBuilder::add(const RecordInput& record) {
  add_at(last_offset_delta_ + 1, record);
}

void RecordBatchBuilder::add_at(std::int32_t offset_delta, const RecordInput& record) {
  ONCELOG_ASSERT(offset_delta > last_offset_delta_);
  if (record_count_ == 0) base_timestamp_ = record.timestamp_ms;
  std::vector<RecordHeaderView> headers;
  headers.reserve(record.headers.size());
  for (const RecordHeaderInput& header : record.headers) {
    headers.push_back({header.key, bytes_of(header.value)});
  }
  const auto delta = static_cast<std::int64_t>(static_cast<std::uint64_t>(record.timestamp_ms) -
                                               static_cast<std::uint64_t>(base_timestamp_));
  append_record(records_,
                {.timestamp_delta = delta,
                 .offset_delta = offset_delta,
                 .key = bytes_of(record.key),
                 .value = bytes_of(record.value)},
                headers);
  max_timestamp_ = std::max(max_timestamp_, record.timestamp_ms);
  last_offset_delta_ = offset_delta;
  ++record_count_;
}

Buffer RecordBatchBuilder::finish() && {
  ONCELOG_ASSERT(record_count_ > 0);
  const bool append_time = options_.timestamp_type == TimestampType::kLogAppendTime;
  const int attributes = (append_time ? batch_attribute::kLogAppendTime : 0) |
                         (options_.transactional ? batch_attribute::kTransactional : 0);
  BatchHeader header;
  header.base_offset = options_.base_offset;
  header.leader_epoch = options_.leader_epoch;
  header.attributes = static_cast<std::int16_t>(attributes);
  header.last_offset_delta = last_offset_delta_;
  header.base_timestamp = base_timestamp_;
  header.max_timestamp = append_time ? options_.log_append_time : max_timestamp_;
  header.producer_id = options_.producer.id;
  header.producer_epoch = options_.producer.epoch;
  header.base_sequence = options_.base_sequence;
  header.record_count = record_count_;
  Buffer out = assemble_batch(header, records_, options_.codec, options_.compression_level);
  *this = RecordBatchBuilder(options_);
  return out;
}

}  // namespace oncelog
