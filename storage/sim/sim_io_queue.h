// Asynchronous writes, syncs and reads of the simulator, completed in seeded order.
//
// INVARIANTS
//   S6  an operation has no effect before the poll that returns it, except that a crash may keep
//       a write in flight.
//   S7  a sync covers the changes that were made before it was submitted, and no others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "oncelog/io_queue.h"

#include "storage/sim/process.h"
#include "storage/sim/sim_file.h"

namespace oncelog::sim {

class SimIoQueue final : public IoQueue {
 public:
  explicit SimIoQueue(std::shared_ptr<Process> process) : process_(std::move(process)) {}
  ~SimIoQueue() override;

  void submit(IoRequest request) override;
  std::size_t poll(std::vector<IoCompletion>& done, std::int64_t timeout_ns) override;
  void wake() override { woken_ = true; }
  std::size_t in_flight() const override { return in_flight_.size(); }
  int native_handle() const noexcept override { return -1; }

 private:
  struct Operation {
    IoRequest request;
    SimFile* file = nullptr;                              // of the request; none when it is refused
    bool was_open = false;                                // when it was submitted
    std::uint64_t sequence = 0;                           // kSync: the last change it covers
    std::uint64_t handle = 0;                             // keeps the inode until the end
    std::uint64_t in_flight_id = 0;                       // kWrite: on the disk's list
    std::shared_ptr<const std::vector<std::byte>> bytes;  // kWrite: all buffers
  };

  /// What makes an operation impossible whatever the disk says.
  static Status check(const Operation& operation);
  IoCompletion complete(Operation operation);
  Status run(Operation& operation, std::int64_t& bytes);

  std::shared_ptr<Process> process_;
  std::vector<Operation> in_flight_;
  bool woken_ = false;
};

}  // namespace oncelog::sim
