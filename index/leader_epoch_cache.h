// Which leader epoch began at which offset (RECOVERY.md 8), and its checkpoint file.
//
// FORMAT  FORMAT.md 15: `leader-epoch-checkpoint`, lines "epoch startOffset", ascending in both.
// THREADS  a value; the owner's thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

struct EpochEntry {
  LeaderEpoch epoch = kNoLeaderEpoch;
  Offset start_offset = 0;
  friend bool operator==(const EpochEntry&, const EpochEntry&) = default;
};

struct EpochEnd {
  LeaderEpoch epoch = kNoLeaderEpoch;  ///< -1: undefined
  Offset end_offset = kNoOffset;
  friend bool operator==(const EpochEnd&, const EpochEnd&) = default;
};

class LeaderEpochCache {
 public:
  const std::vector<EpochEntry>& entries() const { return entries_; }
  std::optional<EpochEntry> latest() const;

  /// Records that `epoch` starts at `start_offset`; entries it contradicts go. True when changed.
  /// REQUIRES: both >= 0.
  bool assign(LeaderEpoch epoch, Offset start_offset);
  /// Drops entries that start at or above `end`. True when changed.
  bool truncate_from_end(Offset end);
  /// Of the entries that start at or below `start` keeps the newest, moved to `start`.
  bool truncate_from_start(Offset start);
  void clear() { entries_.clear(); }

  /// The end of an epoch as a follower needs it; {-1, -1} when undefined.
  EpochEnd end_offset_for(LeaderEpoch epoch, Offset log_end) const;
  /// The epoch in force at `offset`, if an entry starts at or below it.
  std::optional<LeaderEpoch> epoch_at(Offset offset) const;

  std::string encode() const;
  /// An empty text is an empty cache. kDamaged names the line when version, count, numbers or order
  /// are wrong.
  static Result<LeaderEpochCache> decode(std::string_view text);

  friend bool operator==(const LeaderEpochCache&, const LeaderEpochCache&) = default;

 private:
  std::vector<EpochEntry> entries_;
};

}  // namespace oncelog
