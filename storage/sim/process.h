// One simulated process: counts its operations, shows them to the test, and knows when it is dead.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "oncelog/sim.h"

#include "storage/sim/disk_state.h"
#include "storage/sim/random.h"

namespace oncelog::sim {

inline constexpr std::uint64_t kNeverCrash = std::numeric_limits<std::uint64_t>::max();

/// Shared by the SimIo and by everything that was opened with it.
class Process {
 public:
  Process(std::shared_ptr<SimDisk> disk, std::shared_ptr<SimClock> clock, std::uint64_t seed);

  DiskState& disk() const { return disk_->state(); }
  Random& random() { return random_; }
  SimClock& clock() const { return *clock_; }
  std::int64_t now_ms() const { return clock_->wall_ms(); }
  std::uint64_t id() const { return id_; }

  bool dead() const { return dead_ || disk().epoch() != epoch_; }
  void die() { dead_ = true; }
  Error dead_error(const std::string& path) const;
  /// What a blocking call or a completion does first: numbers the operation and says whether it
  /// takes effect.
  Status begin(SimOperation operation);

  std::uint64_t operation_count() const { return next_index_; }
  std::uint64_t trace_hash() const { return trace_hash_; }
  void set_hook(std::function<void(const SimOperation&)> hook) { hook_ = std::move(hook); }
  void crash_at(std::uint64_t index) { crash_at_ = index; }
  void fail_at(std::uint64_t index, int sys_errno) { failures_[index] = sys_errno; }

 private:
  std::shared_ptr<SimDisk> disk_;
  std::shared_ptr<SimClock> clock_;
  Random random_;
  std::uint64_t id_;
  std::uint64_t epoch_;
  bool dead_ = false;
  std::uint64_t next_index_ = 0;
  std::uint64_t trace_hash_ = 0;
  std::uint64_t crash_at_ = kNeverCrash;
  std::map<std::uint64_t, int> failures_;  // operation index -> errno
  std::function<void(const SimOperation&)> hook_;
};

}  // namespace oncelog::sim
