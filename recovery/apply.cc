// Carries a plan out: names first, then what goes is kept, then cuts, then derived files, then
// sync.
//
// INVARIANTS
//   Every step leaves a directory for which the same decision is taken again: bytes are copied
//   before they go, segments behind a cut go from the highest down and durably before the cut
//   itself, and derived files are replaced whole.
#include <algorithm>
#include <utility>

#include "index/derived_file.h"
#include "recovery/analysis.h"
#include "recovery/cut.h"
#include "recovery/plan.h"
#include "recovery/recover.h"
#include "storage/file_names.h"

namespace oncelog {
namespace {

class Effects {
 public:
  Effects(FileSystem& files, RecoveryPlan& plan) : files_(files), plan_(plan) {}

  Status run(const RecoveryEffects& effects);

 private:
  Status finish_names();
  Status remove(const std::string& name);
  Status drop_segments();
  Status drop_segment(std::size_t i, bool keep);
  Status cut_logs();
  Status write_derived_files();
  Status write_indexes(const SegmentPlan& segment);
  Status remove_snapshots();
  Status start_empty_segment();
  Status sync_logs();
  std::int64_t unproved_from(const SegmentPlan& segment) const;
  Status rewrite(File& file, std::int64_t begin, std::int64_t end) const;
  Status sync_indexes();
  std::string path_of(const std::string& name) const { return plan_.directory + '/' + name; }

