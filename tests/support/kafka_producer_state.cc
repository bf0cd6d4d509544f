// Producer state of the model.
#include "tests/support/kafka_producer_state.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace oncelog::test::kafka {
namespace {

constexpr std::size_t kBatchesMax = 5;
constexpr std::size_t kSnapshotHeader = 10;
constexpr std::size_t kSnapshotEntry = 46;

}  // namespace

std::string file_name(Offset offset, const std::string& suffix) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%020lld", static_cast<long long>(offset));
  return digits + suffix;
}

std::optional<Offset> offset_of(const std::string& name) {
  const std::string digits = name.substr(0, name.find('.'));
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return std::strtoll(digits.c_str(), nullptr, 10);
}

bool ends_with(const std::string& name, const std::string& suffix) {
  return name.size() >= suffix.size() &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

Sequence ProducerBatch::first_sequence() const {
  const std::int64_t first = std::int64_t{last_sequence} - offset_delta;
  return static_cast<Sequence>(first >= 0 || last_sequence < 0 ? first
                                                               : first + (std::int64_t{1} << 31));
}

void ProducerEntry::take_epoch(ProducerEpoch new_epoch) {
  if (epoch == new_epoch) return;
  batches.clear();
  epoch = new_epoch;
}

void ProducerEntry::add(const ProducerBatch& batch) {
  if (batches.size() == kBatchesMax) batches.pop_front();
  batches.push_back(batch);
}

std::optional<Producers> decode_snapshot(ByteSpan bytes) {
  if (bytes.size() < kSnapshotHeader || get16(bytes, 0) != 1) return std::nullopt;
  if (static_cast<std::uint32_t>(get32(bytes, 2)) != crc32c_of(bytes.subspan(6))) {
    return std::nullopt;
  }
  const std::int64_t count = get32(bytes, 6);
  if (count < 0 ||
      static_cast<std::uint64_t>(count) > (bytes.size() - kSnapshotHeader) / kSnapshotEntry) {
    return std::nullopt;
  }
  Producers out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const ByteSpan entry = bytes.subspan(kSnapshotHeader + i * kSnapshotEntry, kSnapshotEntry);
    ProducerEntry producer;
    producer.epoch = get16(entry, 8);
    producer.last_timestamp = get64(entry, 26);
    producer.coordinator_epoch = get32(entry, 34);
    if (get64(entry, 38) >= 0) producer.txn_first_offset = get64(entry, 38);
    if (get64(entry, 14) >= 0) {
      producer.add({get32(entry, 10), get64(entry, 14), get32(entry, 22), get64(entry, 26)});
    }
    out[get64(entry, 0)] = std::move(producer);
  }
  return out;
}

