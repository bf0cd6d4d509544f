// Rules and file form of the leader epoch history.
#include "index/leader_epoch_cache.h"

#include <algorithm>

#include "index/checkpoint_text.h"
#include "storage/base/assert.h"

namespace oncelog {

std::optional<EpochEntry> LeaderEpochCache::latest() const {
  return entries_.empty() ? std::nullopt : std::optional(entries_.back());
}

bool LeaderEpochCache::assign(LeaderEpoch epoch, Offset start_offset) {
  ONCELOG_ASSERT(epoch >= 0);
  ONCELOG_ASSERT(start_offset >= 0);
  if (!entries_.empty() && entries_.back().epoch == epoch &&
      start_offset >= entries_.back().start_offset) {
    return false;
  }
  while (!entries_.empty() &&
         (entries_.back().epoch >= epoch || entries_.back().start_offset >= start_offset)) {
    entries_.pop_back();
  }
  entries_.push_back({epoch, start_offset});
  return true;
}

bool LeaderEpochCache::truncate_from_end(Offset end) {
  const std::size_t before = entries_.size();
  while (!entries_.empty() && entries_.back().start_offset >= end)
    entries_.pop_back();
  return entries_.size() != before;
}

bool LeaderEpochCache::truncate_from_start(Offset start) {
  const auto after = std::upper_bound(
      entries_.begin(), entries_.end(), start,
      [](Offset offset, const EpochEntry& entry) { return offset < entry.start_offset; });
  if (after == entries_.begin()) return false;
  const auto newest = std::prev(after);
  if (newest == entries_.begin() && newest->start_offset == start) return false;
  newest->start_offset = start;
  entries_.erase(entries_.begin(), newest);
  return true;
}

EpochEnd LeaderEpochCache::end_offset_for(LeaderEpoch epoch, Offset log_end) const {
  if (epoch == kNoLeaderEpoch || entries_.empty()) return {};
  if (epoch == entries_.back().epoch) return {epoch, log_end};
  const auto higher =
      std::upper_bound(entries_.begin(), entries_.end(), epoch,
                       [](LeaderEpoch e, const EpochEntry& entry) { return e < entry.epoch; });
  if (higher == entries_.end()) return {};
  const LeaderEpoch floor = higher == entries_.begin() ? epoch : std::prev(higher)->epoch;
  return {floor, higher->start_offset};
}

std::optional<LeaderEpoch> LeaderEpochCache::epoch_at(Offset offset) const {
  const auto after =
      std::upper_bound(entries_.begin(), entries_.end(), offset,
                       [](Offset o, const EpochEntry& entry) { return o < entry.start_offset; });
  return after == entries_.begin() ? std::nullopt : std::optional(std::prev(after)->epoch);
}

std::string LeaderEpochCache::encode() const {
  std::string out = checkpoint_head(entries_.size());
  for (const EpochEntry& entry : entries_) {
    out += std::to_string(entry.epoch) + ' ' + std::to_string(entry.start_offset) + '\n';
  }
  return out;
}

Result<LeaderEpochCache> LeaderEpochCache::decode(std::string_view text) {
  LeaderEpochCache cache;
  std::vector<EpochEntry>& entries = cache.entries_;
  const auto add = [&entries](std::span<const std::string_view> fields,
                              std::size_t line) -> Status {
    const auto epoch = parse_number<LeaderEpoch>(fields[0]);
    const auto start = parse_number<Offset>(fields[1]);
    if (!epoch.has_value() || *epoch < 0) return damaged_line(line, "no leader epoch");
    if (!start.has_value() || *start < 0) return damaged_line(line, "no start offset");
    if (!entries.empty() && entries.back().epoch >= *epoch) {
      return damaged_line(line, "leader epochs do not rise");
    }
    if (!entries.empty() && entries.back().start_offset >= *start) {
      return damaged_line(line, "start offsets do not rise");
    }
    entries.push_back({*epoch, *start});
    return {};
  };
  ONCELOG_TRY(read_checkpoint(text, 2, add));
  return cache;
}

}  // namespace oncelog
