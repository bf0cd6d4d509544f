// Whether producer snapshots say what the batches below them say.
//
// The log may know less than a snapshot: retention and compaction remove batches and never rewrite
// snapshots. So a snapshot is wrong only where batches that are still there contradict it.
// THREADS  a value; one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "index/producer_snapshot.h"
#include "recovery/replay.h"

namespace oncelog {

/// Why a snapshot is wrong, and an offset whose segment says so.
struct SnapshotFault {
  std::string what;
  Offset offset = kNoOffset;
};

class SnapshotCheck {
 public:
  /// Whether a batch of the log holds an offset.
  using IsCovered = std::function<Result<bool>(Offset offset)>;

  explicit SnapshotCheck(const ReplayOptions& options) : replay_(options) {}

  void add(const ScannedBatch& batch);
  /// What is wrong with a snapshot at the offset that was reached; empty when nothing is. One that
  /// cannot be told (a whole segment is missing) must not be asked about.
  Result<std::vector<SnapshotFault>> contradictions(const ProducerList& snapshot,
                                                    const IsCovered& is_covered) const;

 private:
  Replay replay_;
};

}  // namespace oncelog
