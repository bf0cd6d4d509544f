// What an acknowledgement is worth, who waits for what, and the limits of the queue.
#include <gtest/gtest.h>

#include "tests/txn/log_support.h"

namespace oncelog::testing {
namespace {

using Offsets = std::vector<Offset>;
constexpr PowerCut kModes[] = {PowerCut::kNoneKept, PowerCut::kAllKept, PowerCut::kPrefix,
                               PowerCut::kSubset, PowerCut::kTorn};

LogOptions written() {
  LogOptions options;
  options.durability = Durability::kWritten;
  return options;
}

/// Calls back into a list, in the order of the answers.
struct Answers {
  std::vector<Result<AppendResult>> list;
  AppendCallback one() {
    return [this](Result<AppendResult> result) { list.push_back(std::move(result)); };
  }
};

void drain(SimStore& store, const Answers& answers, std::size_t count) {
  for (int i = 0; i < 1000 && answers.list.size() < count; ++i) {
    store.io().executor().run_pending();
    store.store().poll(1'000'000);
  }
}

void after_power_cut(SimStore& store, std::shared_ptr<Log>& log, PowerCut mode, std::uint64_t seed,
                     const LogOptions& options) {
  log.reset();
  store.power_cut(mode, seed);
  store.open();
  log = store.open_log(options);
}

TEST(LogDurability, AnAcknowledgedAppendSurvivesPowerCutsOfAllKinds) {
  LogOptions options;
  options.segment_bytes = 700;
  for (const PowerCut mode : kModes) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SimStore store(nullptr, seed);
      std::shared_ptr<Log> log = store.open_log(options);
      Answers answers;
      Offset acknowledged = 0;
      for (std::uint64_t i = 0; i < 5 + seed; ++i) {
        if (i % 3 == 2) {
          acknowledged = must_append(*log, make_batch({.count = 3})) + 3;
        } else {
          log->append(make_batch({.count = 2}), {}, answers.one());
        }
      }
      store.store().poll();
      for (const Result<AppendResult>& answer : answers.list) {
        ASSERT_TRUE(answer.ok());
        EXPECT_TRUE(answer->durable);
        acknowledged = std::max(acknowledged, answer->last_offset + 1);
      }
      const Offset seen = log->offsets().high_watermark;
      after_power_cut(store, log, mode, seed, options);
      ASSERT_TRUE(log);
      EXPECT_GE(log->offsets().log_end, acknowledged) << to_string(mode) << ' ' << seed;
      EXPECT_GE(log->offsets().high_watermark, seen) << "what was shown stays";
    }
  }
}

TEST(LogDurability, WrittenAcksSurviveAKillAndSayThatTheyAreNotDurable) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(written());
  const Result<AppendResult> result = log->append(make_batch({.count = 3}));
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->durable);
  EXPECT_EQ(log->offsets().durable_end, 0);
  EXPECT_EQ(log->offsets().high_watermark, 3);
  store.kill_and_reopen(log, written());
  EXPECT_EQ(log->offsets().log_end, 3);
  EXPECT_EQ(log->offsets().durable_end, 3) << "recovery synced it";
  after_power_cut(store, log, PowerCut::kNoneKept, 1, written());
  EXPECT_EQ(log->offsets().log_end, 3);
}

TEST(LogDurability, MayBeRaisedPerAppendAndCoversAllBefore) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(written());
  must_append(*log, make_batch({.count = 3}));
  AppendOptions durable;
  durable.durability = Durability::kDurable;
  const Result<AppendResult> raised = log->append(make_batch({}), durable);
  ASSERT_TRUE(raised.ok());
  EXPECT_TRUE(raised->durable);
  must_append(*log, make_batch({}));
  after_power_cut(store, log, PowerCut::kNoneKept, 1, written());
  EXPECT_EQ(log->offsets().log_end, 4);
}

TEST(LogDurability, CannotBeLoweredPerAppend) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  AppendOptions lower;
  lower.durability = Durability::kWritten;
  EXPECT_TRUE(log->append(make_batch({}), lower)->durable);
}

TEST(LogDurability, H078ADurableAppendWaitsForTheSegmentsBefore) {
  LogOptions options = written();
  options.segment_bytes = 160;
  AppendOptions durable;
  durable.durability = Durability::kDurable;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SimStore store(nullptr, seed);
    std::shared_ptr<Log> log = store.open_log(options);
    for (int i = 0; i < 7; ++i)
      must_append(*log, make_batch({}));
    const Offset last = must_append(*log, make_batch({}), durable);
    after_power_cut(store, log, PowerCut::kSubset, seed, options);
    ASSERT_TRUE(log);
    EXPECT_EQ(log->offsets().log_end, last + 1);
    EXPECT_EQ(read_offsets(*log, Isolation::kLogEnd).size(), 8U);
  }
}

