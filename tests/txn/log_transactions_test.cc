// Transactions in one log: last stable offset, markers, aborted index, verdicts, verification.
#include <gtest/gtest.h>

#include "storage/format/batch_header.h"
#include "tests/txn/log_support.h"

namespace oncelog::testing {
namespace {

using Offsets = std::vector<Offset>;
using Pairs = std::vector<std::pair<ProducerId, Offset>>;

constexpr ProducerId kA = 1;
constexpr ProducerId kB = 2;

Buffer txn_data(ProducerId producer, ProducerEpoch epoch, Sequence sequence, int count = 1,
                Codec codec = Codec::kNone) {
  return make_batch({.producer_id = producer,
                     .epoch = epoch,
                     .sequence = sequence,
                     .count = count,
                     .transactional = true,
                     .codec = codec});
}

Offset mark(Log& log, ProducerId producer, ProducerEpoch epoch, ControlType type,
            CoordinatorEpoch coordinator_epoch = 0) {
  return must_append(log, make_marker(producer, epoch, type, coordinator_epoch), as_coordinator());
}

ErrorCode mark_refused(Log& log, ProducerId producer, ProducerEpoch epoch, ControlType type,
                       CoordinatorEpoch coordinator_epoch = 0, int version = 1) {
  return refusal(log, make_marker(producer, epoch, type, coordinator_epoch),
                 as_coordinator(version));
}

Pairs aborted_from(const Log& log, Offset offset, std::int64_t bytes_max = 1 << 20) {
  FetchBuffer buffer;
  FetchRequest request;
  request.offset = offset;
  request.bytes_max = bytes_max;
  request.isolation = Isolation::kReadCommitted;
  const Result<FetchPage> page = log.fetch(request, buffer);
  EXPECT_TRUE(page.ok()) << to_string(page.error());
  Pairs pairs;
  for (const AbortedRange& range : page->aborted())
    pairs.emplace_back(range.producer_id, range.first_offset);
  return pairs;
}

TEST(LogTransactions, FollowsTheScenarioOfProducerStateTwelve) {
  LogOptions options;
  options.visibility = Visibility::kEmbedder;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  const auto expect = [&](Offset log_end, Offset high_watermark, Offset unstable, Offset stable) {
    const LogState state = *log->state();
    EXPECT_EQ(state.log_end, log_end);
    EXPECT_EQ(state.high_watermark, high_watermark);
    EXPECT_EQ(state.first_unstable_offset, unstable);
    EXPECT_EQ(state.last_stable_offset, stable);
  };
  must_append(*log, txn_data(kA, 0, 0, 2));
  expect(2, 0, 0, 0);
  must_append(*log, make_batch({}));
  must_append(*log, txn_data(kB, 0, 0, 2));
  expect(5, 0, 0, 0);
  mark(*log, kA, 0, ControlType::kAbort);
  expect(6, 0, 0, 0);
  EXPECT_EQ(log->set_high_watermark(5).value(), 5);
  expect(6, 5, 0, 0);
  EXPECT_EQ(log->set_high_watermark(6).value(), 6);
  expect(6, 6, 3, 3);
  must_append(*log, txn_data(kA, 0, 2));
  expect(7, 6, 3, 3);
  mark(*log, kB, 0, ControlType::kCommit);
  expect(8, 6, 3, 3);
  log->set_high_watermark(8).value();
  expect(8, 8, 6, 6);
  mark(*log, kA, 0, ControlType::kAbort);
  expect(9, 8, 6, 6);
  must_append(*log, make_batch({}));
  expect(10, 8, 6, 6);
  log->set_high_watermark(10).value();
  expect(10, 10, kNoOffset, 10);

  for (int life = 0; life < 3; ++life) {
    const LogState state = *log->state();
    ASSERT_EQ(state.aborted_txns.size(), 2U);
    EXPECT_EQ(state.aborted_txns[0].producer_id, kA);
    EXPECT_EQ(state.aborted_txns[0].last_offset, 5);
    EXPECT_EQ(state.aborted_txns[0].last_stable_offset, 3);
    EXPECT_EQ(state.aborted_txns[1].first_offset, 6);
    EXPECT_EQ(state.aborted_txns[1].last_offset, 8);
    EXPECT_EQ(state.aborted_txns[1].last_stable_offset, 9);
    EXPECT_EQ(aborted_from(*log, 0), (Pairs{{kA, 0}, {kA, 6}}));
    EXPECT_EQ(aborted_from(*log, 6), (Pairs{{kA, 6}}));
    EXPECT_EQ(aborted_from(*log, 9), (Pairs{}));
    EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{2, 3, 4, 9}));
    if (life == 0) store.reopen(log, options);
    if (life == 1) store.kill_and_reopen(log, options);
    log->set_high_watermark(10).value();
  }
}

