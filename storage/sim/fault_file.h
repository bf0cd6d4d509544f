// A file whose calls a FaultPlan may hit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "oncelog/fault_io.h"
#include "oncelog/file_system.h"

#include "storage/sim/loses_unsynced.h"

namespace oncelog::sim {

/// What a rule makes of a call that transfers no bytes.
struct FaultOutcome {
  Status status;
  bool skipped = false;  // a lie: success without the call
};

/// Repeats an interrupted call as the real implementations do.
FaultOutcome fault_on(FaultPlan& plan, FaultPoint point, const std::string& path,
                      const std::string& second_path = {});

/// What a rule makes of one attempt to write: how much to write, and what to say then (a count or a
/// negative errno, as Transfer takes it).
struct WriteFault {
  std::size_t bytes = 0;
  std::int64_t answer = 0;
};
WriteFault write_fault(const std::optional<FaultRule>& rule, std::size_t bytes_left);

class FaultFile final : public File, public LosesUnsynced {
 public:
  FaultFile(std::shared_ptr<File> inner, std::shared_ptr<FaultPlan> plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}

  Result<std::size_t> read_at(std::int64_t position, std::span<std::byte> into) override;
  Status write_at(std::int64_t position, std::span<const std::byte> bytes) override;
  Status truncate(std::int64_t size) override;
  Status allocate(std::int64_t position, std::int64_t bytes) override {
    return inner_->allocate(position, bytes);
  }
  Status start_writeback(std::int64_t position, std::int64_t bytes) override {
    return inner_->start_writeback(position, bytes);
  }
  Status sync() override;
  Result<FileStat> stat() override { return inner_->stat(); }
  Status lock() override { return inner_->lock(); }
  Result<bool> is_locked() override { return inner_->is_locked(); }
  Status close() override { return inner_->close(); }
  int native_handle() const noexcept override { return inner_->native_handle(); }
  const std::string& path() const noexcept override { return inner_->path(); }

  void lose_unsynced() override;
  const std::shared_ptr<File>& inner() const { return inner_; }

 private:
  std::shared_ptr<File> inner_;
  std::shared_ptr<FaultPlan> plan_;
};

}  // namespace oncelog::sim
