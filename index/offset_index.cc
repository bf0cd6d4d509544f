// Lookup in the offset index and its file form.
//
// FORMAT  FORMAT.md 11: 4 bytes relative offset, 4 bytes position.
#include "index/offset_index.h"

#include <algorithm>
#include <string>

#include "index/damaged.h"
#include "storage/base/endian.h"

namespace oncelog {
namespace {

std::size_t capacity_of(std::int64_t capacity_bytes) {
  return static_cast<std::size_t>(std::max<std::int64_t>(capacity_bytes, 0)) /
         kOffsetIndexEntryBytes;
}

// The number of leading slots for which `holds` is true. REQUIRES: true, ..., true, false, ...
template <class Slots, class Predicate>
std::size_t count_leading(const Slots& slots, Predicate holds) {
  std::size_t low = 0;
  std::size_t high = slots.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (holds(slots[middle])) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

OffsetIndex::OffsetIndex(Offset base_offset, std::int64_t capacity_bytes)
    : base_offset_(base_offset), capacity_(capacity_of(capacity_bytes)) {}

OffsetIndexEntry OffsetIndex::entry(std::size_t i) const {
  const Slot& slot = entries_[i];
  return {base_offset_ + slot.relative_offset, slot.position};
}

std::optional<OffsetIndexEntry> OffsetIndex::last() const {
  const std::size_t count = size();
  return count == 0 ? std::nullopt : std::optional(entry(count - 1));
}

void OffsetIndex::append(Offset offset, std::int64_t position) {
  ONCELOG_ASSERT(!is_full());
  ONCELOG_ASSERT(offset >= base_offset_ && offset - base_offset_ <= kRelativeOffsetMax);
  ONCELOG_ASSERT(position >= 0 && position <= kSegmentBytesMax);
  if (const auto previous = last()) {
    ONCELOG_ASSERT(offset > previous->offset);
    ONCELOG_ASSERT(position > previous->position);
  }
  entries_.push_back(
      {static_cast<std::int32_t>(offset - base_offset_), static_cast<std::int32_t>(position)});
}

OffsetIndexEntry OffsetIndex::lookup(Offset target) const {
  const Offset base = base_offset_;
  const std::size_t count = count_leading(
      entries_, [base, target](const Slot& slot) { return base + slot.relative_offset <= target; });
  return count == 0 ? OffsetIndexEntry{base_offset_, 0} : entry(count - 1);
}

std::optional<OffsetIndexEntry> OffsetIndex::first_from_position(std::int64_t position) const {
  const std::size_t count =
      count_leading(entries_, [position](const Slot& slot) { return slot.position < position; });
  return count < size() ? std::optional(entry(count)) : std::nullopt;
}

std::unique_ptr<OffsetIndex> OffsetIndex::copy_below(Offset end) const {
  auto out = std::make_unique<OffsetIndex>(
      base_offset_, static_cast<std::int64_t>(capacity_ * kOffsetIndexEntryBytes));
  const std::size_t count = size();
  for (std::size_t i = 0; i < count && entry(i).offset < end; ++i) {
    out->entries_.push_back(entries_[i]);
  }
  return out;
}

std::vector<std::byte> OffsetIndex::encode() const {
  const std::size_t count = size();
  std::vector<std::byte> bytes(count * kOffsetIndexEntryBytes);
  for (std::size_t i = 0; i < count; ++i) {
    const Slot& slot = entries_[i];
    store_be(bytes, i * kOffsetIndexEntryBytes, slot.relative_offset);
    store_be(bytes, i * kOffsetIndexEntryBytes + 4, slot.position);
  }
  return bytes;
}

Result<std::unique_ptr<OffsetIndex>> OffsetIndex::decode(std::span<const std::byte> bytes,
                                                         Offset base_offset,
                                                         std::int64_t capacity_bytes,
                                                         std::int64_t log_size) {
  if (bytes.size() % kOffsetIndexEntryBytes != 0) {
    return damaged_at(bytes.size() / kOffsetIndexEntryBytes * kOffsetIndexEntryBytes,
                      "offset index ends inside an entry");
  }
  auto index = std::make_unique<OffsetIndex>(base_offset, capacity_bytes);
  Slot previous{-1, -1};
  for (std::size_t at = 0; at < bytes.size(); at += kOffsetIndexEntryBytes) {
    const Slot slot{load_be<std::int32_t>(bytes, at), load_be<std::int32_t>(bytes, at + 4)};
    if (slot.relative_offset < 0) return damaged_at(at, "offset index entry has a negative offset");
    if (slot.relative_offset <= previous.relative_offset) {
      return damaged_at(at, "offsets of the offset index do not rise");
    }
    if (slot.position <= previous.position) {
      return damaged_at(at + 4, "positions of the offset index do not rise");
    }
    if (slot.position >= log_size) {
      return damaged_at(at + 4, "offset index points to byte " + std::to_string(slot.position) +
                                    " of a log of " + std::to_string(log_size));
    }
    index->entries_.push_back(slot);
    previous = slot;
  }
  return index;
}

}  // namespace oncelog