TEST(LogTransactions, AnEmbeddersHighWatermarkIsBoundedByTheLogAndNeverGoesBack) {
  LogOptions options;
  options.visibility = Visibility::kEmbedder;
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  must_append(*log, make_batch({.count = 5}));
  EXPECT_EQ(log->offsets().high_watermark, 0);
  EXPECT_EQ(log->set_high_watermark(100).value(), 5);
  EXPECT_EQ(log->set_high_watermark(2).value(), 5);
  EXPECT_EQ(log->offsets().high_watermark, 5);
}

TEST(LogTransactions, H012ANewOrTrimmedLogIsStableToItsEnd) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  EXPECT_EQ(log->offsets().last_stable, 0);
  EXPECT_TRUE(read_offsets(*log, Isolation::kReadCommitted).empty());
  must_append(*log, txn_data(kA, 0, 0, 5));
  ASSERT_EQ(log->delete_records(-1).value(), 5);
  EXPECT_EQ(log->offsets().last_stable, 5);
  EXPECT_EQ(log->offsets().log_start, 5);
  EXPECT_TRUE(read_offsets(*log, Isolation::kReadCommitted).empty());
}

TEST(LogTransactions, H014TruncationRemovesTheOpenTransaction) {
  for (const bool reopened : {false, true}) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log();
    must_append(*log, make_batch({.count = 50}));
    must_append(*log, txn_data(kA, 0, 0, 30));
    EXPECT_EQ(log->offsets().last_stable, 50);
    ASSERT_TRUE(log->truncate(50).ok());
    if (reopened) store.kill_and_reopen(log);
    EXPECT_EQ(log->offsets().last_stable, 50);
    EXPECT_EQ(log->offsets().log_end, 50);
    EXPECT_TRUE(log->state()->open_txns.empty());
    must_append(*log, make_batch({}));
    EXPECT_EQ(log->offsets().last_stable, 51);
  }
}

TEST(LogTransactions, H014TruncationBringsAFinishedTransactionBackToOpen) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  must_append(*log, txn_data(kA, 0, 0, 3));
  mark(*log, kA, 0, ControlType::kAbort);
  must_append(*log, make_batch({}));
  ASSERT_TRUE(log->truncate(3).ok());
  EXPECT_EQ(log->offsets().last_stable, 0);
  EXPECT_EQ(log->state()->open_txns.size(), 1U);
  EXPECT_TRUE(log->state()->aborted_txns.empty());
  mark(*log, kA, 0, ControlType::kCommit);
  EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{0, 1, 2}));
}

TEST(LogTransactions, H015LookupsByTimeStopAtTheStableOffset) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  must_append(*log, make_batch({.count = 50}));
  must_append(*log, make_batch({.producer_id = kA,
                                .epoch = 0,
                                .sequence = 0,
                                .transactional = true,
                                .timestamp = SimClock::kStartMs + 10}));
  const auto find = [&](TimestampMs timestamp, Isolation isolation) {
    return log->offset_for_timestamp(timestamp, isolation)->offset;
  };
  EXPECT_EQ(find(SimClock::kStartMs + 5, Isolation::kReadCommitted), kNoOffset);
  EXPECT_EQ(find(SimClock::kStartMs + 5, Isolation::kReadUncommitted), 50);
  EXPECT_EQ(find(kLatestTimestamp, Isolation::kReadCommitted), 50);
  EXPECT_EQ(find(kLatestTimestamp, Isolation::kReadUncommitted), 51);
  EXPECT_EQ(find(kEarliestTimestamp, Isolation::kReadCommitted), 0);
}

TEST(LogTransactions, H016FindsTheAbortInALaterSegment) {
  for (int life = 0; life < 3; ++life) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log();
    must_append(*log, txn_data(kA, 0, 0, 2));
    ASSERT_EQ(log->roll().value(), 2);
    must_append(*log, make_batch({}));
    ASSERT_EQ(log->roll().value(), 3);
    mark(*log, kA, 0, ControlType::kAbort);
    must_append(*log, make_batch({}));
    if (life == 1) store.reopen(log);
    if (life == 2) store.kill_and_reopen(log);
    EXPECT_EQ(aborted_from(*log, 0, 1), (Pairs{{kA, 0}}));
    EXPECT_EQ(aborted_from(*log, 4), (Pairs{}));
    EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{2, 4}));
  }
}

TEST(LogTransactions, H018AnAbortWithoutDataUsesUpNoEntry) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  mark(*log, kA, 0, ControlType::kAbort);
  must_append(*log, txn_data(kA, 0, 0, 5));
  mark(*log, kA, 0, ControlType::kAbort);
  must_append(*log, make_batch({}));
  EXPECT_EQ(log->state()->aborted_txns.size(), 1U);
  EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{7}));
}

