// Taking a log back: truncate, truncate_fully, delete_records, and what reopening finds then.
#include <gtest/gtest.h>

#include "tests/txn/log_support.h"

namespace oncelog::testing {
namespace {

using Offsets = std::vector<Offset>;

enum class Restart { kNone, kClean, kKill, kPower };
constexpr Restart kRestarts[] = {Restart::kNone, Restart::kClean, Restart::kKill, Restart::kPower};

void restart(SimStore& store, std::shared_ptr<Log>& log, Restart how,
             const LogOptions& options = {}) {
  if (how == Restart::kClean) store.reopen(log, options);
  if (how == Restart::kKill) store.kill_and_reopen(log, options);
  if (how != Restart::kPower) return;
  log.reset();
  store.power_cut(PowerCut::kNoneKept, 5);
  store.open();
  log = store.open_log(options);
}

/// Ten batches of ten records in segments of three.
LogOptions small_segments() {
  LogOptions options;
  options.segment_bytes = 3 * static_cast<std::int64_t>(make_batch({.count = 10}).size());
  return options;
}

void fill(Log& log, int batches = 10) {
  for (int i = 0; i < batches; ++i)
    must_append(log, make_batch({.count = 10}));
}

TEST(LogTruncate, CutsAtEveryKindOfPlaceAndGoesOn) {
  for (const Offset to : {0, 10, 25, 30, 31, 59, 60, 61, 95, 99}) {
    for (const Restart how : kRestarts) {
      SCOPED_TRACE(std::to_string(to) + " restart " + std::to_string(static_cast<int>(how)));
      SimStore store;
      std::shared_ptr<Log> log = store.open_log(small_segments());
      fill(*log);

      ASSERT_TRUE(log->truncate(to).ok());
      EXPECT_EQ(log->offsets().log_end, to);
      restart(store, log, how, small_segments());

      ASSERT_TRUE(log);
      const Offset kept = to / 10 * 10;
      EXPECT_EQ(read_offsets(*log, Isolation::kLogEnd).size(), static_cast<std::size_t>(kept));
      const Offset next = must_append(*log, make_batch({.count = 3}));
      EXPECT_GE(next, kept);
      EXPECT_LE(next, to);
      restart(store, log, how, small_segments());
      ASSERT_TRUE(log);
      EXPECT_EQ(read_offsets(*log, Isolation::kLogEnd).size(), static_cast<std::size_t>(kept + 3));
      EXPECT_EQ(log->offsets().log_end, next + 3);
    }
  }
}

TEST(LogTruncate, BelowTheFirstSegmentStartsAnewThere) {
  for (const Restart how : kRestarts) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log(small_segments());
    fill(*log);
    ASSERT_EQ(log->delete_records(60).value(), 60);
    EXPECT_EQ(log->apply_retention().value(), 2U);
    ASSERT_TRUE(log->truncate(25).ok());
    restart(store, log, how, small_segments());
    EXPECT_EQ(log->offsets().log_start, 25);
    EXPECT_EQ(log->offsets().log_end, 25);
    EXPECT_EQ(must_append(*log, make_batch({})), 25);
    EXPECT_EQ(read_offsets(*log, Isolation::kLogEnd), (Offsets{25}));
  }
}

TEST(LogTruncate, BelowTheLogStartLowersIt) {
  for (const Restart how : kRestarts) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log(small_segments());
    fill(*log);
    ASSERT_EQ(log->delete_records(25).value(), 25);
    ASSERT_TRUE(log->truncate(20).ok());
    restart(store, log, how, small_segments());
    EXPECT_EQ(log->offsets().log_start, 20);
    EXPECT_EQ(log->offsets().log_end, 20);
    EXPECT_EQ(must_append(*log, make_batch({})), 20);
  }
}

TEST(LogTruncate, FullyStartsAtTheOffsetGiven) {
  for (const Offset at : {Offset{0}, Offset{25}, Offset{500}, Offset{5'000'000'000}}) {
    for (const Restart how : kRestarts) {
      SimStore store;
      std::shared_ptr<Log> log = store.open_log(small_segments());
      ASSERT_TRUE(log->assign_leader_epoch(1).ok());
      must_append(*log, make_batch({.producer_id = 7, .epoch = 0, .sequence = 0}));
      fill(*log);
      ASSERT_TRUE(log->truncate_fully(at).ok());
      restart(store, log, how, small_segments());
      ASSERT_TRUE(log);
      EXPECT_EQ(log->offsets().log_start, at);
      EXPECT_EQ(log->offsets().log_end, at);
      EXPECT_EQ(log->offsets().high_watermark, at);
      EXPECT_TRUE(log->state()->producers.empty());
      EXPECT_TRUE(log->state()->leader_epochs.empty());
      EXPECT_EQ(must_append(*log, make_batch({})), at);
      restart(store, log, how, small_segments());
      EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{at}));
    }
  }
}

TEST(LogTruncate, AboveTheEndIsNothing) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  fill(*log, 1);
  EXPECT_TRUE(log->truncate(11).ok());
  EXPECT_EQ(log->truncate(-1).error().code, ErrorCode::kOffsetOutOfRange);
  EXPECT_EQ(log->truncate_fully(-1).error().code, ErrorCode::kOffsetOutOfRange);
  EXPECT_EQ(log->offsets().log_end, 10);
}

