// The model's read path: fetches, aborted lists, and what a consumer makes of them.
#pragma once

#include <optional>
#include <vector>

#include "oncelog/types.h"

#include "tests/support/kafka_segment.h"

namespace oncelog::test::kafka {

struct Loaded;
struct CommittedFetch;

/// Reads of a loaded log whose high watermark is its end (FETCH.md 2-4).
class FetchModel {
 public:
  /// Borrows the segments, ascending.
  FetchModel(std::vector<Segment*> segments, Offset log_start, Offset log_end);

  /// Base offset of the batch that holds `offset`, or of the next one; the offset at the log end.
  Offset batch_start(Offset offset) const;
  /// Runs a consumer's loop for both isolations and fills the read_* members of `out`, whose
  /// last_stable_offset must be set.
  void consume(Loaded& out) const;

 private:
  struct Answer {
    std::size_t segment = 0;
    ByteSpan bytes;
    std::int64_t position = 0;
    std::vector<AbortedTxn> aborted;
  };
  std::optional<Answer> read(Offset start, std::int64_t bytes_max, Offset limit,
                             bool committed) const;
  std::vector<AbortedTxn> collect_aborted(std::size_t segment, Offset start,
                                          std::int64_t end_position) const;
  std::vector<Offset> consume(Offset limit, bool committed,
                              std::vector<CommittedFetch>* fetches) const;
  std::optional<std::size_t> floor(Offset offset) const;

  std::vector<Segment*> segments_;
  Offset log_start_;
  Offset log_end_;
};

}  // namespace oncelog::test::kafka