TEST(LogTransactions, H019HidesCompressedAbortedBatches) {
  for (const Codec codec :
       {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    SimStore store;
    const std::shared_ptr<Log> log = store.open_log();
    must_append(*log, txn_data(kA, 0, 0, 20, codec));
    mark(*log, kA, 0, ControlType::kAbort);
    must_append(*log, txn_data(kA, 0, 20, 2, codec));
    mark(*log, kA, 0, ControlType::kCommit);
    EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{21, 22}));
  }
}

/// A control batch whose marker record was compacted away.
Buffer empty_control_batch(Offset base_offset) {
  BatchHeader header;
  header.base_offset = base_offset;
  header.batch_length = kBatchHeaderBytes - kBatchLogOverheadBytes;
  header.leader_epoch = 0;
  header.attributes = 0x30;
  header.max_timestamp = SimClock::kStartMs;
  header.producer_id = kA;
  header.producer_epoch = 0;
  std::vector<std::byte> bytes(kBatchHeaderBytes);
  encode_header(header, bytes);
  header.crc = batch_crc(bytes);
  encode_header(header, bytes);
  return Buffer(std::move(bytes));
}

TEST(LogTransactions, H020AnEmptyControlBatchHasNoEffect) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  must_append(*log, numbered(txn_data(kA, 0, 0), 0), as_replica());
  must_append(*log, empty_control_batch(1), as_replica());
  must_append(*log, numbered(make_batch({}), 2), as_replica());
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(log->state()->open_txns.size(), 1U);
    EXPECT_EQ(read_offsets(*log, Isolation::kReadUncommitted), (Offsets{0, 2}));
    store.kill_and_reopen(log);
  }
}

TEST(LogMarkers, H021TheSameMarkerTwiceIsHarmless) {
  for (const ControlType type : {ControlType::kCommit, ControlType::kAbort}) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log();
    must_append(*log, txn_data(kA, 3, 0));
    mark(*log, kA, 3, type, 5);
    mark(*log, kA, 3, type, 5);
    for (int life = 0; life < 2; ++life) {
      EXPECT_EQ(log->offsets().last_stable, 3);
      EXPECT_EQ(log->state()->aborted_txns.size(), type == ControlType::kAbort ? 1U : 0U);
      store.kill_and_reopen(log);
    }
  }
}

TEST(LogMarkers, H022FencesAnOlderCoordinatorButReplaysItsMarkers) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  must_append(*log, txn_data(kA, 3, 0));
  mark(*log, kA, 3, ControlType::kCommit, 5);
  must_append(*log, txn_data(kA, 3, 1));
  const std::uint64_t before = store.disk().digest();
  EXPECT_EQ(mark_refused(*log, kA, 3, ControlType::kAbort, 4), ErrorCode::kCoordinatorFenced);
  EXPECT_EQ(store.disk().digest(), before);
  must_append(*log, numbered(make_marker(kA, 3, ControlType::kAbort, 4), 3), as_replica());
  store.kill_and_reopen(log);
  EXPECT_EQ(log->offsets().last_stable, 4);
  EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{0}));
}

TEST(LogMarkers, H023MarkersOfOtherProducerEpochs) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  must_append(*log, txn_data(kA, 3, 0));
  EXPECT_EQ(mark_refused(*log, kA, 2, ControlType::kAbort), ErrorCode::kInvalidProducerEpoch);
  mark(*log, kA, 4, ControlType::kAbort);
  EXPECT_EQ(log->offsets().last_stable, 2);
  EXPECT_EQ(refusal(*log, txn_data(kA, 3, 1)), ErrorCode::kInvalidProducerEpoch);
  EXPECT_EQ(refusal(*log, txn_data(kA, 4, 1)), ErrorCode::kOutOfOrderSequence);
  EXPECT_EQ(must_append(*log, txn_data(kA, 4, 0)), 2);
}

TEST(LogMarkers, TransactionVersionTwoWantsAHigherEpoch) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  must_append(*log, txn_data(kA, 3, 0));
  EXPECT_EQ(mark_refused(*log, kA, 3, ControlType::kCommit, 0, 2),
            ErrorCode::kInvalidProducerEpoch);
  must_append(*log, make_marker(kA, 4, ControlType::kCommit), as_coordinator(2));
  must_append(*log, make_marker(kA, 4, ControlType::kCommit), as_coordinator(2));  // a retry
  EXPECT_EQ(mark_refused(*log, kA, 3, ControlType::kCommit, 0, 2),
            ErrorCode::kInvalidProducerEpoch);
  EXPECT_EQ(log->offsets().last_stable, log->offsets().log_end);
}

