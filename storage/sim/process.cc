// Operation numbers, crash points and injected failures of one simulated process.
#include "storage/sim/process.h"

#include <cerrno>
#include <utility>

#include "storage/sim/errno_error.h"

namespace oncelog::sim {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  return Random(hash ^ value).next();
}

std::uint64_t mixed(std::uint64_t hash, const SimOperation& operation) {
  hash = mixed(hash, static_cast<std::uint64_t>(operation.kind) * 2 + (operation.queued ? 1 : 0));
  hash = mixed(hash, static_cast<std::uint64_t>(operation.position));
  hash = mixed(hash, static_cast<std::uint64_t>(operation.bytes));
  for (const char c : operation.path)
    hash = mixed(hash, static_cast<unsigned char>(c));
  return hash;
}

}  // namespace

Process::Process(std::shared_ptr<SimDisk> disk, std::shared_ptr<SimClock> clock, std::uint64_t seed)
    : disk_(std::move(disk)),
      clock_(std::move(clock)),
      random_(seed),
      id_(disk_->state().add_process()),
      epoch_(disk_->state().epoch()) {}

Error Process::dead_error(const std::string& path) const {
  Error error = make_error(ErrorCode::kIo, "the simulated process has ended").at(path);
  error.sys_errno = EIO;
  return error;
}

Status Process::begin(SimOperation operation) {
  if (dead()) return dead_error(operation.path);
  operation.index = next_index_++;
  trace_hash_ = mixed(trace_hash_, operation);
  if (hook_) hook_(operation);
  if (operation.index >= crash_at_) die();
  if (dead()) return dead_error(operation.path);
  const auto failure = failures_.find(operation.index);
  if (failure == failures_.end()) return {};
  const bool retried = failure->second == EINTR || failure->second == EAGAIN;
  if (retried) return {};
  return errno_error(failure->second, operation.path, operation.position);
}

}  // namespace oncelog::sim
