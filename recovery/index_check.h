// Whether what an offset or time index file says is true of the log, told while the log is scanned.
//
// An entry that is missing costs time, an entry that is wrong hides records: so an index of another
// broker, with another interval, passes when each entry holds (FORMAT.md 11 and 12).
// THREADS  values; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "index/offset_index.h"
#include "index/time_index.h"
#include "storage/segment_scanner.h"

namespace oncelog {

/// Why an index file cannot be used, and where in it.
struct IndexFault {
  std::int64_t position = 0;  ///< byte position in the index file
  std::string what;
};

/// A file of fixed-size entries, cut into them. A broker's active index ends in zeros up to its
/// full size; those are no entries (H-056), wherever they are found.
struct IndexSlots {
  std::size_t count = 0;            ///< entries before the zeros
  bool zero_tail = false;           ///< zeros stood behind them
  std::optional<IndexFault> fault;  ///< the size is no multiple of an entry
};
IndexSlots slots_of(std::span<const std::byte> bytes, std::size_t entry_bytes);

class OffsetIndexCheck {
 public:
  OffsetIndexCheck(std::span<const std::byte> bytes, Offset base_offset);
  /// REQUIRES: batches in file order.
  void add(const ScannedBatch& batch);
  /// After the last batch.
  void finish();

  const std::optional<IndexFault>& fault() const { return fault_; }
  bool zero_tail() const { return zero_tail_; }
  const std::vector<OffsetIndexEntry>& entries() const { return entries_; }

 private:
  void fail(std::size_t entry, std::string what);

  std::vector<OffsetIndexEntry> entries_;
  bool zero_tail_ = false;
  std::size_t next_ = 0;             // entry whose position is waited for
  std::optional<std::size_t> open_;  // entry whose offset must be a batch's last one from here on
  std::optional<IndexFault> fault_;
};

class TimeIndexCheck {
 public:
  TimeIndexCheck(std::span<const std::byte> bytes, Offset base_offset);
  void add(const ScannedBatch& batch);
  /// After the last batch. A `sealed` segment's last entry must be its greatest timestamp.
  void finish(bool sealed);

  const std::optional<IndexFault>& fault() const { return fault_; }
  bool zero_tail() const { return zero_tail_; }
  const std::vector<TimeIndexEntry>& entries() const { return entries_; }

 private:
  void fail(std::size_t entry, std::string what);

  std::vector<TimeIndexEntry> entries_;
  bool zero_tail_ = false;
  std::size_t next_ = 0;
  TimestampMs largest_ = kNoTimestamp;  // of the batches so far
  std::optional<IndexFault> fault_;
};

}  // namespace oncelog
