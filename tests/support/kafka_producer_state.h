// The model's producer state: what replication, recovery and replay make of batches.
//
// Follows PRODUCER_STATE.md 1, 2, 7, 10 and 11 with the rules of origin REPLICATION, literally.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "oncelog/types.h"

#include "tests/support/directory_image.h"
#include "tests/support/kafka_batch.h"

namespace oncelog::test::kafka {

struct ProducerBatch {
  Sequence last_sequence = kNoSequence;
  Offset last_offset = kNoOffset;
  std::int32_t offset_delta = 0;
  TimestampMs timestamp = kNoTimestamp;

  Sequence first_sequence() const;
  Offset first_offset() const { return last_offset - offset_delta; }
  friend bool operator==(const ProducerBatch&, const ProducerBatch&) = default;
};

struct ProducerEntry {
  ProducerEpoch epoch = kNoProducerEpoch;
  CoordinatorEpoch coordinator_epoch = kNoCoordinatorEpoch;
  TimestampMs last_timestamp = kNoTimestamp;
  std::optional<Offset> txn_first_offset;
  std::deque<ProducerBatch> batches;  ///< oldest first, at most five

  void take_epoch(ProducerEpoch new_epoch);
  void add(const ProducerBatch& batch);
  friend bool operator==(const ProducerEntry&, const ProducerEntry&) = default;
};

using Producers = std::map<ProducerId, ProducerEntry>;

/// Content of a snapshot file; nothing when it is corrupt.
std::optional<Producers> decode_snapshot(ByteSpan bytes);
/// Entries by producer id (Kafka writes them in hash order).
Bytes encode_snapshot(const Producers& producers);

struct CompletedTxn {
  ProducerId producer_id = kNoProducerId;
  Offset first_offset = 0;
  Offset last_offset = 0;  ///< of the marker
  bool aborted = false;
};

/// What one read adds to a producer's entry before it is merged.
struct AppendInfo {
  ProducerId producer_id = kNoProducerId;
  ProducerEntry entry;
  std::vector<Offset> started;

  /// Throws Refused for plain data inside a transaction, InvalidRecord for unreadable markers.
  std::optional<CompletedTxn> append(const FileBatch& batch);
};

class ProducerStates {
 public:
  /// Lists the snapshots in `files`, which must outlive it.
  ProducerStates(FileMap& files, TimestampMs now_ms, std::int64_t expiration_ms);

  AppendInfo prepare(ProducerId producer_id) const;
  void update(const AppendInfo& info);
  /// Min first offset of other producers' open transactions, else behind the marker.
  Offset last_stable_offset(const CompletedTxn& txn) const;
  /// Throws Refused when the transaction is not known.
  void complete(const CompletedTxn& txn);
  void set_map_end(Offset end) { map_end_ = end; }
  Offset map_end() const { return map_end_; }
  bool empty() const { return producers_.empty() && ongoing_.empty() && unreplicated_.empty(); }
  /// Writes `<map_end>.snapshot` unless nothing was added since the last one.
  void take_snapshot();
  bool has_snapshot() const { return !snapshots_.empty(); }
  void truncate_and_reload(Offset log_start, Offset log_end);
  void truncate_fully(Offset offset);
  void remove_stray_snapshots(const std::vector<Offset>& segment_bases);
  void remove_snapshot(Offset offset);

  const Producers& producers() const { return producers_; }
  const std::map<Offset, ProducerId>& ongoing() const { return ongoing_; }

 private:
  void list_snapshots();
  void load_newest_snapshot(Offset log_start);

  FileMap* files_;
  TimestampMs now_ms_;
  std::int64_t expiration_ms_;
  Producers producers_;
  std::map<Offset, ProducerId> ongoing_;
  std::map<Offset, Offset> unreplicated_;  ///< first offset to marker offset
  std::set<Offset> snapshots_;
  Offset map_end_ = 0;
  Offset last_snapshot_ = 0;
};

/// 20 digits and a suffix.
std::string file_name(Offset offset, const std::string& suffix);
/// The number before the first dot; nothing when the name does not begin with a digit.
std::optional<Offset> offset_of(const std::string& name);
bool ends_with(const std::string& name, const std::string& suffix);

}  // namespace oncelog::test::kafka
