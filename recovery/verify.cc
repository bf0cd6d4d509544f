// Verifies one partition directory: the pass that opening makes, with every check looked at.
#include "recovery/verify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "index/derived_file.h"
#include "index/producer_snapshot.h"
#include "recovery/analysis.h"
#include "recovery/snapshot_check.h"
#include "recovery/verify_batch.h"
#include "storage/file_names.h"

namespace oncelog {
namespace {

constexpr std::int64_t kSnapshotBytesMax = std::int64_t{1} << 31;

class Verifier {
 public:
  Verifier(FileSystem& files, const std::string& directory, const RootFacts& root,
           const VerifyOptions& options)
      : files_(files),
        directory_(directory),
        root_(root),
        options_(options),
        snapshot_check_(ReplayOptions{}) {}

  Result<VerifyReport> run();

 private:
  Status read_what_is_compared();
  Status on_batch(const SegmentPlan& segment, const ScannedBatch& batch);
  void on_segment(const SegmentPlan& segment, const SegmentPass& pass, bool sealed);
  void check_epoch(const SegmentPlan& segment, const ScannedBatch& batch);
  Status check_snapshots_up_to(Offset offset);
  Status check_snapshot(Offset offset);
  std::string log_with(Offset offset) const;
  void report_index(const SegmentPlan& segment, FileKind kind, const std::string& name,
                    const std::optional<IndexFault>& fault, bool vouched);
  void finish(const RecoveryPlan& plan);
  void finish_names(const RecoveryPlan& plan);
  void add(VerifyFinding finding);
  /// Whether derived files up to `end` were vouched for: then a contradiction is no crash's work.
  bool is_vouched(Offset end, bool sealed) const {
    return root_.clean || (sealed && end <= root_.recovery_point.value_or(0));
  }

