// Where the next batch goes: the accepted end of the active segment, when to roll, and which
// batches get an index entry. Pure arithmetic: it runs ahead of the disk, so that appends can be
// accepted while earlier ones are being written.
//
// Rules: APPEND.md 5 and 6, SEEN.md 1 and 2 (one index test per batch, strictly greater, before the
// batch is counted; the time index is full one entry early).
// THREADS  a value; the shard's driver.
#pragma once

#include <cstddef>
#include <cstdint>

#include "oncelog/batch_header.h"
#include "oncelog/log_options.h"
#include "oncelog/types.h"

#include "index/sidecar.h"
#include "txn/log_segment.h"

namespace oncelog {

class AppendPlacer {
 public:
  AppendPlacer() = default;
  /// Behind a segment's end. `opened_ms`: wall clock when it became active.
  AppendPlacer(const SidecarSegment& facts, const SegmentIndexes& indexes, TimestampMs opened_ms);

  struct Incoming {
    std::int64_t bytes = 0;
    Offset last_offset = 0;
    TimestampMs max_timestamp = kNoTimestamp;
  };
  /// Whether a new segment has to begin before `incoming` is placed.
  bool roll_needed(const Incoming& incoming, const LogOptions& options, TimestampMs now_ms) const;

  /// Places one batch; true when it gets an offset index entry (and, at the same moment, the time
  /// index a try).
  bool place(const BatchHeader& header, std::int64_t index_interval_bytes);

  Offset base_offset() const { return base_offset_; }
  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  TimestampMs max_timestamp() const { return max_timestamp_; }

 private:
  Offset base_offset_ = 0;
  std::int64_t size_ = 0;
  std::int64_t bytes_since_index_ = 0;
  TimestampMs max_timestamp_ = kNoTimestamp;
  TimestampMs time_last_ = kNoTimestamp;
  TimestampMs first_timestamp_ = kNoTimestamp;  // time rolls count from here
  TimestampMs opened_ms_ = 0;
  std::size_t offset_entries_ = 0;
  std::size_t time_entries_ = 0;
  std::size_t offset_capacity_ = 0;
  std::size_t time_capacity_ = 0;
};

}  // namespace oncelog
