// Retention: which segments go, when their files go, and what stays.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/txn/log_support.h"

namespace oncelog::testing {
namespace {

using Offsets = std::vector<Offset>;
constexpr TimestampMs kNow = SimClock::kStartMs;
constexpr std::int64_t kDay = 86'400'000;

std::int64_t batch_bytes() {
  return static_cast<std::int64_t>(make_batch({}).size());
}

/// One batch per segment.
LogOptions one_per_segment() {
  LogOptions options;
  options.segment_bytes = batch_bytes() + 8;  // a marker fits too
  options.retention_ms = -1;
  options.file_delete_delay_ms = 0;
  return options;
}

void settle(SimStore& store) {
  for (int i = 0; i < 20; ++i) {
    store.io().executor().run_pending();
    store.store().poll();
  }
}

std::vector<std::string> files_of(SimStore& store, const std::string& ending) {
  std::vector<std::string> found;
  for (const std::string& path : store.disk().paths()) {
    if (path.starts_with("data/t-0/") && path.ends_with(ending)) found.push_back(path);
  }
  return found;
}

TEST(LogRetention, BySizeNeverGoesBelowTheLimit) {
  LogOptions options = one_per_segment();
  options.retention_bytes = 3 * batch_bytes();
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  for (int i = 0; i < 10; ++i)
    must_append(*log, make_batch({}));
  settle(store);
  EXPECT_EQ(log->apply_retention().value(), 7U);
  EXPECT_EQ(log->apply_retention().value(), 0U);
  EXPECT_EQ(log->offsets().log_start, 7);
  EXPECT_EQ(read_offsets(*log, Isolation::kReadUncommitted), (Offsets{7, 8, 9}));
  for (const bool clean : {false, true}) {
    if (clean) {
      store.reopen(log, options);
    } else {
      store.kill_and_reopen(log, options);
    }
    EXPECT_EQ(log->offsets().log_start, 7);
    EXPECT_EQ(log->offsets().log_end, 10);
  }
}

TEST(LogRetention, ByTimeGoesByTheRecordsOfWholeSegments) {
  LogOptions options = one_per_segment();
  options.retention_ms = 7 * kDay;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  for (const std::int64_t age : {9, 8, 7, 1, 9, 0})
    must_append(*log, make_batch({.timestamp = kNow - age * kDay}));
  settle(store);
  EXPECT_EQ(log->apply_retention().value(), 2U) << "exactly seven days is not older";
  EXPECT_EQ(log->offsets().log_start, 2);
  store.io().clock().advance_ms(1);
  EXPECT_EQ(log->apply_retention().value(), 1U);
  EXPECT_EQ(log->offsets().log_start, 3) << "the old one behind a young one stays";
}

TEST(LogRetention, ALogThatIsOldAsAWholeIsEmptied) {
  LogOptions options = one_per_segment();
  options.retention_ms = kDay;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  for (Sequence i = 0; i < 3; ++i)
    must_append(*log, make_batch({.producer_id = 7, .epoch = 0, .sequence = i}));
  settle(store);
  store.io().clock().advance_ms(2 * kDay);
  EXPECT_EQ(log->apply_retention().value(), 3U);
  EXPECT_EQ(log->apply_retention().value(), 0U);
  EXPECT_EQ(log->offsets().log_start, 3);
  EXPECT_EQ(log->offsets().log_end, 3);
  store.kill_and_reopen(log, options);
  EXPECT_EQ(log->offsets().log_start, 3);
  EXPECT_EQ(must_append(*log, make_batch({})), 3);
}

TEST(LogRetention, H046NothingAtOrAboveTheHighWatermarkGoes) {
  LogOptions options = one_per_segment();
  options.retention_bytes = 0;
  options.visibility = Visibility::kEmbedder;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  for (int i = 0; i < 6; ++i)
    must_append(*log, make_batch({}));
  settle(store);
  EXPECT_EQ(log->apply_retention().value(), 0U);
  log->set_high_watermark(3).value();
  EXPECT_EQ(log->apply_retention().value(), 3U);
  EXPECT_EQ(log->offsets().log_start, 3);
}

TEST(LogRetention, NothingAboveTheDurableEndGoes) {
  LogOptions options = one_per_segment();
  options.segment_bytes = 10 * batch_bytes();
  options.retention_bytes = 0;
  options.durability = Durability::kWritten;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  for (int i = 0; i < 10; ++i)
    must_append(*log, make_batch({}));
  EXPECT_EQ(log->apply_retention().value(), 0U);
}

TEST(LogRetention, H048TheStartRuleHoldsInCompactedLogsToo) {
  LogOptions options = one_per_segment();
  options.cleanup_delete = false;
  options.cleanup_compact = true;
  options.retention_bytes = 0;
  options.retention_ms = 1;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  for (int i = 0; i < 6; ++i) {
    RecordBatchBuilder builder;
    RecordInput record;
    record.timestamp_ms = kNow - kDay;
    record.key = "k";
    builder.add(record);
    must_append(*log, std::move(builder).finish());
  }
  settle(store);
  EXPECT_EQ(log->apply_retention().value(), 0U);
  ASSERT_EQ(log->delete_records(4).value(), 4);
  EXPECT_EQ(log->apply_retention().value(), 4U);
  EXPECT_EQ(log->apply_retention().value(), 0U);
  EXPECT_EQ(log->state()->segments.front().base_offset, 4);
}

TEST(LogRetention, H048AllRulesInOnePass) {
  LogOptions options = one_per_segment();
  options.retention_ms = kDay;
  options.retention_bytes = 4 * batch_bytes();
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  for (const std::int64_t age : {0, 5, 0, 5, 5, 0, 0, 0})
    must_append(*log, make_batch({.timestamp = kNow - age * kDay}));
  settle(store);
  ASSERT_EQ(log->delete_records(1).value(), 1);
  EXPECT_EQ(log->apply_retention().value(), 5U);
  EXPECT_EQ(log->apply_retention().value(), 0U);
  EXPECT_EQ(log->offsets().log_start, 5);
}

TEST(LogRetention, H054FutureTimestampsAreJudgedByTheFile) {
  LogOptions options = one_per_segment();
  options.retention_ms = kDay;
  options.timestamp_after_max_ms = kUnlimited;
  options.segment_ms = kUnlimited;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  must_append(*log, make_batch({.timestamp = kNow * 1000}));
  must_append(*log, make_batch({.timestamp = kNow}));
  must_append(*log, make_batch({.timestamp = kNow + kDay}));
  settle(store);
  EXPECT_EQ(log->apply_retention().value(), 0U);
  store.io().clock().advance_ms(kDay + 1);
  EXPECT_EQ(log->apply_retention().value(), 2U);
}

TEST(LogRetention, H056AZeroTailOfTheTimeIndexIsNoTime) {
  for (const std::size_t zeros : {12U, 1200U}) {
    LogOptions options;
    options.index_interval_bytes = 0;
    options.retention_ms = 7 * kDay;
    SimStore store;
    std::shared_ptr<Log> log = store.open_log(options);
    for (int i = 0; i < 5; ++i)
      must_append(*log, make_batch({.timestamp = kNow + i}));
    ASSERT_TRUE(log->roll().ok());
    must_append(*log, make_batch({.timestamp = kNow + 9}));
    log.reset();
    ASSERT_TRUE(store.store().close().ok());
    std::vector<std::byte> index = *store.disk().read_file(store.file(0, ".timeindex"));
    index.resize(index.size() + zeros);
    ASSERT_TRUE(store.disk().write_file(store.file(0, ".timeindex"), index).ok());
    ASSERT_TRUE(store.disk().remove_file("data/t-0/oncelog.sidecar").ok());
    ASSERT_TRUE(store.disk().remove_file("data/.kafka_cleanshutdown").ok());
    store.open();
    log = store.open_log(options);
    EXPECT_EQ(log->state()->segments.front().largest_timestamp, kNow + 4);
    EXPECT_EQ(log->apply_retention().value(), 0U);
    EXPECT_EQ(log->offset_for_timestamp(kNow + 3, Isolation::kLogEnd)->offset, 3);
  }
}

TEST(LogRetention, FilesAreRenamedAtOnceAndRemovedAfterTheDelay) {
  LogOptions options = one_per_segment();
  options.retention_bytes = batch_bytes();
  options.file_delete_delay_ms = 60'000;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  must_append(*log,
              make_batch({.producer_id = 7, .epoch = 0, .sequence = 0, .transactional = true}));
  must_append(*log, make_marker(7, 0, ControlType::kAbort), as_coordinator());
  must_append(*log, make_batch({}));
  settle(store);
  FetchBuffer buffer;
  FetchRequest request;
  request.file_ranges_only = true;
  const FetchPage page = log->fetch(request, buffer).value();

