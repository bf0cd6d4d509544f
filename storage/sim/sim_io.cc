// Puts the simulated machine together: clock, executor, file system and queues of one process.
#include <array>
#include <utility>

#include "oncelog/sim.h"

#include "storage/base/assert.h"
#include "storage/sim/process.h"
#include "storage/sim/random.h"
#include "storage/sim/sim_file_system.h"
#include "storage/sim/sim_io_queue.h"

namespace oncelog {
namespace {

constexpr std::array<std::string_view, 20> kOperationNames{"open",           "create",
                                                           "read",           "write",
                                                           "truncate",       "allocate",
                                                           "writeback",      "sync",
                                                           "stat",           "lock",
                                                           "close",          "list",
                                                           "free_bytes",     "rename",
                                                           "unlink",         "link",
                                                           "make_directory", "remove_directory",
                                                           "sync_directory", "sync_file_system"};
static_assert(static_cast<std::size_t>(SimOperationKind::kSyncFileSystem) + 1 ==
              kOperationNames.size());

std::shared_ptr<SimClock> clock_or_new(std::shared_ptr<SimClock> clock) {
  return clock ? std::move(clock) : std::make_shared<SimClock>();
}

}  // namespace

std::string_view to_string(SimOperationKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  ONCELOG_ASSERT(index < kOperationNames.size());
  return kOperationNames[index];
}

void SimClock::advance_ns(std::int64_t ns) {
  ONCELOG_ASSERT(ns >= 0);
  wall_ns_ += ns;
  monotonic_ns_ += ns;
}

SimExecutor::~SimExecutor() {
  run_pending();
}

void SimExecutor::run(std::function<void()> task) {
  tasks_.push_back(std::move(task));
}

bool SimExecutor::run_one() {
  if (tasks_.empty()) return false;
  sim::Random random(random_state_);
  const auto chosen = tasks_.begin() + static_cast<std::ptrdiff_t>(random.below(tasks_.size()));
  random_state_ = random.state();
  const std::function<void()> task = std::move(*chosen);
  tasks_.erase(chosen);
  task();
  return true;
}

std::size_t SimExecutor::run_pending() {
  std::size_t count = 0;
  while (run_one())
    ++count;
  return count;
}

SimIo::SimIo(std::shared_ptr<SimDisk> disk, SimOptions options)
    : disk_(std::move(disk)),
      clock_(clock_or_new(std::move(options.clock))),
      process_(std::make_shared<sim::Process>(disk_, clock_, options.seed)),
      files_(std::make_unique<sim::SimFileSystem>(process_)),
      executor_(~options.seed) {}

SimIo::~SimIo() {
  // A task may use the members above; the hook must not outlive the test's variables.
  executor_.run_pending();
  process_->set_hook(nullptr);
}

FileSystem& SimIo::files() {
  return *files_;
}

Result<std::unique_ptr<IoQueue>> SimIo::make_queue() {
  if (process_->dead()) return process_->dead_error("");
  return std::unique_ptr<IoQueue>(std::make_unique<sim::SimIoQueue>(process_));
}

void SimIo::on_operation(std::function<void(const SimOperation&)> hook) {
  process_->set_hook(std::move(hook));
}

std::uint64_t SimIo::operation_count() const noexcept {
  return process_->operation_count();
}

std::uint64_t SimIo::trace_hash() const noexcept {
  return process_->trace_hash();
}

void SimIo::crash_at(std::uint64_t index) {
  process_->crash_at(index);
}

void SimIo::fail_at(std::uint64_t index, int sys_errno) {
  process_->fail_at(index, sys_errno);
}

void SimIo::kill() {
  if (process_->dead()) return;
  process_->disk().kill(process_->id(), process_->random(), process_->now_ms());
  process_->die();
}

bool SimIo::dead() const noexcept {
  return process_->dead();
}

}  // namespace oncelog
