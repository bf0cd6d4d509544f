// Decides whether an append may go on: duplicates, epochs, sequences, transactions, markers.
//
// Rules in the order of PRODUCER_STATE.md 2-6. Works on copies: nothing here changes the state.
#include <utility>

#include "index/producer_state.h"
#include "storage/format/sequence.h"

namespace oncelog {

/// The decision on one append.
class AppendCheck {
 public:
  AppendCheck(const ProducerState& state, const CheckContext& context)
      : state_(state), context_(context) {}

  Result<ProducerDecision> run(std::span<const ProducerInput> batches);

 private:
  using Working = ProducerUpdate::Working;

  std::optional<DuplicateBatch> find_duplicate(const BatchHeader& header) const;
  Status check_verified(const BatchHeader& header) const;
  Status check_epoch(const BatchHeader& header, const ProducerEntry& known);
  Status check_sequence(const BatchHeader& header, const ProducerEntry& working) const;
  Status check_marker_epoch(const BatchHeader& header, const ProducerEntry& known);
  Status take_data(const BatchHeader& header);
  Status take_marker(const BatchHeader& header, const EndTxnMarker& marker);
  Working& working_copy(ProducerId producer_id);
  /// Of a rule that replicas only note.
  Status violation(ErrorCode code, const BatchHeader& header, const std::string& what);

  // Appends of more producers than this find their working copies by a map.
  static constexpr std::size_t kLinearSearchMax = 8;

