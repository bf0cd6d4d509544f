// The load of `oncelog demo`: who writes what, so that both sides of the kill know every byte.
//
// Every batch is a function of (partition, producer, first sequence). Per partition there is an
// idempotent producer and a transactional one that commits two transactions and aborts the third,
// again and again; on partition 0 another one opens a transaction and never ends it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncelog/buffer.h"
#include "oncelog/log_options.h"
#include "oncelog/types.h"

namespace oncelog::tools::demo {

inline constexpr std::int32_t kPartitions = 4;
inline constexpr ProducerId kIdempotentBase = 100;     ///< + partition
inline constexpr ProducerId kTransactionalBase = 200;  ///< + partition
inline constexpr ProducerId kHangingProducer = 300;    ///< on partition 0
inline constexpr std::int64_t kBatchesPerTransaction = 3;
inline constexpr std::int64_t kHangingBatches = 2;

enum class Role : std::uint8_t { kIdempotent, kTransactional, kHanging };
Role role_of(ProducerId producer);

/// One batch of a producer: the n-th, counted from 0.
struct PlannedBatch {
  ProducerId producer = 0;
  std::int64_t number = 0;
  Sequence first_sequence = 0;
  std::int32_t count = 0;
};
/// REQUIRES: number >= 0. Batches hold 1 to 4 records; sequences follow without a gap.
PlannedBatch planned_batch(ProducerId producer, std::int64_t number);
std::string planned_value(std::int32_t partition, ProducerId producer, Sequence sequence);
Buffer build_batch(std::int32_t partition, const PlannedBatch& batch);
/// Whether the n-th transaction (from 0) ends by an abort.
bool ends_by_abort(std::int64_t transaction);

TopicPartition partition_name(std::int32_t partition);
LogOptions demo_log_options();

/// One acknowledgement, as the writing process reports it: a line of numbers.
struct Acknowledgement {
  std::int32_t partition = 0;
  ProducerId producer = 0;
  std::int64_t number = 0;  ///< of the batch, or of the transaction that a marker ended
  bool marker = false;
  Offset first_offset = kNoOffset;
  Offset last_offset = kNoOffset;
};
std::string encode(const Acknowledgement& acknowledgement);
std::optional<Acknowledgement> decode(std::string_view line);

/// The writing process: appends until it is killed and reports each acknowledgement on
/// `descriptor`. Exit code of a process that was not killed: something failed.
int run_writer(const std::string& directory, int descriptor);

}  // namespace oncelog::tools::demo
