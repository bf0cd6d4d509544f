// Idempotent producers: sequences, epochs, duplicates, and what a restart remembers of them.
#include <gtest/gtest.h>

#include "tests/txn/log_support.h"

namespace oncelog::testing {
namespace {

Buffer data(ProducerEpoch epoch, Sequence sequence, int count = 1, bool transactional = false,
            ProducerId producer = 7) {
  return make_batch({.producer_id = producer,
                     .epoch = epoch,
                     .sequence = sequence,
                     .count = count,
                     .transactional = transactional});
}

void expect_duplicate(Log& log, Buffer bytes, Offset first, Offset last) {
  const Result<AppendResult> result = log.append(std::move(bytes));
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  EXPECT_TRUE(result->duplicate);
  EXPECT_EQ(result->first_offset, first);
  EXPECT_EQ(result->last_offset, last);
}

enum class Restart { kNone, kClean, kKill, kPower, kCleanTwice };

void restart(SimStore& store, std::shared_ptr<Log>& log, Restart how,
             const LogOptions& options = {}) {
  if (how == Restart::kNone) return;
  if (how == Restart::kClean || how == Restart::kCleanTwice) store.reopen(log, options);
  if (how == Restart::kCleanTwice) store.reopen(log, options);
  if (how == Restart::kKill) store.kill_and_reopen(log, options);
  if (how == Restart::kPower) {
    log.reset();
    store.power_cut(PowerCut::kNoneKept, 5);
    store.open();
    log = store.open_log(options);
  }
}

constexpr Restart kRestarts[] = {Restart::kNone, Restart::kClean, Restart::kKill, Restart::kPower,
                                 Restart::kCleanTwice};

TEST(LogIdempotence, H006RemembersFiveBatchesOverAnyRestart) {
  for (const Restart how : kRestarts) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log();
    for (int i = 0; i < 6; ++i)
      must_append(*log, data(0, 2 * i, 2));

    restart(store, log, how);
    const std::vector<std::byte> before = *store.disk().read_file(store.file(0, ".log"));

    for (int i = 1; i < 6; ++i)
      expect_duplicate(*log, data(0, 2 * i, 2), 2 * i, 2 * i + 1);
    EXPECT_EQ(refusal(*log, data(0, 0, 2)), ErrorCode::kOutOfOrderSequence);
    EXPECT_EQ(refusal(*log, data(0, 11, 1)), ErrorCode::kOutOfOrderSequence) << "part of a batch";
    EXPECT_EQ(refusal(*log, data(0, 10, 3)), ErrorCode::kOutOfOrderSequence);
    EXPECT_EQ(refusal(*log, data(0, 13, 1)), ErrorCode::kOutOfOrderSequence);
    EXPECT_EQ(*store.disk().read_file(store.file(0, ".log")), before);
    EXPECT_EQ(must_append(*log, data(0, 12)), 12);
  }
}

TEST(LogIdempotence, KeepsTheWindowWhenItSpansSegments) {
  LogOptions options;
  options.segment_bytes = 150;  // two batches
  for (const Restart how : kRestarts) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log(options);
    for (int i = 0; i < 9; ++i)
      must_append(*log, data(0, i));
    restart(store, log, how, options);
    for (int i = 4; i < 9; ++i)
      expect_duplicate(*log, data(0, i), i, i);
    EXPECT_EQ(refusal(*log, data(0, 3)), ErrorCode::kOutOfOrderSequence);
  }
}

TEST(LogIdempotence, H007WrapsSequencesInsideABatch) {
  for (const Restart how : kRestarts) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log();
    must_append(*log, data(0, 2147483645, 6));
    expect_duplicate(*log, data(0, 2147483645, 6), 0, 5);
    must_append(*log, data(0, 3, 2));
    restart(store, log, how);
    expect_duplicate(*log, data(0, 3, 2), 6, 7);
    expect_duplicate(*log, data(0, 2147483645, 6), 0, 5);
    EXPECT_EQ(log->state()->producers[0].batches[0].first_sequence, 2147483645);
    EXPECT_EQ(must_append(*log, data(0, 5)), 8);
  }
}

TEST(LogIdempotence, H009ANewEpochStartsAtZero) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  must_append(*log, data(0, 0, 10));
  const std::uint64_t before = store.disk().digest();

  EXPECT_EQ(refusal(*log, data(1, 10)), ErrorCode::kOutOfOrderSequence);
  EXPECT_EQ(store.disk().digest(), before);
  EXPECT_EQ(must_append(*log, data(1, 0)), 10);
  EXPECT_EQ(refusal(*log, data(0, 10)), ErrorCode::kInvalidProducerEpoch);
  store.kill_and_reopen(log);
  EXPECT_EQ(refusal(*log, data(0, 10)), ErrorCode::kInvalidProducerEpoch);
  EXPECT_EQ(must_append(*log, data(1, 1)), 11);
}

TEST(LogIdempotence, H010AnUnknownProducerMayStartAnywhere) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  must_append(*log, data(0, 0));
  store.io().clock().advance_ms(86'400'000);

  EXPECT_EQ(log->expire_producers().value(), 1U);
  EXPECT_EQ(must_append(*log, data(0, 7, 8)), 1);
  EXPECT_EQ(refusal(*log, data(0, 14)), ErrorCode::kOutOfOrderSequence);
  EXPECT_EQ(must_append(*log, data(0, 15)), 9);
}

