// Disks that fail or are full: what is refused, what stays, and what works again.
#include <gtest/gtest.h>

#include "tests/txn/log_support.h"

namespace oncelog::testing {
namespace {

using Offsets = std::vector<Offset>;

Buffer sequenced(Sequence sequence, const std::string& value = "v") {
  return make_batch({.producer_id = 7, .epoch = 0, .sequence = sequence, .value = value});
}

Error append_error(Log& log, Buffer bytes) {
  const Result<AppendResult> result = log.append(std::move(bytes));
  EXPECT_FALSE(result.ok());
  return result.ok() ? Error{} : result.error();
}

void reopen_after_failure(SimStore& store, std::shared_ptr<Log>& log,
                          const LogOptions& options = {}) {
  log.reset();
  (void)store.store().close();  // its answer depends on the failure
  EXPECT_FALSE(store.disk().read_file("data/.kafka_cleanshutdown").ok());
  store.faults().clear();
  store.open();
  log = store.open_log(options);
}

TEST(LogFailure, AFailedWriteLatchesTheLog) {
  for (const int sys_errno : {EIO, EROFS, ECANCELED}) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log();
    must_append(*log, sequenced(0));
    ASSERT_TRUE(store.faults()
                    .add({.on = FaultPoint::kWrite, .file = "*.log", .sys_errno = sys_errno})
                    .ok());

    const Error error = append_error(*log, sequenced(1));

    EXPECT_EQ(error.sys_errno, sys_errno);
    EXPECT_NE(error.path.find(".log"), std::string::npos) << error.path;
    EXPECT_EQ(append_error(*log, sequenced(1)).code, ErrorCode::kIo);
    EXPECT_EQ(log->flush().error().code, ErrorCode::kIo);
    EXPECT_EQ(log->roll().error().code, ErrorCode::kIo);
    EXPECT_EQ(log->truncate(0).error().code, ErrorCode::kIo);
    EXPECT_FALSE(log->state().ok());
    EXPECT_EQ(read_offsets(*log, Isolation::kReadUncommitted), (Offsets{0})) << "reads go on";
    EXPECT_FALSE(log->close().ok());
    reopen_after_failure(store, log);
    EXPECT_EQ(log->offsets().log_end, 1);
    EXPECT_EQ(must_append(*log, sequenced(1)), 1);
  }
}

TEST(LogFailure, H077AFailedSyncIsNeverRetried) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  must_append(*log, sequenced(0));
  ASSERT_TRUE(store.faults().add({.on = FaultPoint::kFsync, .file = "*.log"}).ok());

  const Error error = append_error(*log, sequenced(1));

  EXPECT_EQ(error.code, ErrorCode::kIo);
  EXPECT_NE(error.path.find("00000000000000000000.log"), std::string::npos);
  std::uint64_t syncs = 0;
  store.io().on_operation([&](const SimOperation& operation) {
    if (operation.kind == SimOperationKind::kSync && operation.path.ends_with(".log")) ++syncs;
  });
  EXPECT_EQ(append_error(*log, sequenced(1)).code, ErrorCode::kIo);
  EXPECT_FALSE(log->flush().ok());
  EXPECT_FALSE(log->close().ok());
  EXPECT_EQ(syncs, 0U);
  EXPECT_EQ(log->offsets().durable_end, 1);
  log.reset();
  EXPECT_TRUE(store.store().close().ok());
  EXPECT_FALSE(store.disk().read_file("data/.kafka_cleanshutdown").ok());
  store.power_cut(PowerCut::kNoneKept, 1);
  store.open();
  log = store.open_log();
  EXPECT_EQ(log->offsets().log_end, 1);
  EXPECT_EQ(must_append(*log, sequenced(1)), 1);
}

TEST(LogFailure, H080ShortWritesAreFinished) {
  for (const std::int64_t taken : {1, 34, 68}) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log();
    ASSERT_TRUE(store.faults()
                    .add({.on = FaultPoint::kWrite, .file = "*", .times = 50, .short_bytes = taken})
                    .ok());
    for (Sequence i = 0; i < 3; ++i)
      must_append(*log, sequenced(i));
    ASSERT_TRUE(log->roll().ok());
    EXPECT_GT(store.faults().hits(), 2);
    store.reopen(log);
    EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{0, 1, 2}));
  }
}

TEST(LogFailure, H080AWriteThatTakesNothingIsAnError) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  ASSERT_TRUE(store.faults()
                  .add({.on = FaultPoint::kWrite, .file = "*.log", .times = -1, .short_bytes = 0})
                  .ok());
  EXPECT_EQ(append_error(*log, sequenced(0)).code, ErrorCode::kIo);
}

