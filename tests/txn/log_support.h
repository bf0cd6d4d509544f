// A store on a simulated or real machine, and short ways to append and read, for tests of logs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "oncelog/control_record.h"
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

  Store& store() { return *store_; }
  SimIo& io() { return *io_; }
  SimDisk& disk() { return *disk_; }

 private:
  std::shared_ptr<SimDisk> disk_;
  std::uint64_t seed_;
  std::shared_ptr<SimIo> io_;
  std::shared_ptr<Store> store_;
};

/// Offsets an application sees from the log start on.
std::vector<Offset> read_offsets(const Log& log, Isolation isolation);

}  // namespace oncelog::testing
