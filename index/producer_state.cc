// The producer table: applying appends, expiry, the limit on its size, verification guards.
#include "index/producer_state.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>
#include <utility>

#include "storage/base/assert.h"
#include "storage/format/sequence.h"

namespace oncelog {
namespace {

VerificationGuard next_guard() {
  static std::atomic<VerificationGuard> last{kNoGuard};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Sequence ProducerBatch::first_sequence() const {
  return last_sequence < 0 ? kNoSequence : decrement_sequence(last_sequence, offset_delta);
}

Sequence ProducerEntry::last_sequence() const {
  return batch_count == 0 ? kNoSequence : batches.at(batch_count - 1U).last_sequence;
}

void ProducerEntry::add(const ProducerBatch& batch) {
  if (batch_count == kProducerBatchesMax) {
    std::move(batches.begin() + 1, batches.end(), batches.begin());
    --batch_count;
  }
  batches.at(batch_count) = batch;
  ++batch_count;
}

bool operator==(const ProducerEntry& a, const ProducerEntry& b) {
  return a.epoch == b.epoch && a.coordinator_epoch == b.coordinator_epoch &&
         a.last_timestamp == b.last_timestamp && a.txn_first_offset == b.txn_first_offset &&
         std::ranges::equal(a.cached(), b.cached());
}

const ProducerEntry* ProducerState::find(ProducerId producer_id) const {
  const auto found = producers_.find(producer_id);
  return found == producers_.end() ? nullptr : &found->second;
}

void ProducerState::consume_guards(std::span<const ProducerInput> batches) {
  if (verifications_.empty()) return;
  for (const ProducerInput& batch : batches) {
    if (batch.header.has_producer() && batch.header.is_transactional()) {
      verifications_.erase(batch.header.producer_id);
    }
  }
}

void ProducerState::merge(const ProducerUpdate::Working& working) {
  ProducerEntry& stored = producers_[working.producer_id];
  if (working.epoch_changed) stored.batch_count = 0;
  stored.epoch = working.entry.epoch;
  stored.coordinator_epoch = working.entry.coordinator_epoch;
  stored.last_timestamp = working.entry.last_timestamp;
  stored.txn_first_offset = working.entry.txn_first_offset;
  for (const ProducerBatch& batch : working.entry.cached())
    stored.add(batch);
}

ProducerState::Applied ProducerState::apply(const ProducerUpdate& update) {
  for (const ProducerUpdate::Working& working : update.producers)
    merge(working);
  for (const OngoingTxn& txn : update.started)
    txns_.start(txn);
  Applied applied;
  for (const CompletedTxn& txn : update.completed) {
    if (txn.aborted) applied.aborted.push_back({txn, txns_.stable_offset_at(txn)});
    txns_.complete(txn);
  }
  map_end_ = update.next_offset;
  enforce_producers_max(update);
  return applied;
}

ProducerState::Applied ProducerState::replay(const ProducerInput& batch) {
  CheckContext context;
  context.origin = AppendOrigin::kReplica;
  Result<ProducerDecision> decision = check(std::span(&batch, 1), context);
  ONCELOG_ASSERT(decision.ok());  // a replica's batches are never refused
  auto* const update = std::get_if<ProducerUpdate>(&*decision);
  ONCELOG_ASSERT(update != nullptr);  // nor taken as duplicates
  Applied applied = apply(*update);
  applied.notes = std::move(update->notes);
  return applied;
}

Result<VerificationGuard> ProducerState::start_verification(ProducerId producer_id,
                                                            ProducerEpoch epoch, Sequence sequence,
                                                            int transaction_version,
                                                            TimestampMs now_ms) {
  if (producer_id < 0 || epoch < 0 || sequence < 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a transactional producer has an id, an epoch and a sequence");
  }
  const auto fenced = [producer_id, epoch](ProducerEpoch known) {
    return make_error(ErrorCode::kInvalidProducerEpoch,
                      "producer " + std::to_string(producer_id) + ": epoch " +
                          std::to_string(epoch) + " is older than " + std::to_string(known));
  };
  const ProducerEntry* const stored = find(producer_id);
  if (stored != nullptr && epoch < stored->epoch) return fenced(stored->epoch);
  if (!options_.verification || (stored != nullptr && stored->has_open_txn())) return kNoGuard;
  const auto pending = verifications_.find(producer_id);
  if (pending == verifications_.end()) {
    if (verifications_.size() >= options_.producers_max) {
      return make_error(ErrorCode::kBusy, "too many producers wait for verification");
    }
    const VerificationGuard guard = next_guard();
    verifications_[producer_id] = {now_ms, guard, sequence, epoch, transaction_version};
    return guard;
  }
  Verification& verification = pending->second;
  if (epoch < verification.epoch) return fenced(verification.epoch);
  if (epoch > verification.epoch) {
    verification.epoch = epoch;
    verification.lowest_sequence = sequence;
    verification.transaction_version = transaction_version;
  } else {
    verification.lowest_sequence = std::min(verification.lowest_sequence, sequence);
  }
  return verification.guard;
}

std::size_t ProducerState::expire(TimestampMs now_ms) {
  // Last timestamps are the producers' own numbers: compared, never subtracted, lest they overflow.
  const TimestampMs limit =
      now_ms - std::clamp<std::int64_t>(options_.expiration_ms, 0, INT64_MAX / 2);
  std::erase_if(verifications_,
                [limit](const auto& entry) { return entry.second.created_ms <= limit; });
  return std::erase_if(producers_, [limit](const auto& entry) {
    return !entry.second.has_open_txn() && entry.second.last_timestamp <= limit;
  });
}

void ProducerState::enforce_producers_max(const ProducerUpdate& update) {
  const std::size_t max = options_.producers_max;
  if (producers_.size() <= max || producers_.size() < evict_again_at_) return;
  std::unordered_set<ProducerId> just_seen;
  for (const ProducerUpdate::Working& working : update.producers) {
    just_seen.insert(working.producer_id);
  }
  std::vector<std::pair<TimestampMs, ProducerId>> idle;
  for (const auto& [producer_id, entry] : producers_) {
    if (!entry.has_open_txn() && just_seen.count(producer_id) == 0) {
      idle.emplace_back(entry.last_timestamp, producer_id);
    }
  }
  // A sixteenth at once, so that the search costs little per producer that comes.
  const std::size_t excess = producers_.size() - (max - max / 16);
  if (idle.size() > excess) {
    std::nth_element(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(excess), idle.end());
    idle.resize(excess);
  }
  for (const auto& [timestamp, producer_id] : idle)
    producers_.erase(producer_id);
  evicted_count_ += idle.size();
  evict_again_at_ = producers_.size() > max ? producers_.size() + max / 16 + 1 : 0;
}

void ProducerState::restore(ProducerId producer_id, const ProducerEntry& entry) {
  producers_.insert_or_assign(producer_id, entry);
  if (entry.has_open_txn()) txns_.start({producer_id, entry.txn_first_offset});
}

void ProducerState::replace_batches(ProducerId producer_id, const ProducerEntry& entry) {
  const auto found = producers_.find(producer_id);
  ONCELOG_ASSERT(found != producers_.end());
  found->second.batches = entry.batches;
  found->second.batch_count = entry.batch_count;
}

void ProducerState::clear() {
  producers_.clear();
  verifications_.clear();
  txns_.clear();
  map_end_ = 0;
  evict_again_at_ = 0;
}

}  // namespace oncelog
