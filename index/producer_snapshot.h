// Producer state snapshots, format version 1.
//
// FORMAT  FORMAT.md 14: version, CRC-32C, count, 46-byte entries with each producer's last batch. A
// snapshot named N covers the offsets below N.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "oncelog/result.h"

#include "index/producer_state.h"

namespace oncelog {

using ProducerList = std::vector<std::pair<ProducerId, ProducerEntry>>;

/// Entries sorted by producer id, so that equal states give equal bytes.
std::vector<std::byte> encode_producer_snapshot(const ProducerState& state);

/// kDamaged with the byte position when version, CRC, count or size are wrong. Nothing is allocated
/// by the claimed count. Entries have at most one batch.
Result<ProducerList> decode_producer_snapshot(std::span<const std::byte> bytes);

}  // namespace oncelog
