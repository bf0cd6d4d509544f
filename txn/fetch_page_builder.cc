// Fetch pages: collecting batches, and showing an application what it may see of them.
#include "txn/fetch_page_builder.h"

#include <algorithm>
#include <queue>
#include <unordered_set>
#include <utility>

#include "oncelog/control_record.h"

#include "storage/format/legacy_batch.h"

namespace oncelog {
namespace {

std::optional<std::string_view> text_of(const OptionalBytes& bytes) {
  if (!bytes) return std::nullopt;
  // Bytes are shown to the builder as characters; nothing is interpreted.
  return std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

/// A legacy batch as a batch v2 with the same offsets, timestamps, keys and values.
Result<Buffer> rebuild_legacy(const ScannedBatch& batch) {
  ONCELOG_TRY_ASSIGN(const Records records, read_records_of(batch.bytes));
  RecordBatchOptions options;
  options.base_offset = batch.header.base_offset;
  options.timestamp_type = batch.header.timestamp_type();
  if (options.timestamp_type == TimestampType::kLogAppendTime) {
    options.log_append_time = batch.header.max_timestamp;
  }
  RecordBatchBuilder builder(options);
  for (const RecordView& record : records.records) {
    const Offset delta = record.offset - batch.header.base_offset;
    if (delta < 0 || delta > batch.header.last_offset_delta || delta >= kRelativeOffsetMax) {
      return make_error(ErrorCode::kInvalidRecord, "a record lies outside its batch")
          .with_offset(record.offset);
    }
    RecordInput input;
    input.timestamp_ms = record.timestamp;
    input.key = text_of(record.key);
    input.value = text_of(record.value);
    builder.add_at(static_cast<std::int32_t>(delta), input);
  }
  if (builder.record_count() == 0) {
    return make_error(ErrorCode::kInvalidRecord, "a legacy batch without records")
        .with_offset(batch.header.base_offset);
  }
  return std::move(builder).finish();
}

}  // namespace

Status FetchPageBuilder::add(const ScannedBatch& batch, const std::shared_ptr<File>& file) {
  const std::int64_t size = batch.header.size_bytes();
  if (with_bytes_) {
    Span span{bytes_.size(), 0};
    if (batch.header.magic < 2) {
      ONCELOG_TRY_ASSIGN(const Buffer rebuilt, rebuild_legacy(batch));
      bytes_.insert(bytes_.end(), rebuilt.bytes().begin(), rebuilt.bytes().end());
    } else {
      bytes_.insert(bytes_.end(), batch.bytes.begin(), batch.bytes.end());
    }
    span.bytes = bytes_.size() - span.begin;
    spans_.push_back(span);
  } else {
    spans_.push_back({});
  }
  headers_.push_back(batch.header);
  stored_bytes_ += size;
  if (!ranges_.empty() && ranges_.back().file == file &&
      ranges_.back().position + ranges_.back().bytes == batch.position) {
    ranges_.back().bytes += size;
  } else {
    ranges_.push_back({file, batch.position, size});
  }
  return {};
}

FetchPage FetchPageBuilder::finish(std::vector<AbortedRange> aborted,
                                   std::vector<BatchVerdict> verdicts) {
  FetchPage page;
  if (with_bytes_) {
    page.batches_.reserve(spans_.size());
    for (const Span& span : spans_) {
      // The scanner saw a whole batch there, so that this parses.
      Result<RecordBatchView> view = RecordBatchView::parse(
          std::span<const std::byte>(bytes_).subspan(span.begin, span.bytes));
      if (view.ok()) page.batches_.push_back(*view);
    }
  }
  page.verdicts_ = std::move(verdicts);
  page.aborted_ = std::move(aborted);
  page.file_ranges_ = std::move(ranges_);
  page.bytes = stored_bytes_;
  return page;
}

Result<std::vector<VisibleRecord>> visible_records(const FetchPage& page, Offset from,
                                                   Isolation isolation,
                                                   std::vector<Records>& storage,
                                                   const DecompressLimits& limits) {
  // FETCH.md 4: a transaction joins the set when its first offset is reached and leaves it with its
  // abort marker, so that one producer can abort several times within a page.
  std::vector<AbortedRange> starting(page.aborted().begin(), page.aborted().end());
  std::reverse(starting.begin(), starting.end());  // lowest first offset at the back
  std::unordered_set<ProducerId> aborted;
  std::vector<VisibleRecord> visible;
  storage.clear();
  storage.reserve(page.batches().size());
  for (const RecordBatchView& batch : page.batches()) {
    const BatchHeader& header = batch.header();
    if (isolation == Isolation::kReadCommitted && header.has_producer()) {
      while (!starting.empty() && starting.back().first_offset <= header.last_offset()) {
        aborted.insert(starting.back().producer_id);
        starting.pop_back();
      }
    }
    const bool hidden = header.is_transactional() && aborted.contains(header.producer_id) &&
                        isolation == Isolation::kReadCommitted && !header.is_control();
    if (hidden || (!header.is_control() && header.last_offset() < from)) continue;
    Result<Records> records = read_records(batch, limits);
    if (!records.ok()) return std::move(records).error().with_offset(header.base_offset);
    if (header.is_control()) {
      if (records->records.empty()) continue;  // emptied by compaction
      const Result<ControlType> type = decode_control_type(records->records.front().key);
      if (type.ok() && *type == ControlType::kAbort) aborted.erase(header.producer_id);
      continue;
    }
    storage.push_back(std::move(records).value());
    for (const RecordView& record : storage.back().records) {
      if (record.offset >= from) visible.push_back({&batch, record});
    }
  }
  return visible;
}

}  // namespace oncelog