TEST(LogIdempotence, H011ASequenceUsedAgainAfterAnAbortIsADuplicate) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  must_append(*log, data(0, 42, 1, true));
  must_append(*log, make_marker(7, 0, ControlType::kAbort), as_coordinator());
  expect_duplicate(
      *log,
      make_batch(
          {.producer_id = 7, .epoch = 0, .sequence = 42, .transactional = true, .value = "other"}),
      0, 0);
  EXPECT_EQ(log->offsets().log_end, 2);
}

TEST(LogProducerState, H001TruncationBelowTheOldestSnapshotRebuildsFromTheLog) {
  for (const Restart how : kRestarts) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log();
    for (int i = 0; i < 5; ++i)
      must_append(*log, data(0, i));
    ASSERT_EQ(log->roll().value(), 5);
    for (int i = 5; i < 10; ++i)
      must_append(*log, data(0, i));

    ASSERT_TRUE(log->truncate(3).ok());
    restart(store, log, how);

    EXPECT_EQ(refusal(*log, data(0, 5)), ErrorCode::kOutOfOrderSequence);
    expect_duplicate(*log, data(0, 2), 2, 2);
    EXPECT_EQ(must_append(*log, data(0, 3)), 3);
  }
}

TEST(LogProducerState, H002AFailedWriteLeavesNothingInSnapshots) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  must_append(*log, data(0, 0, 5));
  ASSERT_TRUE(store.faults().add({.on = FaultPoint::kWrite, .file = "*.log"}).ok());

  EXPECT_EQ(refusal(*log, data(0, 5, 5)), ErrorCode::kIo);
  EXPECT_FALSE(log->roll().ok());
  EXPECT_FALSE(log->close().ok());
  EXPECT_TRUE(store.store().close().ok());
  EXPECT_FALSE(store.disk().read_file("data/.kafka_cleanshutdown").ok());
  log.reset();
  store.open();
  log = store.open_log();

  EXPECT_EQ(log->offsets().log_end, 5);
  EXPECT_EQ(log->state()->producers[0].batches.back().last_sequence, 4);
  for (const std::string& path : store.disk().paths())
    EXPECT_EQ(path.find("10.snapshot"), std::string::npos) << path;
  EXPECT_EQ(must_append(*log, data(0, 5, 5)), 5);
}

TEST(LogProducerState, H003ADamagedSnapshotIsReplacedByReplay) {
  LogOptions options;
  options.segment_bytes = 400;
  for (int damage = 0; damage < 5; ++damage) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log(options);
    for (int i = 0; i < 20; ++i)
      must_append(*log, data(0, i));
    log.reset();
    ASSERT_TRUE(store.store().close().ok());
    std::string newest;
    for (const std::string& path : store.disk().paths()) {
      if (path.ends_with(".snapshot")) newest = path;
      if (path.ends_with("oncelog.sidecar")) {
        ASSERT_TRUE(store.disk().remove_file(path).ok());
      }
    }
    std::vector<std::byte> bytes = *store.disk().read_file(newest);
    if (damage == 0) bytes.clear();
    if (damage == 1) bytes.resize(bytes.size() / 2);
    if (damage == 2) bytes.back() ^= std::byte{4};
    if (damage == 3) bytes[1] = std::byte{9};
    if (damage == 4) bytes[6] = std::byte{0x7f};
    ASSERT_TRUE(store.disk().write_file(newest, bytes).ok());

    store.open();
    log = store.open_log(options);

    ASSERT_TRUE(log) << damage;
    expect_duplicate(*log, data(0, 19), 19, 19);
    EXPECT_EQ(must_append(*log, data(0, 20)), 20);
  }
}

TEST(LogProducerState, H004TrimmingTheHeadForgetsNoProducer) {
  LogOptions options;
  options.file_delete_delay_ms = 0;
  for (const Restart how : kRestarts) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log(options);
    must_append(*log, data(0, 0, 5));
    for (int i = 0; i < 95; ++i)
      must_append(*log, data(0, i, 1, false, 9));
    ASSERT_EQ(log->roll().value(), 100);
    must_append(*log, data(0, 95, 1, false, 9));
    ASSERT_EQ(log->delete_records(100).value(), 100);
    EXPECT_EQ(log->apply_retention().value(), 1U);

    restart(store, log, how, options);

    expect_duplicate(*log, data(0, 0, 5), 0, 4);
    EXPECT_EQ(must_append(*log, data(0, 5, 5)), 101);
  }
}

TEST(LogProducerState, H004TrimmingToTheLogEndForgetsNoProducer) {
  for (const Restart how : kRestarts) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log();
    must_append(*log, data(3, 0, 5));
    ASSERT_EQ(log->delete_records(-1).value(), 5);
    restart(store, log, how);
    EXPECT_EQ(refusal(*log, data(2, 5)), ErrorCode::kInvalidProducerEpoch);
    EXPECT_EQ(must_append(*log, data(3, 5)), 5);
  }
}

TEST(LogProducerState, H005AProducerKnownFromAMarkerOnlyStartsAtZero) {
  for (const Restart how : kRestarts) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log();
    must_append(*log, make_marker(7, 3, ControlType::kCommit, 5), as_coordinator());
    restart(store, log, how);
    const ProducerInfo info = log->state()->producers.at(0);
    EXPECT_EQ(info.epoch, 3);
    EXPECT_EQ(info.coordinator_epoch, 5);
    EXPECT_TRUE(info.batches.empty());
    EXPECT_EQ(refusal(*log, data(3, 17)), ErrorCode::kOutOfOrderSequence);
    EXPECT_EQ(refusal(*log, data(2, 0)), ErrorCode::kInvalidProducerEpoch);
    EXPECT_EQ(must_append(*log, data(3, 0)), 1);
  }
}

}  // namespace
}  // namespace oncelog::testing
