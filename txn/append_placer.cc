// Append placer: roll rules and the index rule.
#include "txn/append_placer.h"

#include <algorithm>

#include "storage/base/endian.h"
#include "storage/base/xxh3.h"

namespace oncelog {
namespace {

/// A fixed pseudo-random share of `jitter_ms` per segment, so that replays roll alike.
std::int64_t jitter_of(Offset base_offset, std::int64_t jitter_ms) {
  if (jitter_ms <= 0) return 0;
  std::array<std::byte, 8> bytes{};
  store_be(std::span(bytes), 0, base_offset);
  return static_cast<std::int64_t>(xxh3_64(bytes) % static_cast<std::uint64_t>(jitter_ms));
}

}  // namespace

AppendPlacer::AppendPlacer(const SidecarSegment& facts, const SegmentIndexes& indexes,
                           TimestampMs opened_ms)
    : base_offset_(facts.base_offset),
      size_(facts.size),
      max_timestamp_(facts.largest_timestamp),
      time_last_(indexes.time->last().timestamp),
      first_timestamp_(facts.first_batch_timestamp),
      opened_ms_(opened_ms),
      offset_entries_(indexes.offset->size()),
      time_entries_(indexes.time->size()),
      offset_capacity_(indexes.offset->capacity()),
      time_capacity_(indexes.time->capacity()) {}

bool AppendPlacer::roll_needed(const Incoming& incoming, const LogOptions& options,
                               TimestampMs now_ms) const {
  if (size_ > options.segment_bytes - incoming.bytes) return true;
  if (size_ > kSegmentBytesMax - incoming.bytes) return true;
  if (size_ > 0) {
    const std::int64_t roll_ms = options.cleanup_compact
                                     ? std::min(options.segment_ms, options.max_compaction_lag_ms)
                                     : options.segment_ms;
    const std::int64_t limit_ms =
        roll_ms - jitter_of(base_offset_, std::min(options.segment_jitter_ms, roll_ms));
    const std::int64_t waited_ms =
        first_timestamp_ >= 0 ? incoming.max_timestamp - first_timestamp_ : now_ms - opened_ms_;
    if (waited_ms > limit_ms) return true;
  }
  if (offset_entries_ >= offset_capacity_) return true;
  if (time_entries_ + 1 >= time_capacity_) return true;
  const Offset relative = incoming.last_offset - base_offset_;
  return relative < 0 || relative > kRelativeOffsetMax;
}

bool AppendPlacer::place(const BatchHeader& header, std::int64_t index_interval_bytes) {
  if (size_ == 0) first_timestamp_ = header.max_timestamp;
  max_timestamp_ = std::max(max_timestamp_, header.max_timestamp);
  const bool indexed =
      bytes_since_index_ > index_interval_bytes && offset_entries_ < offset_capacity_;
  if (indexed) {
    ++offset_entries_;
    if (max_timestamp_ > time_last_ && time_entries_ + 1 < time_capacity_) {
      ++time_entries_;
      time_last_ = max_timestamp_;
    }
    bytes_since_index_ = 0;
  }
  bytes_since_index_ += header.size_bytes();
  size_ += header.size_bytes();
  return indexed;
}

}  // namespace oncelog
