// Carrying out the operations of golden cases.
#include "tests/golden/replay.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include "oncelog/control_record.h"
#include "oncelog/record_batch.h"

#include "tests/support/kafka_batch.h"
#include "tests/support/kafka_loader.h"

namespace oncelog::test {
namespace {

using nlohmann::json;

/// The batches in a case's log files, by last offset.
using BatchesByEnd = std::map<Offset, std::vector<std::byte>>;

BatchesByEnd batches_of(const GoldenCase& golden) {
  BatchesByEnd out;
  for (const auto& [name, bytes] : golden.image().files) {
    if (!kafka::ends_with(name, ".log")) continue;
    kafka::FileBatches batches(bytes, 0, static_cast<std::int64_t>(bytes.size()));
    while (const std::optional<kafka::FileBatch> batch = batches.next()) {
      out[batch->last_offset].assign(batch->bytes.begin(), batch->bytes.end());
    }
  }
  return out;
}

void overwrite(std::vector<std::byte>& bytes, std::size_t at, std::int64_t value,
               std::size_t count) {
  kafka::Bytes field;
  kafka::put(field, value, count);
  std::copy(field.begin(), field.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

/// The batch as its producer sent it: no offset, no leader epoch, its own timestamps.
Buffer as_sent(std::vector<std::byte> bytes) {
  constexpr std::byte kLogAppendTime{0x08};
  overwrite(bytes, 0, 0, 8);
  overwrite(bytes, 12, -1, 4);
  if ((bytes[22] & kLogAppendTime) != std::byte{0}) {
    bytes[22] &= ~kLogAppendTime;
    overwrite(bytes, 17, kafka::crc32c_of(std::span(bytes).subspan(21)), 4);
  }
  return Buffer(std::move(bytes));
}

bool is_marker(const std::string& op) {
  return op == "commitMarker" || op == "abortMarker";
}
bool is_append(const std::string& op) {
  return is_marker(op) || op == "append" || op == "appendIdempotent" || op == "appendTransactional";
}

ErrorCode code_of(const std::string& exception) {
  static const std::map<std::string, ErrorCode> kCodes{
      {"InvalidProducerEpochException", ErrorCode::kInvalidProducerEpoch},
      {"OutOfOrderSequenceException", ErrorCode::kOutOfOrderSequence},
      {"InvalidTxnStateException", ErrorCode::kInvalidTxnState},
      {"TransactionCoordinatorFencedException", ErrorCode::kCoordinatorFenced},
      {"InvalidRecordException", ErrorCode::kInvalidRecord},
      {"RecordValidationException", ErrorCode::kInvalidRecord},
      {"InvalidTimestampException", ErrorCode::kInvalidTimestamp},
      {"RecordTooLargeException", ErrorCode::kMessageTooLarge},
      {"RecordBatchTooLargeException", ErrorCode::kRecordListTooLarge},
      {"CorruptRecordException", ErrorCode::kCorruptBatch}};
  const auto found = kCodes.find(exception);
  if (found == kCodes.end()) {
    ADD_FAILURE() << "no code known for " << exception;
    return ErrorCode::kIo;
  }
  return found->second;
}

/// Some batch with the ids of a refused append.
Buffer any_batch(const json& op) {
  const std::string kind = op.at("op").get<std::string>();
  const TimestampMs now = op.at("timeMs").get<TimestampMs>();
  const ProducerIdentity producer{op.at("producerId").get<ProducerId>(),
                                  op.at("producerEpoch").get<ProducerEpoch>()};
  if (is_marker(kind)) {
    // A coordinator that was fenced sent its marker with an older epoch than the last one.
    const ControlType type = kind == "commitMarker" ? ControlType::kCommit : ControlType::kAbort;
    return make_end_txn_marker(producer, {.type = type, .coordinator_epoch = 0}, now);
  }
  RecordBatchBuilder batch({.producer = producer,
                            .base_sequence = op.at("baseSequence").get<Sequence>(),
                            .transactional = kind == "appendTransactional"});
  batch.add({.timestamp_ms = now, .key = "k", .value = "v"});
  return std::move(batch).finish();
}

class Replay {
 public:
  Replay(const GoldenCase& golden, Log& log, ManualClockIo& io)
      : log_(log), io_(io), batches_(batches_of(golden)) {}

  void run(const json& op) {
    const std::string kind = op.at("op").get<std::string>();
    if (is_append(kind)) return append(op);
    if (kind == "appendAsFollower") return append_as_follower(op);
    if (kind == "becomeLeader") {
      EXPECT_EQ(op.at("startOffset"), log_.offsets().log_end);
      expect_ok(log_.assign_leader_epoch(op.at("epoch").get<LeaderEpoch>()));
    } else if (kind == "roll") {
      const Result<Offset> base = log_.roll();
      ASSERT_TRUE(base.ok()) << to_string(base.error());
      EXPECT_EQ(op.at("baseOffset"), *base);
    } else if (kind == "truncateTo") {
      expect_ok(log_.truncate(op.at("offset").get<Offset>()));
    } else if (kind == "truncateFullyAndStartAt") {
      expect_ok(log_.truncate_fully(op.at("offset").get<Offset>()));
    } else if (kind == "updateHighWatermark") {
      expect_ok(log_.set_high_watermark(op.at("offset").get<Offset>()).status());
    } else if (kind == "deleteRecords") {
      expect_ok(log_.delete_records(op.at("offset").get<Offset>()).status());
    } else if (kind == "deleteOldSegments") {
      const Result<std::size_t> count = log_.apply_retention();
      ASSERT_TRUE(count.ok()) << to_string(count.error());
      EXPECT_EQ(op.at("segments"), *count);
    } else if (kind == "removeExpiredProducers") {
      expect_ok(log_.expire_producers().status());
    } else if (kind != "transactionState") {
      ADD_FAILURE() << "unknown operation " << kind;
    }
  }

 private:
  static void expect_ok(const Status& status) {
    EXPECT_TRUE(status.ok()) << to_string(status.error());
  }

  void append(const json& op) {
    const bool refused = op.at("result") != "ok";
    io_.set_wall_ms(op.at("timeMs").get<std::int64_t>());
    AppendOptions options;
    options.origin = is_marker(op.at("op").get<std::string>()) ? AppendOrigin::kCoordinator
                                                               : AppendOrigin::kClient;
    options.leader_epoch = op.at("leaderEpoch").get<LeaderEpoch>();
    const Offset last = op.at("lastOffset").get<Offset>();
    const bool duplicate = !refused && last < log_.offsets().log_end;

    const Result<AppendResult> result =
        log_.append(refused ? any_batch(op) : as_sent(batches_.at(last)), options);

    if (refused) {
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(to_string(result.error().code), to_string(code_of(op.at("result"))));
      return;
    }
    ASSERT_TRUE(result.ok()) << to_string(result.error());
    EXPECT_EQ(op.at("firstOffset"), result->first_offset);
    EXPECT_EQ(op.at("lastOffset"), result->last_offset);
    EXPECT_EQ(result->duplicate, duplicate);
    EXPECT_EQ(log_.offsets().high_watermark, log_.offsets().log_end);
  }

  /// Everything up to the last offset that came; nothing came of a batch newer than the leader.
  void append_as_follower(const json& op) {
    const Offset last = op.at("lastOffset").get<Offset>();
    const LeaderEpoch leader_epoch = op.at("leaderEpoch").get<LeaderEpoch>();
    std::vector<std::byte> bytes;
    for (auto batch = batches_.lower_bound(log_.offsets().log_end);
         batch != batches_.end() && batch->first <= last; ++batch) {
      bytes.insert(bytes.end(), batch->second.begin(), batch->second.end());
    }
    if (last < 0) {
      RecordBatchBuilder newer(
          {.base_offset = log_.offsets().log_end, .leader_epoch = leader_epoch + 1});
      newer.add({.timestamp_ms = io_.clock().wall_ms(), .value = "v"});
      const Buffer dropped = std::move(newer).finish();
      bytes.assign(dropped.bytes().begin(), dropped.bytes().end());
    }
    const Offset end = log_.offsets().log_end;

    const Result<AppendResult> result = log_.append(
        Buffer(std::move(bytes)), {.origin = AppendOrigin::kReplica, .leader_epoch = leader_epoch});

    ASSERT_TRUE(result.ok()) << to_string(result.error());
    EXPECT_EQ(last, result->last_offset);
    EXPECT_EQ(log_.offsets().log_end, last < 0 ? end : last + 1);
  }

  Log& log_;
  ManualClockIo& io_;
  BatchesByEnd batches_;
};

StoreOptions store_options(const std::string& directory, std::shared_ptr<Io> io) {
  StoreOptions options;
  options.data_dirs = {directory};
  options.io = std::move(io);
  options.driver = Driver::kCaller;
  options.background = false;
  return options;
}

}  // namespace

std::string why_not_replayable(const GoldenCase& golden) {
  const BatchesByEnd batches = batches_of(golden);
  bool has_data = false;
  for (const json& op : golden.expect.value("ops", json::array())) {
    const std::string kind = op.at("op").get<std::string>();
    if (kind == "clean" || kind == "truncateTo" || kind == "appendLegacy" ||
        (kind == "truncateFullyAndStartAt" && has_data)) {
      return kind;
    }
    const bool appends = is_append(kind) || kind == "appendAsFollower";
    const Offset last = appends ? op.at("lastOffset").get<Offset>() : -1;
    if (last < 0) continue;
    has_data = true;
    if (batches.count(last) == 0)
      return "what was appended up to offset " + std::to_string(last) + " is gone";
  }
  return {};
}

LogOptions options_of(const GoldenCase& golden) {
  LogOptions options;
  const Status status =
      apply_config(options, golden.expect.at("config").get<std::map<std::string, std::string>>());
  EXPECT_TRUE(status.ok()) << to_string(status.error());
  return options;
}

TopicPartition partition_of(const GoldenCase& golden) {
  const std::size_t dash = golden.partition_directory.rfind('-');
  return {golden.partition_directory.substr(0, dash),
          std::stoi(golden.partition_directory.substr(dash + 1))};
}

Result<std::shared_ptr<Store>> open_store_at(const GoldenCase& golden,
                                             const std::string& directory) {
  ONCELOG_TRY_ASSIGN(std::shared_ptr<Io> system, make_system_io());
  const auto io = std::make_shared<ManualClockIo>(std::move(system));
  io->set_wall_ms(golden.expect.at("nowMs").get<std::int64_t>());
  return Store::open(store_options(directory, io));
}

void replay(const GoldenCase& golden, const std::string& directory) {
  Result<std::shared_ptr<Io>> system = make_system_io();
  ASSERT_TRUE(system.ok()) << to_string(system.error());
  const auto io = std::make_shared<ManualClockIo>(*system);
  io->set_wall_ms(1700000000000);
  Result<std::shared_ptr<Store>> store = Store::open(store_options(directory, io));
  ASSERT_TRUE(store.ok()) << to_string(store.error());
  Result<std::shared_ptr<Log>> log = (*store)->open_log(partition_of(golden), options_of(golden));
  ASSERT_TRUE(log.ok()) << to_string(log.error());

  Replay steps(golden, **log, *io);
  for (const json& op : golden.expect.value("ops", json::array())) {
    SCOPED_TRACE(op.dump());
    steps.run(op);
    if (::testing::Test::HasFatalFailure()) return;
  }

  io->set_wall_ms(golden.expect.at("nowMs").get<std::int64_t>());
  const Status closed = (*store)->close();
  EXPECT_TRUE(closed.ok()) << to_string(closed.error());
}

}  // namespace oncelog::test
