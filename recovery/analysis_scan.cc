// The pass over the batches of all segments that are not vouched for.
#include <algorithm>

#include "recovery/analysis.h"
#include "storage/file_names.h"

namespace oncelog {
namespace {

SegmentBuildOptions build_options(const RecoverOptions& options) {
  return {options.index_interval_bytes, options.segment_index_bytes};
}

}  // namespace

Status Analysis::scan() {
  std::vector<SegmentPlan>& segments = plan_->segments;
  std::size_t first = 0;
  if (at_checkpoint_) {
    const SidecarCheckpoint& checkpoint = plan_->sidecar.sidecar->active;
    while (segments[first].open.base_offset < checkpoint.segment.base_offset)
      ++first;
    ONCELOG_TRY(take_covered_segments(first));
    if (at_checkpoint_) ONCELOG_TRY(check_aborted_at_checkpoint(first));
  }
  // `take_covered_segments` may have found that everything must be scanned after all.
  if (!at_checkpoint_) first = 0;
  choose_state_snapshots();
  if (at_checkpoint_) {
    replay_.adopt(plan_->sidecar.sidecar->producers, plan_->sidecar.sidecar->active.offset, true);
  } else if (!segments.empty()) {
    ONCELOG_TRY(adopt_snapshots_up_to(segments.front().open.base_offset));
  }
  for (std::size_t i = first; i < segments.size() && !stopped_; ++i) {
    ONCELOG_TRY(scan_segment(i));
  }
  return {};
}

/// Sealed segments that the sidecar vouches for: only their derived files are looked at.
Status Analysis::take_covered_segments(std::size_t count) {
  const std::vector<SidecarSegment>& sealed = plan_->sidecar.sidecar->sealed;
  auto listed = sealed.begin();
  for (std::size_t i = 0; i < count; ++i) {
    SegmentPlan& segment = plan_->segments[i];
    while (listed->base_offset < segment.open.base_offset)
      ++listed;
    segment.facts = *listed;
    segment.next_offset =
        listed->last_offset == kNoOffset ? listed->base_offset : listed->last_offset + 1;
    ONCELOG_TRY(check_covered_indexes(i));
    if (!at_checkpoint_) return {};
  }
  return {};
}

Status Analysis::scan_segment(std::size_t i) {
  SegmentPlan& segment = plan_->segments[i];
  ONCELOG_TRY_ASSIGN(SegmentPass pass, begin_pass(i));
  std::int64_t begin = pass.build.facts().size;
  Offset expected = pass.build.next_offset();
  for (;;) {
    ScanOptions options;
    options.begin = begin;
    options.end = segment.open.size;
    options.segment_base = segment.open.base_offset;
    options.expected_offset = expected;
    SegmentScanner scanner(*segment.open.log, options);
    ONCELOG_TRY(read_batches(i, scanner, pass));
    plan_->report.bytes_scanned += scanner.position() - begin;
    plan_->log_end = scanner.next_offset();
    segment.facts = pass.build.facts();
    segment.next_offset = pass.build.next_offset();
    segment.scanned = true;
    ONCELOG_TRY_ASSIGN(const Resume resume, judge(i, scanner));
    if (resume.next != Next::kResume) {
      stopped_ = resume.next == Next::kStop;
      break;
    }
    segment.has_hole = true;
    pass.build.index_next();
    begin = resume.position;
    expected = scanner.next_offset();
  }
  return finish_segment(i, pass);
}

Result<SegmentPass> Analysis::begin_pass(std::size_t i) {
  const SegmentPlan& segment = plan_->segments[i];
  if (at_checkpoint_ &&
      plan_->sidecar.sidecar->active.segment.base_offset == segment.open.base_offset) {
    return begin_pass_at_checkpoint(i);
  }
  SegmentPass pass(SegmentBuild(segment.open.base_offset, build_options(plan_->options)));
  if (!segment.files.offset_index.empty()) {
    ONCELOG_TRY_ASSIGN(const auto bytes, read_derived(segment.files.offset_index));
    pass.offset_check.emplace(bytes, segment.open.base_offset);
  }
  if (!segment.files.time_index.empty()) {
    ONCELOG_TRY_ASSIGN(const auto bytes, read_derived(segment.files.time_index));
    pass.time_check.emplace(bytes, segment.open.base_offset);
  }
  return pass;
}

/// The index files as they were at the checkpoint or later: entries above it are derived again.
/// Where they cannot be used the headers below it are read for new ones.
Result<SegmentPass> Analysis::begin_pass_at_checkpoint(std::size_t i) {
  const SegmentPlan& segment = plan_->segments[i];
  const SidecarSegment& facts = plan_->sidecar.sidecar->active.segment;
  const Offset base = facts.base_offset;
  SegmentBuild rebuilt(base, build_options(plan_->options));
  ScanOptions options;
  options.end = facts.size;
  options.segment_base = base;
  options.headers_only = true;
  options.chunk_bytes = 4096;
  SegmentScanner scanner(*segment.open.log, options);
  const bool has_indexes = !segment.files.offset_index.empty() && !segment.files.time_index.empty();
  std::unique_ptr<OffsetIndex> offsets;
  std::unique_ptr<TimeIndex> times;
  if (has_indexes) {
    ONCELOG_TRY_ASSIGN(const auto offset_bytes, read_derived(segment.files.offset_index));
    ONCELOG_TRY_ASSIGN(const auto time_bytes, read_derived(segment.files.time_index));
    const OffsetIndexCheck offset_file(offset_bytes, base);
    const TimeIndexCheck time_file(time_bytes, base);
    if (!offset_file.fault() && !time_file.fault()) {
      offsets = std::make_unique<OffsetIndex>(base, plan_->options.segment_index_bytes);
      times = std::make_unique<TimeIndex>(base, plan_->options.segment_index_bytes);
      for (const OffsetIndexEntry& entry : offset_file.entries()) {
        if (entry.position >= facts.size || entry.offset > facts.last_offset) break;
        if (!offsets->is_full()) offsets->append(entry.offset, entry.position);
      }
      for (const TimeIndexEntry& entry : time_file.entries()) {
        if (entry.timestamp < 0 || entry.timestamp > facts.largest_timestamp) break;
        if (entry.offset > facts.largest_timestamp_offset) break;
        times->maybe_append(entry.timestamp, entry.offset, true);
      }
    }
  }
  if (offsets == nullptr) {
    for (;;) {
      ONCELOG_TRY_ASSIGN(const auto batch, scanner.next());
      if (!batch) break;
      rebuilt.add(*batch);
    }
    offsets = rebuilt.take_offset_index();
    times = rebuilt.take_time_index();
  }
  SegmentPass pass(
      SegmentBuild(facts, std::move(offsets), std::move(times), build_options(plan_->options)));
  pass.from_beginning = false;
  return pass;
}

Status Analysis::read_batches(std::size_t i, SegmentScanner& scanner, SegmentPass& pass) {
  for (;;) {
    ONCELOG_TRY_ASSIGN(const auto batch, scanner.next());
    if (!batch) return {};
    ONCELOG_TRY(check_overlap(i, *batch));
    ONCELOG_TRY(adopt_snapshots_up_to(batch->header.base_offset));
    if (hooks_ != nullptr) ONCELOG_TRY(hooks_->on_batch(plan_->segments[i], *batch));
    ONCELOG_TRY(take_batch(*batch, pass));
  }
}

Status Analysis::take_batch(const ScannedBatch& batch, SegmentPass& pass) {
  const BatchHeader& header = batch.header;
  close_hole(header.base_offset);
  if (header.base_offset > pass.build.next_offset() ||
      (header.magic == 2 && header.record_count <= header.last_offset_delta)) {
    compacted_ = true;
  }
  ++plan_->report.batches_scanned;
  pass.build.add(batch);
  if (pass.offset_check) pass.offset_check->add(batch);
  if (pass.time_check) pass.time_check->add(batch);
  if (header.magic == 2 && header.leader_epoch >= 0) {
    last_leader_epoch_ = header.leader_epoch;
    add_epoch(epochs_derived_, {header.leader_epoch, header.base_offset});
  }
  replay_.add(batch, pass.aborted);
  if (header.is_control() && header.has_producer()) {
    const auto marker = marker_of(batch);
    if (marker.ok() && *marker && (*marker)->type == ControlType::kAbort) {
      pass.abort_markers.emplace_back(header.producer_id, header.base_offset);
    }
  }
  return {};
}

/// Two segments that hold the same offsets cannot both be right.
Status Analysis::check_overlap(std::size_t i, const ScannedBatch& batch) const {
  if (i + 1 >= plan_->segments.size()) return {};
  const SegmentPlan& next = plan_->segments[i + 1];
  if (batch.header.last_offset() < next.open.base_offset) return {};
  const std::string& name = plan_->segments[i].files.log;
  return make_error(ErrorCode::kDamaged, "segments overlap: " + name + " reaches offset " +
                                             std::to_string(batch.header.last_offset()) + ", but " +
                                             next.files.log + " begins at " +
                                             std::to_string(next.open.base_offset))
      .at(path_of(name), batch.position)
      .with_offset(batch.header.base_offset);
}

}  // namespace oncelog
