// A log's producers and transactions as plain values, for diagnostics and tools.
#pragma once

#include <cstdint>
#include <vector>

#include "oncelog/types.h"

namespace oncelog {

/// A verification guard (PRODUCER_STATE.md 6); process-unique, > 0. 0: none.
using VerificationToken = std::int64_t;

struct ProducerInfo {
  struct Batch {
    Sequence first_sequence = kNoSequence;
    Sequence last_sequence = kNoSequence;
    Offset first_offset = kNoOffset;
    Offset last_offset = kNoOffset;
    TimestampMs timestamp = kNoTimestamp;
  };
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch epoch = kNoProducerEpoch;
  CoordinatorEpoch coordinator_epoch = kNoCoordinatorEpoch;
  TimestampMs last_timestamp = kNoTimestamp;
  Offset txn_first_offset = kNoOffset;  ///< of the open transaction, -1 when none
  std::vector<Batch> batches;           ///< oldest first, at most five
};

struct OpenTxnInfo {
  ProducerId producer_id = kNoProducerId;
  Offset first_offset = 0;
};

struct AbortedTxnInfo {
  ProducerId producer_id = kNoProducerId;
  Offset first_offset = 0;
  Offset last_offset = 0;
  Offset last_stable_offset = 0;
};

struct LeaderEpochInfo {
  LeaderEpoch epoch = kNoLeaderEpoch;
  Offset start_offset = 0;
};

struct SegmentInfo {
  Offset base_offset = 0;
  std::int64_t size = 0;
  TimestampMs largest_timestamp = kNoTimestamp;
};

struct LogState {
  std::vector<ProducerInfo> producers;       ///< by id
  std::vector<OpenTxnInfo> open_txns;        ///< by first offset
  std::vector<AbortedTxnInfo> aborted_txns;  ///< in segment and marker order
  std::vector<LeaderEpochInfo> leader_epochs;
  std::vector<SegmentInfo> segments;
  Offset log_start = 0;
  Offset log_end = 0;
  Offset high_watermark = 0;
  Offset last_stable_offset = 0;
  Offset first_unstable_offset = kNoOffset;  ///< -1 when nothing is undecided
  Offset durable_end = 0;
  Offset recovery_point = 0;
};

}  // namespace oncelog
