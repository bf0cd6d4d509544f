// What stands behind a bad spot: the two facts of the verdict that need a search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "oncelog/file_system.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

#include "storage/segment_scanner.h"

namespace oncelog {

/// A segment's log file during analysis.
struct OpenSegment {
  Offset base_offset = 0;
  std::shared_ptr<File> log;
  std::int64_t size = 0;
};

struct Behind {
  bool valid = false;                 ///< a valid batch stands behind
  bool within_window = false;         ///< and all that do end within W bytes of the spot
  std::int64_t resume_position = -1;  ///< in the same segment: where valid batches go on, or -1
  Offset resume_offset = kNoOffset;
};

struct BehindQuery {
  BadSpot spot;
  LeaderEpoch leader_epoch_min = kNoLeaderEpoch;  ///< of the last good batch
  std::int64_t window_bytes = -1;                 ///< W; -1: unlimited
};

/// Looks behind the spot in `segments.front()`, then in the later segments. Beyond the search limit
/// the answer is "valid, and not within the window".
Result<Behind> look_behind(std::span<const OpenSegment> segments, const BehindQuery& query);

}  // namespace oncelog