  FileSystem& files_;
  const std::string& directory_;
  const RootFacts& root_;
  const VerifyOptions& options_;
  VerifyReport out_;
  std::vector<Offset> snapshots_;
  std::size_t next_snapshot_ = 0;
  SnapshotCheck snapshot_check_;
  const RecoveryPlan* plan_ = nullptr;
  std::string last_log_;  // with the last batch
  std::int64_t last_position_ = 0;
  LeaderEpoch leader_epoch_ = kNoLeaderEpoch;
};

void Verifier::add(VerifyFinding finding) {
  if (out_.findings.size() < options_.findings_max) {
    out_.findings.push_back(std::move(finding));
  } else {
    ++out_.findings_dropped;
  }
}

Status Verifier::read_what_is_compared() {
  ONCELOG_TRY_ASSIGN(const std::vector<DirEntry> entries, files_.list(directory_));
  for (const DirEntry& entry : entries) {
    const auto name = parse_file_name(entry.name);
    if (entry.type != FileType::kRegular || !name) continue;
    if (name->kind == FileKind::kSnapshot && name->stage == FileStage::kLive) {
      snapshots_.push_back(name->base_offset);
    }
  }
  std::sort(snapshots_.begin(), snapshots_.end());
  return {};
}

/// The history file tells the epoch of each offset. It may lag behind batches that no one promised.
void Verifier::check_epoch(const SegmentPlan& segment, const ScannedBatch& batch) {
  const BatchHeader& header = batch.header;
  if (header.magic < 2) return;
  VerifyFinding finding{
      segment.files.log, batch.position, header.base_offset, Severity::kError, {}};
  const LeaderEpoch before = std::exchange(leader_epoch_, header.leader_epoch);
  if (header.leader_epoch < before) {
    finding.what = "leader epoch falls from " + std::to_string(before) + " (" + last_log_ +
                   " at byte " + std::to_string(last_position_) + ") to " +
                   std::to_string(header.leader_epoch);
    add(std::move(finding));
    return;
  }
  if (!plan_->epochs_on_disk || plan_->epochs_on_disk->entries().empty()) return;
  // Below the first entry, which deleted records left behind, no epoch can be above its one.
  const EpochEntry& first = plan_->epochs_on_disk->entries().front();
  std::optional<LeaderEpoch> in_force = plan_->epochs_on_disk->epoch_at(header.base_offset);
  if (!in_force && header.leader_epoch > first.epoch) in_force = first.epoch;
  if (!in_force || *in_force == header.leader_epoch) return;
  const bool newer = header.leader_epoch > plan_->epochs_on_disk->latest()->epoch;
  const bool promised = root_.clean || header.base_offset < root_.recovery_point.value_or(0);
  if (newer && !promised) finding.severity = Severity::kNote;
  if (finding.severity == Severity::kError) leader_epoch_ = before;
  finding.what = "leader epoch is " + std::to_string(header.leader_epoch) + ", but " +
                 std::string(kLeaderEpochFile) + " says " + std::to_string(*in_force);
  add(std::move(finding));
}

Status Verifier::on_batch(const SegmentPlan& segment, const ScannedBatch& batch) {
  ONCELOG_TRY(check_snapshots_up_to(batch.header.base_offset));
  check_epoch(segment, batch);
  for (std::string& what : check_batch(batch, options_.deep)) {
    add({segment.files.log, batch.position, batch.header.base_offset, Severity::kError,
         std::move(what)});
  }
  snapshot_check_.add(batch);
  ++out_.batches;
  out_.records += batch.header.record_count;
  out_.bytes += batch.header.size_bytes();
  last_log_ = segment.files.log;
  last_position_ = batch.position;
  return {};
}

void Verifier::report_index(const SegmentPlan& segment, FileKind kind, const std::string& name,
                            const std::optional<IndexFault>& fault, bool vouched) {
  const bool missing = name.empty();
  if (!fault && !missing) return;
  VerifyFinding finding;
  finding.file = missing ? file_name(kind, segment.open.base_offset) : name;
  finding.severity = vouched ? Severity::kError : Severity::kNote;
  finding.position = missing ? -1 : fault->position;
  finding.what = missing ? "missing" : fault->what + " (" + segment.files.log + ")";
  add(std::move(finding));
}

void Verifier::on_segment(const SegmentPlan& segment, const SegmentPass& pass, bool sealed) {
  ++out_.segments;
  if (segment.has_hole || !plan_->report.damage.empty()) return;  // told already
  const bool empty = segment.facts.last_batch_position < 0;
  const bool vouched = is_vouched(segment.next_offset, sealed);
  if (pass.offset_check) {
    out_.index_entries += static_cast<std::int64_t>(pass.offset_check->entries().size());
    report_index(segment, FileKind::kOffsetIndex, segment.files.offset_index,
                 pass.offset_check->fault(), vouched);
  } else if (!empty && (sealed || root_.clean)) {
    report_index(segment, FileKind::kOffsetIndex, {}, std::nullopt, vouched);
  }
  if (pass.time_check) {
    out_.index_entries += static_cast<std::int64_t>(pass.time_check->entries().size());
    report_index(segment, FileKind::kTimeIndex, segment.files.time_index, pass.time_check->fault(),
                 vouched);
  } else if (!empty && (sealed || root_.clean)) {
    report_index(segment, FileKind::kTimeIndex, {}, std::nullopt, vouched);
  }
  out_.index_entries += static_cast<std::int64_t>(segment.txn_index->size());
  if (!segment.write_txn_index) return;
  const bool missing = segment.files.txn_index.empty();
  const std::string what =
      missing ? "missing, but transactions were aborted in this segment"
              : "does not say what " + segment.files.log + " says: " + pass.txn_fault;
  add({missing ? file_name(FileKind::kTxnIndex, segment.open.base_offset) : segment.files.txn_index,
       pass.txn_fault_position, kNoOffset, vouched ? Severity::kError : Severity::kNote, what});
}

Status Verifier::check_snapshots_up_to(Offset offset) {
  while (next_snapshot_ < snapshots_.size() && snapshots_[next_snapshot_] <= offset) {
    ONCELOG_TRY(check_snapshot(snapshots_[next_snapshot_++]));
  }
  return {};
}

/// The segment that should hold an offset.
std::string Verifier::log_with(Offset offset) const {
  std::string name = last_log_;
  for (const SegmentPlan& segment : plan_->segments) {
    if (segment.open.base_offset > offset) break;
    name = segment.files.log;
  }
  return name;
}

Status Verifier::check_snapshot(Offset offset) {
  const std::string name = file_name(FileKind::kSnapshot, offset);
  const Severity severity = offset <= root_.recovery_point.value_or(0) || root_.clean
                                ? Severity::kError
                                : Severity::kNote;
  ++out_.snapshots;
  // A stray one is the state of nothing, and opening removes it.
  if (!plan_->is_state_snapshot(offset)) return {};
  const auto bytes = read_whole_file(files_, directory_ + '/' + name, kSnapshotBytesMax);
  if (!bytes.ok()) return bytes.status();
  const Result<ProducerList> list = decode_producer_snapshot(*bytes, offset);
  if (!list.ok()) {
    add({name, list.error().position, kNoOffset, severity, list.error().message});
    return {};
  }
  // Behind damage or a missing segment the log cannot tell.
  if (!plan_->report.damage.empty() || !plan_->report.gaps.empty()) return {};
  const auto covered = [this](Offset at) { return plan_->is_covered_by_a_batch(at); };
  ONCELOG_TRY_ASSIGN(const auto found, snapshot_check_.contradictions(*list, covered));
  for (const SnapshotFault& fault : found)
    add({name, -1, offset, severity, fault.what + " (" + log_with(fault.offset) + ")"});
  return {};
}

void Verifier::finish_names(const RecoveryPlan& plan) {
  for (const std::string& name : plan.names.foreign)
    add({name, -1, kNoOffset, Severity::kNote, "not a file of this log, left alone"});
  for (const std::string& name : plan.names.removals)
    add({name, -1, kNoOffset, Severity::kNote, "left over, opening removes it"});
  for (const FileRename& rename : plan.names.renames) {
    add({rename.from, -1, kNoOffset, Severity::kNote,
         "unfinished replacement, opening renames it to " + rename.to});
  }
  for (const Offset offset : plan.snapshot_removals) {
    add({file_name(FileKind::kSnapshot, offset), -1, offset, Severity::kNote,
         "opening removes it: at or below the log start, above the end, stray or damaged"});
  }
}

void Verifier::finish(const RecoveryPlan& plan) {
  for (const DamageFinding& damage : plan.report.damage) {
    add({damage.file, damage.position, damage.first_offset, Severity::kError, damage.what});
  }
  finish_names(plan);
  for (const GapFinding& gap : plan.report.gaps) {
    add({"", -1, gap.first_offset, Severity::kNote,
         "no segment holds offsets " + std::to_string(gap.first_offset) + " to " +
             std::to_string(gap.last_offset)});
  }
  for (const SmallFileFault& fault : plan.small_file_faults)
    add({fault.file, -1, kNoOffset, Severity::kError, fault.what});
  for (const std::string& note : plan.report.notes) {
    const auto told = [&note](const SmallFileFault& fault) { return note.starts_with(fault.file); };
    const auto& faults = plan.small_file_faults;
    if (std::any_of(faults.begin(), faults.end(), told)) continue;
    add({"", -1, kNoOffset, Severity::kNote, note});
  }
  const bool closed_elsewhere = root_.clean && root_.recovery_point && plan.report.damage.empty() &&
                                *root_.recovery_point != plan.log_end;
  if (closed_elsewhere) {
    add({last_log_, last_position_, plan.log_end, Severity::kError,
         "the log ends at offset " + std::to_string(plan.log_end) + ", but it was closed at " +
             std::to_string(*root_.recovery_point)});
  }
}

Result<VerifyReport> Verifier::run() {
  ONCELOG_TRY(read_what_is_compared());
  RecoverOptions options;
  options.index_interval_bytes = options_.index_interval_bytes;
  options.segment_index_bytes = options_.segment_index_bytes;
  AnalysisHooks hooks;
  hooks.on_batch = [this](const SegmentPlan& segment, const ScannedBatch& batch) {
    return on_batch(segment, batch);
  };
  hooks.on_segment = [this](const SegmentPlan& segment, const SegmentPass& pass, bool sealed) {
    on_segment(segment, pass, sealed);
  };
  Analysis analysis(files_, directory_, root_, options, AnalysisMode::kLook);
  analysis.set_hooks(&hooks);
  plan_ = &analysis.plan();
  Result<RecoveryPlanPtr> plan = analysis.run();
  if (!plan.ok()) {
    // Overlapping segments: told as a finding, the rest cannot be looked at.
    if (plan.error().code != ErrorCode::kDamaged) return std::move(plan).error();
    const std::string& path = plan.error().path;
    add({path.substr(path.rfind('/') + 1), plan.error().position, plan.error().offset,
         Severity::kError, plan.error().message});
    out_.recovery.verdict = Verdict::kDamage;
    return std::move(out_);
  }
  plan_ = plan->get();
  ONCELOG_TRY(check_snapshots_up_to((*plan)->log_end));
  finish(**plan);
  out_.log_start = (*plan)->log_start;
  out_.log_end = (*plan)->log_end;
  out_.recovery = (*plan)->report;
  return std::move(out_);
}

}  // namespace

std::string_view to_string(Severity severity) noexcept {
  return severity == Severity::kError ? "error" : "note";
}

std::string to_string(const VerifyFinding& finding) {
  std::string out = finding.file;
  if (finding.position >= 0) out += " at byte " + std::to_string(finding.position);
  if (finding.offset >= 0) {
    out += out.empty() ? "offset " : ", offset ";
    out += std::to_string(finding.offset);
  }
  if (!out.empty()) out += ": ";
  return out + finding.what;
}

bool VerifyReport::has_errors() const {
  return recovery.verdict == Verdict::kDamage || findings_dropped > 0 ||
         std::any_of(findings.begin(), findings.end(), [](const VerifyFinding& finding) {
           return finding.severity == Severity::kError;
         });
}

Result<VerifyReport> verify_partition(FileSystem& files, const std::string& directory,
                                      const RootFacts& root, const VerifyOptions& options) {
  return Verifier(files, directory, root, options).run();
}

}  // namespace oncelog
