// Faults on queued operations: each becomes one or more operations of the inner queue, or none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "oncelog/fault_io.h"
#include "oncelog/io_queue.h"

#include "storage/io/transfer.h"
#include "storage/sim/fault_file.h"

namespace oncelog::sim {

class FaultIoQueue final : public IoQueue {
 public:
  FaultIoQueue(std::unique_ptr<IoQueue> inner, std::shared_ptr<FaultPlan> plan)
      : plan_(std::move(plan)), inner_(std::move(inner)) {}
  ~FaultIoQueue() override;

  void submit(IoRequest request) override;
  std::size_t poll(std::vector<IoCompletion>& done, std::int64_t timeout_ns) override;
  void wake() override { inner_->wake(); }
  std::size_t in_flight() const override { return operations_.size() + ready_.size(); }
  int native_handle() const noexcept override { return inner_->native_handle(); }

 private:
  struct Operation {
    explicit Operation(IoRequest given);
    IoRequest request;  // as the caller gave it; without its buffers while they are inside
    FaultFile* file;    // of the request; none: passed on as it is
    Transfer transfer;
    std::int64_t answer = 0;  // what to tell `transfer` when the part in flight is written
    bool whole = false;       // the request itself is in flight, not a part of it
  };

  /// Sends the next part in; when a rule decides at once, appends to `ready_`.
  void go_on(std::uint64_t token);
  void submit_whole(std::uint64_t token, Operation& operation);
  void submit_part(std::uint64_t token, Operation& operation, std::size_t bytes);
  /// The inner queue has finished a part, or the whole.
  void part_done(IoCompletion completion);
  void finish(std::uint64_t token, Status status, std::int64_t bytes);

  std::shared_ptr<FaultPlan> plan_;
  std::map<std::uint64_t, Operation> operations_;  // by the token that the inner queue knows
  std::vector<IoCompletion> ready_;
  std::uint64_t last_token_ = 0;
  std::unique_ptr<IoQueue> inner_;
};

}  // namespace oncelog::sim
