// oncelog.sidecar: what we proved about a partition when we last wrote, to open it without a scan.
//
// Never trusted over the log: each place it names is compared when the log is opened
// (ARCHITECTURE.md, "The sidecar"). Deleting it makes the next open slower, reduces the duplicate
// window and widens what counts as a torn or holed tail; nothing else. Byte table: index/FORMAT.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "oncelog/record_batch.h"
#include "oncelog/result.h"

#include "index/producer_snapshot.h"
#include "storage/base/xxh3.h"

namespace oncelog {

inline constexpr std::string_view kSidecarFile = "oncelog.sidecar";
/// W when nothing bounds it: the log acknowledges before it syncs.
inline constexpr std::int64_t kUnsyncedUnlimited = -1;

using BatchHeaderBytes = std::array<std::byte, kBatchHeaderBytes>;

struct SidecarSegment {
  Offset base_offset = 0;
  std::int64_t size = 0;           ///< bytes of the .log
  Offset last_offset = kNoOffset;  ///< of the last batch; -1 when empty
  TimestampMs largest_timestamp = kNoTimestamp;
  Offset largest_timestamp_offset = kNoOffset;       ///< last offset of the batch that has it
  TimestampMs first_batch_timestamp = kNoTimestamp;  ///< max timestamp of the first batch
  std::int64_t last_batch_position = -1;
  BatchHeaderBytes last_batch_header{};
  Hash128 headers_hash;             ///< XXH3-128 chained over all batch headers in order
  std::uint32_t aborted_count = 0;  ///< entries of its .txnindex
  friend bool operator==(const SidecarSegment&, const SidecarSegment&) = default;
};

/// The checkpoint in the active segment.
struct SidecarCheckpoint {
  SidecarSegment segment;  ///< as if it ended here: size = position, last_offset, ...
  Offset offset = 0;       ///< next offset at the checkpoint
  Offset last_stable_offset = 0;
  std::int64_t unsynced_bytes_max = kUnsyncedUnlimited;  ///< W
  Offset recovery_point = 0;  ///< that we last wrote to the root's checkpoint
  friend bool operator==(const SidecarCheckpoint&, const SidecarCheckpoint&) = default;
};

struct Sidecar {
  Offset log_start = 0;
  std::vector<SidecarSegment> sealed;  ///< ascending
  SidecarCheckpoint active;
  ProducerList producers;         ///< at active.offset, with all cached batches
  std::vector<Offset> snapshots;  ///< snapshot files that we wrote, ascending
  friend bool operator==(const Sidecar&, const Sidecar&) = default;
};

std::vector<std::byte> encode_sidecar(const Sidecar& sidecar);
/// kDamaged with the byte position. Nothing is allocated by claimed counts.
Result<Sidecar> decode_sidecar(std::span<const std::byte> bytes);

/// Continues a segment's header chain: XXH3-128 of the previous hash (high, low, big-endian) and
/// the header. REQUIRES: header.size() == kBatchHeaderBytes.
Hash128 chain_header(const Hash128& previous, std::span<const std::byte> header);

}  // namespace oncelog