  EXPECT_EQ(log->apply_retention().value(), 2U);
  EXPECT_EQ(files_of(store, ".log.deleted").size(), 2U);
  EXPECT_EQ(files_of(store, ".index.deleted").size(), 2U);
  EXPECT_EQ(files_of(store, ".timeindex.deleted").size(), 2U);
  EXPECT_EQ(files_of(store, ".txnindex.deleted").size(), 1U);
  store.io().clock().advance_ms(59'999);
  EXPECT_EQ(log->apply_retention().value(), 0U);
  EXPECT_EQ(files_of(store, ".log.deleted").size(), 2U);
  store.io().clock().advance_ms(1);
  EXPECT_EQ(log->apply_retention().value(), 0U);
  EXPECT_TRUE(files_of(store, ".deleted").empty());
  std::vector<std::byte> byte(1);
  EXPECT_EQ(page.file_ranges()[0].file->read_at(0, byte).value(), 1U) << "a page keeps its file";
}

TEST(LogRetention, H017ADelayedDeletionLeavesANewLogAlone) {
  LogOptions options = one_per_segment();
  options.retention_bytes = batch_bytes();
  options.file_delete_delay_ms = 60'000;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  for (int i = 0; i < 3; ++i)
    must_append(*log, make_batch({}));
  settle(store);
  EXPECT_EQ(log->apply_retention().value(), 2U);
  ASSERT_TRUE(log->truncate_fully(0).ok());
  must_append(*log,
              make_batch({.producer_id = 7, .epoch = 0, .sequence = 0, .transactional = true}));
  must_append(*log, make_marker(7, 0, ControlType::kAbort), as_coordinator());
  must_append(*log, make_batch({}));
  settle(store);
  store.io().clock().advance_ms(60'000);
  options.retention_bytes = -1;
  ASSERT_TRUE(log->set_options(options).ok());
  EXPECT_EQ(log->apply_retention().value(), 0U);
  EXPECT_EQ(files_of(store, ".log").size(), 3U);
  EXPECT_EQ(files_of(store, ".txnindex").size(), 1U);
  store.reopen(log, options);
  EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{2}));
}

TEST(LogRetention, H017DeletingALogAndMakingItAgain) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  must_append(*log, make_batch({.count = 9}));
  ASSERT_TRUE(store.store().delete_log({"t", 0}).ok());
  EXPECT_EQ(refusal(*log, make_batch({})), ErrorCode::kNotOpen);
  log = store.open_log();
  must_append(*log,
              make_batch({.producer_id = 7, .epoch = 0, .sequence = 0, .transactional = true}));
  must_append(*log, make_marker(7, 0, ControlType::kAbort), as_coordinator());
  settle(store);
  store.reopen(log);
  EXPECT_EQ(log->offsets().log_end, 2);
  EXPECT_EQ(files_of(store, ".txnindex").size(), 1U);
}

