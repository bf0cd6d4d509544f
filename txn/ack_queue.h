// Who waits for what of a log: appends for their durability, retries for their original, flushes
// for the disk, long polls for readable offsets.
//
// INVARIANTS  I6; successes of appends come in offset order.
// THREADS  the shard's driver; answers are called there.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "oncelog/append.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

#include "storage/watermarks.h"
#include "txn/read_view.h"

namespace oncelog {

using AppendDone = std::function<void(Result<AppendResult>)>;
using Done = std::function<void(Status)>;

class AckQueue {
 public:
  explicit AckQueue(Offset acked_end) : acked_end_(acked_end) {}

  struct Append {
    Offset end = 0;        ///< exclusive
    bool durable = false;  ///< wants the sync, not only the write
    AppendResult result;
    AppendDone done;
  };
  /// Accepted appends, in offset order.
  void add_append(Append append) { appends_.push_back(std::move(append)); }
  /// Retries of earlier appends; `end` is that of the original.
  void add_duplicate(Append duplicate);
  void add_flush(Offset end, Done done) { flushes_.emplace_back(end, std::move(done)); }
  void add_poll(Offset offset, Isolation isolation, Done ready);

  /// Answers everything that `watermarks` and `marks` satisfy.
  void advance(const Watermarks& watermarks, const Marks& marks);
  /// Answers appends, retries and flushes with an error.
  void fail(const Error& error);
  /// Answers long polls with an error.
  void fail_polls(const Error& error);

  /// The log was loaded anew and ends here. REQUIRES: no append, retry or flush is waiting.
  void restart(Offset acked_end) { acked_end_ = acked_end; }
  /// Everything below was answered with success (or was there when the log was loaded).
  Offset acked_end() const { return acked_end_; }

 private:
  struct Poll {
    Offset offset;
    Isolation isolation;
    Done ready;
  };
  static void answer(Append append, const Watermarks& watermarks, Offset log_start);

  Offset acked_end_;
  std::deque<Append> appends_;
  std::multimap<Offset, Append> duplicates_;
  std::vector<std::pair<Offset, Done>> flushes_;
  std::vector<Poll> polls_;
};

/// The exclusive upper bound of what `isolation` may read.
Offset limit_of(Isolation isolation, const Marks& marks);

}  // namespace oncelog