Bytes encode_snapshot(const Producers& producers) {
  Bytes body;
  put(body, static_cast<std::int64_t>(producers.size()), 4);
  for (const auto& [id, entry] : producers) {
    const ProducerBatch last = entry.batches.empty() ? ProducerBatch{} : entry.batches.back();
    put(body, id, 8);
    put(body, entry.epoch, 2);
    put(body, last.last_sequence, 4);
    put(body, last.last_offset, 8);
    put(body, last.offset_delta, 4);
    put(body, entry.last_timestamp, 8);
    put(body, entry.coordinator_epoch, 4);
    put(body, entry.txn_first_offset.value_or(-1), 8);
  }
  Bytes out;
  put(out, 1, 2);
  put(out, crc32c_of(body), 4);
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

std::optional<CompletedTxn> AppendInfo::append(const FileBatch& batch) {
  if (batch.is_control()) {
    const std::optional<Marker> marker = marker_of(batch);
    if (!marker) return std::nullopt;
    std::optional<CompletedTxn> done;
    if (entry.txn_first_offset) {
      done = CompletedTxn{producer_id, *entry.txn_first_offset, batch.base_offset, marker->abort};
    }
    entry.take_epoch(batch.producer_epoch);
    entry.coordinator_epoch = marker->coordinator_epoch;
    entry.last_timestamp = marker->timestamp;
    entry.txn_first_offset.reset();
    return done;
  }
  entry.take_epoch(batch.producer_epoch);
  entry.add({batch.last_sequence(), batch.last_offset,
             static_cast<std::int32_t>(batch.last_offset - batch.base_offset),
             batch.max_timestamp});
  entry.last_timestamp = batch.max_timestamp;
  if (entry.txn_first_offset && !batch.is_transactional()) {
    throw Refused("plain data inside a transaction at offset " + std::to_string(batch.base_offset));
  }
  if (!entry.txn_first_offset && batch.is_transactional()) {
    entry.txn_first_offset = batch.base_offset;
    started.push_back(batch.base_offset);
  }
  return std::nullopt;
}

ProducerStates::ProducerStates(FileMap& files, TimestampMs now_ms, std::int64_t expiration_ms)
    : files_(&files), now_ms_(now_ms), expiration_ms_(expiration_ms) {
  list_snapshots();
}

void ProducerStates::list_snapshots() {
  snapshots_.clear();
  for (const auto& [name, bytes] : *files_) {
    if (!ends_with(name, ".snapshot")) continue;
    if (const std::optional<Offset> offset = offset_of(name)) snapshots_.insert(*offset);
  }
}

AppendInfo ProducerStates::prepare(ProducerId producer_id) const {
  AppendInfo info;
  info.producer_id = producer_id;
  const auto known = producers_.find(producer_id);
  if (known != producers_.end()) info.entry = known->second;
  info.entry.batches.clear();
  return info;
}

void ProducerStates::update(const AppendInfo& info) {
  const auto [place, is_new] = producers_.try_emplace(info.producer_id, info.entry);
  if (!is_new) {
    ProducerEntry& entry = place->second;
    entry.take_epoch(info.entry.epoch);
    for (const ProducerBatch& batch : info.entry.batches)
      entry.add(batch);
    entry.coordinator_epoch = info.entry.coordinator_epoch;
    entry.txn_first_offset = info.entry.txn_first_offset;
    entry.last_timestamp = info.entry.last_timestamp;
  }
  for (const Offset first : info.started)
    ongoing_[first] = info.producer_id;
}

Offset ProducerStates::last_stable_offset(const CompletedTxn& txn) const {
  for (const auto& [first, producer] : ongoing_) {
    if (producer != txn.producer_id) return first;
  }
  return txn.last_offset + 1;
}

void ProducerStates::complete(const CompletedTxn& txn) {
  if (ongoing_.erase(txn.first_offset) == 0) {
    throw Refused("a marker ends a transaction that is not known, first offset " +
                  std::to_string(txn.first_offset));
  }
  unreplicated_[txn.first_offset] = txn.last_offset;
}

void ProducerStates::take_snapshot() {
  if (map_end_ <= last_snapshot_) return;
  (*files_)[file_name(map_end_, ".snapshot")] = encode_snapshot(producers_);
  snapshots_.insert(map_end_);
  last_snapshot_ = map_end_;
}

void ProducerStates::remove_snapshot(Offset offset) {
  snapshots_.erase(offset);
  files_->erase(file_name(offset, ".snapshot"));
}

void ProducerStates::truncate_and_reload(Offset log_start, Offset log_end) {
  for (const Offset offset : std::vector<Offset>(snapshots_.begin(), snapshots_.end())) {
    if (offset > log_end || offset <= log_start) remove_snapshot(offset);
  }
  if (log_end != map_end_) {
    producers_.clear();
    ongoing_.clear();
    unreplicated_.clear();
    load_newest_snapshot(log_start);
    return;
  }
  for (auto it = unreplicated_.begin(); it != unreplicated_.end();) {
    it = it->second < log_start ? unreplicated_.erase(it) : std::next(it);
  }
  map_end_ = std::max(map_end_, log_start);
  last_snapshot_ = snapshots_.empty() ? log_start : *snapshots_.rbegin();
}

void ProducerStates::load_newest_snapshot(Offset log_start) {
  while (!snapshots_.empty()) {
    const Offset offset = *snapshots_.rbegin();
    const std::optional<Producers> loaded =
        decode_snapshot(files_->at(file_name(offset, ".snapshot")));
    if (!loaded) {
      remove_snapshot(offset);
      continue;
    }
    for (const auto& [id, entry] : *loaded) {
      if (!entry.txn_first_offset && now_ms_ - entry.last_timestamp >= expiration_ms_) continue;
      producers_[id] = entry;
      if (entry.txn_first_offset) ongoing_[*entry.txn_first_offset] = id;
    }
    map_end_ = offset;
    last_snapshot_ = offset;
    return;
  }
  map_end_ = log_start;
  last_snapshot_ = log_start;
}

void ProducerStates::truncate_fully(Offset offset) {
  for (const Offset snapshot : std::vector<Offset>(snapshots_.begin(), snapshots_.end())) {
    remove_snapshot(snapshot);
  }
  producers_.clear();
  ongoing_.clear();
  unreplicated_.clear();
  last_snapshot_ = 0;
  map_end_ = offset;
}

void ProducerStates::remove_stray_snapshots(const std::vector<Offset>& segment_bases) {
  list_snapshots();  // recovered segments came with their own state and changed the directory
  std::optional<Offset> newest_stray;
  for (const Offset offset : std::vector<Offset>(snapshots_.begin(), snapshots_.end())) {
    const bool is_base =
        std::find(segment_bases.begin(), segment_bases.end(), offset) != segment_bases.end();
    if (is_base) continue;
    if (newest_stray) remove_snapshot(*newest_stray);
    newest_stray = offset;
  }
  if (newest_stray && !segment_bases.empty() && *newest_stray < segment_bases.back()) {
    remove_snapshot(*newest_stray);
  }
}

}  // namespace oncelog::test::kafka
