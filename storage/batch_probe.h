// Looks for a valid batch behind a bad spot: what tells a torn tail from damage.
// ARCHITECTURE.md, "Verdicts", has the rules.
#pragma once

#include <cstdint>

#include "oncelog/file_system.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

struct ProbeLimits {
  /// Bytes behind the bad spot in which a batch may begin.
  std::int64_t search_bytes_max = 64LL << 20;
  /// Bytes that may be hashed altogether: bytes made to look like headers cost no more.
  std::int64_t hash_bytes_max = 4LL << 30;
  Offset expected_offset_min = 0;  ///< a batch behind the bad spot has this offset or more
  Offset segment_base = 0;
  LeaderEpoch leader_epoch_min = kNoLeaderEpoch;  ///< epochs do not fall within a log
  std::int64_t end = -1;                          ///< exclusive; -1: the file's size
};

enum class ProbeOutcome : std::uint8_t {
  kNone,          ///< nothing valid behind the bad spot
  kFound,         ///< valid batches from `position` to the end of the data
  kLimitReached,  ///< nothing up to a limit; what lies beyond is not known
};

struct ProbeResult {
  ProbeOutcome outcome = ProbeOutcome::kNone;
  std::int64_t position = -1;   ///< kFound: of the first valid batch
  Offset offset = kNoOffset;    ///< its base offset
  std::int64_t chain_end = -1;  ///< end of the last valid batch; zeros may follow
  Offset chain_next_offset = kNoOffset;
  /// Batches with a good CRC that did not lead to the end of the data, and where the first of them
  /// begins: content of a record, or good batches before another bad spot.
  std::int64_t unchained_batches = 0;
  std::int64_t unchained_position = -1;
};

/// Searches behind the bad spot at `position`: first where the header there says that its batch
/// ends, then at every byte. A batch of magic 2 counts only when its header is plausible, its base
/// offset is expected_offset_min or more and within the segment, its leader epoch does not fall,
/// its CRC is good, and valid batches follow it up to the end of the data, since a record may hold
/// a whole batch as its value. Errors are those of reading.
Result<ProbeResult> find_valid_batch_after(File& file, std::int64_t position,
                                           const ProbeLimits& limits);

}  // namespace oncelog