TEST(LogDurability, ARollOfAWrittenLogSyncsTheOldSegmentUnasked) {  // H-100
  LogOptions options = written();
  options.segment_bytes = 160;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  for (int i = 0; i < 9; ++i)
    must_append(*log, make_batch({}));
  for (int i = 0; i < 20; ++i) {
    store.io().executor().run_pending();
    store.store().poll();
  }
  EXPECT_GE(log->offsets().durable_end, 8);
  EXPECT_GE(log->state()->recovery_point, 8);
}

TEST(LogDurability, FlushMakesEverythingDurable) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(written());
  ASSERT_TRUE(log->flush().ok());
  must_append(*log, make_batch({.count = 5}));
  ASSERT_TRUE(log->flush().ok());
  EXPECT_EQ(log->offsets().durable_end, 5);
  after_power_cut(store, log, PowerCut::kNoneKept, 1, written());
  EXPECT_EQ(log->offsets().log_end, 5);
}

TEST(LogDurability, FlushMessagesSyncsWhenSoManyAreOpen) {
  LogOptions options = written();
  options.flush_messages = 3;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  must_append(*log, make_batch({.count = 2}));
  for (int i = 0; i < 5; ++i)
    store.store().poll();
  EXPECT_EQ(log->offsets().durable_end, 0);
  must_append(*log, make_batch({}));
  for (int i = 0; i < 5; ++i)
    store.store().poll(1'000'000);
  EXPECT_EQ(log->offsets().durable_end, 3);
}

TEST(LogDurability, AnswersComeInOffsetOrder) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(written());
  AppendOptions durable;
  durable.durability = Durability::kDurable;
  Answers answers;
  for (int i = 0; i < 20; ++i)
    log->append(make_batch({}), i % 4 == 0 ? durable : AppendOptions{}, answers.one());
  EXPECT_TRUE(answers.list.empty()) << "callbacks run in poll only";
  drain(store, answers, 20);
  ASSERT_EQ(answers.list.size(), 20U);
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_EQ(answers.list[i]->first_offset, static_cast<Offset>(i));
}

TEST(LogDurability, ADuplicateWaitsForItsOriginal) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimStore store(nullptr, seed);
    std::shared_ptr<Log> log = store.open_log();
    Answers original;
    log->append(make_batch({.producer_id = 7, .epoch = 0, .sequence = 0}), {}, original.one());
    const Result<AppendResult> again =
        log->append(make_batch({.producer_id = 7, .epoch = 0, .sequence = 0}));
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(again->duplicate);
    EXPECT_TRUE(again->durable);
    after_power_cut(store, log, PowerCut::kNoneKept, seed, {});
    EXPECT_EQ(log->offsets().log_end, 1);
  }
}

TEST(LogDurability, ADuplicateMayAskForMoreThanItsOriginal) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(written());
  const BatchSpec spec{.producer_id = 7, .epoch = 0, .sequence = 0};
  EXPECT_FALSE(log->append(make_batch(spec))->durable);
  AppendOptions durable;
  durable.durability = Durability::kDurable;
  const Result<AppendResult> again = log->append(make_batch(spec), durable);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->duplicate);
  EXPECT_TRUE(again->durable);
  after_power_cut(store, log, PowerCut::kNoneKept, 1, written());
  EXPECT_EQ(log->offsets().log_end, 1);
}

TEST(LogDurability, AFullQueueIsBusyForCallbacksAndAWaitForBlockingCalls) {
  LogOptions options;
  options.queue_bytes_max = 4096;
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  Answers answers;
  for (int i = 0; i < 40; ++i)
    log->append(make_batch({.value = std::string(500, 'x')}), {}, answers.one());

  const Offset blocked = must_append(*log, make_batch({.value = std::string(500, 'y')}));

  drain(store, answers, 40);
  std::size_t accepted = 0;
  for (const Result<AppendResult>& answer : answers.list) {
    if (answer.ok()) {
      ++accepted;
    } else {
      EXPECT_EQ(answer.error().code, ErrorCode::kBusy);
    }
  }
  EXPECT_GT(accepted, 4U);
  EXPECT_LT(accepted, 40U);
  EXPECT_EQ(log->offsets().log_end, static_cast<Offset>(accepted) + 1);
  EXPECT_EQ(blocked, static_cast<Offset>(accepted));
}