TEST(LogTruncate, H113ToTheEndRemovesAnEpochWithoutData) {
  for (const Restart how : kRestarts) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log();
    ASSERT_TRUE(log->assign_leader_epoch(0).ok());
    fill(*log, 1);
    ASSERT_TRUE(log->assign_leader_epoch(3).ok());
    ASSERT_TRUE(log->truncate(10).ok());
    restart(store, log, how);
    EXPECT_EQ(log->leader_epoch(), 0);
    ASSERT_EQ(log->state()->leader_epochs.size(), 1U);
  }
}

TEST(LogTruncate, RemovesEpochsAboveTheCut) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  for (const LeaderEpoch epoch : {0, 1, 3}) {
    ASSERT_TRUE(log->assign_leader_epoch(epoch).ok());
    fill(*log, 1);
  }
  ASSERT_TRUE(log->truncate(15).ok());
  EXPECT_EQ(log->leader_epoch(), 1);
  EXPECT_EQ(log->end_offset_for_epoch(0)->end_offset, 10);
  store.kill_and_reopen(log);
  EXPECT_EQ(log->leader_epoch(), 0) << "its only batch was cut";
}

TEST(LogTruncate, PagesStayReadableWhatsoeverIsCut) {
  for (const Offset to : {0, 15, 30, 50}) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log(small_segments());
    fill(*log);
    FetchBuffer buffer;
    FetchRequest request;
    request.file_ranges_only = true;
    const FetchPage page = log->fetch(request, buffer).value();
    const auto read = [&page] {
      std::vector<std::byte> all;
      for (const FileRange& range : page.file_ranges()) {
        std::vector<std::byte> part(static_cast<std::size_t>(range.bytes));
        EXPECT_EQ(range.file->read_at(range.position, part).value(), part.size());
        all.insert(all.end(), part.begin(), part.end());
      }
      return all;
    };
    const std::vector<std::byte> before = read();
    ASSERT_FALSE(before.empty());

    ASSERT_TRUE(log->truncate(to).ok());
    must_append(*log, make_batch({.count = 10, .value = "other"}));

    EXPECT_EQ(read(), before) << to;
    store.kill_and_reopen(log, small_segments());
    EXPECT_EQ(log->offsets().log_end, (to == 15 ? 15 : to) + 10);
  }
}

TEST(LogTruncate, ACrashAtAnyPointLeavesTheOldOrTheNewEnd) {
  for (std::uint64_t at = 0;; ++at) {
    SimStore store(nullptr, at + 1);
    std::shared_ptr<Log> log = store.open_log(small_segments());
    fill(*log);
    store.io().crash_at(store.io().operation_count() + at);
    const bool done = log->truncate(40).ok();
    log.reset();
    store.power_cut(at % 2 == 0 ? PowerCut::kNoneKept : PowerCut::kSubset, at);
    store.open();
    log = store.open_log(small_segments());
    ASSERT_TRUE(log) << at;
    const Offset end = log->offsets().log_end;
    EXPECT_GE(end, 40) << at;
    EXPECT_EQ(end % 10, 0) << at;
    if (done) {
      EXPECT_EQ(end, 40);
      break;
    }
    EXPECT_EQ(must_append(*log, make_batch({})), end);
    ASSERT_LT(at, 500U);
  }
}

TEST(LogDeleteRecords, H044TheStartMayLieInsideABatch) {
  for (const Restart how : kRestarts) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log();
    fill(*log, 3);
    EXPECT_EQ(log->delete_records(15).value(), 15);
    restart(store, log, how);
    EXPECT_EQ(log->offsets().log_start, 15);
    FetchBuffer buffer;
    FetchRequest request;
    request.offset = 10;
    EXPECT_EQ(log->fetch(request, buffer).error().code, ErrorCode::kOffsetOutOfRange);
    const Offsets offsets = read_offsets(*log, Isolation::kReadUncommitted);
    ASSERT_EQ(offsets.size(), 15U);
    EXPECT_EQ(offsets.front(), 15);
    EXPECT_EQ(log->offset_for_timestamp(0, Isolation::kReadUncommitted)->offset, 15);
    EXPECT_EQ(log->offset_for_timestamp(kEarliestTimestamp, Isolation::kLogEnd)->offset, 15);
  }
}

TEST(LogDeleteRecords, IsBoundedByTheHighWatermarkAndNeverGoesBack) {
  LogOptions options;
  options.visibility = Visibility::kEmbedder;
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  fill(*log, 3);
  log->set_high_watermark(20).value();
  EXPECT_EQ(log->delete_records(21).error().code, ErrorCode::kOffsetOutOfRange);
  EXPECT_EQ(log->delete_records(-2).error().code, ErrorCode::kOffsetOutOfRange);
  EXPECT_EQ(log->delete_records(-1).value(), 20);
  EXPECT_EQ(log->delete_records(5).value(), 20);
  EXPECT_EQ(log->offsets().log_start, 20);
}

TEST(LogDeleteRecords, TheStableOffsetIsNotBelowTheStart) {
  for (const Restart how : kRestarts) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log();
    must_append(
        *log,
        make_batch(
            {.producer_id = 7, .epoch = 0, .sequence = 0, .count = 10, .transactional = true}));
    fill(*log, 2);
    ASSERT_EQ(log->delete_records(15).value(), 15);
    restart(store, log, how);
    EXPECT_EQ(log->offsets().last_stable, 15);
    EXPECT_EQ(log->state()->first_unstable_offset, 15);
    must_append(*log, make_marker(7, 0, ControlType::kAbort), as_coordinator());
    EXPECT_EQ(log->offsets().last_stable, 31);
  }
}

}  // namespace
}  // namespace oncelog::testing
