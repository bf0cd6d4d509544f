// Log state to JSON.
#include "tools/state_json.h"

#include <algorithm>

namespace oncelog::tools {

Json producer_json(const ProducerInfo& producer) {
  Json::Array batches;
  for (const ProducerInfo::Batch& batch : producer.batches) {
    batches.push_back(Json::object({{"firstSeq", batch.first_sequence},
                                    {"lastSeq", batch.last_sequence},
                                    {"firstOffset", batch.first_offset},
                                    {"lastOffset", batch.last_offset},
                                    {"timestamp", batch.timestamp}}));
  }
  const bool any = !producer.batches.empty();
  const ProducerInfo::Batch oldest = any ? producer.batches.front() : ProducerInfo::Batch{};
  const ProducerInfo::Batch newest = any ? producer.batches.back() : ProducerInfo::Batch{};
  return Json::object({{"producerId", producer.producer_id},
                       {"producerEpoch", producer.epoch},
                       {"coordinatorEpoch", producer.coordinator_epoch},
                       {"lastTimestamp", producer.last_timestamp},
                       {"currentTxnFirstOffset", producer.txn_first_offset},
                       {"firstSeq", oldest.first_sequence},
                       {"lastSeq", newest.last_sequence},
                       {"lastDataOffset", newest.last_offset},
                       {"lastOffsetDelta", newest.last_offset - newest.first_offset},
                       {"batches", std::move(batches)}});
}

ProducerInfo producer_info(ProducerId producer_id, const ProducerEntry& entry) {
  ProducerInfo out;
  out.producer_id = producer_id;
  out.epoch = entry.epoch;
  out.coordinator_epoch = entry.coordinator_epoch;
  out.last_timestamp = entry.last_timestamp;
  out.txn_first_offset = entry.txn_first_offset;
  for (const ProducerBatch& batch : entry.cached())
    out.batches.push_back(ProducerInfo::Batch{batch.first_sequence(), batch.last_sequence,
                                              batch.first_offset(), batch.last_offset,
                                              batch.timestamp});
  return out;
}

std::vector<ProducerInfo> producer_infos(const ProducerState& state) {
  std::vector<ProducerInfo> out;
  out.reserve(state.producers().size());
  for (const auto& [producer_id, entry] : state.producers())
    out.push_back(producer_info(producer_id, entry));
  std::sort(out.begin(), out.end(), [](const ProducerInfo& a, const ProducerInfo& b) {
    return a.producer_id < b.producer_id;
  });
  return out;
}

Json leader_epochs_json(std::span<const LeaderEpochInfo> epochs) {
  Json::Array out;
  for (const LeaderEpochInfo& epoch : epochs)
    out.push_back(Json::object({{"epoch", epoch.epoch}, {"startOffset", epoch.start_offset}}));
  return out;
}

Json open_txns_json(std::span<const OpenTxnInfo> txns) {
  Json::Array out;
  for (const OpenTxnInfo& txn : txns)
    out.push_back(
        Json::object({{"producerId", txn.producer_id}, {"firstOffset", txn.first_offset}}));
  return out;
}

Json aborted_txns_json(std::span<const AbortedTxnInfo> txns) {
  Json::Array out;
  for (const AbortedTxnInfo& txn : txns) {
    out.push_back(Json::object({{"producerId", txn.producer_id},
                                {"firstOffset", txn.first_offset},
                                {"lastOffset", txn.last_offset},
                                {"lastStableOffset", txn.last_stable_offset}}));
  }
  return out;
}

Json state_json(const LogState& state) {
  Json::Array producers;
  for (const ProducerInfo& producer : state.producers)
    producers.push_back(producer_json(producer));
  return Json::object({{"producers", std::move(producers)},
                       {"openTransactions", open_txns_json(state.open_txns)},
                       {"abortedTransactions", aborted_txns_json(state.aborted_txns)},
                       {"logStartOffset", state.log_start},
                       {"logEndOffset", state.log_end},
                       {"highWatermark", state.high_watermark},
                       {"lastStableOffset", state.last_stable_offset},
                       {"firstUnstableOffset", state.first_unstable_offset},
                       {"leaderEpochs", leader_epochs_json(state.leader_epochs)}});
}

}  // namespace oncelog::tools