Buffer control_batch(std::int16_t version, std::int16_t type, Offset base_offset) {
  const char key[] = {static_cast<char>(version >> 8), static_cast<char>(version),
                      static_cast<char>(type >> 8), static_cast<char>(type)};
  RecordBatchBuilder builder;
  RecordInput record;
  record.timestamp_ms = SimClock::kStartMs;
  record.key = std::string_view(key, 4);
  record.value = "vvvvvv";
  builder.add(record);
  Buffer bytes = std::move(builder).finish();
  BatchHeader header = *decode_header(bytes.bytes());
  header.base_offset = base_offset;
  header.attributes = 0x20;
  encode_header(header, bytes.mutable_bytes());
  header.crc = batch_crc(bytes.bytes());
  encode_header(header, bytes.mutable_bytes());
  return bytes;
}

TEST(LogMarkers, H024OtherControlTypesAreKeptAndSkipped) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  Offset offset = 0;
  for (const int type : {2, 3, 4, 5, 6, 77, -1}) {
    for (const int version : {0, 1})
      must_append(*log,
                  control_batch(static_cast<std::int16_t>(version), static_cast<std::int16_t>(type),
                                offset++),
                  as_replica());
  }
  must_append(*log, make_batch({}));
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(log->offsets().last_stable, 15);
    EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{14}));
    store.kill_and_reopen(log);
  }
  EXPECT_FALSE(log->append(control_batch(-1, 0, 15), as_replica()).ok());
}

TEST(LogTransactions, GivesAVerdictForEachBatch) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  must_append(*log, make_batch({}));
  must_append(*log, txn_data(kA, 0, 0));
  mark(*log, kA, 0, ControlType::kAbort);
  must_append(*log, txn_data(kA, 0, 1));
  mark(*log, kA, 0, ControlType::kCommit);
  must_append(*log, txn_data(kA, 0, 2));
  FetchBuffer buffer;
  FetchRequest request;
  request.verdicts = true;
  const Result<FetchPage> page = log->fetch(request, buffer);
  ASSERT_TRUE(page.ok());
  const std::vector<BatchVerdict> verdicts(page->verdicts().begin(), page->verdicts().end());
  EXPECT_EQ(verdicts,
            (std::vector<BatchVerdict>{BatchVerdict::kNonTransactional, BatchVerdict::kAborted,
                                       BatchVerdict::kControl, BatchVerdict::kCommitted,
                                       BatchVerdict::kControl, BatchVerdict::kOpen}));
  EXPECT_TRUE(page->aborted().empty()) << "only for read-committed";
}

TEST(LogTransactions, RefusesPlainDataInsideATransaction) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  must_append(*log, txn_data(kA, 0, 0));
  EXPECT_EQ(refusal(*log, make_batch({.producer_id = kA, .epoch = 0, .sequence = 1})),
            ErrorCode::kInvalidTxnState);
  EXPECT_EQ(must_append(*log, txn_data(kA, 1, 0)), 1);  // SEEN 13
  mark(*log, kA, 1, ControlType::kAbort);
  EXPECT_EQ(log->state()->aborted_txns.at(0).first_offset, 0);
}

TEST(LogVerification, WantsAGuardForTheFirstTransactionalAppend) {
  LogOptions options;
  options.txn_verification = true;
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  EXPECT_EQ(refusal(*log, txn_data(kA, 0, 0)), ErrorCode::kInvalidTxnState);
  AppendOptions guarded;
  guarded.guard = log->start_verification(kA, 0, 0).value();
  ASSERT_GT(guarded.guard, 0);
  AppendOptions wrong = guarded;
  ++wrong.guard;
  EXPECT_EQ(refusal(*log, txn_data(kA, 0, 0), wrong), ErrorCode::kInvalidTxnState);
  EXPECT_EQ(refusal(*log, txn_data(kA, 0, 1), guarded), ErrorCode::kOutOfOrderSequence);
  EXPECT_EQ(must_append(*log, txn_data(kA, 0, 0), guarded), 0);
  EXPECT_EQ(log->start_verification(kA, 0, 1).value(), 0) << "a transaction is open";
  EXPECT_EQ(must_append(*log, txn_data(kA, 0, 1)), 1);
  mark(*log, kA, 0, ControlType::kCommit);
  EXPECT_EQ(refusal(*log, txn_data(kA, 0, 2), guarded), ErrorCode::kInvalidTxnState);
}

TEST(LogVerification, AMarkerInBetweenTakesTheGuardAway) {
  LogOptions options;
  options.txn_verification = true;
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  AppendOptions guarded;
  guarded.guard = log->start_verification(kA, 0, 0).value();
  mark(*log, kA, 0, ControlType::kAbort);
  EXPECT_EQ(refusal(*log, txn_data(kA, 0, 0), guarded), ErrorCode::kInvalidTxnState);
  EXPECT_EQ(log->offsets().last_stable, 1);
}

}  // namespace
}  // namespace oncelog::testing
