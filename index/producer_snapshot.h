// Producer state snapshots, format version 1.
//
// FORMAT  FORMAT.md 14: version, CRC-32C, count, 46-byte entries with each producer's last batch. A
// snapshot named N covers the offsets below N.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "oncelog/result.h"

#include "index/producer_state.h"

namespace oncelog {

inline constexpr std::size_t kSnapshotEntryBytes = 46;

using ProducerList = std::vector<std::pair<ProducerId, ProducerEntry>>;

/// An element of `ProducerState::producers()`.
using ProducerTableEntry = std::pair<const ProducerId, ProducerEntry>;
/// The table in the order of ids, borrowed from `state` until it changes.
std::vector<const ProducerTableEntry*> producers_by_id(const ProducerState& state);
/// A copy of the table in the order of ids, with all cached batches.
ProducerList list_producers(const ProducerState& state);

/// kDamaged when a state that covers the offsets below `end` cannot hold these entries: an offset
/// or open transaction at or above it, a negative number, a producer or a transaction start twice.
Status check_producers(const ProducerList& producers, Offset end);

/// Entries sorted by producer id, so that equal states give equal bytes. A producer without batch
/// is kept: a marker or an open transaction may be all that is known of it.
std::vector<std::byte> encode_producer_snapshot(const ProducerState& state);

/// kDamaged with the byte position when version, CRC, count or size are wrong, or an entry is
/// refused by `check_producers`. `end` is the snapshot's name: nothing in it may be at or above.
/// Nothing is allocated by the claimed count. Entries have at most one batch; its timestamp is the
/// producer's last one.
Result<ProducerList> decode_producer_snapshot(std::span<const std::byte> bytes,
                                              Offset end = std::numeric_limits<Offset>::max());

}  // namespace oncelog
