// Replays batches onto producer state.
#include "recovery/replay.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace oncelog {
namespace {

constexpr std::size_t kNotesMax = 100;

/// The saved entry with the batches of the replayed one, where both end with the same batch.
ProducerEntry completed(const ProducerEntry& saved, const ProducerEntry& replayed) {
  ProducerEntry out = saved;
  if (saved.epoch != replayed.epoch || saved.batch_count == 0 || replayed.batch_count == 0) {
    return out;
  }
  const ProducerBatch& last = saved.cached().back();
  const ProducerBatch& same = replayed.cached().back();
  if (last.last_offset != same.last_offset || last.last_sequence != same.last_sequence) return out;
  if (replayed.batch_count <= saved.batch_count) return out;
  out.batch_count = replayed.batch_count;
  out.batches = replayed.batches;
  return out;
}

}  // namespace

Result<std::optional<EndTxnMarker>> marker_of(const ScannedBatch& batch) {
  if (!batch.header.is_control() || batch.header.record_count == 0) {
    return std::optional<EndTxnMarker>();
  }
  ONCELOG_TRY_ASSIGN(const RecordBatchView view, RecordBatchView::parse(batch.bytes));
  ONCELOG_TRY_ASSIGN(RecordReader reader, RecordReader::open(view));
  // The first record decides, whatever the count says (FORMAT.md 6).
  ONCELOG_TRY_ASSIGN(const std::optional<RecordView> record, reader.next());
  if (!record) return std::optional<EndTxnMarker>();
  ONCELOG_TRY_ASSIGN(const ControlType type, decode_control_type(record->key));
  if (type != ControlType::kAbort && type != ControlType::kCommit) {
    return std::optional<EndTxnMarker>();
  }
  return decode_end_txn_marker(*record);
}

Replay::Replay(const ReplayOptions& options) : options_(options), state_(options.producers) {}

bool Replay::is_expired(const ProducerEntry& entry) const {
  if (options_.now_ms <= 0 || entry.has_open_txn()) return false;
  const std::int64_t age_max =
      std::clamp<std::int64_t>(options_.producers.expiration_ms, 0, INT64_MAX / 2);
  return entry.last_timestamp <= options_.now_ms - age_max;
}

void Replay::adopt(const ProducerList& saved, Offset offset, bool complete) {
  std::unordered_map<ProducerId, ProducerEntry> kept;
  for (const auto& [producer_id, entry] : saved) {
    if (is_expired(entry)) continue;
    const ProducerEntry* const replayed = state_.find(producer_id);
    kept.emplace(producer_id,
                 complete || replayed == nullptr ? entry : completed(entry, *replayed));
  }
  if (!complete) {
    for (const auto& [producer_id, entry] : state_.producers()) {
      if (!is_expired(entry)) kept.emplace(producer_id, entry);
    }
  }
  state_.clear();
  for (const auto& [producer_id, entry] : kept)
    state_.restore(producer_id, entry);
  state_.set_map_end(offset);
}

void Replay::add(const ScannedBatch& batch, std::vector<AbortedTxn>& aborted) {
  if (!batch.header.has_producer()) {
    state_.set_map_end(batch.header.next_offset());
    return;
  }
  ProducerInput input{batch.header, std::nullopt};
  Result<std::optional<EndTxnMarker>> marker = marker_of(batch);
  if (marker.ok()) {
    input.marker = *marker;
  } else {
    note("offset " + std::to_string(batch.header.base_offset) +
         ": control record cannot be read and has no effect: " + marker.error().message);
  }
  const ProducerState::Applied applied = state_.replay(input);
  for (const ProducerState::Applied::Aborted& entry : applied.aborted) {
    aborted.push_back({entry.txn.producer_id, entry.txn.first_offset, entry.txn.last_offset,
                       entry.last_stable_offset});
  }
  for (const std::string& text : applied.notes)
    note(text);
  if (!applied.aborted.empty() || input.marker) {
    state_.txns().on_high_watermark(options_.high_watermark);
  }
}

void Replay::note(std::string text) {
  if (notes_.size() < kNotesMax) notes_.push_back(std::move(text));
}

}  // namespace oncelog
