// A store on a simulated or real machine, and short ways to append and read, for tests of logs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "oncelog/control_record.h"
#include "oncelog/fault_io.h"
#include "oncelog/sim.h"
#include "oncelog/store.h"

namespace oncelog::testing {

struct BatchSpec {
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch epoch = kNoProducerEpoch;
  Sequence sequence = kNoSequence;
  int count = 1;
  bool transactional = false;
  TimestampMs timestamp = SimClock::kStartMs;
  std::string value = "v";
  Codec codec = Codec::kNone;
};

/// A client batch; values are `value` plus the record's index.
Buffer make_batch(const BatchSpec& spec);
Buffer make_marker(ProducerId producer_id, ProducerEpoch epoch, ControlType type,
                   CoordinatorEpoch coordinator_epoch = 0);

/// The same with its final offset and leader epoch, as a leader hands it to a replica.
Buffer numbered(Buffer batch, Offset base_offset, LeaderEpoch epoch = 0);
/// Several buffers behind one another.
template <class... Buffers>
Buffer joined(const Buffers&... parts) {
  std::vector<std::byte> bytes;
  (bytes.insert(bytes.end(), parts.bytes().begin(), parts.bytes().end()), ...);
  return Buffer(std::move(bytes));
}
AppendOptions as_coordinator(int transaction_version = 1);
AppendOptions as_replica(std::optional<LeaderEpoch> epoch = {});

/// Appends and expects success; returns the first offset.
Offset must_append(Log& log, Buffer bytes, const AppendOptions& options = {});
/// Appends and expects a refusal; returns its code.
ErrorCode refusal(Log& log, Buffer bytes, const AppendOptions& options = {});

/// A store in the simulated directory "data", driven by blocking calls, without timers.
class SimStore {
 public:
  explicit SimStore(std::shared_ptr<SimDisk> disk = nullptr, std::uint64_t seed = 1);

  /// Opens (or opens again, after `crash`) the store. Fails the test when it cannot.
  void open();
  std::shared_ptr<Log> open_log(const LogOptions& options = {}, const std::string& topic = "t");
  /// The process vanishes; the page cache stays.
  void kill();
  /// Power goes: what was not synced is lost as `mode` says.
  void power_cut(PowerCut mode, std::uint64_t seed);

  /// Closes the store cleanly and opens store and log again.
  std::shared_ptr<Log> reopen(std::shared_ptr<Log>& log, const LogOptions& options = {});
  /// The process dies; store and log are opened again.
  std::shared_ptr<Log> kill_and_reopen(std::shared_ptr<Log>& log, const LogOptions& options = {});

  /// Faults of this machine, in all its lives.
  FaultPlan& faults() { return *faults_; }
  /// A file of the log "t-0".
  std::string file(Offset base, const std::string& extension) const;
  Store& store() { return *store_; }
  SimIo& io() { return *io_; }
  SimDisk& disk() { return *disk_; }

 private:
  std::shared_ptr<SimDisk> disk_;
  std::uint64_t seed_;
  std::shared_ptr<FaultPlan> faults_ = std::make_shared<FaultPlan>();
  std::shared_ptr<SimIo> io_;
  std::shared_ptr<Store> store_;
};

/// Offsets an application sees from the log start on.
std::vector<Offset> read_offsets(const Log& log, Isolation isolation);

}  // namespace oncelog::testing
