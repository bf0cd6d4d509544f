// The Io of the real machine, and how it is chosen.
#include "storage/io/system_io.h"

#include <cstdlib>
#include <string_view>

#include "storage/io/posix_io_queue.h"
#include "storage/io/uring_io_queue.h"

namespace oncelog {
namespace {

constexpr std::uint32_t kRingEntriesMax = 4096;
constexpr std::uint32_t kExecutorThreadsMax = 64;
constexpr const char* kVariable = "ONCELOG_IO";

Status check_options(const SystemIoOptions& options) {
  if (options.ring_entries < 1 || options.ring_entries > kRingEntriesMax) {
    return make_error(ErrorCode::kInvalidArgument, "ring_entries must be 1..4096");
  }
  if (options.executor_threads < 1 || options.executor_threads > kExecutorThreadsMax) {
    return make_error(ErrorCode::kInvalidArgument, "executor_threads must be 1..64");
  }
  return {};
}

Result<SystemIo::Choice> choose(const SystemIoOptions& options) {
  SystemIo::Choice choice{options.backend, options.ring_entries, false};
  if (options.backend != IoBackend::kAutomatic) return choice;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read-only; the caller must not call setenv meanwhile
  const char* wish = std::getenv(kVariable);
  if (wish == nullptr || std::string_view(wish).empty()) return choice;
  choice.by_environment = true;
  if (std::string_view(wish) == "posix") {
    choice.backend = IoBackend::kPosix;
  } else if (std::string_view(wish) == "uring") {
    choice.backend = IoBackend::kUring;
  } else {
    return make_error(ErrorCode::kInvalidArgument,
                      std::string(kVariable) + " must be posix or uring, not " + wish);
  }
  return choice;
}

}  // namespace

Result<std::unique_ptr<IoQueue>> SystemIo::make_queue() {
  if (choice_.backend == IoBackend::kPosix) return PosixIoQueue::create();
  Result<std::unique_ptr<IoQueue>> ring = UringIoQueue::create(choice_.ring_entries);
  {
    const std::lock_guard lock(mutex_);
    if (ring.ok()) {
      ++rings_made_;
    } else {
      refusal_ = ring.error().message;
    }
  }
  if (ring.ok() || choice_.backend == IoBackend::kUring) return ring;
  return PosixIoQueue::create();
}

std::string SystemIo::description() const {
  const std::lock_guard lock(mutex_);
  if (choice_.backend == IoBackend::kPosix) {
    return choice_.by_environment ? "posix (ONCELOG_IO=posix)" : "posix";
  }
  if (refusal_.empty()) return "io_uring";
  return rings_made_ == 0 ? "posix (" + refusal_ + ")"
                          : "io_uring, in part posix (" + refusal_ + ")";
}

Result<std::shared_ptr<Io>> make_system_io(const SystemIoOptions& options) {
  ONCELOG_TRY(check_options(options));
  ONCELOG_TRY_ASSIGN(const SystemIo::Choice choice, choose(options));
  ONCELOG_TRY_ASSIGN(std::unique_ptr<PosixFileSystem> files, PosixFileSystem::create());
  ONCELOG_TRY_ASSIGN(std::unique_ptr<ThreadExecutor> executor,
                     ThreadExecutor::create(options.executor_threads));
  auto io = std::make_shared<SystemIo>(choice, std::move(files), std::move(executor));
  // A queue that is made and dropped shows now, not at the first log, what this machine allows.
  if (choice.backend != IoBackend::kPosix) ONCELOG_TRY(io->make_queue());
  return std::shared_ptr<Io>(std::move(io));
}

}  // namespace oncelog
