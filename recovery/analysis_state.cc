// Producer state, snapshots and leader epochs of a log.
#include <algorithm>

#include "index/derived_file.h"
#include "index/producer_snapshot.h"
#include "recovery/analysis.h"
#include "storage/file_names.h"

namespace oncelog {
namespace {

constexpr std::int64_t kSnapshotBytesMax = std::int64_t{1} << 31;
constexpr std::size_t kSnapshotsKeptMin = 2;

}  // namespace

void Analysis::choose_state_snapshots() {
  std::vector<Offset> bases;
  for (const SegmentPlan& segment : plan_->segments)
    bases.push_back(segment.open.base_offset);
  const Offset last_base = bases.empty() ? 0 : bases.back();
  std::optional<Offset> greatest;
  for (const Offset offset : plan_->names.snapshots) {
    if (std::binary_search(bases.begin(), bases.end(), offset)) {
      plan_->state_snapshots.push_back(offset);
    } else if (offset >= last_base) {
      greatest = offset;
    }
  }
  if (greatest) plan_->state_snapshots.push_back(*greatest);
  std::sort(plan_->state_snapshots.begin(), plan_->state_snapshots.end());
}

/// Nothing when the snapshot cannot be used; then it is listed as bad.
Result<std::optional<ProducerList>> Analysis::load_snapshot(Offset offset) {
  const std::string name = file_name(FileKind::kSnapshot, offset);
  const Result<std::vector<std::byte>> bytes =
      read_whole_file(files_, path_of(name), kSnapshotBytesMax);
  if (!bytes.ok() && bytes.error().code != ErrorCode::kDamaged) return bytes.error();
  Result<ProducerList> list =
      bytes.ok() ? decode_producer_snapshot(*bytes, offset) : Result<ProducerList>(bytes.error());
  if (list.ok()) return std::optional<ProducerList>(std::move(list).value());
  bad_snapshots_.push_back(offset);
  plan_->report.notes.push_back(name + ": damaged snapshot, set aside: " + list.error().message);
  return std::optional<ProducerList>();
}

Status Analysis::adopt_snapshots_up_to(Offset offset) {
  if (at_checkpoint_) return {};
  while (next_snapshot_ < plan_->state_snapshots.size() &&
         plan_->state_snapshots[next_snapshot_] <= offset) {
    const Offset at = plan_->state_snapshots[next_snapshot_++];
    ONCELOG_TRY_ASSIGN(const auto list, load_snapshot(at));
    if (!list) continue;
    replay_.adopt(*list, at, false);
    plan_->report.snapshot_used = at;
  }
  return {};
}

/// What becomes of the snapshot files. Kafka deletes those at or below the log start, above the end
/// and stray ones; the two newest good ones stay whatever the log start is.
Status Analysis::choose_snapshots() {
  const Offset end = plan_->log_end;
  if (at_checkpoint_) {
    // Not read so far; the newest ones must be known to be good.
    std::size_t good = 0;
    for (std::size_t i = plan_->state_snapshots.size(); i-- > 0 && good < kSnapshotsKeptMin;) {
      if (plan_->state_snapshots[i] > end) continue;
      ONCELOG_TRY_ASSIGN(const auto list, load_snapshot(plan_->state_snapshots[i]));
      if (list) ++good;
    }
  }
  const auto is_bad = [&](Offset offset) {
    return std::find(bad_snapshots_.begin(), bad_snapshots_.end(), offset) != bad_snapshots_.end();
  };
  std::vector<Offset> good;
  for (const Offset offset : plan_->state_snapshots) {
    if (!plan_->reset_to_log_start && offset <= end && !is_bad(offset)) good.push_back(offset);
  }
  while (good.size() > kSnapshotsKeptMin && good.front() <= plan_->log_start)
    good.erase(good.begin());
  plan_->snapshots = good;
  for (const Offset offset : plan_->names.snapshots) {
    if (!std::binary_search(good.begin(), good.end(), offset)) {
      plan_->snapshot_removals.push_back(offset);
    }
  }
  return {};
}

void Analysis::finish_producers() {
  RecoveryReport& report = plan_->report;
  report.sidecar_used = at_checkpoint_;
  if (plan_->reset_to_log_start) {
    plan_->producers.set_map_end(plan_->log_end);
    report.snapshot_used = kNoOffset;
    return;
  }
  plan_->producers = replay_.take_state();
  plan_->producers.txns().on_log_start(plan_->log_start);
  plan_->producers.set_map_end(plan_->log_end);
  const bool from_the_start =
      !plan_->segments.empty() && plan_->segments.front().open.base_offset == 0;
  report.duplicate_window_full =
      at_checkpoint_ || from_the_start || plan_->producers.producers().empty();
}

/// What a batch adds to a history: an epoch above its latest.
void Analysis::add_epoch(LeaderEpochCache& epochs, const EpochEntry& entry) {
  const std::optional<EpochEntry> latest = epochs.latest();
  if (!latest || entry.epoch > latest->epoch) epochs.assign(entry.epoch, entry.start_offset);
}

void Analysis::finish_epochs() {
  LeaderEpochCache& epochs = plan_->epochs;
  if (plan_->reset_to_log_start) {
    epochs.clear();
  } else {
    // A log whose records were all deleted keeps the epoch that it ended with, at its end.
    const bool all_deleted = plan_->log_end > 0 && plan_->log_start == plan_->log_end;
    epochs.truncate_from_end(all_deleted ? plan_->log_end + 1 : plan_->log_end);
    for (const EpochEntry& entry : epochs_derived_.entries())
      add_epoch(epochs, entry);
    epochs.truncate_from_start(plan_->log_start);
  }
  const bool differs = epochs.entries() != epochs_on_disk_.entries();
  if (!epochs_trusted_ && !epochs.entries().empty()) {
    plan_->report.rebuilt.emplace_back(kLeaderEpochFile);
  }
  plan_->write_epochs = differs || epochs_damaged_;
}

}  // namespace oncelog