  FileSystem& files_;
  RecoveryPlan& plan_;
};

Status Effects::remove(const std::string& name) {
  return name.empty() ? Status{} : remove_if_exists(files_, path_of(name));
}

/// Interrupted replacements and deletions. From here on files have their final names.
Status Effects::finish_names() {
  for (const std::string& name : plan_.names.removals) {
    ONCELOG_TRY(remove(name));
  }
  if (!plan_.names.renames.empty()) ONCELOG_TRY(files_.sync_directory(plan_.directory));
  for (const FileRename& rename : plan_.names.renames) {
    ONCELOG_TRY(files_.rename(path_of(rename.from), path_of(rename.to)));
  }
  if (!plan_.names.renames.empty() || !plan_.names.removals.empty()) {
    ONCELOG_TRY(files_.sync_directory(plan_.directory));
  }
  for (SegmentPlan& segment : plan_.segments) {
    const auto final_name = [&](std::string& name, FileKind kind) {
      if (!name.empty()) name = file_name(kind, segment.open.base_offset);
    };
    final_name(segment.files.log, FileKind::kLog);
    final_name(segment.files.offset_index, FileKind::kOffsetIndex);
    final_name(segment.files.time_index, FileKind::kTimeIndex);
    final_name(segment.files.txn_index, FileKind::kTxnIndex);
  }
  return {};
}

/// From the highest base down, so that what is left at any moment still ends in the bad spot.
Status Effects::drop_segments() {
  if (plan_.segments_kept == plan_.segments.size()) return {};
  const bool keep = plan_.cut && plan_.cut->keep_bytes;
  for (std::size_t i = plan_.segments.size(); i-- > plan_.segments_kept;) {
    ONCELOG_TRY(drop_segment(i, keep));
  }
  return files_.sync_directory(plan_.directory);
}

Status Effects::drop_segment(std::size_t i, bool keep) {
  const SegmentPlan& segment = plan_.segments[i];
  // A file at the cut's own segment keeps only what lies behind the cut; whole ones get a new name.
  const bool whole = keep && segment.open.size > 0;
  ONCELOG_TRY(remove(segment.files.offset_index));
  ONCELOG_TRY(remove(segment.files.time_index));
  ONCELOG_TRY(remove(segment.files.txn_index));
  if (whole) {
    ONCELOG_TRY_ASSIGN(
        const std::string name,
        keep_whole(files_, plan_.directory, segment.files.log, segment.open.base_offset));
    plan_.report.kept_files.push_back(name);
  } else {
    ONCELOG_TRY(remove(segment.files.log));
  }
  return files_.sync_directory(plan_.directory);
}

Status Effects::cut_logs() {
  for (std::size_t i = 0; i < plan_.segments_kept; ++i) {
    SegmentPlan& segment = plan_.segments[i];
    const bool at_cut = plan_.cut && plan_.cut->segment == i;
    if (!at_cut && segment.zero_tail_bytes == 0) continue;
    const std::int64_t size = at_cut ? plan_.cut->position : segment.facts.size;
    if (size >= segment.open.size) continue;
    ONCELOG_TRY(cut_log(files_, plan_.directory, segment.files.log, size));
    segment.open.size = size;
    segment.open.log.reset();
  }
  return {};
}

Status Effects::write_indexes(const SegmentPlan& segment) {
  const Offset base = segment.open.base_offset;
  const auto write = [&](FileKind kind, const std::vector<std::byte>& bytes) {
    return replace_file(files_, plan_.directory, file_name(kind, base), bytes, false);
  };
  if (segment.write_offset_index) {
    ONCELOG_TRY(write(FileKind::kOffsetIndex, segment.offset_index->encode()));
  }
  if (segment.write_time_index) {
    ONCELOG_TRY(write(FileKind::kTimeIndex, segment.time_index->encode()));
  }
  if (segment.write_txn_index) {
    ONCELOG_TRY(write(FileKind::kTxnIndex, segment.txn_index->encode()));
  }
  return {};
}

Status Effects::write_derived_files() {
  for (std::size_t i = 0; i < plan_.segments_kept; ++i) {
    ONCELOG_TRY(write_indexes(plan_.segments[i]));
  }
  if (!plan_.write_epochs) return {};
  const std::string text = plan_.epochs.encode();
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return replace_file(files_, plan_.directory, std::string(kLeaderEpochFile), bytes, false);
}

Status Effects::remove_snapshots() {
  for (const Offset offset : plan_.snapshot_removals) {
    ONCELOG_TRY(remove(file_name(FileKind::kSnapshot, offset)));
  }
  return {};
}

/// A log has at least one segment.
Status Effects::start_empty_segment() {
  if (plan_.segments_kept > 0) return {};
  const std::string name = file_name(FileKind::kLog, plan_.log_end);
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file,
                     files_.open(path_of(name), OpenMode::kCreate));
  ONCELOG_TRY(file->truncate(0));
  ONCELOG_TRY(file->sync());
  SegmentPlan segment;
  segment.files.base_offset = plan_.log_end;
  segment.files.log = name;
  segment.open.base_offset = plan_.log_end;
  segment.facts.base_offset = plan_.log_end;
  segment.next_offset = plan_.log_end;
  plan_.segments.clear();
  plan_.segments.push_back(std::move(segment));
  plan_.segments_kept = 1;
  return {};
}

/// Where the bytes of a log begin that read well and may all the same not be on the disk: after a
/// failed sync the kernel shows pages that it will never write again, so syncing is not enough.
/// Only a run of ours goes on after such a failure (a broker ends), and it names the most it had
/// unsynced.
std::int64_t Effects::unproved_from(const SegmentPlan& segment) const {
  const std::int64_t size = segment.facts.size;
  const SidecarFindings& findings = plan_.sidecar;
  if (!findings.sidecar || findings.foreign_writer) return size;
  const SidecarSegment& checkpoint = findings.sidecar->active.segment;
  if (segment.open.base_offset < checkpoint.base_offset) return size;
  std::int64_t from = 0;
  if (segment.open.base_offset == checkpoint.base_offset) from = checkpoint.size;
  const std::int64_t window = findings.window_bytes();
  if (window != kUnsyncedUnlimited) from = std::max(from, size - window);
  return std::clamp<std::int64_t>(from, 0, size);
}

/// Writes bytes as they are read, so that a sync has something to write.
Status Effects::rewrite(File& file, std::int64_t begin, std::int64_t end) const {
  constexpr std::int64_t kPieceBytes = 1 << 20;
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(kPieceBytes, end - begin)));
  for (std::int64_t at = begin; at < end;) {
    const auto want = static_cast<std::size_t>(
        std::min<std::int64_t>(static_cast<std::int64_t>(piece.size()), end - at));
    ONCELOG_TRY_ASSIGN(const std::size_t got, file.read_at(at, std::span(piece).first(want)));
    if (got == 0) return make_error(ErrorCode::kIo, "the file became shorter").at(file.path(), at);
    ONCELOG_TRY(file.write_at(at, std::span(piece).first(got)));
    at += static_cast<std::int64_t>(got);
  }
  return {};
}

