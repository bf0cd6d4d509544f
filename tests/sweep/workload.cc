// Drawing and carrying out the workload's steps.
#include "tests/sweep/workload.h"

#include <algorithm>
#include <utility>

#include "oncelog/control_record.h"
#include "oncelog/record_batch.h"

#include "tests/support/kafka_batch.h"

namespace oncelog::test {
namespace {

constexpr LeaderEpoch kLeaderEpoch = 3;
/// Batches before the transaction that is never ended: from there on nothing gets committed.
constexpr std::size_t kOpenTxnFrom = 170;

void overwrite(std::vector<std::byte>& bytes, std::size_t at, std::int64_t value,
               std::size_t count) {
  kafka::Bytes field;
  kafka::put(field, value, count);
  std::copy(field.begin(), field.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

kafka::FileBatch parse(const std::vector<std::byte>& bytes) {
  return *kafka::FileBatches(bytes, 0, static_cast<std::int64_t>(bytes.size())).next();
}

}  // namespace

LogOptions sweep_log_options() {
  LogOptions options;
  options.segment_bytes = 1500;
  options.index_interval_bytes = 200;
  options.segment_index_bytes = 4096;
  options.file_delete_delay_ms = 0;
  options.retention_ms = -1;
  return options;
}

StoreOptions sweep_store_options(std::shared_ptr<Io> io) {
  StoreOptions options;
  options.data_dirs = {kSweepRoot};
  options.io = std::move(io);
  options.driver = Driver::kCaller;
  options.background = false;
  options.recovery_threads = 1;
  return options;
}

Workload::Workload(std::shared_ptr<SimIo> sim, std::shared_ptr<Io> io, std::uint64_t seed)
    : sim_(std::move(sim)), io_(std::move(io)), random_(seed) {
  for (const ProducerId id : {100, 101})
    producers_.push_back({{id, 0}, false, 0, {}});
  for (const ProducerId id : {200, 201, 202})
    producers_.push_back({{id, 1}, true, 0, {}});
  // Its transaction is never ended.
  producers_.push_back({{300, 0}, true, 0, {}});
}

std::int64_t Workload::draw(std::int64_t low, std::int64_t high) {
  const auto range = static_cast<std::uint64_t>(high - low + 1);
  return low + static_cast<std::int64_t>(random_() % range);
}

Status Workload::open() {
  ONCELOG_TRY_ASSIGN(store_, Store::open(sweep_store_options(io_)));
  ONCELOG_TRY_ASSIGN(log_, store_->open_log(kSweepLog, sweep_log_options()));
  return log_->assign_leader_epoch(kLeaderEpoch);
}

Status Workload::close() {
  return store_->close();
}

Status Workload::step() {
  sim_->clock().advance_ms(7);
  const std::int64_t dice = draw(0, 99);
  if (dice < 4) {
    ONCELOG_TRY(log_->roll().status());
  } else if (dice < 7) {
    ONCELOG_TRY(truncate());
  } else if (dice < 11) {
    ONCELOG_TRY(delete_records());
  } else if (dice < 14) {
    ONCELOG_TRY(store_->checkpoint());
  } else if (dice < 16) {
    ONCELOG_TRY(log_->apply_retention().status());
  } else {
    ONCELOG_TRY(append_some());
  }
  sim_->executor().run_pending();
  return {};
}

Status Workload::drain(const std::function<bool()>& done) {
  constexpr int kPollsMax = 10'000;
  for (int i = 0; i < kPollsMax && !done() && !failure_; ++i) {
    store_->poll(1'000'000);
    sim_->executor().run_pending();
  }
  if (failure_) return *failure_;
  if (!done()) return make_error(ErrorCode::kBusy, "appends were never answered");
  return {};
}

/// One to four appends at once, so that several share a commit.
Status Workload::append_some() {
  const std::int64_t count = draw(1, 4);
  for (std::int64_t i = 0; i < count; ++i) {
    Producer& producer = producers_[static_cast<std::size_t>(
        draw(0, static_cast<std::int64_t>(producers_.size()) - 1))];
    const bool never_ends = producer.identity.id == 300;
    if (never_ends && (history_.sent.size() < kOpenTxnFrom || producer.open_txn.size() > 2)) {
      RecordBatchBuilder plain;
      plain.add({.timestamp_ms = sim_->clock().wall_ms(),
                 .key = "plain",
                 .value = "value " + std::to_string(++counter_)});
      send(std::move(plain).finish(), Fate::kPlain, {});
    } else if (!never_ends && !producer.open_txn.empty() && draw(0, 2) == 0) {
      send_marker(producer, draw(0, 1) == 0);
    } else {
      send_data(producer);
    }
  }
  return drain([this] { return history_.acknowledged == history_.sent.size(); });
}

void Workload::send_data(Producer& producer) {
  const std::int64_t records = draw(1, 3);
  RecordBatchBuilder batch({.producer = producer.identity,
                            .base_sequence = producer.next_sequence,
                            .transactional = producer.transactional,
                            .codec = draw(0, 4) == 0 ? Codec::kLz4 : Codec::kNone});
  for (std::int64_t i = 0; i < records; ++i) {
    const std::string value = "value " + std::to_string(++counter_) +
                              std::string(static_cast<std::size_t>(draw(0, 60)), 'x');
    batch.add({.timestamp_ms = sim_->clock().wall_ms() + i, .key = "key", .value = value});
  }
  producer.next_sequence += static_cast<Sequence>(records);
  Buffer bytes = std::move(batch).finish();
  const std::uint32_t crc = parse({bytes.bytes().begin(), bytes.bytes().end()}).crc;
  if (producer.transactional) producer.open_txn.push_back(crc);
  send(std::move(bytes), producer.transactional ? Fate::kOpen : Fate::kPlain, {});
}

void Workload::send_marker(Producer& producer, bool commit) {
  for (const std::uint32_t crc : producer.open_txn) {
    history_.fates[crc] = commit ? Fate::kCommitted : Fate::kAborted;
  }
  producer.open_txn.clear();
  sim_->clock().advance_ms(1);  // no two markers are the same
  AppendOptions options;
  options.origin = AppendOrigin::kCoordinator;
  const EndTxnMarker marker{commit ? ControlType::kCommit : ControlType::kAbort, 5};
  send(make_end_txn_marker(producer.identity, marker, sim_->clock().wall_ms()), Fate::kPlain,
       options);
}

void Workload::send(Buffer bytes, Fate fate, const AppendOptions& options) {
  SentBatch batch;
  batch.bytes.assign(bytes.bytes().begin(), bytes.bytes().end());
  batch.first_offset = history_.end_of(history_.sent.size());
  overwrite(batch.bytes, 0, batch.first_offset, 8);
  overwrite(batch.bytes, 12, kLeaderEpoch, 4);
  const kafka::FileBatch parsed = parse(batch.bytes);
  batch.last_offset = parsed.last_offset;
  batch.crc = parsed.crc;
  history_.fates[batch.crc] = fate;
  const Offset expected = batch.first_offset;
  history_.sent.push_back(std::move(batch));
  log_->append(std::move(bytes), options, [this, expected](Result<AppendResult> result) {
    if (!result.ok()) {
      failure_ = result.error();
    } else if (result->first_offset != expected || !result->durable) {
      failure_ = make_error(ErrorCode::kInvalidArgument, "an append was answered wrongly");
    } else {
      ++history_.acknowledged;
    }
  });
}

Status Workload::truncate() {
  if (history_.sent.size() < 8) return {};
  const std::size_t keep = history_.sent.size() - static_cast<std::size_t>(draw(1, 3));
  const Offset end = history_.end_of(keep);
  if (end <= history_.log_start) return {};
  // Not answered yet: anything between the two ends may be left by a crash.
  history_.acknowledged = keep;
  history_.was_truncated = true;
  ONCELOG_TRY(log_->truncate(end));
  history_.sent.resize(keep);
  rebuild_producers();
  return {};
}

/// The log forgot the batches behind the cut: producers go on from what is left.
void Workload::rebuild_producers() {
  for (Producer& producer : producers_) {
    producer.next_sequence = 0;
    producer.open_txn.clear();
    for (const SentBatch& batch : history_.sent) {
      const kafka::FileBatch parsed = parse(batch.bytes);
      if (parsed.producer_id != producer.identity.id) continue;
      if (parsed.is_control()) {
        producer.open_txn.clear();
        continue;
      }
      producer.next_sequence = parsed.last_sequence() + 1;
      if (producer.transactional) producer.open_txn.push_back(batch.crc);
    }
    for (const std::uint32_t crc : producer.open_txn)
      history_.fates[crc] = Fate::kOpen;
  }
}

Status Workload::delete_records() {
  const Offset limit = log_->offsets().last_stable;
  if (limit <= history_.log_start) return {};
  const Offset target = draw(history_.log_start, std::min(limit, history_.log_start + 25));
  history_.log_start_pending = target;
  ONCELOG_TRY(log_->delete_records(target).status());
  history_.log_start = target;
  return {};
}

}  // namespace oncelog::test