TEST(LogRetention, H045AStartAboveTheRecoveredEndOpensEmptyThere) {
  LogOptions options;
  options.durability = Durability::kWritten;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  must_append(*log, make_batch({.producer_id = 7, .epoch = 0, .sequence = 0, .count = 60}));
  ASSERT_TRUE(log->flush().ok());
  must_append(*log, make_batch({.count = 60}));
  ASSERT_EQ(log->delete_records(100).value(), 100);
  log.reset();
  store.power_cut(PowerCut::kNoneKept, 1);
  store.open();
  log = store.open_log(options);
  ASSERT_TRUE(log);
  EXPECT_EQ(log->offsets().log_start, 100);
  EXPECT_EQ(log->offsets().log_end, 100);
  EXPECT_EQ(must_append(*log, make_batch({})), 100);
  store.reopen(log, options);
  EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{100}));
}

TEST(LogRetention, H047TrimmingToTheEndAmongAppendsLosesNone) {
  LogOptions options;
  options.file_delete_delay_ms = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SimStore store(nullptr, seed);
    std::shared_ptr<Log> log = store.open_log(options);
    must_append(*log, make_batch({.count = 10}));
    Offset first = kNoOffset;
    log->append(make_batch({.count = 5}), {}, [&](const Result<AppendResult>& result) {
      ASSERT_TRUE(result.ok());
      first = result->first_offset;
    });
    for (std::uint64_t i = 0; i < seed % 5; ++i)
      store.store().poll();
    const Offset start = log->delete_records(-1).value();
    log->roll().value();
    log->apply_retention().value();
    settle(store);
    EXPECT_EQ(first, 10);
    EXPECT_EQ(log->offsets().log_start, start);
    EXPECT_EQ(read_offsets(*log, Isolation::kReadUncommitted).size(),
              static_cast<std::size_t>(15 - start));
    EXPECT_EQ(must_append(*log, make_batch({})), 15);
  }
}

