// The simulated machine behind oncelog/io.h: one seed, one thread, one run.
//
// A SimIo is one process on a SimDisk. Each blocking call of its FileSystem and Files and each
// completion of its IoQueues is one numbered operation: a point at which a test may copy the disk,
// crash it or make the operation fail. Nothing depends on real time, threads or addresses.
//
// THREADS  one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oncelog/io.h"
#include "oncelog/sim_disk.h"

namespace oncelog {

namespace sim {
class Process;
}  // namespace sim

/// Time that moves only when told to.
class SimClock final : public Clock {
 public:
  static constexpr std::int64_t kStartMs = 1'700'000'000'000;

  explicit SimClock(std::int64_t wall_ms = kStartMs) : wall_ns_(wall_ms * kNsPerMs) {}
  std::int64_t wall_ms() override { return wall_ns_ / kNsPerMs; }
  std::int64_t monotonic_ns() override { return monotonic_ns_; }
  /// Lets the wall clock jump, back too; the monotonic one stays.
  void set_wall_ms(std::int64_t wall_ms) { wall_ns_ = wall_ms * kNsPerMs; }
  /// Both move on. REQUIRES: ms >= 0
  void advance_ms(std::int64_t ms) { advance_ns(ms * kNsPerMs); }
  void advance_ns(std::int64_t ns);

 private:
  static constexpr std::int64_t kNsPerMs = 1'000'000;
  std::int64_t wall_ns_;
  std::int64_t monotonic_ns_ = 0;
};

/// Keeps tasks until the owner of the thread runs them, in seeded order. A task may add others.
class SimExecutor final : public Executor {
 public:
  explicit SimExecutor(std::uint64_t seed) : random_state_(seed) {}
  SimExecutor(const SimExecutor&) = delete;
  SimExecutor& operator=(const SimExecutor&) = delete;
  /// Runs what was accepted.
  ~SimExecutor() override;
  void run(std::function<void()> task) override;
  bool run_one() override;
  /// Runs tasks until none is left, returns how many.
  std::size_t run_pending();
  std::size_t pending() const noexcept { return tasks_.size(); }

 private:
  std::uint64_t random_state_;
  std::vector<std::function<void()>> tasks_;
};

enum class SimOperationKind : std::uint8_t {
  kOpen,  ///< of a file that is there
  kCreate,
  kRead,
  kWrite,
  kTruncate,
  kAllocate,
  kStartWriteback,
  kSync,
  kStat,
  kLock,
  kClose,
  kList,
  kFreeBytes,
  kRename,
  kUnlink,
  kLink,
  kMakeDirectory,
  kRemoveDirectory,
  kSyncDirectory,
  kSyncFileSystem,
};

/// "open", "create", "read", ... for traces.
std::string_view to_string(SimOperationKind kind) noexcept;

struct SimOperation {
  std::uint64_t index = 0;  ///< 0, 1, 2, ... in one SimIo
  SimOperationKind kind = SimOperationKind::kOpen;
  std::string path;  ///< as the file was opened; the target of a rename or link
  std::int64_t position = 0;
  std::int64_t bytes = 0;  ///< to read or write; the size of a truncation
  bool queued = false;     ///< a completion of an IoQueue
};

struct SimOptions {
  std::uint64_t seed = 1;
  std::shared_ptr<SimClock> clock;  ///< shared by the lives of one machine; empty: a new one
};

/// One process. Make a new one on the same disk after a crash; the old one only gives errors from
/// then on, so that whatever still holds it can be thrown away safely.
class SimIo final : public Io {
 public:
  explicit SimIo(std::shared_ptr<SimDisk> disk, SimOptions options = {});
  SimIo(const SimIo&) = delete;
  SimIo& operator=(const SimIo&) = delete;
  ~SimIo() override;

  FileSystem& files() override;
  SimExecutor& executor() override { return executor_; }
  SimClock& clock() override { return *clock_; }
  /// Completes operations in seeded order, each when `poll` returns it and not before. A `poll`
  /// returns some of those in flight, at least one when it is asked to wait; with nothing in flight
  /// a wait moves the clock by the time-out, without one it returns.
  Result<std::unique_ptr<IoQueue>> make_queue() override;
  std::string description() const override { return "simulated"; }
  bool has_threads() const noexcept override { return false; }

  SimDisk& disk() noexcept { return *disk_; }
  /// Called for every operation before it takes effect: a clone taken here is the disk without
  /// operation `index` and with all before it. It may crash the disk; it must not use this SimIo.
  void on_operation(std::function<void(const SimOperation&)> hook);
  /// Operations so far, failed ones too; those after the end of the process are not counted.
  std::uint64_t operation_count() const noexcept;
  /// A hash of all operations so far: equal for equal runs.
  std::uint64_t trace_hash() const noexcept;
  /// The process ends before operation `index` takes effect: it and all later ones fail. The disk
  /// is not touched: call `power_cut` or `kill` on it.
  void crash_at(std::uint64_t index);
  /// Operation `index` fails with `sys_errno` and without effect, except that a failed sync marks
  /// pages clean (sim_disk.h). EINTR and EAGAIN are retried inside, so nothing is seen of them.
  void fail_at(std::uint64_t index, int sys_errno);
  /// This process dies; the page cache and other processes live.
  void kill();
  /// Ended by crash_at, kill or a crash of the disk.
  bool dead() const noexcept;

 private:
  std::shared_ptr<SimDisk> disk_;
  std::shared_ptr<SimClock> clock_;
  std::shared_ptr<sim::Process> process_;
  std::unique_ptr<FileSystem> files_;
  SimExecutor executor_;
};

}  // namespace oncelog
