// From a plan to the value that a log is opened with, and what a plan would do in words.
#include <utility>

#include "index/text_files.h"
#include "recovery/plan.h"
#include "storage/file_names.h"

namespace oncelog {
namespace {

LoadedSegment to_loaded_segment(SegmentPlan&& plan, const RecoverOptions& options, bool active) {
  LoadedSegment out;
  out.facts = plan.facts;
  out.next_offset = plan.next_offset;
  out.log_file = plan.files.log;
  const bool rebuilt = plan.write_offset_index || plan.write_time_index || plan.write_txn_index;
  out.dirty = rebuilt || plan.needs_sync;
  if (active || plan.write_offset_index || plan.has_hole) {
    out.offset_index = std::move(plan.offset_index);
  }
  if (active || plan.write_time_index || plan.has_hole) out.time_index = std::move(plan.time_index);
  if (active || plan.write_txn_index || plan.has_hole) out.txn_index = std::move(plan.txn_index);
  if (!active) return out;
  const Offset base = plan.open.base_offset;
  if (out.offset_index == nullptr) {
    out.offset_index = std::make_unique<OffsetIndex>(base, options.segment_index_bytes);
  }
  if (out.time_index == nullptr) {
    out.time_index = std::make_unique<TimeIndex>(base, options.segment_index_bytes);
  }
  if (out.txn_index == nullptr) out.txn_index = std::make_unique<TxnIndex>(base);
  return out;
}

}  // namespace

LoadedLog to_loaded_log(RecoveryPlan&& plan) {
  LoadedLog out;
  out.directory = plan.directory;
  for (std::size_t i = 0; i < plan.segments_kept; ++i) {
    out.segments.push_back(
        to_loaded_segment(std::move(plan.segments[i]), plan.options, i + 1 == plan.segments_kept));
  }
  if (out.segments.empty()) {
    SegmentPlan empty;
    empty.open.base_offset = plan.log_end;
    empty.facts.base_offset = plan.log_end;
    empty.next_offset = plan.log_end;
    out.segments.push_back(to_loaded_segment(std::move(empty), plan.options, true));
  }
  out.log_start = plan.log_start;
  out.log_end = plan.log_end;
  out.recovery_point =
      plan.root.clean ? plan.log_end : std::min(plan.root.recovery_point.value_or(0), plan.log_end);
  out.producers = std::move(plan.producers);
  out.last_stable_floor = out.producers.txns().last_stable(plan.log_start, plan.log_end);
  out.epochs = std::move(plan.epochs);
  out.topic_id = plan.topic_id;
  out.snapshots = std::move(plan.snapshots);
  out.sidecar_covers = plan.sidecar.covers && !plan.sidecar.foreign_writer;
  out.unsynced_bytes_max = plan.sidecar.window_bytes();
  out.read_only = plan.read_only;
  out.damaged = std::move(plan.damaged);
  out.report = std::move(plan.report);
  return out;
}

const RecoveryReport& report_of(const RecoveryPlan& plan) {
  return plan.report;
}

std::vector<std::string> actions_of(const RecoveryPlan& plan) {
  std::vector<std::string> out;
  for (const std::string& name : plan.names.removals)
    out.push_back("remove " + name);
  for (const FileRename& rename : plan.names.renames)
    out.push_back("rename " + rename.from + " to " + rename.to);
  if (plan.read_only) return out;
  if (plan.lowers_floor) {
    out.push_back("lower the recovery point to " + std::to_string(plan.log_end));
  }
  if (plan.removes_sidecar) out.push_back("remove " + std::string(kSidecarFile));
  for (const Offset offset : plan.snapshot_removals)
    out.push_back("remove " + file_name(FileKind::kSnapshot, offset));
  for (std::size_t i = plan.segments.size(); i-- > plan.segments_kept;) {
    const bool keep = plan.cut && plan.cut->keep_bytes && plan.segments[i].open.size > 0;
    out.push_back((keep ? "set aside " : "remove ") + plan.segments[i].files.log);
  }
  for (std::size_t i = 0; i < plan.segments_kept; ++i) {
    const SegmentPlan& segment = plan.segments[i];
    const bool at_cut = plan.cut && plan.cut->segment == i;
    const std::int64_t size = at_cut ? plan.cut->position : segment.facts.size;
    if ((at_cut || segment.zero_tail_bytes > 0) && size < segment.open.size) {
      const bool keep = at_cut && plan.cut->keep_bytes;
      out.push_back("cut " + segment.files.log + " from " + std::to_string(segment.open.size) +
                    " to " + std::to_string(size) + (keep ? ", keeping the bytes" : ""));
    }
    const auto write = [&](bool wanted, FileKind kind) {
      if (wanted) out.push_back("write " + file_name(kind, segment.open.base_offset));
    };
    write(segment.write_offset_index, FileKind::kOffsetIndex);
    write(segment.write_time_index, FileKind::kTimeIndex);
    write(segment.write_txn_index, FileKind::kTxnIndex);
  }
  if (plan.segments_kept == 0) {
    out.push_back("create " + file_name(FileKind::kLog, plan.log_end));
  }
  if (plan.write_epochs) out.push_back("write " + std::string(kLeaderEpochFile));
  return out;
}

}  // namespace oncelog
