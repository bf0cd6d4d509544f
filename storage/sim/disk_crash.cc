// Process death and power cuts of the whole simulated disk.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "storage/sim/disk_state.h"

namespace oncelog::sim {

void DiskState::land_in_flight(std::uint64_t process, Random& random, std::int64_t now_ms) {
  std::vector<InFlightWrite> landing;
  for (auto write = in_flight_.begin(); write != in_flight_.end();) {
    if (process != 0 && write->second.process != process) {
      ++write;
      continue;
    }
    if (random.percent(50)) landing.push_back(write->second);
    write = in_flight_.erase(write);
  }
  random.shuffle(landing);
  for (const InFlightWrite& write : landing) {
    if (files_.count(write.inode) == 0) continue;
    change_file(write.inode)
        .write(write.position, *write.bytes, {next_sequence(), now_ms}, new_pages_max());
  }
}

void DiskState::kill(std::uint64_t process, Random& random, std::int64_t now_ms) {
  land_in_flight(process, random, now_ms);
  for (auto handle = handles_.begin(); handle != handles_.end();) {
    const auto next = std::next(handle);
    if (process == 0 || handle->second.process == process) close_handle(handle->first);
    handle = next;
  }
  if (process == 0) ++epoch_;
}

CutPlan DiskState::plan_cut(PowerCut mode, Random& random) const {
  CutPlan plan;
  plan.metadata = metadata_;
  plan.random = &random;
  std::vector<std::uint64_t> changes;
  for (const NameChange& change : names_->pending())
    changes.push_back(change.sequence);
  for (const auto& [inode, node] : files_) {
    for (const FileChange& change : node->pending())
      changes.push_back(change.stamp.sequence);
  }
  std::sort(changes.begin(), changes.end());
  const std::uint64_t kept = random.below(changes.size() + 1);
  const std::uint64_t kept_through = kept == 0 ? kNoSequence : changes[kept - 1];
  switch (mode) {
    case PowerCut::kNoneKept:
      break;
    case PowerCut::kAllKept:
      plan.kept_through = last_sequence_;
      break;
    case PowerCut::kPrefix:
      plan.kept_through = kept_through;
      break;
    case PowerCut::kTorn:
    case PowerCut::kSubset:
      plan.kept_through = kept_through;
      plan.any_subset = mode == PowerCut::kSubset || random.percent(50);
      plan.tear_pages = mode == PowerCut::kTorn && plan.any_subset;
      if (!plan.any_subset && kept < changes.size()) plan.torn = changes[kept];
      plan.newest_percent = random.below(3) * 30;
      plan.oldest_percent = random.below(2) * 30;
      break;
  }
  return plan;
}

void DiskState::power_cut(PowerCut mode, std::uint64_t seed) {
  Random random(seed);
  std::int64_t now_ms = 0;
  for (const auto& [inode, node] : files_)
    now_ms = std::max(now_ms, node->live().modified_ms);
  if (mode == PowerCut::kNoneKept) in_flight_.clear();
  land_in_flight(0, random, now_ms);
  const CutPlan plan = plan_cut(mode, random);
  if (names_->unsynced_changes() > 0) change_names().power_cut(plan);
  for (const auto& [inode, node] : files_) {
    if (node->dirty()) change_file(inode).power_cut(plan);
  }
  handles_.clear();
  locks_.clear();
  ++epoch_;
  drop_unreachable_files();
}

void DiskState::drop_unreachable_files() {
  const std::set<InodeId> named = names_->named();
  for (auto file = files_.begin(); file != files_.end();) {
    if (named.count(file->first) != 0 || is_open(file->first)) {
      ++file;
    } else {
      file = files_.erase(file);
    }
  }
  files_dropped_at_ = std::max<std::size_t>(64, files_.size() * 2);
}

void DiskState::drop_now_and_then() {
  if (files_.size() < files_dropped_at_) return;
  change_names().drop_unreachable();
  drop_unreachable_files();
}

}  // namespace oncelog::sim
