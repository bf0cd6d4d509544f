// The order of the analysis, and its parts that read no batches.
#include "recovery/analysis.h"

#include <algorithm>

#include "index/derived_file.h"
#include "recovery/analyse_names.h"
#include "storage/format/batch_header.h"

namespace oncelog {
namespace {

constexpr std::int64_t kTextFileBytesMax = 16 << 20;
constexpr std::int64_t kDerivedFileBytesMax = std::int64_t{1} << 31;

std::string text_of(const std::vector<std::byte>& bytes) {
  std::string text(bytes.size(), '\0');
  std::transform(bytes.begin(), bytes.end(), text.begin(),
                 [](std::byte b) { return static_cast<char>(std::to_integer<unsigned char>(b)); });
  return text;
}

ReplayOptions replay_options(const RootFacts& root, const RecoverOptions& options) {
  return {options.producers, options.now_ms, root.high_watermark.value_or(0)};
}

/// Whether the last batch of a segment, if it has one, carries a leader epoch.
bool has_epoch(const SidecarSegment& segment) {
  if (segment.last_batch_position < 0) return false;
  const auto header = decode_header(segment.last_batch_header);
  return header.ok() && header->leader_epoch >= 0;
}

}  // namespace

Analysis::Analysis(FileSystem& files, const std::string& directory, const RootFacts& root,
                   const RecoverOptions& options, AnalysisMode mode)
    : files_(files), mode_(mode), plan_(new RecoveryPlan), replay_(replay_options(root, options)) {
  plan_->directory = directory;
  plan_->root = root;
  plan_->options = options;
  plan_->producers = ProducerState(options.producers);
  plan_->report.clean = root.clean;
  if (options.clock != nullptr) phase_begin_ns_ = options.clock->monotonic_ns();
}

Result<RecoveryPlanPtr> Analysis::run() {
  ONCELOG_TRY(list());
  ONCELOG_TRY(open_segments());
  ONCELOG_TRY(read_small_files());
  ONCELOG_TRY_ASSIGN(plan_->sidecar,
                     weigh_sidecar(files_, plan_->directory,
                                   {&plan_->names, opened_segments(*plan_), plan_->root.clean,
                                    plan_->root.recovery_point}));
  ONCELOG_TRY(set_floor());
  end_phase("list", static_cast<std::int64_t>(plan_->names.segments.size()), 0);
  at_checkpoint_ = can_start_at_checkpoint();
  ONCELOG_TRY(scan());
  drop_empty_segments_behind_a_gap();
  tell_gaps_from_compaction();
  ONCELOG_TRY(adopt_snapshots_up_to(plan_->log_end));
  end_of_log();
  end_phase("scan", static_cast<std::int64_t>(plan_->segments_kept), plan_->report.bytes_scanned);
  ONCELOG_TRY(choose_snapshots());
  finish_producers();
  finish_epochs();
  end_phase("producers", static_cast<std::int64_t>(plan_->snapshots.size()), 0);
  finish_report();
  return std::move(plan_);
}

void Analysis::end_phase(const char* name, std::int64_t files, std::int64_t bytes) {
  std::int64_t now = 0;
  if (plan_->options.clock != nullptr) now = plan_->options.clock->monotonic_ns();
  plan_->report.phases.push_back({name, files, bytes, now - phase_begin_ns_});
  phase_begin_ns_ = now;
}

Status Analysis::list() {
  ONCELOG_TRY_ASSIGN(plan_->names, classify_directory(files_, plan_->directory));
  plan_->report.foreign = plan_->names.foreign;
  plan_->report.removed = plan_->names.removals;
  plan_->report.notes = plan_->names.notes;
  for (const FileRename& rename : plan_->names.renames)
    plan_->report.notes.push_back(rename.from + ": interrupted replacement finished");
  return {};
}

Status Analysis::open_segments() {
  for (const SegmentFiles& names : plan_->names.segments) {
    SegmentPlan segment;
    segment.files = names;
    segment.open.base_offset = names.base_offset;
    ONCELOG_TRY_ASSIGN(segment.open.log, files_.open(path_of(names.log), OpenMode::kRead));
    ONCELOG_TRY_ASSIGN(const FileStat stat, segment.open.log->stat());
    if (stat.size > kSegmentBytesMax) {
      return make_error(ErrorCode::kUnsupportedFormat,
                        "segment is larger than positions of 31 bits can tell")
          .at(path_of(names.log), kSegmentBytesMax);
    }
    segment.open.size = stat.size;
    segment.facts.base_offset = names.base_offset;
    segment.next_offset = names.base_offset;
    plan_->segments.push_back(std::move(segment));
  }
  plan_->segments_kept = plan_->segments.size();
  return {};
}

Result<std::vector<std::byte>> Analysis::read_derived(const std::string& name) const {
  return read_whole_file(files_, path_of(name), kDerivedFileBytesMax);
}

/// The epoch history and the topic id. Neither keeps a log from opening.
Status Analysis::read_small_files() {
  const auto read = [&](std::string_view name) {
    return read_whole_file(files_, path_of(std::string(name)), kTextFileBytesMax);
  };
  const auto note = [&](std::string_view name, const Error& error) {
    plan_->small_file_faults.push_back({std::string(name), to_string(error)});
    plan_->report.notes.push_back(std::string(name) + ": " + to_string(error));
  };
  if (const auto bytes = read(kLeaderEpochFile); bytes.ok()) {
    const Result<LeaderEpochCache> epochs = LeaderEpochCache::decode(text_of(*bytes));
    epochs_trusted_ = epochs.ok();
    epochs_damaged_ = !epochs.ok();
    if (epochs.ok()) {
      epochs_on_disk_ = *epochs;
      plan_->epochs_on_disk = *epochs;
    } else {
      note(kLeaderEpochFile, epochs.error());
    }
  } else if (bytes.error().code == ErrorCode::kDamaged) {
    note(kLeaderEpochFile, bytes.error());
  } else if (bytes.error().code != ErrorCode::kNotFound) {
    return bytes.error();
  }
  plan_->epochs = epochs_on_disk_;
  if (const auto bytes = read(kPartitionMetadataFile); bytes.ok()) {
    const Result<Uuid> id = decode_partition_metadata(text_of(*bytes));
    if (id.ok()) {
      plan_->topic_id = *id;
    } else {
      note(kPartitionMetadataFile, id.error());
    }
  } else if (bytes.error().code != ErrorCode::kNotFound) {
    note(kPartitionMetadataFile, bytes.error());
  }
  return {};
}

/// D and W. A later segment proves the earlier ones durable only in a log of ours that bounds what
/// it leaves unsynced: without a bound a segment may be begun before the one before it is synced.
Status Analysis::set_floor() {
  window_bytes_ = plan_->sidecar.window_bytes();
  floor_ = std::max(plan_->root.recovery_point.value_or(0), plan_->sidecar.floor());
  if (plan_->sidecar.sidecar && !plan_->sidecar.foreign_writer && window_bytes_ >= 0) {
    for (std::size_t i = plan_->segments.size(); i-- > 1;) {
      const OpenSegment& segment = plan_->segments[i].open;
      ScanOptions options;
      options.segment_base = segment.base_offset;
      SegmentScanner scanner(*segment.log, options);
      ONCELOG_TRY_ASSIGN(const auto batch, scanner.next());
      if (!batch) continue;
      floor_ = std::max(floor_, segment.base_offset);
      break;
    }
  }
  plan_->report.durable_floor = floor_;
  return {};
}

/// Below the checkpoint the epoch file is all that knows the epochs, so it must be good.
bool Analysis::can_start_at_checkpoint() {
  if (reads_everything_ || !plan_->sidecar.covers || plan_->segments.empty()) return false;
  // An empty file is a good one, but not when the last batch below the checkpoint has an epoch.
  if (epochs_on_disk_.entries().empty() && has_epoch(plan_->sidecar.sidecar->active.segment)) {
    epochs_trusted_ = false;
  }
  return epochs_trusted_ ||
         plan_->sidecar.sidecar->active.offset == plan_->segments.front().open.base_offset;
}

void Analysis::finish_report() {
  RecoveryReport& report = plan_->report;
  const std::vector<std::string>& from_sidecar = plan_->sidecar.notes;
  report.notes.insert(report.notes.end(), from_sidecar.begin(), from_sidecar.end());
  const std::vector<std::string>& from_replay = replay_.notes();
  report.notes.insert(report.notes.end(), from_replay.begin(), from_replay.end());
  for (const Offset offset : plan_->snapshot_removals)
    report.removed.push_back(file_name(FileKind::kSnapshot, offset));
  for (std::size_t i = plan_->segments_kept; i < plan_->segments.size(); ++i)
    report.removed.push_back(plan_->segments[i].files.log);
  if (plan_->lowers_floor && !plan_->refusal) {
    report.notes.push_back("the durable floor is lowered from " + std::to_string(floor_) + " to " +
                           std::to_string(plan_->log_end));
  }
}

}  // namespace oncelog
