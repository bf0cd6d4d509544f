// What a kernel does after a failed fsync, for files that can imitate it.
#pragma once

namespace oncelog::sim {

/// A file that can be told that its un-synced pages are clean although they are not on the disk.
/// FaultIo fails a sync above the simulator and tells it so.
class LosesUnsynced {
 public:
  LosesUnsynced() = default;
  LosesUnsynced(const LosesUnsynced&) = delete;
  LosesUnsynced& operator=(const LosesUnsynced&) = delete;
  virtual ~LosesUnsynced() = default;
  virtual void lose_unsynced() = 0;
};

}  // namespace oncelog::sim