TEST(LogRetention, H047PagesAndRetentionInTurnNeverSeeAHole) {
  LogOptions options = one_per_segment();
  options.retention_bytes = 2 * batch_bytes();
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  Offset next = 0;
  FetchBuffer buffer;
  for (int i = 0; i < 40; ++i) {
    must_append(*log, make_batch({}));
    if (i % 3 == 0) log->apply_retention().value();
    FetchRequest request;
    request.offset = std::max(next, log->offsets().log_start);
    const Result<FetchPage> page = log->fetch(request, buffer);
    ASSERT_TRUE(page.ok()) << to_string(page.error());
    ASSERT_FALSE(page->batches().empty());
    EXPECT_EQ(page->batches()[0].header().base_offset, request.offset);
    next = page->next_offset;
  }
}

TEST(LogRetention, ACrashAtAnyPointKeepsTheStartAndTheEnd) {
  LogOptions options = one_per_segment();
  options.retention_bytes = 2 * batch_bytes();
  for (std::uint64_t at = 0;; ++at) {
    SimStore store(nullptr, at + 1);
    std::shared_ptr<Log> log = store.open_log(options);
    for (int i = 0; i < 6; ++i)
      must_append(*log, make_batch({}));
    settle(store);
    store.io().crash_at(store.io().operation_count() + at);
    const bool done = log->apply_retention().ok();
    log.reset();
    store.power_cut(at % 2 == 0 ? PowerCut::kNoneKept : PowerCut::kSubset, at);
    store.open();
    log = store.open_log(options);
    ASSERT_TRUE(log) << at;
    EXPECT_EQ(log->offsets().log_end, 6) << at;
    const Offset start = log->offsets().log_start;
    EXPECT_TRUE(start == 0 || start == 4) << at << ' ' << start;
    EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted).size(),
              static_cast<std::size_t>(6 - start))
        << at;
    if (done) {
      EXPECT_EQ(start, 4);
      break;
    }
    ASSERT_LT(at, 500U);
  }
}

}  // namespace
}  // namespace oncelog::testing
