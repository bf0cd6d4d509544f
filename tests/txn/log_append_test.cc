// Appending: offsets, idempotence, transactions, rolls, and what a reopened log remembers.
#include <gtest/gtest.h>

#include "tests/txn/log_support.h"

namespace oncelog::testing {
namespace {

using Offsets = std::vector<Offset>;

TEST(LogAppend, GivesConsecutiveOffsetsAndReadsThemBack) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();

  const Result<AppendResult> first = log->append(make_batch({.count = 3}));
  const Result<AppendResult> second = log->append(make_batch({.count = 2}));

  ASSERT_TRUE(first.ok()) << to_string(first.error());
  EXPECT_EQ(first->first_offset, 0);
  EXPECT_EQ(first->last_offset, 2);
  EXPECT_TRUE(first->durable);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->first_offset, 3);
  EXPECT_EQ(read_offsets(*log, Isolation::kReadUncommitted), (Offsets{0, 1, 2, 3, 4}));
}

TEST(LogAppend, AnswersARetryWithTheFirstOffsetsAfterAReopenToo) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  for (Sequence sequence = 0; sequence < 12; sequence += 2) {
    ASSERT_TRUE(
        log->append(make_batch({.producer_id = 7, .epoch = 0, .sequence = sequence, .count = 2}))
            .ok());
  }
  const auto retry = [&](Sequence sequence) {
    return log->append(
        make_batch({.producer_id = 7, .epoch = 0, .sequence = sequence, .count = 2}));
  };

  const Result<AppendResult> running = retry(2);
  ASSERT_TRUE(log->close().ok());
  ASSERT_TRUE(store.store().close().ok());
  store.open();
  log = store.open_log();
  const Result<AppendResult> reopened = retry(2);
  const Result<AppendResult> too_old = retry(0);

  ASSERT_TRUE(running.ok());
  EXPECT_TRUE(running->duplicate);
  EXPECT_EQ(running->first_offset, 2);
  ASSERT_TRUE(reopened.ok()) << to_string(reopened.error());
  EXPECT_TRUE(reopened->duplicate);
  EXPECT_EQ(reopened->first_offset, 2);
  ASSERT_FALSE(too_old.ok());
  EXPECT_EQ(too_old.error().code, ErrorCode::kOutOfOrderSequence);
}

TEST(LogAppend, HidesAbortedAndOpenTransactionsFromReadCommitted) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  AppendOptions coordinator;
  coordinator.origin = AppendOrigin::kCoordinator;

  ASSERT_TRUE(
      log->append(make_batch({.producer_id = 1, .epoch = 0, .sequence = 0, .transactional = true}))
          .ok());
  ASSERT_TRUE(
      log->append(make_batch({.producer_id = 2, .epoch = 0, .sequence = 0, .transactional = true}))
          .ok());
  ASSERT_TRUE(log->append(make_marker(1, 0, ControlType::kAbort), coordinator).ok());
  ASSERT_TRUE(log->append(make_marker(2, 0, ControlType::kCommit), coordinator).ok());
  ASSERT_TRUE(
      log->append(make_batch({.producer_id = 1, .epoch = 0, .sequence = 1, .transactional = true}))
          .ok());

  EXPECT_EQ(log->offsets().last_stable, 4);
  EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{1}));
  EXPECT_EQ(read_offsets(*log, Isolation::kReadUncommitted), (Offsets{0, 1, 4}));
}

TEST(LogAppend, SurvivesAKillWithEverythingAcknowledged) {
  LogOptions options;
  options.segment_bytes = 300;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(log->append(make_batch({.count = 2})).ok());

  log.reset();
  store.power_cut(PowerCut::kNoneKept, 3);
  store.open();
  log = store.open_log(options);

  EXPECT_EQ(log->offsets().log_end, 40);
  EXPECT_EQ(read_offsets(*log, Isolation::kReadUncommitted).size(), 40U);
  EXPECT_GT(log->state()->segments.size(), 5U);
}

}  // namespace
}  // namespace oncelog::testing
