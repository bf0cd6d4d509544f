// Control records: transaction markers and the other records that no reader is shown.
//
// FORMAT  FORMAT.md 6: the type lives in the record's key, not in the batch header.
#pragma once

#include <cstdint>
#include <optional>

#include "oncelog/buffer.h"
#include "oncelog/record_batch.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

/// What a control record's key says (FORMAT.md 6). Values are those on disk; others are unknown.
enum class ControlType : std::int16_t {
  kAbort = 0,
  kCommit = 1,
  kLeaderChange = 2,
  kSnapshotHeader = 3,
  kSnapshotFooter = 4,
  kKraftVersion = 5,
  kKraftVoters = 6,
  kUnknown = -1,
};

struct EndTxnMarker {
  ControlType type = ControlType::kAbort;  ///< kAbort or kCommit
  CoordinatorEpoch coordinator_epoch = 0;
};

/// A marker batch of 78 bytes: control, transactional, no codec, base offset 0.
/// REQUIRES: type is kAbort or kCommit.
Buffer make_end_txn_marker(const ProducerIdentity& producer, const EndTxnMarker& marker,
                           TimestampMs timestamp);

/// The control type in a key: kInvalidRecord when shorter than 4 bytes or its version is negative.
Result<ControlType> decode_control_type(OptionalBytes key);
/// The marker in a control record; nothing when its type is neither kAbort nor kCommit.
/// kInvalidRecord when the value is short or its version negative.
Result<std::optional<EndTxnMarker>> decode_end_txn_marker(const RecordView& record);

}  // namespace oncelog
