// Stores on a simulated machine for tests of logs.
#include "tests/txn/log_support.h"

#include <utility>

#include <gtest/gtest.h>

#include "storage/format/batch_header.h"

namespace oncelog::testing {

Buffer make_batch(const BatchSpec& spec) {
  RecordBatchOptions options;
  options.producer = {spec.producer_id, spec.epoch};
  options.base_sequence = spec.sequence;
  options.transactional = spec.transactional;
  options.codec = spec.codec;
  RecordBatchBuilder builder(options);
  for (int i = 0; i < spec.count; ++i) {
    RecordInput record;
    record.timestamp_ms = spec.timestamp;
    const std::string value = spec.value + std::to_string(i);
    record.value = value;
    builder.add(record);
  }
  return std::move(builder).finish();
}

Buffer make_marker(ProducerId producer_id, ProducerEpoch epoch, ControlType type,
                   CoordinatorEpoch coordinator_epoch) {
  return make_end_txn_marker({producer_id, epoch}, {type, coordinator_epoch}, SimClock::kStartMs);
}

Buffer numbered(Buffer batch, Offset base_offset, LeaderEpoch epoch) {
  set_base_offset(batch.mutable_bytes(), base_offset);
  set_leader_epoch(batch.mutable_bytes(), epoch);
  return batch;
}

AppendOptions as_coordinator(int transaction_version) {
  AppendOptions options;
  options.origin = AppendOrigin::kCoordinator;
  options.transaction_version = transaction_version;
  return options;
}

AppendOptions as_replica(std::optional<LeaderEpoch> epoch) {
  AppendOptions options;
  options.origin = AppendOrigin::kReplica;
  options.leader_epoch = epoch;
  return options;
}

Offset must_append(Log& log, Buffer bytes, const AppendOptions& options) {
  const Result<AppendResult> result = log.append(std::move(bytes), options);
  EXPECT_TRUE(result.ok()) << to_string(result.error());
  return result.ok() ? result->first_offset : kNoOffset;
}

ErrorCode refusal(Log& log, Buffer bytes, const AppendOptions& options) {
  const Result<AppendResult> result = log.append(std::move(bytes), options);
  EXPECT_FALSE(result.ok()) << "accepted at " << result->first_offset;
  return result.ok() ? ErrorCode::kUnsupported : result.error().code;
}

SimStore::SimStore(std::shared_ptr<SimDisk> disk, std::uint64_t seed)
    : disk_(std::move(disk)), seed_(seed) {
  if (!disk_) disk_ = std::make_shared<SimDisk>();
  open();
}

void SimStore::open() {
  store_.reset();
  SimOptions options;
  options.seed = seed_++;
  if (io_) options.clock = std::shared_ptr<SimClock>(io_, &io_->clock());
  io_ = std::make_shared<SimIo>(disk_, options);
  StoreOptions store;
  store.data_dirs = {"data"};
  store.io = std::make_shared<FaultIo>(io_, faults_);
  store.driver = Driver::kCaller;
  store.background = false;
  Result<std::shared_ptr<Store>> opened = Store::open(store);
  ASSERT_TRUE(opened.ok()) << to_string(opened.error());
  store_ = *opened;
}

std::shared_ptr<Log> SimStore::open_log(const LogOptions& options, const std::string& topic) {
  Result<std::shared_ptr<Log>> log = store_->open_log({topic, 0}, options);
  EXPECT_TRUE(log.ok()) << to_string(log.error());
  return log.ok() ? *log : nullptr;
}

std::shared_ptr<Log> SimStore::reopen(std::shared_ptr<Log>& log, const LogOptions& options) {
  log.reset();
  const Status closed = store_->close();
  EXPECT_TRUE(closed.ok()) << to_string(closed.error());
  open();
  log = open_log(options);
  return log;
}

std::shared_ptr<Log> SimStore::kill_and_reopen(std::shared_ptr<Log>& log,
                                               const LogOptions& options) {
  log.reset();
  kill();
  open();
  log = open_log(options);
  return log;
}

std::string SimStore::file(Offset base, const std::string& extension) const {
  std::string digits = std::to_string(base);
  digits.insert(0, 20 - digits.size(), '0');
  return "data/t-0/" + digits + extension;
}

void SimStore::kill() {
  disk_->kill(seed_);
  store_.reset();
}

void SimStore::power_cut(PowerCut mode, std::uint64_t seed) {
  disk_->power_cut(mode, seed);
  store_.reset();
}

std::vector<Offset> read_offsets(const Log& log, Isolation isolation) {
  std::vector<Offset> offsets;
  FetchBuffer buffer;
  FetchRequest request;
  request.offset = log.offsets().log_start;
  request.isolation = isolation;
  while (true) {
    Result<FetchPage> page = log.fetch(request, buffer);
    EXPECT_TRUE(page.ok()) << to_string(page.error());
    if (!page.ok()) return offsets;
    std::vector<Records> storage;
    const Result<std::vector<VisibleRecord>> records =
        visible_records(*page, request.offset, isolation, storage);
    EXPECT_TRUE(records.ok()) << to_string(records.error());
    if (!records.ok()) return offsets;
    for (const VisibleRecord& visible : *records)
      offsets.push_back(visible.record.offset);
    if (page->next_offset == request.offset) return offsets;
    request.offset = page->next_offset;
  }
}

}  // namespace oncelog::testing