/// All that will be shown must survive the next power cut (a reader may act on it at once).
Status Effects::sync_logs() {
  for (std::size_t i = 0; i < plan_.segments_kept; ++i) {
    const SegmentPlan& segment = plan_.segments[i];
    if (!segment.needs_sync) continue;
    ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file,
                       files_.open(path_of(segment.files.log), OpenMode::kReadWrite));
    const std::int64_t from = unproved_from(segment);
    if (from < segment.facts.size) ONCELOG_TRY(rewrite(*file, from, segment.facts.size));
    ONCELOG_TRY(file->sync());
  }
  return {};
}

/// Index files that stay as they are were never synced either.
Status Effects::sync_indexes() {
  for (std::size_t i = 0; i < plan_.segments_kept; ++i) {
    const SegmentPlan& segment = plan_.segments[i];
    if (!segment.needs_sync) continue;
    for (const std::string* name :
         {&segment.files.offset_index, &segment.files.time_index, &segment.files.txn_index}) {
      if (name->empty()) continue;
      ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file,
                         files_.open(path_of(*name), OpenMode::kReadWrite));
      ONCELOG_TRY(file->sync());
    }
  }
  return {};
}

Status Effects::run(const RecoveryEffects& effects) {
  ONCELOG_TRY(finish_names());
  // Nothing else is touched in a log that is only to be read.
  if (plan_.read_only) return {};
  if (plan_.lowers_floor && effects.before_cut) {
    ONCELOG_TRY(effects.before_cut(plan_.log_end));
  }
  if (plan_.cut && plan_.cut->keep_bytes) {
    const SegmentPlan& segment = plan_.segments[plan_.cut->segment];
    if (plan_.cut->segment < plan_.segments_kept) {
      ONCELOG_TRY_ASSIGN(const std::string name,
                         keep_tail(files_, plan_.directory, segment.files.log,
                                   segment.open.base_offset, plan_.cut->position));
      if (!name.empty()) plan_.report.kept_files.push_back(name);
    }
  }
  if (plan_.removes_sidecar) {
    ONCELOG_TRY(remove(std::string(kSidecarFile)));
    ONCELOG_TRY(files_.sync_directory(plan_.directory));
  }
  ONCELOG_TRY(remove_snapshots());
  ONCELOG_TRY(drop_segments());
  ONCELOG_TRY(cut_logs());
  ONCELOG_TRY(start_empty_segment());
  // Before the derived files: a broker's preallocated indexes are the only sign of a foreign writer
  // whose rolls prove nothing, and they may go when nothing of it is unsynced any more.
  ONCELOG_TRY(sync_logs());
  ONCELOG_TRY(files_.sync_directory(plan_.directory));
  ONCELOG_TRY(write_derived_files());
  ONCELOG_TRY(sync_indexes());
  return files_.sync_directory(plan_.directory);
}

}  // namespace

void RecoveryPlanDeleter::operator()(RecoveryPlan* plan) const noexcept {
  delete plan;
}

Result<RecoveryPlanPtr> analyse(FileSystem& files, const std::string& directory,
                                const RootFacts& root, const RecoverOptions& options) {
  Analysis analysis(files, directory, root, options, AnalysisMode::kRecover);
  ONCELOG_TRY_ASSIGN(RecoveryPlanPtr plan, analysis.run());
  const RecoveryReport& report = plan->report;
  if (report.verdict != Verdict::kDamage || !report.sidecar_used) return plan;
  // Something durable is bad, and what the sidecar vouches for was not read: what becomes of the
  // log is decided once, knowing all of it.
  Analysis complete(files, directory, root, options, AnalysisMode::kRecover);
  complete.read_everything();
  return complete.run();
}

Result<LoadedLog> apply(FileSystem& files, RecoveryPlanPtr plan, const RecoveryEffects& effects) {
  if (plan->refusal) return *std::move(plan->refusal);
  const auto now = [&] {
    return plan->options.clock != nullptr ? plan->options.clock->monotonic_ns() : 0;
  };
  const std::int64_t begin_ns = now();
  ONCELOG_TRY(Effects(files, *plan).run(effects));
  plan->report.phases.push_back({"effects", 0, plan->report.truncated_bytes, now() - begin_ns});
  return to_loaded_log(std::move(*plan));
}

Result<LoadedLog> load_read_only(FileSystem& files, const std::string& directory,
                                 const RootFacts& root, const RecoverOptions& options) {
  ONCELOG_TRY_ASSIGN(RecoveryPlanPtr plan,
                     Analysis(files, directory, root, options, AnalysisMode::kLook).run());
  return to_loaded_log(std::move(*plan));
}

}  // namespace oncelog
