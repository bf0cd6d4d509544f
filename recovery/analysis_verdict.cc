// Where a chain of batches ends: facts, ruling, and what follows from it.
#include <algorithm>
#include <span>

#include "recovery/analyse_names.h"
#include "recovery/analysis.h"

namespace oncelog {

/// Whether the sidecar lists batches of this segment, or a segment right behind it, that are gone.
/// With a foreign writer that proves nothing: compaction and truncation are its right.
bool Analysis::loss_is_known(std::size_t i, Offset next_offset) const {
  const SidecarFindings& findings = plan_->sidecar;
  if (!findings.sidecar || findings.foreign_writer || i + 1 >= plan_->segments.size()) return false;
  const Offset base = plan_->segments[i].open.base_offset;
  const Offset successor = plan_->segments[i + 1].open.base_offset;
  const auto lost = [&](const SidecarSegment& listed) {
    return listed.base_offset >= base && listed.base_offset < successor &&
           listed.last_offset >= next_offset;
  };
  return std::any_of(findings.sidecar->sealed.begin(), findings.sidecar->sealed.end(), lost) ||
         lost(findings.sidecar->active.segment);
}

Result<Analysis::Resume> Analysis::judge(std::size_t i, const SegmentScanner& scanner) {
  SegmentPlan& segment = plan_->segments[i];
  const bool last = i + 1 == plan_->segments.size();
  ChainEndFacts facts;
  facts.zeros_behind = scanner.bad_spot() && scanner.bad_spot()->kind == BadKind::kZeros;
  facts.garbage_behind = scanner.bad_spot() && !facts.zeros_behind;
  facts.last_segment = last;
  facts.loss_is_known = loss_is_known(i, scanner.next_offset());
  const Offset successor = last ? kNoOffset : plan_->segments[i + 1].open.base_offset;
  facts.successor_continues = successor == scanner.next_offset();
  const ChainEnd end = chain_end_of(facts);
  if (end == ChainEnd::kBadSpot) return judge_bad_spot(i, scanner);
  if (facts.zeros_behind) {
    segment.zero_tail_bytes = segment.open.size - scanner.position();
    plan_->report.notes.push_back(
        segment.files.log + ": " + std::to_string(segment.zero_tail_bytes) +
        " zero bytes behind the last batch at byte " + std::to_string(scanner.position()));
  }
  if (end == ChainEnd::kGap) plan_->report.gaps.push_back({scanner.next_offset(), successor - 1});
  if (!last && segment.facts.last_batch_position < 0) compacted_ = true;
  return Resume{};
}

Result<Analysis::Resume> Analysis::judge_bad_spot(std::size_t i, const SegmentScanner& scanner) {
  const SegmentPlan& segment = plan_->segments[i];
  BadSpot spot;
  if (scanner.bad_spot()) {
    spot = *scanner.bad_spot();
  } else {
    spot = {BadKind::kZeros, scanner.position(), scanner.next_offset(),
            "batches that the sidecar lists are missing"};
  }
  const std::vector<OpenSegment> opened = opened_segments(*plan_);
  BehindQuery query;
  query.spot = spot;
  // Not the CRC but the history file vouches for a batch's epoch.
  query.leader_epoch_min = last_leader_epoch_;
  if (const auto latest = epochs_on_disk_.latest(); epochs_trusted_ && latest) {
    query.leader_epoch_min = std::min(last_leader_epoch_, latest->epoch);
  }
  query.window_bytes = window_bytes_;
  ONCELOG_TRY_ASSIGN(const Behind behind, look_behind(std::span(opened).subspan(i), query));
  VerdictFacts facts;
  facts.end = ChainEnd::kBadSpot;
  facts.below_floor = spot.expected_offset < floor_;
  facts.valid_behind = behind.valid;
  facts.within_window = behind.within_window;
  const VerdictRule& rule = rule_for(facts);
  RecoveryReport& report = plan_->report;
  const std::string where = segment.files.log + " at byte " + std::to_string(spot.position) +
                            ", offset " + std::to_string(spot.expected_offset);
  switch (rule.ruling) {
    case Ruling::kTorn:
    case Ruling::kHoled: {
      const bool holed = rule.ruling == Ruling::kHoled;
      if (report.verdict != Verdict::kDamage) {
        report.verdict = verdict_of(rule.ruling);
        report.rule = rule.label;
      }
      report.notes.push_back(std::string(holed ? "holed" : "torn") + " tail: " + where + ": " +
                             spot.what);
      if (holed && plan_->options.on_holed_tail == OnHoledTail::kFail &&
          mode_ == AnalysisMode::kRecover) {
        plan_->refusal = make_error(ErrorCode::kDamaged, "holed tail: " + spot.what)
                             .at(path_of(segment.files.log), spot.position)
                             .with_offset(spot.expected_offset);
      }
      cut_here(i, spot, holed);
      return Resume{Next::kStop, 0};
    }
    case Ruling::kSound:
    case Ruling::kDamageBad:
    case Ruling::kDamageShort:
      break;
  }
  return on_damage(i, spot, behind, rule.label);
}

Result<Analysis::Resume> Analysis::on_damage(std::size_t i, const BadSpot& spot,
                                             const Behind& behind, char rule) {
  const SegmentPlan& segment = plan_->segments[i];
  RecoveryReport& report = plan_->report;
  if (report.verdict != Verdict::kDamage) report.rule = rule;
  report.verdict = Verdict::kDamage;
  DamageFinding finding;
  finding.file = segment.files.log;
  finding.position = spot.position;
  finding.first_offset = spot.expected_offset;
  finding.what = spot.what;
  report.damage.push_back(finding);
  const Error error = make_error(ErrorCode::kDamaged, spot.what)
                          .at(path_of(segment.files.log), spot.position)
                          .with_offset(spot.expected_offset);
  if (mode_ == AnalysisMode::kRecover && plan_->options.on_damage == OnDamage::kCut) {
    plan_->lowers_floor = spot.expected_offset < floor_;
    cut_here(i, spot, true);
    return Resume{Next::kStop, 0};
  }
  if (mode_ == AnalysisMode::kRecover && plan_->options.on_damage == OnDamage::kFail) {
    if (!plan_->refusal) plan_->refusal = error;
  }
  // Go on behind the hole, for what can be served and for a report that is complete.
  plan_->read_only = true;
  hole_first_ = spot.expected_offset;
  if (behind.resume_position > spot.position) {
    return Resume{Next::kResume, behind.resume_position};
  }
  return Resume{Next::kSegment, 0};
}

void Analysis::cut_here(std::size_t i, const BadSpot& spot, bool keep_bytes) {
  plan_->cut = CutPlan{i, spot.position, keep_bytes, spot.what};
  plan_->segments_kept = i + 1;
  plan_->log_end = spot.expected_offset;
  std::int64_t bytes = plan_->segments[i].open.size - spot.position;
  for (std::size_t j = i + 1; j < plan_->segments.size(); ++j)
    bytes += plan_->segments[j].open.size;
  plan_->report.truncated_bytes += bytes;
  if (keep_bytes) plan_->report.kept_bytes += bytes;
}

/// The next batch after a hole begins at `before`; what lies between is lost.
void Analysis::close_hole(Offset before) {
  if (!hole_first_) return;
  const Offset first = *hole_first_;
  hole_first_.reset();
  if (before <= first) return;
  plan_->damaged.push_back({first, before - 1});
  for (DamageFinding& finding : plan_->report.damage) {
    if (finding.first_offset == first) finding.last_offset = before - 1;
  }
}

/// Offsets between two segments that no segment holds. Compaction leaves them as well, at the end
/// of a segment; then there are other signs of it, and no snapshot where a segment began.
void Analysis::tell_gaps_from_compaction() {
  std::vector<GapFinding> gaps;
  for (const GapFinding& gap : plan_->report.gaps) {
    const auto has = [&](const std::vector<Offset>& offsets) {
      return std::binary_search(offsets.begin(), offsets.end(), gap.first_offset);
    };
    std::vector<Offset> bases;
    for (const SegmentPlan& segment : plan_->segments)
      bases.push_back(segment.open.base_offset);
    const bool began = has(plan_->names.snapshots) && !has(bases);
    if (!compacted_ || began) gaps.push_back(gap);
  }
  plan_->report.gaps = std::move(gaps);
}

/// Empty segments at the end whose base lies above the last batch prove nothing: the batches before
/// them were lost with a crash, and their offsets are given again.
void Analysis::drop_empty_segments_behind_a_gap() {
  std::vector<SegmentPlan>& segments = plan_->segments;
  while (plan_->segments_kept > 1 && !plan_->read_only) {
    SegmentPlan& last = segments[plan_->segments_kept - 1];
    const SegmentPlan& before = segments[plan_->segments_kept - 2];
    const bool empty = last.facts.last_batch_position < 0 && !last.has_hole;
    if (!empty || last.open.base_offset <= before.next_offset) return;
    --plan_->segments_kept;
    plan_->log_end = before.next_offset;
    std::vector<GapFinding>& gaps = plan_->report.gaps;
    if (!gaps.empty() && gaps.back().last_offset < last.open.base_offset) gaps.pop_back();
    plan_->report.notes.push_back(last.files.log + ": empty segment above the log end, removed");
    if (!plan_->cut) plan_->report.truncated_bytes += last.open.size;
    last.zero_tail_bytes = 0;
  }
}

/// Rule 2, and a log that ends below its start.
void Analysis::end_of_log() {
  RecoveryPlan& plan = *plan_;
  RecoveryReport& report = plan.report;
  const Offset start = plan.root.log_start.value_or(0);
  if (plan.segments.empty()) plan.log_end = start;
  // What lies below the log start was deleted: its loss is none.
  const Offset lost_from = std::max(plan.log_end, start);
  const VerdictFacts facts{ChainEnd::kLogEnd, lost_from < floor_, false, false};
  const VerdictRule& rule = rule_for(facts);
  const bool told = plan.cut && report.verdict == Verdict::kDamage;
  if (rule.ruling == Ruling::kDamageShort && !told && !hole_first_) {
    if (report.verdict != Verdict::kDamage) report.rule = rule.label;
    report.verdict = Verdict::kDamage;
    DamageFinding finding;
    finding.kind = DamageFinding::Kind::kShort;
    if (!plan.segments.empty()) {
      const SegmentPlan& last = plan.segments[plan.segments_kept - 1];
      finding.file = last.files.log;
      finding.position = last.facts.size;
    }
    finding.first_offset = lost_from;
    finding.last_offset = floor_ - 1;
    finding.what = "the log ends at offset " + std::to_string(plan.log_end) +
                   ", everything below " + std::to_string(floor_) + " was durable";
    report.damage.push_back(finding);
    const OnDamage policy =
        mode_ == AnalysisMode::kLook ? OnDamage::kReadOnly : plan.options.on_damage;
    if (policy == OnDamage::kCut) {
      plan.lowers_floor = true;
    } else {
      plan.read_only = true;
      hole_first_ = lost_from;
    }
    if (policy == OnDamage::kFail && !plan.refusal) {
      plan.refusal =
          make_error(ErrorCode::kDamaged, finding.what)
              .at(finding.file.empty() ? plan.directory : path_of(finding.file), finding.position)
              .with_offset(lost_from);
    }
  }
  if (hole_first_) {
    const Offset hole_end = std::max({plan.log_end, floor_, *hole_first_ + 1});
    close_hole(hole_end);
    // A writer's log answers "damaged" up to what was durable; a tool shows where the data ends.
    if (mode_ == AnalysisMode::kRecover) plan.log_end = hole_end;
  }
  if (plan.log_end < start && !plan.read_only) {
    plan.reset_to_log_start = true;
    report.notes.push_back("the log ends at offset " + std::to_string(plan.log_end) +
                           ", below its start " + std::to_string(start) +
                           ": it goes on empty from there");
    plan.segments_kept = 0;
    plan.log_end = start;
  }
  const Offset first_base =
      plan.segments_kept == 0 ? plan.log_end : plan.segments.front().open.base_offset;
  plan.log_start = std::max(start, first_base);
  for (std::size_t i = 0; i < plan.segments_kept; ++i)
    report.truncated_bytes += plan.segments[i].zero_tail_bytes;
  plan.removes_sidecar = plan.sidecar.must_go;
  if (plan.sidecar.sidecar && !plan.removes_sidecar) {
    plan.removes_sidecar = plan.log_end < plan.sidecar.sidecar->active.offset ||
                           plan.lowers_floor || plan.reset_to_log_start;
  }
}

}  // namespace oncelog
