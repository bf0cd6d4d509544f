// What travels along the append path of a log: the request, where it is placed, what is queued.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "oncelog/append.h"
#include "oncelog/log_options.h"

#include "index/producer_state.h"
#include "recovery/recover.h"
#include "storage/batch_validator.h"
#include "txn/ack_queue.h"
#include "txn/log_segment.h"

namespace oncelog {

/// A validated append on its way into the shard.
struct AppendOp {
  ValidatedAppend input;
  AppendOptions options;
  bool may_wait = false;  ///< the caller blocks: wait for room instead of kBusy
  AppendDone done;
};

/// Its batches with their final offsets.
struct PlacedAppend {
  std::vector<ProducerInput> batches;
  std::int64_t bytes = 0;
  std::size_t dropped = 0;  // trailing batches with a newer leader epoch (replica)
};

/// An accepted append whose bytes are not yet in the file.
struct UnwrittenAppend {
  std::vector<BatchHeader> batches;
  std::vector<bool> indexed;  // per batch: gets an index entry
  std::uint32_t aborted = 0;  // aborted-index entries that came with it
  std::shared_ptr<LogSegment> segment;
  std::shared_ptr<SegmentIndexes> indexes;
  AckQueue::Append ack;
};

/// A segment that accepted batches go to and whose file does not exist yet.
struct RolledSegment {
  std::shared_ptr<LogSegment> segment;
  std::shared_ptr<SegmentIndexes> indexes;
  std::optional<std::vector<std::byte>> snapshot;  // state at its base, when it had changed
  std::function<void(Result<Offset>)> done;        // who asked for the roll
};

/// The parts of a log's options that recovery and producer state want.
RecoverOptions recover_options_of(const LogOptions& options);
ProducerStateOptions producer_options_of(const LogOptions& options);

}  // namespace oncelog
