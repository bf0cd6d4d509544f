// The offset index of one segment: from an offset to a file position near it.
//
// FORMAT  FORMAT.md 11: 8-byte entries, int32 relative offset, int32 position, offsets rising. An
// entry names the last offset of a batch and where that batch starts; older brokers wrote the last
// offset and the start of an appended set. It is a hint: callers scan forward from the position and
// check what stands there.
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

inline constexpr std::size_t kOffsetIndexEntryBytes = 8;

struct OffsetIndexEntry {
  Offset offset = 0;          ///< absolute
  std::int64_t position = 0;  ///< in the .log file
  friend bool operator==(const OffsetIndexEntry&, const OffsetIndexEntry&) = default;
};

class OffsetIndex {
 public:
  /// `capacity_bytes` is segment.index.bytes; rounded down to whole entries.
  OffsetIndex(Offset base_offset, std::int64_t capacity_bytes);

  Offset base_offset() const { return base_offset_; }
  std::size_t size() const { return entries_.size(); }
  /// Full as Kafka counts it: entries >= capacity.
  bool is_full() const { return size() >= capacity_; }
  std::size_t capacity() const { return capacity_; }  ///< entries
  OffsetIndexEntry entry(std::size_t i) const;
  std::optional<OffsetIndexEntry> last() const;

  /// REQUIRES: offset above the last one and within [base, base + 2^31-1], position above the last
  /// one and within 0..2^31-1, not full.
  void append(Offset offset, std::int64_t position);

  /// The entry with the greatest offset <= target; {base, 0} when there is none.
  OffsetIndexEntry lookup(Offset target) const;
  /// The first entry whose position is >= `position`.
  std::optional<OffsetIndexEntry> first_from_position(std::int64_t position) const;

  /// A new index of the entries with an offset below `end`: what truncating the log to it leaves.
  std::unique_ptr<OffsetIndex> copy_below(Offset end) const;

  /// The file's content, trimmed.
  std::vector<std::byte> encode() const;
  /// From a file's content. Every slot counts as an entry. kDamaged with the byte position when the
  /// size is no multiple of 8, offsets or positions do not rise, an offset is negative, or a
  /// position is not below `log_size`.
  static Result<std::unique_ptr<OffsetIndex>> decode(std::span<const std::byte> bytes,
                                                     Offset base_offset,
                                                     std::int64_t capacity_bytes,
                                                     std::int64_t log_size);

 private:
  struct Slot {
    std::int32_t relative_offset;
    std::int32_t position;
  };
  Offset base_offset_;
  std::size_t capacity_;
  AppendOnlyArray<Slot> entries_;
};

}  // namespace oncelog
