// What readers see of a log: watermarks in a sequence lock, and the list of segments.
//
// A reader takes the marks, then the list, reads, and compares the generation again: it moves with
// every removal (truncate, delete, recovery in place), before the list is replaced and after. Gap
// and range errors are answered only with an unchanged one.
//
// INVARIANTS  I3  last_stable <= high_watermark <= written end, asserted in `publish`.
// THREADS  `publish*` by the shard's driver; reading from any thread, without waiting for appends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "oncelog/recovery_report.h"
#include "oncelog/types.h"

#include "txn/log_segment.h"

namespace oncelog {

struct Marks {
  Offset log_start = 0;
  Offset last_stable = 0;
  Offset high_watermark = 0;
  Offset durable_end = 0;
  Offset written_end = 0;
  std::uint64_t generation = 0;
  bool open = false;  ///< false: closed, deleted, failed or not loaded
  friend bool operator==(const Marks&, const Marks&) = default;
};

struct SegmentList {
  std::vector<std::shared_ptr<LogSegment>> segments;  ///< ascending, at least one; last is active
  std::vector<GapFinding> gaps;                       ///< ascending
  std::vector<DamagedRange> damaged;                  ///< ascending

  /// Index of the last segment with base <= offset; segments.size() when there is none.
  std::size_t floor(Offset offset) const;
};

class ReadView {
 public:
  Marks marks() const;
  std::shared_ptr<const SegmentList> segments() const;

  void publish(const Marks& marks);
  void publish_segments(std::shared_ptr<const SegmentList> list);

 private:
  // Odd while a writer is inside. Every field is an atomic stored with release and loaded with
  // acquire, so a reader that sees a new field also sees the odd number before it.
  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<Offset> log_start_{0};
  std::atomic<Offset> last_stable_{0};
  std::atomic<Offset> high_watermark_{0};
  std::atomic<Offset> durable_end_{0};
  std::atomic<Offset> written_end_{0};
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<bool> open_{false};

  mutable std::mutex list_mutex_;  // held for a pointer copy only
  std::shared_ptr<const SegmentList> list_;
};

}  // namespace oncelog
