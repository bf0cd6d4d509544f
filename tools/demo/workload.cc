// The plan of the demo's load, shared by the writing process and the check.
#include "tools/demo/workload.h"

#include <array>
#include <utility>

#include "oncelog/record_batch.h"

#include "index/checkpoint_text.h"
#include "tools/text.h"

namespace oncelog::tools::demo {
namespace {

constexpr TimestampMs kFirstTimestamp = 1'700'000'000'000;
constexpr std::int32_t kCountsInCycle = 4;  // batches hold 1, 2, 3, 4, 1, 2, ... records
constexpr std::int32_t kRecordsInCycle = 1 + 2 + 3 + 4;

std::int32_t records_before(std::int64_t in_cycle) {
  return static_cast<std::int32_t>(in_cycle * (in_cycle + 1) / 2);
}

}  // namespace

Role role_of(ProducerId producer) {
  if (producer == kHangingProducer) return Role::kHanging;
  return producer >= kTransactionalBase ? Role::kTransactional : Role::kIdempotent;
}

PlannedBatch planned_batch(ProducerId producer, std::int64_t number) {
  const std::int64_t in_cycle = number % kCountsInCycle;
  const std::int64_t sequence =
      number / kCountsInCycle * kRecordsInCycle + records_before(in_cycle);
  return PlannedBatch{producer, number, static_cast<Sequence>(sequence & INT32_MAX),
                      static_cast<std::int32_t>(in_cycle + 1)};
}

std::string planned_value(std::int32_t partition, ProducerId producer, Sequence sequence) {
  std::string value = text("partition {} producer {} sequence {} ", partition, producer, sequence);
  // Filled with something that differs from record to record, so that a mix-up is seen.
  auto state =
      static_cast<std::uint32_t>(sequence) * 2654435761U + static_cast<std::uint32_t>(producer);
  while (value.size() < 100) {
    state = state * 1664525U + 1013904223U;
    value += static_cast<char>('a' + (state >> 24) % 26);
  }
  return value;
}

Buffer build_batch(std::int32_t partition, const PlannedBatch& batch) {
  RecordBatchOptions options;
  options.producer = ProducerIdentity{batch.producer, 0};
  options.base_sequence = batch.first_sequence;
  options.transactional = role_of(batch.producer) != Role::kIdempotent;
  RecordBatchBuilder builder(options);
  for (std::int32_t i = 0; i < batch.count; ++i) {
    const auto sequence = static_cast<Sequence>(batch.first_sequence + i);
    const std::string value = planned_value(partition, batch.producer, sequence);
    RecordInput record;
    record.timestamp_ms = kFirstTimestamp + sequence;
    record.value = value;
    builder.add(record);
  }
  return std::move(builder).finish();
}

bool ends_by_abort(std::int64_t transaction) {
  return transaction % 3 == 2;
}

TopicPartition partition_name(std::int32_t partition) {
  return {"demo", partition};
}

LogOptions demo_log_options() {
  LogOptions options;
  options.segment_bytes = 1 << 20;  // small enough that the load rolls
  return options;
}

std::string encode(const Acknowledgement& acknowledgement) {
  return text("{} {} {} {} {} {}\n", acknowledgement.partition, acknowledgement.producer,
              acknowledgement.number, acknowledgement.marker ? 1 : 0, acknowledgement.first_offset,
              acknowledgement.last_offset);
}

std::optional<Acknowledgement> decode(std::string_view line) {
  std::array<std::int64_t, 6> numbers{};
  for (std::int64_t& number : numbers) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const auto parsed = parse_number<std::int64_t>(line.substr(0, end));
    if (!parsed) return std::nullopt;
    number = *parsed;
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return Acknowledgement{static_cast<std::int32_t>(numbers[0]),
                         numbers[1],
                         numbers[2],
                         numbers[3] != 0,
                         numbers[4],
                         numbers[5]};
}

}  // namespace oncelog::tools::demo
