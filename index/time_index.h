// The time index of one segment: from a timestamp to an offset below which it cannot be.
//
// FORMAT  FORMAT.md 12: 12-byte entries, int64 timestamp, int32 relative offset: all records with a
// greater timestamp come after that offset. Timestamps rise strictly, offsets do not fall. The last
// entry of a closed segment is its greatest timestamp.
// THREADS  one writer, any readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "oncelog/result.h"
#include "oncelog/types.h"

#include "index/append_only_array.h"

namespace oncelog {

inline constexpr std::size_t kTimeIndexEntryBytes = 12;

struct TimeIndexEntry {
  TimestampMs timestamp = kNoTimestamp;
  Offset offset = 0;  ///< absolute: last offset of the batch that has the timestamp
  friend bool operator==(const TimeIndexEntry&, const TimeIndexEntry&) = default;
};

class TimeIndex {
 public:
  /// `capacity_bytes` is segment.index.bytes; rounded down to whole entries.
  TimeIndex(Offset base_offset, std::int64_t capacity_bytes);

  Offset base_offset() const { return base_offset_; }
  std::size_t size() const { return entries_.size(); }
  /// Full one entry early: the last slot is kept for the closing entry.
  bool is_full() const { return size() + 1 >= capacity_; }
  std::size_t capacity() const { return capacity_; }  ///< entries, the kept slot included
  TimeIndexEntry entry(std::size_t i) const;
  /// The last entry; (-1, base) when empty.
  TimeIndexEntry last() const;

  /// Appends when the timestamp is above the last one and there is room, else does nothing.
  /// `closing` may use the reserved slot. REQUIRES: offset not below the last one's.
  void maybe_append(TimestampMs timestamp, Offset offset, bool closing = false);

  /// The entry with the greatest timestamp <= target; (-1, base) when there is none.
  TimeIndexEntry lookup(TimestampMs target) const;

  /// A new index of the entries with an offset below `end`: what truncating the log to it leaves.
  std::unique_ptr<TimeIndex> copy_below(Offset end) const;

  std::vector<std::byte> encode() const;
  /// kDamaged with the byte position when the size is no multiple of 12, timestamps do not rise
  /// strictly, offsets fall, a relative offset is negative, or an offset is not below `log_end`.
  static Result<std::unique_ptr<TimeIndex>> decode(std::span<const std::byte> bytes,
                                                   Offset base_offset, std::int64_t capacity_bytes,
                                                   Offset log_end);

 private:
  struct Slot {
    TimestampMs timestamp;
    std::int32_t relative_offset;
  };
  Offset base_offset_;
  std::size_t capacity_;
  AppendOnlyArray<Slot> entries_;
};

}  // namespace oncelog
