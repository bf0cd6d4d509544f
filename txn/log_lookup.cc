// Finding offsets by timestamp (FETCH.md 5).
#include <algorithm>
#include <utility>

#include "storage/format/legacy_batch.h"
#include "storage/segment_scanner.h"
#include "txn/log_core.h"

namespace oncelog {
namespace {

/// The first record of a segment, at or behind `from`, for which `wanted` holds.
template <class WantBatch, class WantRecord>
Result<TimestampOffset> find_record(const LogSegment& segment, std::int64_t begin, Offset from,
                                    const DecompressLimits& limits, WantBatch want_batch,
                                    WantRecord want_record) {
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file, segment.file());
  ScanOptions options;
  options.begin = begin;
  options.end = segment.size();
  options.segment_base = segment.base_offset();
  options.check_crc = false;
  options.limits = limits;
  options.chunk_bytes = 64 << 10;
  SegmentScanner scanner(*file, options);
  while (true) {
    ONCELOG_TRY_ASSIGN(const std::optional<ScannedBatch> batch, scanner.next());
    if (!batch) {
      if (!scanner.bad_spot()) return TimestampOffset{};
      return make_error(ErrorCode::kDamaged, scanner.bad_spot()->what)
          .at(file->path(), scanner.position());
    }
    if (batch->header.last_offset() < from || !want_batch(batch->header)) continue;
    Result<Records> records = read_records_of(batch->bytes, limits);
    if (!records.ok()) {
      return std::move(records)
          .error()
          .at(file->path(), batch->position)
          .with_offset(batch->header.base_offset);
    }
    for (const RecordView& record : records->records) {
      if (record.offset < from || !want_record(record)) continue;
      return TimestampOffset{record.offset, record.timestamp, batch->header.leader_epoch};
    }
  }
}

/// Where to start looking for `offset`; 0 when the index is no help.
Result<std::int64_t> start_near(const LogSegment& segment, Offset offset) {
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<const SegmentIndexes> indexes, segment.indexes());
  return indexes->offset->lookup(offset).position;
}

Result<TimestampOffset> find_at_or_after(const SegmentList& list, TimestampMs timestamp,
                                         Offset log_start, const DecompressLimits& limits) {
  for (const std::shared_ptr<LogSegment>& segment : list.segments) {
    if (segment->largest_timestamp() < timestamp) continue;
    ONCELOG_TRY_ASSIGN(const std::shared_ptr<const SegmentIndexes> indexes, segment->indexes());
    const Offset below = std::max(indexes->time->lookup(timestamp - 1).offset, log_start);
    ONCELOG_TRY_ASSIGN(const std::int64_t begin, start_near(*segment, below));
    ONCELOG_TRY_ASSIGN(
        const TimestampOffset found,
        find_record(
            *segment, begin, log_start, limits,
            [&](const BatchHeader& header) { return header.max_timestamp >= timestamp; },
            [&](const RecordView& record) { return record.timestamp >= timestamp; }));
    // The log start may lie behind the record that gave the segment its timestamp (H-057).
    if (found.offset != kNoOffset) return found;
  }
  return TimestampOffset{};
}

Result<TimestampOffset> find_maximum(const SegmentList& list, Offset log_start,
                                     const DecompressLimits& limits) {
  const auto newest = std::max_element(
      list.segments.begin(), list.segments.end(),
      [](const auto& a, const auto& b) { return a->largest_timestamp() < b->largest_timestamp(); });
  const TimestampMs largest = (*newest)->largest_timestamp();
  if (largest == kNoTimestamp) return TimestampOffset{};
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<const SegmentIndexes> indexes, (*newest)->indexes());
  const Offset near = std::max(indexes->time->lookup(largest - 1).offset, log_start);
  ONCELOG_TRY_ASSIGN(const std::int64_t begin, start_near(**newest, near));
  return find_record(
      **newest, begin, log_start, limits,
      [&](const BatchHeader& header) { return header.max_timestamp >= largest; },
      [&](const RecordView& record) { return record.timestamp >= largest; });
}

}  // namespace

Result<TimestampOffset> LogCore::offset_for_timestamp(TimestampMs timestamp,
                                                      Isolation isolation) const {
  const Marks marks = view_.marks();
  const std::shared_ptr<const SegmentList> list = view_.segments();
  if (!marks.open || !list)
    return make_error(ErrorCode::kNotOpen, "the log is closed").at(directory_);
  const Offset limit = limit_of(isolation, marks);
  const LeaderEpochCache epochs = this->epochs();
  if (timestamp == kLatestTimestamp) {
    const std::optional<EpochEntry> latest = epochs.latest();
    return TimestampOffset{limit, kNoTimestamp, latest ? latest->epoch : kNoLeaderEpoch};
  }
  if (timestamp == kEarliestTimestamp) {
    return TimestampOffset{marks.log_start, kNoTimestamp,
                           epochs.epoch_at(marks.log_start).value_or(kNoLeaderEpoch)};
  }
  if (timestamp < 0 && timestamp != kMaxTimestamp) {
    return make_error(ErrorCode::kInvalidArgument,
                      "no such special timestamp: " + std::to_string(timestamp));
  }
  DecompressLimits limits;
  limits.batch_bytes_max = options().decompressed_bytes_max;
  Result<TimestampOffset> found = timestamp == kMaxTimestamp
                                      ? find_maximum(*list, marks.log_start, limits)
                                      : find_at_or_after(*list, timestamp, marks.log_start, limits);
  if (!found.ok()) {
    // A segment may have gone while it was read; the remaining ones are asked again.
    if (view_.marks().generation != marks.generation)
      return offset_for_timestamp(timestamp, isolation);
    return found;
  }
  if (found->offset >= limit) return TimestampOffset{};  // not visible yet (H-015)
  return found;
}

}  // namespace oncelog
