// Batches as the producer rules see them, for tests.
#pragma once

#include <string>

#include "index/producer_state.h"

namespace oncelog {

struct DataSpec {
  ProducerId producer_id = 7;
  ProducerEpoch epoch = 0;
  Sequence first = 0;  ///< sequence of the first record
  std::int32_t count = 1;
  Offset offset = 0;
  bool transactional = false;
  TimestampMs timestamp = 1000;
};

inline ProducerInput data_batch(const DataSpec& spec) {
  ProducerInput input;
  BatchHeader& header = input.header;
  header.base_offset = spec.offset;
  header.last_offset_delta = spec.count - 1;
  header.record_count = spec.count;
  header.producer_id = spec.producer_id;
  header.producer_epoch = spec.epoch;
  header.base_sequence = spec.first;
  header.max_timestamp = spec.timestamp;
  header.attributes = spec.transactional ? 0x10 : 0;
  return input;
}

struct MarkerSpec {
  ProducerId producer_id = 7;
  ProducerEpoch epoch = 0;
  CoordinatorEpoch coordinator_epoch = 0;
  Offset offset = 0;
  ControlType type = ControlType::kCommit;
  TimestampMs timestamp = 1000;
};

inline ProducerInput marker_batch(const MarkerSpec& spec) {
  ProducerInput input = data_batch({.producer_id = spec.producer_id,
                                    .epoch = spec.epoch,
                                    .first = kNoSequence,
                                    .offset = spec.offset,
                                    .timestamp = spec.timestamp});
  input.header.attributes = 0x30;
  input.marker = EndTxnMarker{spec.type, spec.coordinator_epoch};
  return input;
}

/// A batch without producer.
inline ProducerInput plain_batch(Offset offset, std::int32_t count = 1) {
  return data_batch({.producer_id = kNoProducerId,
                     .epoch = kNoProducerEpoch,
                     .first = kNoSequence,
                     .count = count,
                     .offset = offset});
}

/// What an append ends as: "ok", "duplicate OFFSET", or the error's name. Applied when ok.
inline std::string try_append(ProducerState& state, std::span<const ProducerInput> batches,
                              const CheckContext& context = {}) {
  const auto decision = state.check(batches, context);
  if (!decision.ok()) return std::string(to_string(decision.error().code));
  if (const auto* const duplicate = std::get_if<DuplicateBatch>(&*decision)) {
    return "duplicate " + std::to_string(duplicate->first_offset);
  }
  state.consume_guards(batches);
  state.apply(std::get<ProducerUpdate>(*decision));
  return "ok";
}

inline std::string try_append(ProducerState& state, const ProducerInput& batch,
                              const CheckContext& context = {}) {
  return try_append(state, std::span(&batch, 1), context);
}

inline CheckContext from(AppendOrigin origin) {
  CheckContext context;
  context.origin = origin;
  return context;
}

inline constexpr const char* kGap = "OUT_OF_ORDER_SEQUENCE_NUMBER";
inline constexpr const char* kOldEpoch = "INVALID_PRODUCER_EPOCH";
inline constexpr const char* kBadTxn = "INVALID_TXN_STATE";
inline constexpr const char* kOldCoordinator = "TRANSACTION_COORDINATOR_FENCED";

}  // namespace oncelog
