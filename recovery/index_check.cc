// Checks index entries against the batches as they go by.
#include "recovery/index_check.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "storage/base/endian.h"

namespace oncelog {
namespace {

constexpr Offset kOffsetMax = std::numeric_limits<Offset>::max();

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

IndexSlots slots_of(std::span<const std::byte> bytes, std::size_t entry_bytes) {
  IndexSlots out;
  out.count = bytes.size() / entry_bytes;
  if (bytes.size() % entry_bytes != 0) {
    out.fault = IndexFault{static_cast<std::int64_t>(out.count * entry_bytes),
                           "size " + std::to_string(bytes.size()) + " is no multiple of " +
                               std::to_string(entry_bytes)};
    return out;
  }
  // One entry of zeros alone may be true: the first batch of a segment, at its base offset.
  if (out.count < 2) return out;
  while (out.count > 0 && all_zero(bytes.subspan((out.count - 1) * entry_bytes, entry_bytes))) {
    --out.count;
    out.zero_tail = true;
  }
  return out;
}

OffsetIndexCheck::OffsetIndexCheck(std::span<const std::byte> bytes, Offset base_offset) {
  const IndexSlots slots = slots_of(bytes, kOffsetIndexEntryBytes);
  zero_tail_ = slots.zero_tail;
  fault_ = slots.fault;
  entries_.reserve(slots.count);
  for (std::size_t i = 0; i < slots.count; ++i) {
    const auto slot = bytes.subspan(i * kOffsetIndexEntryBytes, kOffsetIndexEntryBytes);
    const auto relative = load_be<std::int32_t>(slot);
    const auto position = load_be<std::int32_t>(slot, 4);
    if (relative < 0 || position < 0 || base_offset > kOffsetMax - relative) {
      fail(i, "an impossible offset or position");
      return;
    }
    entries_.push_back({base_offset + relative, position});
    if (i == 0) continue;
    const OffsetIndexEntry& before = entries_[i - 1];
    if (entries_[i].offset <= before.offset || entries_[i].position <= before.position) {
      fail(i, "does not rise above the entry before it");
    }
  }
}

void OffsetIndexCheck::add(const ScannedBatch& batch) {
  if (fault_) return;
  if (next_ < entries_.size() && entries_[next_].position <= batch.position) {
    if (entries_[next_].position < batch.position) {
      return fail(next_,
                  "position " + std::to_string(entries_[next_].position) + " is no batch's start");
    }
    if (open_) return fail(*open_, "no batch before the next entry ends with its offset");
    open_ = next_++;
  }
  if (!open_) return;
  // The last offset of this batch, or of a later one of the appended set that began here.
  const Offset offset = entries_[*open_].offset;
  const Offset last = batch.header.last_offset();
  if (offset > last) return;
  if (offset < last) {
    return fail(*open_, "offset " + std::to_string(offset) + " is no batch's last offset");
  }
  open_.reset();
}

void OffsetIndexCheck::finish() {
  if (fault_) return;
  if (open_) return fail(*open_, "no batch ends with its offset");
  if (next_ < entries_.size()) fail(next_, "points behind the last batch");
}

void OffsetIndexCheck::fail(std::size_t entry, std::string what) {
  if (fault_) return;
  fault_ = IndexFault{static_cast<std::int64_t>(entry * kOffsetIndexEntryBytes),
                      "entry " + std::to_string(entry) + ": " + std::move(what)};
}

TimeIndexCheck::TimeIndexCheck(std::span<const std::byte> bytes, Offset base_offset) {
  const IndexSlots slots = slots_of(bytes, kTimeIndexEntryBytes);
  zero_tail_ = slots.zero_tail;
  fault_ = slots.fault;
  entries_.reserve(slots.count);
  for (std::size_t i = 0; i < slots.count; ++i) {
    const auto slot = bytes.subspan(i * kTimeIndexEntryBytes, kTimeIndexEntryBytes);
    const auto relative = load_be<std::int32_t>(slot, 8);
    if (relative < 0 || base_offset > kOffsetMax - relative) {
      fail(i, "an impossible offset");
      return;
    }
    entries_.push_back({load_be<std::int64_t>(slot), base_offset + relative});
    if (i == 0) continue;
    const TimeIndexEntry& before = entries_[i - 1];
    if (entries_[i].timestamp <= before.timestamp || entries_[i].offset < before.offset) {
      fail(i, "does not rise above the entry before it");
    }
  }
}

void TimeIndexCheck::add(const ScannedBatch& batch) {
  if (fault_) return;
  // The batch with the entry's offset has its timestamp, and nothing before it has a greater one.
  while (!fault_ && next_ < entries_.size() &&
         entries_[next_].offset <= batch.header.last_offset()) {
    const TimeIndexEntry& entry = entries_[next_];
    if (largest_ > entry.timestamp) {
      return fail(next_, "a batch before offset " + std::to_string(entry.offset) +
                             " has the greater timestamp " + std::to_string(largest_));
    }
    if (entry.offset < batch.header.base_offset || batch.header.max_timestamp != entry.timestamp) {
      return fail(next_, "no batch with timestamp " + std::to_string(entry.timestamp) +
                             " holds offset " + std::to_string(entry.offset));
    }
    ++next_;
  }
  largest_ = std::max(largest_, batch.header.max_timestamp);
}

void TimeIndexCheck::finish(bool sealed) {
  if (fault_) return;
  if (next_ < entries_.size()) return fail(next_, "its offset is behind the last batch");
  const TimestampMs last = entries_.empty() ? kNoTimestamp : entries_.back().timestamp;
  if (sealed && last != largest_) {
    fail(entries_.size(),
         "the greatest timestamp " + std::to_string(largest_) + " is missing at the end");
  }
}

void TimeIndexCheck::fail(std::size_t entry, std::string what) {
  if (fault_) return;
  fault_ = IndexFault{static_cast<std::int64_t>(entry * kTimeIndexEntryBytes),
                      "entry " + std::to_string(entry) + ": " + std::move(what)};
}

}  // namespace oncelog