  const ProducerState& state_;
  const CheckContext& context_;
  ProducerUpdate update_;
  std::unordered_map<ProducerId, std::size_t> places_;
};

namespace {

Error refused(ErrorCode code, const BatchHeader& header, const std::string& what) {
  return make_error(code, "producer " + std::to_string(header.producer_id) + ": " + what)
      .with_offset(header.base_offset);
}

void set_epoch(ProducerUpdate::Working& working, ProducerEpoch epoch) {
  if (working.entry.epoch == epoch) return;
  working.entry.epoch = epoch;
  working.entry.batch_count = 0;
  working.epoch_changed = true;
}

}  // namespace

Result<ProducerDecision> AppendCheck::run(std::span<const ProducerInput> batches) {
  const bool is_client = context_.origin == AppendOrigin::kClient;
  for (const ProducerInput& batch : batches) {
    const BatchHeader& header = batch.header;
    if (!header.has_producer()) continue;
    if (header.is_control()) {
      // Compaction leaves control batches without a record; other control types mean nothing here.
      if (!batch.marker.has_value() || header.record_count == 0) continue;
      ONCELOG_TRY(take_marker(header, *batch.marker));
      continue;
    }
    if (is_client) {
      if (const auto found = find_duplicate(header); found.has_value()) {
        return ProducerDecision(*found);
      }
    }
    ONCELOG_TRY(check_verified(header));
    ONCELOG_TRY(take_data(header));
  }
  update_.next_offset = batches.empty() ? state_.map_end() : batches.back().header.next_offset();
  return ProducerDecision(std::move(update_));
}

std::optional<DuplicateBatch> AppendCheck::find_duplicate(const BatchHeader& header) const {
  const ProducerEntry* const stored = state_.find(header.producer_id);
  if (stored == nullptr || stored->epoch != header.producer_epoch) return std::nullopt;
  for (const ProducerBatch& batch : stored->cached()) {
    if (batch.first_sequence() == header.base_sequence &&
        batch.last_sequence == header.last_sequence()) {
      return DuplicateBatch{batch.first_offset(), batch.last_offset, batch.timestamp};
    }
  }
  return std::nullopt;
}

Status AppendCheck::check_verified(const BatchHeader& header) const {
  if (context_.origin == AppendOrigin::kReplica || !state_.options().verification) return {};
  if (!header.is_transactional()) return {};
  const ProducerEntry* const stored = state_.find(header.producer_id);
  if (stored != nullptr && stored->has_open_txn()) return {};
  const auto verification = state_.verifications_.find(header.producer_id);
  if (context_.guard != kNoGuard && verification != state_.verifications_.end() &&
      verification->second.guard == context_.guard) {
    return {};
  }
  return refused(ErrorCode::kInvalidTxnState, header,
                 "the coordinator was not asked about this transaction");
}

Status AppendCheck::check_epoch(const BatchHeader& header, const ProducerEntry& known) {
  if (header.producer_epoch >= known.epoch) return {};
  return violation(ErrorCode::kInvalidProducerEpoch, header,
                   "epoch " + std::to_string(header.producer_epoch) + " is older than " +
                       std::to_string(known.epoch));
}

Status AppendCheck::check_sequence(const BatchHeader& header, const ProducerEntry& working) const {
  const ProducerEntry* const stored = state_.find(header.producer_id);
  const Sequence sequence = header.base_sequence;
  const auto out_of_order = [&header, sequence](const std::string& what) {
    return refused(ErrorCode::kOutOfOrderSequence, header,
                   "sequence " + std::to_string(sequence) + ' ' + what);
  };
  const auto verification = state_.verifications_.find(header.producer_id);
  if (verification != state_.verifications_.end()) {
    const bool has_batches = stored != nullptr && stored->batch_count > 0;
    if (verification->second.transaction_version >= 2 && sequence != 0 && !has_batches) {
      return out_of_order("of a producer without batches, it must begin at 0");
    }
    if (sequence > verification->second.lowest_sequence) {
      return out_of_order("is above the lowest one that waits for verification, " +
                          std::to_string(verification->second.lowest_sequence));
    }
  }
  if (header.producer_epoch != working.epoch) {
    if (sequence == 0 || working.epoch == kNoProducerEpoch) return {};
    return out_of_order("begins epoch " + std::to_string(header.producer_epoch) +
                        ", it must begin at 0");
  }
  // A producer that was not known may start anywhere, and nothing says where its second batch is.
  if (stored == nullptr || stored->epoch == kNoProducerEpoch) return {};
  Sequence last = kNoSequence;
  if (working.batch_count > 0) {
    last = working.last_sequence();
  } else if (stored->epoch == header.producer_epoch) {
    last = stored->last_sequence();
  }
  if (in_sequence(last, sequence)) return {};
  return out_of_order("does not follow " + std::to_string(last));
}

Status AppendCheck::check_marker_epoch(const BatchHeader& header, const ProducerEntry& known) {
  const bool must_rise =
      context_.transaction_version >= 2 && context_.origin != AppendOrigin::kReplica;
  // With transaction version 2 an equal epoch is the retry of a marker that ended its transaction.
  if (must_rise && header.producer_epoch == known.epoch && known.has_open_txn()) {
    return refused(ErrorCode::kInvalidProducerEpoch, header,
                   "a marker must raise epoch " + std::to_string(known.epoch));
  }
  return check_epoch(header, known);
}

Status AppendCheck::take_data(const BatchHeader& header) {
  Working& working = working_copy(header.producer_id);
  ProducerEntry& entry = working.entry;
  ONCELOG_TRY(check_epoch(header, entry));
  if (context_.origin == AppendOrigin::kClient) ONCELOG_TRY(check_sequence(header, entry));
  set_epoch(working, header.producer_epoch);
  entry.add({header.last_sequence(), header.last_offset(), header.last_offset_delta,
             header.max_timestamp});
  entry.last_timestamp = header.max_timestamp;
  if (entry.has_open_txn() && !header.is_transactional()) {
    return violation(ErrorCode::kInvalidTxnState, header,
                     "a batch without transaction inside the one open since offset " +
                         std::to_string(entry.txn_first_offset));
  }
  if (!entry.has_open_txn() && header.is_transactional()) {
    entry.txn_first_offset = header.base_offset;
    update_.started.push_back({header.producer_id, header.base_offset});
  }
  return {};
}

Status AppendCheck::take_marker(const BatchHeader& header, const EndTxnMarker& marker) {
  Working& working = working_copy(header.producer_id);
  ProducerEntry& entry = working.entry;
  ONCELOG_TRY(check_marker_epoch(header, entry));
  if (marker.coordinator_epoch < entry.coordinator_epoch) {
    ONCELOG_TRY(violation(ErrorCode::kCoordinatorFenced, header,
                          "marker of coordinator epoch " +
                              std::to_string(marker.coordinator_epoch) + ", known is " +
                              std::to_string(entry.coordinator_epoch)));
  }
  if (entry.has_open_txn()) {
    update_.completed.push_back({header.producer_id, entry.txn_first_offset, header.base_offset,
                                 marker.type == ControlType::kAbort});
  }
  set_epoch(working, header.producer_epoch);
  entry.coordinator_epoch = marker.coordinator_epoch;
  entry.txn_first_offset = kNoOffset;
  entry.last_timestamp = header.max_timestamp;
  return {};
}

ProducerUpdate::Working& AppendCheck::working_copy(ProducerId producer_id) {
  std::vector<Working>& all = update_.producers;
  if (all.size() <= kLinearSearchMax) {
    for (Working& working : all) {
      if (working.producer_id == producer_id) return working;
    }
  } else {
    if (places_.empty()) {
      for (std::size_t i = 0; i < all.size(); ++i)
        places_.emplace(all[i].producer_id, i);
    }
    const auto place = places_.find(producer_id);
    if (place != places_.end()) return all[place->second];
    places_.emplace(producer_id, all.size());
  }
  Working working;
  working.producer_id = producer_id;
  if (const ProducerEntry* const stored = state_.find(producer_id)) {
    working.entry.epoch = stored->epoch;
    working.entry.coordinator_epoch = stored->coordinator_epoch;
    working.entry.last_timestamp = stored->last_timestamp;
    working.entry.txn_first_offset = stored->txn_first_offset;
  }
  all.push_back(working);
  return all.back();
}

Status AppendCheck::violation(ErrorCode code, const BatchHeader& header, const std::string& what) {
  Error error = refused(code, header, what);
  if (context_.origin != AppendOrigin::kReplica) return error;
  update_.notes.push_back(to_string(error));
  return {};
}

Result<ProducerDecision> ProducerState::check(std::span<const ProducerInput> batches,
                                              const CheckContext& context) const {
  return AppendCheck(*this, context).run(batches);
}

}  // namespace oncelog
