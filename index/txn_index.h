// The aborted-transaction index of one segment: which transactions ended here by an abort.
//
// FORMAT  FORMAT.md 13: 34-byte entries in marker order. An entry lies in the segment of its
// marker; its first offset may be in an earlier one. THREADS  one writer, any readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "oncelog/result.h"
#include "oncelog/types.h"

#include "index/append_only_array.h"

namespace oncelog {

inline constexpr std::size_t kTxnIndexEntryBytes = 34;

struct AbortedTxn {
  ProducerId producer_id = kNoProducerId;
  Offset first_offset = 0;        ///< first data offset of the transaction in this partition
  Offset last_offset = 0;         ///< of the ABORT marker
  Offset last_stable_offset = 0;  ///< when the marker was applied (PRODUCER_STATE.md 7)
  friend bool operator==(const AbortedTxn&, const AbortedTxn&) = default;
};

class TxnIndex {
 public:
  explicit TxnIndex(Offset base_offset) : base_offset_(base_offset) {}

  Offset base_offset() const { return base_offset_; }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return size() == 0; }
  AbortedTxn entry(std::size_t i) const { return entries_[i]; }

  /// REQUIRES: last_offset above that of the last entry and >= base.
  void append(const AbortedTxn& txn);

  /// Adds the entries that overlap [from, to): last_offset >= from and first_offset < to, in file
  /// order. True when no later entry, here or in a later segment, can concern the range (an
  /// entry's last_stable_offset is >= to).
  bool collect(Offset from, Offset to, std::vector<AbortedTxn>& into) const;

  /// A new index of the entries with a marker below `end`: what truncating the log to it leaves.
  std::unique_ptr<TxnIndex> copy_below(Offset end) const;

  std::vector<std::byte> encode() const;
  /// kDamaged with the byte position when the size is no multiple of 34, a version is not 0, last
  /// offsets do not rise or lie below the base, or first_offset > last_offset.
  static Result<std::unique_ptr<TxnIndex>> decode(std::span<const std::byte> bytes,
                                                  Offset base_offset);

 private:
  Offset base_offset_;
  AppendOnlyArray<AbortedTxn> entries_;
};

}  // namespace oncelog
