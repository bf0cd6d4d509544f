// Producer state and aborted transactions, derived again from the batches of a log.
//
// What a snapshot or the sidecar says at an offset is taken there and completed by what was
// replayed: a snapshot holds one batch per producer where the log may still have five, and a broker
// that lost its snapshots writes empty ones. A producer goes by age only, never because its batches
// are gone.
// THREADS  a value; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oncelog/control_record.h"
#include "oncelog/result.h"

#include "index/producer_snapshot.h"
#include "index/producer_state.h"
#include "index/txn_index.h"
#include "storage/segment_scanner.h"

namespace oncelog {

struct ReplayOptions {
  ProducerStateOptions producers;
  TimestampMs now_ms = 0;     ///< 0: nobody expires
  Offset high_watermark = 0;  ///< finished transactions below it need not be remembered
};

/// The marker in a control batch: nothing when it has no record or is of another type.
/// kInvalidRecord when key or value cannot be read.
Result<std::optional<EndTxnMarker>> marker_of(const ScannedBatch& batch);

class Replay {
 public:
  explicit Replay(const ReplayOptions& options);

  /// Takes what was saved at `offset`, completed by what was replayed so far. `complete`: the list
  /// has all cached batches and is taken as it is (the sidecar). REQUIRES:
  /// check_producers(saved, offset) is ok.
  void adopt(const ProducerList& saved, Offset offset, bool complete);
  /// The next batch; the entries that its marker adds to the aborted index go to `aborted`.
  void add(const ScannedBatch& batch, std::vector<AbortedTxn>& aborted);

  const ProducerState& state() const { return state_; }
  ProducerState take_state() { return std::move(state_); }
  /// Markers that cannot be read and rules that were broken, at most a hundred of them.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  bool is_expired(const ProducerEntry& entry) const;
  void note(std::string text);

  ReplayOptions options_;
  ProducerState state_;
  std::vector<std::string> notes_;
};

}  // namespace oncelog
