// Open and just-finished transactions of a partition, and the arithmetic of the last stable offset.
//
// INVARIANTS  I3: last_stable <= high watermark. PRODUCER_STATE.md 7 has the rules and, in section
// 12, the scenario that the tests replay.
// THREADS  a value; the owner's thread.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "oncelog/types.h"

namespace oncelog {

struct OngoingTxn {
  ProducerId producer_id = kNoProducerId;
  Offset first_offset = 0;
};

/// A transaction whose marker was applied.
struct CompletedTxn {
  ProducerId producer_id = kNoProducerId;
  Offset first_offset = 0;
  Offset last_offset = 0;  ///< of the marker
  bool aborted = false;
};

class OngoingTxns {
 public:
  /// A transaction that was said to start at the same offset goes: damaged files only can say so.
  void start(const OngoingTxn& txn);
  /// The value for an aborted index entry: the first offset of the earliest *other* producer's open
  /// transaction, or marker + 1.
  Offset stable_offset_at(const CompletedTxn& txn) const;
  /// Moves a transaction from open to finished-but-above-the-high-watermark. Unknown ones (their
  /// start was cut off) are ignored.
  void complete(const CompletedTxn& txn);
  /// Forgets finished transactions whose marker lies below `high_watermark`.
  void on_high_watermark(Offset high_watermark);
  /// Forgets finished transactions whose marker lies below `log_start`; open ones stay.
  void on_log_start(Offset log_start);

  /// The lowest undecided or not yet replicated transaction start, not below `log_start`.
  std::optional<Offset> first_unstable(Offset log_start) const;
  /// first_unstable when it is below the high watermark, else the high watermark.
  Offset last_stable(Offset log_start, Offset high_watermark) const;

  std::vector<OngoingTxn> open() const;  ///< by first offset
  bool has_open() const { return !open_.empty(); }
  /// Looks at every open transaction; the producer's entry answers the same in constant time.
  bool is_open(ProducerId producer_id) const;
  void clear();

 private:
  void forget_finished_below(Offset end);

  std::map<Offset, ProducerId> open_;  ///< by first offset
  // Finished, with the marker not yet below the high watermark: first offset -> marker, and the
  // reverse, so that a moving high watermark looks only at what it lets go.
  std::map<Offset, Offset> unreplicated_;
  std::map<Offset, Offset> unreplicated_by_end_;
};

}  // namespace oncelog
