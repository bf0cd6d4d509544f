// The derived files from arbitrary bytes: what decodes is encoded and must decode to the same, and
// it is used as recovery and readers would.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "fuzz/require.h"
#include "index/leader_epoch_cache.h"
#include "index/offset_index.h"
#include "index/producer_snapshot.h"
#include "index/sidecar.h"
#include "index/text_files.h"
#include "index/time_index.h"
#include "index/txn_index.h"
#include "storage/base/crc32c.h"
#include "storage/base/endian.h"
#include "storage/base/xxh3.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace oncelog {
namespace {

constexpr std::int64_t kIndexBytesMax = 1 << 20;
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

void read_indexes(std::span<const std::byte> bytes) {
  if (const auto index = OffsetIndex::decode(bytes, 0, kIndexBytesMax, kNoLimit); index.ok()) {
    require((*index)->encode() == std::vector(bytes.begin(), bytes.end()));
    for (std::size_t i = 0; i < (*index)->size(); ++i) {
      const OffsetIndexEntry entry = (*index)->entry(i);
      require((*index)->lookup(entry.offset) == entry);
      require((*index)->first_from_position(entry.position) == entry);
    }
  }
  if (const auto index = TimeIndex::decode(bytes, 0, kIndexBytesMax, kNoLimit); index.ok()) {
    require((*index)->encode() == std::vector(bytes.begin(), bytes.end()));
    for (std::size_t i = 0; i < (*index)->size(); ++i) {
      require((*index)->lookup((*index)->entry(i).timestamp) == (*index)->entry(i));
    }
    (*index)->maybe_append(kNoLimit, (*index)->last().offset, true);
  }
  if (const auto index = TxnIndex::decode(bytes, 0); index.ok()) {
    require((*index)->encode() == std::vector(bytes.begin(), bytes.end()));
    std::vector<AbortedTxn> found;
    static_cast<void>((*index)->collect(0, kNoLimit, found));
    require(found.size() <= (*index)->size());
  }
}

// Data and a marker of the first producer, a high watermark and an expiry on top of what was read.
void use_producers(const ProducerList& producers) {
  ProducerState state;
  for (const auto& [producer_id, entry] : producers)
    state.restore(producer_id, entry);
  ProducerInput batch;
  batch.header.producer_id = producers.empty() ? 0 : producers.front().first;
  batch.header.producer_epoch = 1;
  batch.header.base_sequence = 5;
  batch.header.record_count = 1;
  static_cast<void>(state.replay(batch));
  batch.header.base_offset = 1;
  batch.header.attributes = 0x30;
  batch.marker = EndTxnMarker{};
  static_cast<void>(state.replay(batch));
  require(!state.find(batch.header.producer_id)->has_open_txn());
  state.txns().on_high_watermark(1000);
  require(state.txns().last_stable(0, 1000) <= 1000);
  static_cast<void>(state.expire(1'700'000'000'000));
}

void read_snapshot(std::span<std::byte> bytes) {
  constexpr std::size_t kVersionAt = 0;
  constexpr std::size_t kCrcAt = 2;
  constexpr std::size_t kCrcBegin = 6;
  static_cast<void>(decode_producer_snapshot(bytes, kNoLimit).ok());
  if (bytes.size() < kCrcBegin) return;
  store_be<std::int16_t>(bytes, kVersionAt, 1);
  store_be<std::uint32_t>(bytes, kCrcAt, crc32c(bytes.subspan(kCrcBegin)));
  const auto producers = decode_producer_snapshot(bytes, kNoLimit);
  if (!producers.ok()) return;
  ProducerState state;
  for (const auto& [producer_id, entry] : *producers)
    state.restore(producer_id, entry);
  require(list_producers(state).size() == producers->size());
  const auto again = decode_producer_snapshot(encode_producer_snapshot(state), kNoLimit);
  require(again.ok() && *again == list_producers(state));
  use_producers(*producers);
}

void read_sidecar(std::span<std::byte> bytes) {
  constexpr std::string_view kMagicAndVersion("ONCELOG1\0\0\0\1", 12);
  constexpr std::size_t kHashAt = 12;
  constexpr std::size_t kHashBegin = 20;
  static_cast<void>(decode_sidecar(bytes).ok());
  if (bytes.size() < kHashBegin) return;
  std::memcpy(bytes.data(), kMagicAndVersion.data(), kMagicAndVersion.size());
  store_be<std::uint64_t>(bytes, kHashAt, xxh3_64(bytes.subspan(kHashBegin)));
  const auto sidecar = decode_sidecar(bytes);
  if (!sidecar.ok()) return;
  require(encode_sidecar(*sidecar) == std::vector(bytes.begin(), bytes.end()));
  use_producers(sidecar->producers);
}

void read_text(std::string_view text) {
  if (const auto offsets = decode_offset_checkpoint(text); offsets.ok()) {
    const auto again = decode_offset_checkpoint(encode_offset_checkpoint(*offsets));
    require(again.ok() && *again == *offsets);
  }
  if (const auto epochs = LeaderEpochCache::decode(text); epochs.ok()) {
    const auto again = LeaderEpochCache::decode(epochs->encode());
    require(again.ok() && *again == *epochs);
  }
  if (const auto id = decode_partition_metadata(text); id.ok()) {
    const auto again = decode_partition_metadata(encode_partition_metadata(*id));
    require(again.ok() && *again == *id);
  }
  if (const auto meta = decode_meta_properties(text); meta.ok()) {
    const auto again = decode_meta_properties(encode_meta_properties(*meta));
    require(again.ok() && again->cluster_id == meta->cluster_id);
    require(again->node_id == meta->node_id && again->directory_id == meta->directory_id);
  }
}

}  // namespace
}  // namespace oncelog

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::vector<std::byte> bytes(size - 1);
  if (size > 1) std::memcpy(bytes.data(), data + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      oncelog::read_indexes(bytes);
      break;
    case 1:
      oncelog::read_snapshot(bytes);
      break;
    case 2:
      oncelog::read_sidecar(bytes);
      break;
    default:
      oncelog::read_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      break;
  }
  return 0;
}
