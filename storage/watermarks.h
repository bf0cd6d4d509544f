// How far a log has got: accepted, written, durable.
//
// INVARIANTS  I2  durable_end <= written_end <= accepted_end, changed in `advance` only; a cut
// makes new watermarks, it never moves these back.
#pragma once

#include "oncelog/types.h"

#include "storage/base/assert.h"

namespace oncelog {

class Watermarks {
 public:
  explicit Watermarks(Offset end) : durable_end_(end), written_end_(end), accepted_end_(end) {}

  Offset durable_end() const { return durable_end_; }    ///< below: survives a power cut
  Offset written_end() const { return written_end_; }    ///< below: readable from the file
  Offset accepted_end() const { return accepted_end_; }  ///< the next offset to be given

  void on_accepted(Offset end) { advance(durable_end_, written_end_, end); }
  void on_written(Offset end) { advance(durable_end_, end, accepted_end_); }
  void on_durable(Offset end) { advance(end, written_end_, accepted_end_); }

 private:
  void advance(Offset durable, Offset written, Offset accepted) {
    ONCELOG_ASSERT(durable >= durable_end_);
    ONCELOG_ASSERT(written >= written_end_);
    ONCELOG_ASSERT(accepted >= accepted_end_);
    ONCELOG_ASSERT(durable <= written);
    ONCELOG_ASSERT(written <= accepted);
    durable_end_ = durable;
    written_end_ = written;
    accepted_end_ = accepted;
  }
  Offset durable_end_;
  Offset written_end_;
  Offset accepted_end_;
};

}  // namespace oncelog