TEST(LogFailure, H081AFullDiskRefusesAndForgetsTheHalfBatch) {
  for (const bool durable : {true, false}) {
    LogOptions options;
    if (!durable) options.durability = Durability::kWritten;
    SimStore store;
    std::shared_ptr<Log> log = store.open_log(options);
    must_append(*log, sequenced(0));
    ASSERT_TRUE(
        store.faults()
            .add({.on = FaultPoint::kWrite, .file = "*.log", .times = 2, .sys_errno = ENOSPC})
            .ok());

    const Error error = append_error(*log, sequenced(1, std::string(3000, 'x')));
    EXPECT_EQ(error.code, ErrorCode::kDiskFull);
    EXPECT_FALSE(error.path.empty());
    EXPECT_EQ(append_error(*log, sequenced(1, std::string(3000, 'x'))).code, ErrorCode::kDiskFull);
    EXPECT_EQ(must_append(*log, sequenced(1, std::string(3000, 'x'))), 1);
    EXPECT_EQ(log->state()->segments.back().size,
              static_cast<std::int64_t>(store.disk().read_file(store.file(0, ".log"))->size()));
    EXPECT_TRUE(log->append(sequenced(0))->duplicate);
    EXPECT_EQ(must_append(*log, sequenced(2)), 2);
    store.kill_and_reopen(log, options);
    EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{0, 1, 2}));
  }
}

TEST(LogFailure, H081OnADiskThatIsReallyFull) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  must_append(*log, sequenced(0));
  store.disk().set_capacity(store.disk().used_bytes());

  Sequence next = 1;
  Error error;
  while (next < 500) {
    const Result<AppendResult> result = log->append(sequenced(next, std::string(900, 'x')));
    if (!result.ok()) {
      error = result.error();
      break;
    }
    ++next;
  }
  EXPECT_EQ(error.code, ErrorCode::kDiskFull) << to_string(error);
  EXPECT_EQ(append_error(*log, sequenced(next, std::string(9000, 'x'))).code, ErrorCode::kDiskFull);
  EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted).size(), static_cast<std::size_t>(next));
  // Every other call comes back too, with an answer or an error.
  (void)log->flush();
  (void)log->roll();
  (void)log->delete_records(0);
  (void)log->apply_retention();
  (void)log->assign_leader_epoch(9);
  store.disk().set_capacity(-1);

  EXPECT_EQ(must_append(*log, sequenced(next, std::string(900, 'x'))), next);
  store.kill_and_reopen(log);
  EXPECT_EQ(log->offsets().log_end, next + 1);
}

TEST(LogFailure, ATruncationDuringAFullDiskStillHappens) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  for (Sequence i = 0; i < 5; ++i)
    must_append(*log, sequenced(i));
  ASSERT_TRUE(
      store.faults().add({.on = FaultPoint::kWrite, .file = "*.log", .sys_errno = ENOSPC}).ok());
  ErrorCode code = ErrorCode::kUnsupported;
  log->append(sequenced(5), {}, [&](const Result<AppendResult>& result) {
    code = result.ok() ? ErrorCode::kUnsupported : result.error().code;
  });
  EXPECT_TRUE(log->truncate(3).ok());
  store.store().poll();
  EXPECT_EQ(code, ErrorCode::kDiskFull);
  EXPECT_EQ(log->offsets().log_end, 3);
  EXPECT_EQ(must_append(*log, sequenced(3)), 3);
}

TEST(LogFailure, H082AFullDiskWhileRollingIsNoDeadEnd) {
  LogOptions options;
  options.segment_bytes = 2 * static_cast<std::int64_t>(sequenced(0).size());
  for (const FaultPoint point : {FaultPoint::kCreate, FaultPoint::kFsyncDir}) {
    for (const char* const file : {"00000000000000000002.log", "*"}) {
      if (point == FaultPoint::kFsyncDir && std::string(file) != "*") continue;
      SimStore store;
      std::shared_ptr<Log> log = store.open_log(options);
      must_append(*log, sequenced(0));
      must_append(*log, sequenced(1));
      ASSERT_TRUE(store.faults().add({.on = point, .file = file, .sys_errno = ENOSPC}).ok());
      const Error error = append_error(*log, sequenced(2));
      EXPECT_EQ(error.code, ErrorCode::kDiskFull);
      EXPECT_FALSE(error.path.empty());
      EXPECT_EQ(must_append(*log, sequenced(2)), 2);
      EXPECT_EQ(must_append(*log, sequenced(3)), 3);
      EXPECT_EQ(must_append(*log, sequenced(4)), 4);
      store.reopen(log, options);
      EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{0, 1, 2, 3, 4}));
    }
  }
}

TEST(LogFailure, AFailedRollLatchesAndReopens) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  must_append(*log, sequenced(0));
  ASSERT_TRUE(store.faults().add({.on = FaultPoint::kFsyncDir, .sys_errno = EIO}).ok());
  const Result<Offset> rolled = log->roll();
  ASSERT_FALSE(rolled.ok());
  EXPECT_EQ(rolled.error().code, ErrorCode::kIo);
  EXPECT_FALSE(rolled.error().path.empty());
  EXPECT_EQ(append_error(*log, sequenced(1)).code, ErrorCode::kIo);
  reopen_after_failure(store, log);
  EXPECT_EQ(must_append(*log, sequenced(1)), 1);
}

