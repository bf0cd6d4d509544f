// Derives a segment's facts and indexes from its batches.
#include "recovery/segment_build.h"

#include <algorithm>
#include <span>
#include <utility>

namespace oncelog {

SegmentBuild::SegmentBuild(Offset base_offset, const SegmentBuildOptions& options)
    : options_(options),
      offset_index_(std::make_unique<OffsetIndex>(base_offset, options.segment_index_bytes)),
      time_index_(std::make_unique<TimeIndex>(base_offset, options.segment_index_bytes)) {
  facts_.base_offset = base_offset;
}

SegmentBuild::SegmentBuild(const SidecarSegment& beginning,
                           std::unique_ptr<OffsetIndex> offset_index,
                           std::unique_ptr<TimeIndex> time_index,
                           const SegmentBuildOptions& options)
    : facts_(beginning),
      options_(options),
      offset_index_(std::move(offset_index)),
      time_index_(std::move(time_index)) {}

Offset SegmentBuild::next_offset() const {
  return facts_.last_offset == kNoOffset ? facts_.base_offset : facts_.last_offset + 1;
}

void SegmentBuild::add(const ScannedBatch& batch) {
  const BatchHeader& header = batch.header;
  if (facts_.last_batch_position < 0) facts_.first_batch_timestamp = header.max_timestamp;
  if (header.max_timestamp > facts_.largest_timestamp) {
    facts_.largest_timestamp = header.max_timestamp;
    facts_.largest_timestamp_offset = header.last_offset();
  }
  if (bytes_since_entry_ > options_.index_interval_bytes || index_next_) {
    if (!offset_index_->is_full()) offset_index_->append(header.last_offset(), batch.position);
    if (facts_.largest_timestamp >= 0) {
      time_index_->maybe_append(facts_.largest_timestamp, facts_.largest_timestamp_offset);
    }
    bytes_since_entry_ = 0;
    index_next_ = false;
  }
  bytes_since_entry_ += header.size_bytes();
  facts_.size = batch.end();
  facts_.last_offset = header.last_offset();
  facts_.last_batch_position = batch.position;
  // An entry of magic 0 or 1 may be shorter than a header of magic 2.
  const auto head = batch.bytes.first(std::min(batch.bytes.size(), kBatchHeaderBytes));
  facts_.last_batch_header.fill(std::byte{0});
  std::copy(head.begin(), head.end(), facts_.last_batch_header.begin());
  facts_.headers_hash = chain_header(facts_.headers_hash, facts_.last_batch_header);
}

void SegmentBuild::close_time_index() {
  if (facts_.largest_timestamp < 0) return;
  time_index_->maybe_append(facts_.largest_timestamp, facts_.largest_timestamp_offset, true);
}

}  // namespace oncelog
