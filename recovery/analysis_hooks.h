// How verification looks over the shoulder of the analysis. Internal to recovery.
#pragma once

#include <functional>
#include <string>

#include "oncelog/result.h"

#include "storage/segment_scanner.h"

namespace oncelog {

struct SegmentPlan;
struct SegmentPass;

/// With hooks every batch is read, whatever the sidecar says.
struct AnalysisHooks {
  /// Before a valid batch is taken.
  std::function<Status(const SegmentPlan& segment, const ScannedBatch& batch)> on_batch;
  /// After a segment; its checks are finished.
  std::function<void(const SegmentPlan& segment, const SegmentPass& pass, bool sealed)> on_segment;
};

}  // namespace oncelog
