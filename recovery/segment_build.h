// What a scan of one segment derives: its facts for the sidecar, its offset and its time index.
//
// APPEND.md 5: per batch, an entry when strictly more than the interval lies since the last one,
// tested before the batch is counted; a time entry is tried at the same moments.
// THREADS  a value; one thread.
#pragma once

#include <cstdint>
#include <memory>

#include "index/offset_index.h"
#include "index/sidecar.h"
#include "index/time_index.h"
#include "storage/segment_scanner.h"

namespace oncelog {

struct SegmentBuildOptions {
  std::int64_t index_interval_bytes = 4096;
  std::int64_t segment_index_bytes = 10485760;
};

class SegmentBuild {
 public:
  /// An empty segment.
  SegmentBuild(Offset base_offset, const SegmentBuildOptions& options);
  /// A segment of which a beginning is known: its facts and the index entries of that part.
  SegmentBuild(const SidecarSegment& beginning, std::unique_ptr<OffsetIndex> offset_index,
               std::unique_ptr<TimeIndex> time_index, const SegmentBuildOptions& options);

  /// REQUIRES: batches in file order.
  void add(const ScannedBatch& batch);
  /// The next batch gets an index entry: it stands behind a hole that no scan can cross.
  void index_next() { index_next_ = true; }

  const SidecarSegment& facts() const { return facts_; }
  Offset next_offset() const;
  const OffsetIndex& offset_index() const { return *offset_index_; }
  const TimeIndex& time_index() const { return *time_index_; }
  std::unique_ptr<OffsetIndex> take_offset_index() { return std::move(offset_index_); }
  std::unique_ptr<TimeIndex> take_time_index() { return std::move(time_index_); }
  /// Adds the closing time entry, as a sealed segment has it.
  void close_time_index();

 private:
  SidecarSegment facts_;
  SegmentBuildOptions options_;
  std::unique_ptr<OffsetIndex> offset_index_;
  std::unique_ptr<TimeIndex> time_index_;
  std::int64_t bytes_since_entry_ = 0;
  bool index_next_ = false;
};

}  // namespace oncelog
