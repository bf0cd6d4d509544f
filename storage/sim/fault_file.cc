// Faults on blocking calls of a file.
#include "storage/sim/fault_file.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "storage/io/transfer.h"
#include "storage/sim/errno_error.h"

namespace oncelog::sim {

FaultOutcome fault_on(FaultPlan& plan, FaultPoint point, const std::string& path,
                      const std::string& second_path) {
  Transfer transfer(IoRequest::Kind::kSync, 0);
  for (;;) {
    const std::optional<FaultRule> rule = plan.next(point, path, second_path);
    if (!rule) return {};
    if (rule->lie) return {{}, true};
    if (transfer.advance(-rule->sys_errno) == Transfer::Next::kFail)
      return {errno_error(transfer.error_number(), path), false};
  }
}

Result<std::size_t> FaultFile::read_at(std::int64_t position, std::span<std::byte> into) {
  if (into.empty()) return inner_->read_at(position, into);
  Transfer transfer(IoRequest::Kind::kRead, into.size());
  while (transfer.needs_os()) {
    const std::optional<FaultRule> rule = plan_->next(FaultPoint::kRead, path());
    const std::int64_t at = position + static_cast<std::int64_t>(transfer.bytes_done());
    std::span<std::byte> rest = into.subspan(transfer.bytes_done());
    std::int64_t answer = 0;
    if (rule && rule->short_bytes < 0) {
      answer = -rule->sys_errno;
    } else {
      if (rule)
        rest = rest.first(std::min(rest.size(), static_cast<std::size_t>(rule->short_bytes)));
      ONCELOG_TRY_ASSIGN(const std::size_t read, inner_->read_at(at, rest));
      answer = static_cast<std::int64_t>(read);
    }
    const Transfer::Next next = transfer.advance(answer);
    if (next == Transfer::Next::kDone) break;
    if (next == Transfer::Next::kFail) return errno_error(transfer.error_number(), path(), at);
  }
  return transfer.bytes_done();
}

Status FaultFile::write_at(std::int64_t position, std::span<const std::byte> bytes) {
  if (bytes.empty()) return inner_->write_at(position, bytes);
  Transfer transfer(IoRequest::Kind::kWrite, bytes.size());
  while (transfer.needs_os()) {
    const std::optional<FaultRule> rule = plan_->next(FaultPoint::kWrite, path());
    const std::int64_t at = position + static_cast<std::int64_t>(transfer.bytes_done());
    const auto rest = bytes.subspan(transfer.bytes_done());
    const WriteFault fault = write_fault(rule, rest.size());
    if (fault.bytes > 0) ONCELOG_TRY(inner_->write_at(at, rest.first(fault.bytes)));
    const Transfer::Next next = transfer.advance(fault.answer);
    if (next == Transfer::Next::kDone) break;
    if (next == Transfer::Next::kFail) return errno_error(transfer.error_number(), path(), at);
  }
  return {};
}

WriteFault write_fault(const std::optional<FaultRule>& rule, std::size_t bytes_left) {
  if (!rule) return {bytes_left, static_cast<std::int64_t>(bytes_left)};
  if (rule->short_bytes >= 0) {
    const std::size_t bytes = std::min(bytes_left, static_cast<std::size_t>(rule->short_bytes));
    return {bytes, static_cast<std::int64_t>(bytes)};
  }
  return {rule->sys_errno == ENOSPC ? bytes_left / 2 : 0, -rule->sys_errno};
}

Status FaultFile::truncate(std::int64_t size) {
  ONCELOG_TRY(fault_on(*plan_, FaultPoint::kTruncate, path()).status);
  return inner_->truncate(size);
}

Status FaultFile::sync() {
  FaultOutcome outcome = fault_on(*plan_, FaultPoint::kFsync, path());
  if (!outcome.status.ok()) lose_unsynced();
  if (!outcome.status.ok() || outcome.skipped) return std::move(outcome.status);
  return inner_->sync();
}

void FaultFile::lose_unsynced() {
  if (auto* file = dynamic_cast<LosesUnsynced*>(inner_.get())) file->lose_unsynced();
}

}  // namespace oncelog::sim