TEST(LogFailure, H083NothingIsStoredBehindAFailedAppend) {
  for (std::int64_t nth = 1; nth <= 3; ++nth) {
    SimStore store(nullptr, static_cast<std::uint64_t>(nth));
    std::shared_ptr<Log> log = store.open_log();
    ASSERT_TRUE(store.faults().add({.on = FaultPoint::kWrite, .file = "*.log", .nth = nth}).ok());
    std::vector<bool> answers;
    for (int i = 0; i < 30; ++i) {
      log->append(make_batch({}), {}, [&](const Result<AppendResult>& result) {
        answers.push_back(result.ok());
        if (!result.ok()) {
          EXPECT_EQ(result.error().code, ErrorCode::kIo);
        }
      });
      if (i % 10 == 9) store.store().poll();
    }
    for (int i = 0; i < 200 && answers.size() < 30; ++i)
      store.store().poll(1'000'000);
    ASSERT_EQ(answers.size(), 30U);
    const auto accepted = std::count(answers.begin(), answers.end(), true);
    EXPECT_LT(accepted, 30);
    EXPECT_TRUE(std::is_partitioned(answers.begin(), answers.end(), [](bool ok) { return ok; }));
    reopen_after_failure(store, log);
    EXPECT_GE(log->offsets().log_end, accepted);
    EXPECT_LT(log->offsets().log_end, 30);
  }
}

TEST(LogFailure, H115AnIndexThatCannotBeSavedSpoilsOnlyTheCleanClose) {
  LogOptions options;
  options.segment_bytes = 150;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  ASSERT_TRUE(
      store.faults()
          .add({.on = FaultPoint::kWrite, .file = "*.snapshot*", .times = -1, .sys_errno = ENOSPC})
          .ok());
  for (Sequence i = 0; i < 8; ++i)
    must_append(*log, sequenced(i));
  ASSERT_GT(store.faults().hits(), 0);
  const Status closed = log->close();
  EXPECT_FALSE(closed.ok());
  EXPECT_FALSE(closed.error().path.empty());
  reopen_after_failure(store, log, options);
  EXPECT_TRUE(log->append(sequenced(7))->duplicate);
  EXPECT_EQ(must_append(*log, sequenced(8)), 8);
  store.reopen(log, options);
  EXPECT_TRUE(log->append(sequenced(8))->duplicate);
}

TEST(LogFailure, H115AFullDiskAtCloseLosesNothing) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  for (Sequence i = 0; i < 8; ++i)
    must_append(*log, sequenced(i));
  store.disk().set_capacity(store.disk().used_bytes());
  const Status closed = log->close();
  if (!closed.ok()) {
    EXPECT_EQ(closed.error().code, ErrorCode::kDiskFull);
  }
  log.reset();
  (void)store.store().close();
  store.disk().set_capacity(-1);
  store.open();
  log = store.open_log();
  ASSERT_TRUE(log);
  EXPECT_EQ(log->offsets().log_end, 8);
  EXPECT_TRUE(log->append(sequenced(7))->duplicate);
}

TEST(LogFailure, ADeletedRecordsCheckpointThatFailsIsReported) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  for (Sequence i = 0; i < 8; ++i)
    must_append(*log, sequenced(i));
  ASSERT_TRUE(
      store.faults().add({.on = FaultPoint::kRename, .file = "log-start-offset-checkpoint"}).ok());
  const Result<Offset> deleted = log->delete_records(5);
  EXPECT_FALSE(deleted.ok());
  EXPECT_EQ(log->delete_records(6).value(), 6);
  store.kill_and_reopen(log);
  EXPECT_EQ(log->offsets().log_start, 6);
}

TEST(LogFailure, EveryOperationMayFailOnceAndNothingAcknowledgedIsLost) {
  LogOptions options;
  options.segment_bytes = 230;
  for (const int sys_errno : {EIO, ENOSPC}) {
    for (std::uint64_t at = 0;; ++at) {
      SimStore store(nullptr, at + 1);
      std::shared_ptr<Log> log = store.open_log(options);
      const std::uint64_t index = store.io().operation_count() + at;
      store.io().fail_at(index, sys_errno);
      Sequence next = 0;
      for (int tries = 0; tries < 20 && next < 7; ++tries) {
        if (log->append(sequenced(next)).ok()) ++next;
        if (next == 5) (void)log->delete_records(2);
        if (next == 6) (void)log->apply_retention();
      }
      (void)log->close();
      log.reset();
      (void)store.store().close();
      const bool finished = store.io().operation_count() <= index;
      store.open();
      log = store.open_log(options);
      ASSERT_TRUE(log) << at;
      EXPECT_GE(log->offsets().log_end, next) << at;
      const Offset end = log->offsets().log_end;
      EXPECT_LE(end, next + 1) << at;
      EXPECT_EQ(must_append(*log, sequenced(static_cast<Sequence>(end))), end) << at;
      if (finished) break;
      ASSERT_LT(at, 1000U);
    }
  }
}

}  // namespace
}  // namespace oncelog::testing
