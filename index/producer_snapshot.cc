// Codec of producer snapshots.
#include "index/producer_snapshot.h"

#include <algorithm>
#include <string>

#include "index/damaged.h"
#include "storage/base/crc32c.h"
#include "storage/base/endian.h"

namespace oncelog {
namespace {

constexpr std::int16_t kVersion = 1;

// FORMAT.md 14.
constexpr std::size_t kVersionAt = 0;
constexpr std::size_t kCrcAt = 2;  // covers the bytes from kCountAt to the end of the file
constexpr std::size_t kCountAt = 6;
constexpr std::size_t kEntriesAt = 10;

namespace entry_at {
constexpr std::size_t kProducerId = 0;
constexpr std::size_t kProducerEpoch = 8;
constexpr std::size_t kLastSequence = 10;
constexpr std::size_t kLastOffset = 14;
constexpr std::size_t kOffsetDelta = 22;
constexpr std::size_t kTimestamp = 26;
constexpr std::size_t kCoordinatorEpoch = 34;
constexpr std::size_t kTxnFirstOffset = 38;
constexpr std::size_t kEnd = 46;
}  // namespace entry_at

void encode_entry(ProducerId producer_id, const ProducerEntry& entry, std::span<std::byte> into) {
  const ProducerBatch last = entry.batch_count == 0 ? ProducerBatch{} : entry.cached().back();
  store_be(into, entry_at::kProducerId, producer_id);
  store_be(into, entry_at::kProducerEpoch, entry.epoch);
  store_be(into, entry_at::kLastSequence, last.last_sequence);
  store_be(into, entry_at::kLastOffset, last.last_offset);
  store_be(into, entry_at::kOffsetDelta, last.offset_delta);
  store_be(into, entry_at::kTimestamp, entry.last_timestamp);
  store_be(into, entry_at::kCoordinatorEpoch, entry.coordinator_epoch);
  store_be(into, entry_at::kTxnFirstOffset, entry.txn_first_offset);
}

ProducerEntry decode_entry(std::span<const std::byte> bytes) {
  ProducerEntry entry;
  entry.epoch = load_be<ProducerEpoch>(bytes, entry_at::kProducerEpoch);
  entry.last_timestamp = load_be<TimestampMs>(bytes, entry_at::kTimestamp);
  entry.coordinator_epoch = load_be<CoordinatorEpoch>(bytes, entry_at::kCoordinatorEpoch);
  entry.txn_first_offset = load_be<Offset>(bytes, entry_at::kTxnFirstOffset);
  const auto last_offset = load_be<Offset>(bytes, entry_at::kLastOffset);
  if (last_offset >= 0) {
    entry.add({load_be<Sequence>(bytes, entry_at::kLastSequence), last_offset,
               load_be<std::int32_t>(bytes, entry_at::kOffsetDelta), entry.last_timestamp});
  }
  return entry;
}

// What is wrong with an entry as such; nothing when it may be.
const char* fault_of(ProducerId producer_id, const ProducerEntry& entry, Offset end) {
  if (producer_id < 0) return "entry of a negative producer id";
  if (entry.epoch < kNoProducerEpoch) return "entry with a negative producer epoch";
  if (entry.txn_first_offset < kNoOffset || entry.txn_first_offset >= end) {
    return "entry with an open transaction outside the log";
  }
  for (const ProducerBatch& batch : entry.cached()) {
    if (batch.last_offset < 0 || batch.last_offset >= end) return "entry with an offset beyond";
    if (batch.offset_delta < 0 || batch.offset_delta > batch.last_offset) {
      return "entry with a wrong offset delta";
    }
    if (batch.last_sequence < kNoSequence) return "entry with a negative sequence";
  }
  return nullptr;
}

// Whether a value occurs twice. Sorts.
template <class T>
bool has_twins(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) != values.end();
}

}  // namespace

std::vector<const ProducerTableEntry*> producers_by_id(const ProducerState& state) {
  std::vector<const ProducerTableEntry*> out;
  out.reserve(state.producers().size());
  for (const ProducerTableEntry& entry : state.producers())
    out.push_back(&entry);
  std::sort(out.begin(), out.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  return out;
}

ProducerList list_producers(const ProducerState& state) {
  ProducerList out;
  out.reserve(state.producers().size());
  for (const ProducerTableEntry* entry : producers_by_id(state)) {
    out.emplace_back(entry->first, entry->second);
  }
  return out;
}

Status check_producers(const ProducerList& producers, Offset end) {
  std::vector<ProducerId> ids;
  std::vector<Offset> txns;
  ids.reserve(producers.size());
  for (const auto& [producer_id, entry] : producers) {
    if (const char* const fault = fault_of(producer_id, entry, end)) {
      return make_error(ErrorCode::kDamaged,
                        std::string(fault) + ", producer " + std::to_string(producer_id));
    }
    ids.push_back(producer_id);
    if (entry.has_open_txn()) txns.push_back(entry.txn_first_offset);
  }
  if (has_twins(ids)) return make_error(ErrorCode::kDamaged, "a producer is listed twice");
  if (has_twins(txns)) {
    return make_error(ErrorCode::kDamaged, "two transactions begin at one offset");
  }
  return {};
}

std::vector<std::byte> encode_producer_snapshot(const ProducerState& state) {
  const auto producers = producers_by_id(state);
  std::vector<std::byte> bytes(kEntriesAt + producers.size() * kSnapshotEntryBytes);
  std::size_t at = kEntriesAt;
  for (const ProducerTableEntry* producer : producers) {
    encode_entry(producer->first, producer->second,
                 std::span(bytes).subspan(at, kSnapshotEntryBytes));
    at += kSnapshotEntryBytes;
  }
  store_be(bytes, kVersionAt, kVersion);
  store_be(bytes, kCountAt, static_cast<std::int32_t>(producers.size()));
  store_be(bytes, kCrcAt, crc32c(std::span(bytes).subspan(kCountAt)));
  return bytes;
}

Result<ProducerList> decode_producer_snapshot(std::span<const std::byte> bytes, Offset end) {
  static_assert(entry_at::kEnd == kSnapshotEntryBytes);
  if (bytes.size() < kEntriesAt) return damaged_at(bytes.size(), "snapshot is cut short");
  if (load_be<std::int16_t>(bytes, kVersionAt) != kVersion) {
    return damaged_at(kVersionAt, "snapshot has an unknown version");
  }
  if (load_be<std::uint32_t>(bytes, kCrcAt) != crc32c(bytes.subspan(kCountAt))) {
    return damaged_at(kCrcAt, "snapshot has a wrong checksum");
  }
  const std::size_t rest = bytes.size() - kEntriesAt;
  const auto claimed = load_be<std::int32_t>(bytes, kCountAt);
  if (claimed < 0 || rest % kSnapshotEntryBytes != 0 ||
      static_cast<std::size_t>(claimed) != rest / kSnapshotEntryBytes) {
    return damaged_at(kCountAt, "snapshot claims " + std::to_string(claimed) + " entries in " +
                                    std::to_string(rest) + " bytes");
  }
  ProducerList producers;
  producers.reserve(rest / kSnapshotEntryBytes);
  for (std::size_t at = kEntriesAt; at < bytes.size(); at += kSnapshotEntryBytes) {
    const auto entry = bytes.subspan(at, kSnapshotEntryBytes);
    producers.emplace_back(load_be<ProducerId>(entry, entry_at::kProducerId), decode_entry(entry));
  }
  if (Status status = check_producers(producers, end); !status.ok()) {
    return damaged_at(kEntriesAt, "snapshot: " + status.error().message);
  }
  return producers;
}

}  // namespace oncelog
