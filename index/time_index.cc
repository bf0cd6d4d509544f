// Lookup in the time index and its file form.
//
// FORMAT  FORMAT.md 12: 8 bytes timestamp, 4 bytes relative offset.
#include "index/time_index.h"

#include <algorithm>

#include "index/damaged.h"
#include "storage/base/endian.h"

namespace oncelog {

TimeIndex::TimeIndex(Offset base_offset, std::int64_t capacity_bytes)
    : base_offset_(base_offset),
      capacity_(static_cast<std::size_t>(std::max<std::int64_t>(capacity_bytes, 0)) /
                kTimeIndexEntryBytes) {}

TimeIndexEntry TimeIndex::entry(std::size_t i) const {
  const Slot& slot = entries_[i];
  return {slot.timestamp, base_offset_ + slot.relative_offset};
}

TimeIndexEntry TimeIndex::last() const {
  const std::size_t count = size();
  return count == 0 ? TimeIndexEntry{kNoTimestamp, base_offset_} : entry(count - 1);
}

void TimeIndex::maybe_append(TimestampMs timestamp, Offset offset, bool closing) {
  const TimeIndexEntry previous = last();
  if (timestamp <= previous.timestamp) return;
  if (size() >= capacity_ || (is_full() && !closing)) return;
  ONCELOG_ASSERT(offset >= previous.offset);
  ONCELOG_ASSERT(offset - base_offset_ <= kRelativeOffsetMax);
  entries_.push_back({timestamp, static_cast<std::int32_t>(offset - base_offset_)});
}

TimeIndexEntry TimeIndex::lookup(TimestampMs target) const {
  std::size_t low = 0;
  std::size_t high = size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (entries_[middle].timestamp <= target) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? TimeIndexEntry{kNoTimestamp, base_offset_} : entry(low - 1);
}

std::unique_ptr<TimeIndex> TimeIndex::copy_below(Offset end) const {
  auto out = std::make_unique<TimeIndex>(
      base_offset_, static_cast<std::int64_t>(capacity_ * kTimeIndexEntryBytes));
  const std::size_t count = size();
  for (std::size_t i = 0; i < count && entry(i).offset < end; ++i) {
    out->entries_.push_back(entries_[i]);
  }
  return out;
}

std::vector<std::byte> TimeIndex::encode() const {
  const std::size_t count = size();
  std::vector<std::byte> bytes(count * kTimeIndexEntryBytes);
  for (std::size_t i = 0; i < count; ++i) {
    const Slot& slot = entries_[i];
    store_be(bytes, i * kTimeIndexEntryBytes, slot.timestamp);
    store_be(bytes, i * kTimeIndexEntryBytes + 8, slot.relative_offset);
  }
  return bytes;
}

Result<std::unique_ptr<TimeIndex>> TimeIndex::decode(std::span<const std::byte> bytes,
                                                     Offset base_offset,
                                                     std::int64_t capacity_bytes, Offset log_end) {
  if (bytes.size() % kTimeIndexEntryBytes != 0) {
    return damaged_at(bytes.size() / kTimeIndexEntryBytes * kTimeIndexEntryBytes,
                      "time index ends inside an entry");
  }
  auto index = std::make_unique<TimeIndex>(base_offset, capacity_bytes);
  Slot previous{kNoTimestamp, 0};
  for (std::size_t at = 0; at < bytes.size(); at += kTimeIndexEntryBytes) {
    const Slot slot{load_be<std::int64_t>(bytes, at), load_be<std::int32_t>(bytes, at + 8)};
    if (slot.timestamp <= previous.timestamp) {
      return damaged_at(at, "timestamps of the time index do not rise");
    }
    if (slot.relative_offset < previous.relative_offset) {
      return damaged_at(at + 8, slot.relative_offset < 0 ? "time index has a negative offset"
                                                         : "offsets of the time index fall");
    }
    // Compared without a sum: the base is a file's name and may be near the top of the range.
    if (slot.relative_offset >= log_end - base_offset) {
      return damaged_at(at + 8, "time index points beyond the end of the log");
    }
    index->entries_.push_back(slot);
    previous = slot;
  }
  return index;
}

}  // namespace oncelog
