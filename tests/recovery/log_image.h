// Partition directories built batch by batch on a simulated disk, for tests of opening them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "oncelog/sim.h"
#include "oncelog/sim_disk.h"

#include "index/sidecar.h"
#include "recovery/recover.h"
#include "storage/file_names.h"

namespace oncelog::test {

struct BatchSpec {
  int records = 1;
  std::size_t value_bytes = 10;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = 0;
  Sequence sequence = 0;
  bool transactional = false;
  TimestampMs timestamp = 1000;
  LeaderEpoch leader_epoch = 0;
};

/// Where a batch was put.
struct Placed {
  Offset segment = 0;
  std::int64_t position = 0;
  std::int64_t end = 0;
  Offset first_offset = 0;
  Offset last_offset = 0;
};

class LogImage {
 public:
  static constexpr const char* kDirectory = "root/topic-0";

  /// The next batch, at the log's end.
  Placed add(const BatchSpec& spec = {});
  Placed add_marker(ProducerId producer_id, ProducerEpoch epoch, bool commit);
  /// Skips offsets, as compaction does.
  void skip_to(Offset offset) { next_offset_ = offset; }
  /// The next batch begins a segment.
  void roll() { segments_[next_offset_]; }
  /// Bytes of a segment's log file, to be damaged by the test.
  std::vector<std::byte>& log(Offset base) { return segments_.at(base); }
  Offset next_offset() const { return next_offset_; }
  /// Another file of the directory.
  std::vector<std::byte>& file(const std::string& name) { return files_[name]; }

  /// A new disk with the directory on it, everything durable.
  std::shared_ptr<SimDisk> disk() const;
  /// The sidecar that a log of ours would have written now, having written that recovery point.
  Sidecar sidecar(std::int64_t window_bytes, Offset recovery_point = 0) const;
  /// Adds it, so that the batches that follow come after it.
  void checkpoint(std::int64_t window_bytes, Offset recovery_point = 0);
  /// Index files and epoch history as a log of ours keeps them.
  void write_indexes();

 private:
  Placed put(std::vector<std::byte> bytes, int records, LeaderEpoch leader_epoch);

  std::map<Offset, std::vector<std::byte>> segments_{{0, {}}};
  std::map<std::string, std::vector<std::byte>> files_;
  Offset next_offset_ = 0;
};

std::string log_name(Offset base);

/// Options with small limits and a fixed clock.
RecoverOptions small_options();
/// analyse and apply on a disk, lowering `root` as a store would.
Result<LoadedLog> recover_on(SimDisk& disk, RootFacts& root, const RecoverOptions& options);
Result<LoadedLog> recover_on(const LogImage& image, RootFacts root,
                             const RecoverOptions& options = small_options());

}  // namespace oncelog::test