TEST(LogDurability, UnsyncedBytesStayBelowTheLimit) {
  LogOptions options;
  options.unsynced_bytes_max = 4096;
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  std::int64_t open_bytes = 0;
  std::int64_t most = 0;
  store.io().on_operation([&](const SimOperation& operation) {
    if (!operation.path.ends_with(".log")) return;
    if (operation.kind == SimOperationKind::kWrite) open_bytes += operation.bytes;
    if (operation.kind == SimOperationKind::kSync) open_bytes = 0;
    most = std::max(most, open_bytes);
  });
  Answers answers;
  for (int i = 0; i < 30; ++i)
    log->append(make_batch({.value = std::string(i == 9 ? 9000 : 900, 'x')}), {}, answers.one());
  drain(store, answers, 30);
  ASSERT_EQ(answers.list.size(), 30U);
  EXPECT_LE(most, 9500) << "the large one goes alone";
  EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted).size(), 30U);
}

TEST(LogDurability, TheHighWatermarkFollowsTheChosenVisibility) {
  LogOptions options = written();
  options.visibility = Visibility::kDurable;
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  must_append(*log, make_batch({}));
  EXPECT_EQ(log->offsets().log_end, 1);
  EXPECT_EQ(log->offsets().high_watermark, 0);
  EXPECT_TRUE(read_offsets(*log, Isolation::kReadUncommitted).empty());
  EXPECT_EQ(read_offsets(*log, Isolation::kLogEnd), (Offsets{0}));
  ASSERT_TRUE(log->flush().ok());
  EXPECT_EQ(log->offsets().high_watermark, 1);
}

TEST(LogDurability, LongPollsAreAnsweredWhenTheBoundPasses) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  std::vector<int> order;
  const auto note = [&order](int number) {
    return [&order, number](const Status& status) { order.push_back(status.ok() ? number : -1); };
  };
  log->when(0, Isolation::kReadCommitted, note(1));
  log->when(0, Isolation::kReadUncommitted, note(2));
  must_append(*log,
              make_batch({.producer_id = 7, .epoch = 0, .sequence = 0, .transactional = true}));
  store.store().poll();
  EXPECT_EQ(order, (std::vector<int>{2}));
  must_append(*log, make_marker(7, 0, ControlType::kCommit), as_coordinator());
  log->when(100, Isolation::kLogEnd, note(3));
  ASSERT_TRUE(log->close().ok());
  store.store().poll();
  EXPECT_EQ(order, (std::vector<int>{2, 1, -1}));
}

TEST(LogDurability, H079ACleanCloseSurvivesAPowerCut) {
  for (const PowerCut mode : kModes) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log(written());
    for (Sequence i = 0; i < 7; ++i)
      must_append(*log, make_batch({.producer_id = 7, .epoch = 0, .sequence = i}));
    log.reset();
    ASSERT_TRUE(store.store().close().ok());
    EXPECT_TRUE(store.disk().read_file("data/.kafka_cleanshutdown").ok());
    store.power_cut(mode, 4);
    EXPECT_TRUE(store.disk().read_file("data/.kafka_cleanshutdown").ok());
    store.open();
    EXPECT_FALSE(store.disk().read_file("data/.kafka_cleanshutdown").ok());
    log = store.open_log(written());
    EXPECT_EQ(log->offsets().log_end, 7);
    EXPECT_TRUE(log->append(make_batch({.producer_id = 7, .epoch = 0, .sequence = 3}))->duplicate);
  }
}

TEST(LogDurability, NothingWorksAfterClose) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  ASSERT_TRUE(log->close().ok());
  EXPECT_TRUE(log->close().ok());
  EXPECT_EQ(refusal(*log, make_batch({})), ErrorCode::kNotOpen);
  EXPECT_EQ(log->flush().error().code, ErrorCode::kNotOpen);
  EXPECT_EQ(log->truncate(0).error().code, ErrorCode::kNotOpen);
  EXPECT_EQ(log->roll().error().code, ErrorCode::kNotOpen);
  EXPECT_EQ(log->delete_records(0).error().code, ErrorCode::kNotOpen);
  EXPECT_EQ(log->state().error().code, ErrorCode::kNotOpen);
  FetchBuffer buffer;
  EXPECT_EQ(log->fetch({}, buffer).error().code, ErrorCode::kNotOpen);
}

}  // namespace
}  // namespace oncelog::testing
