// Questions that a plan answers about the log as it is.
#include "recovery/plan.h"

#include <algorithm>

#include "storage/segment_scanner.h"

namespace oncelog {

bool RecoveryPlan::is_state_snapshot(Offset offset) const {
  return std::binary_search(state_snapshots.begin(), state_snapshots.end(), offset);
}

Result<bool> RecoveryPlan::is_covered_by_a_batch(Offset offset) const {
  const SegmentPlan* holder = nullptr;
  for (const SegmentPlan& segment : segments) {
    if (segment.open.base_offset > offset) break;
    holder = &segment;
  }
  if (holder == nullptr) return false;
  ScanOptions scan;
  scan.segment_base = holder->open.base_offset;
  scan.headers_only = true;
  scan.chunk_bytes = 4096;
  SegmentScanner scanner(*holder->open.log, scan);
  for (;;) {
    ONCELOG_TRY_ASSIGN(const auto batch, scanner.next());
    if (!batch) return false;
    if (batch->header.last_offset() >= offset) return batch->header.base_offset <= offset;
  }
}

}  // namespace oncelog
