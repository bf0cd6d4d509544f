// When a log starts a new segment, and what is on the disk of the old one then.
#include <gtest/gtest.h>

#include "index/offset_index.h"
#include "index/time_index.h"
#include "storage/base/endian.h"
#include "tests/txn/log_support.h"

namespace oncelog::testing {
namespace {

using Offsets = std::vector<Offset>;
constexpr TimestampMs kNow = SimClock::kStartMs;

Offsets bases_of(Log& log) {
  Offsets bases;
  const Result<LogState> state = log.state();
  EXPECT_TRUE(state.ok()) << to_string(state.error());
  if (!state.ok()) return bases;
  for (const SegmentInfo& segment : state->segments)
    bases.push_back(segment.base_offset);
  return bases;
}

std::int64_t batch_bytes() {
  return static_cast<std::int64_t>(make_batch({}).size());
}

TEST(LogRoll, ASegmentMayBeExactlyFull) {
  LogOptions options;
  options.segment_bytes = 3 * batch_bytes();
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  for (int i = 0; i < 7; ++i)
    must_append(*log, make_batch({}));
  EXPECT_EQ(bases_of(*log), (Offsets{0, 3, 6}));
  store.kill_and_reopen(log, options);
  EXPECT_EQ(bases_of(*log), (Offsets{0, 3, 6}));
  must_append(*log, make_batch({}));
  EXPECT_EQ(bases_of(*log), (Offsets{0, 3, 6}));
}

TEST(LogRoll, OneByteShortRolls) {
  LogOptions options;
  options.segment_bytes = 2 * batch_bytes() - 1;
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  for (int i = 0; i < 3; ++i)
    must_append(*log, make_batch({}));
  EXPECT_EQ(bases_of(*log), (Offsets{0, 1, 2}));
}

TEST(LogRoll, TimeCountsByRecordTimestampsFromTheFirstBatch) {
  LogOptions options;
  options.segment_ms = 1000;
  for (const bool reopened : {false, true}) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log(options);
    must_append(*log, make_batch({.timestamp = kNow}));
    store.io().clock().advance_ms(100'000);
    if (reopened) store.reopen(log, options);
    must_append(*log, make_batch({.timestamp = kNow + 1000}));
    EXPECT_EQ(bases_of(*log), (Offsets{0}));
    must_append(*log, make_batch({.timestamp = kNow + 1001}));
    EXPECT_EQ(bases_of(*log), (Offsets{0, 2}));
    must_append(*log, make_batch({.timestamp = kNow}));
    EXPECT_EQ(bases_of(*log), (Offsets{0, 2}));
  }
}

TEST(LogRoll, H111OldAndNewTimestampsInTurnMakeFewSegments) {
  LogOptions options;
  options.segment_ms = 604'800'000;
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  for (int i = 0; i < 1000; ++i)
    must_append(*log, make_batch({.timestamp = i % 2 == 0 ? kNow : kNow - 30 * 86'400'000LL}));
  EXPECT_LE(bases_of(*log).size(), 3U);
}

TEST(LogRoll, AFullOffsetIndexRolls) {
  LogOptions options;
  options.index_interval_bytes = 0;
  options.segment_index_bytes = 40;  // 5 offset entries, 3 time entries
  for (const bool rising : {false, true}) {
    SimStore store;
    std::shared_ptr<Log> log = store.open_log(options);
    for (int i = 0; i < 14; ++i)
      must_append(*log, make_batch({.timestamp = rising ? kNow + i : kNow}));
    // The first batch has no entry; the time index is full one entry early (SEEN 2).
    EXPECT_EQ(bases_of(*log), rising ? (Offsets{0, 3, 6, 9, 12}) : (Offsets{0, 6, 12}));
    store.kill_and_reopen(log, options);
    EXPECT_EQ(read_offsets(*log, Isolation::kLogEnd).size(), 14U);
  }
}

TEST(LogRoll, H053AnIndexWithoutRoomNeverRollsToTheSameBase) {
  LogOptions options;
  options.index_interval_bytes = 0;
  for (const std::int64_t index_bytes : {4, 8, 12, 16, 24}) {
    options.segment_index_bytes = index_bytes;
    SimStore store;
    std::shared_ptr<Log> log = store.open_log(options);
    for (int i = 0; i < 4; ++i)
      must_append(*log, make_batch({.timestamp = kNow + i}));
    Offsets bases = bases_of(*log);
    EXPECT_EQ(std::adjacent_find(bases.begin(), bases.end()), bases.end()) << index_bytes;
    store.reopen(log, options);
    EXPECT_EQ(read_offsets(*log, Isolation::kLogEnd), (Offsets{0, 1, 2, 3})) << index_bytes;
    EXPECT_EQ(bases_of(*log), bases);
  }
}

TEST(LogRoll, H053AnEmptyActiveSegmentStays) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  EXPECT_EQ(log->roll().value(), 0);
  must_append(*log, make_batch({.count = 100}));
  EXPECT_EQ(log->roll().value(), 100);
  EXPECT_EQ(log->roll().value(), 100);
  must_append(*log, make_batch({}));
  ASSERT_TRUE(log->truncate(100).ok());
  EXPECT_EQ(log->roll().value(), 100);
  EXPECT_EQ(must_append(*log, make_batch({})), 100);
  EXPECT_EQ(bases_of(*log), (Offsets{0, 100}));
  store.kill_and_reopen(log);
  EXPECT_EQ(bases_of(*log), (Offsets{0, 100}));
  EXPECT_EQ(log->offsets().log_end, 101);
}

TEST(LogRoll, H049OffsetsTooFarFromTheBaseRoll) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  must_append(*log, numbered(make_batch({}), 0), as_replica());
  must_append(*log, numbered(make_batch({}), 2147483647), as_replica());
  EXPECT_EQ(bases_of(*log), (Offsets{0}));
  must_append(*log, numbered(make_batch({}), 2147483648), as_replica());
  EXPECT_EQ(bases_of(*log), (Offsets{0, 2147483648}));
  EXPECT_EQ(read_offsets(*log, Isolation::kLogEnd), (Offsets{0, 2147483647, 2147483648}));
}

TEST(LogRoll, H049AnEmptySegmentTooFarBelowIsLeftBehind) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  must_append(*log, numbered(make_batch({}), 5'000'000'000), as_replica());
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(log->offsets().log_end, 5'000'000'001);
    EXPECT_EQ(bases_of(*log).back(), 5'000'000'000);
    store.kill_and_reopen(log);
  }
}

TEST(LogRoll, H049ASetThatSpansTooManyOffsetsIsRefused) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  must_append(*log, make_batch({}));
  const std::uint64_t before = store.disk().digest();
  const Result<AppendResult> result = log->append(
      joined(numbered(make_batch({}), 1), numbered(make_batch({}), 2147483649)), as_replica());
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(store.disk().digest(), before);
  EXPECT_EQ(must_append(*log, make_batch({})), 1);
}

TEST(LogRoll, WritesIndexesByTheRuleOfAppendFiveAndASnapshot) {
  LogOptions options;
  options.index_interval_bytes = batch_bytes();
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  // Entries come when more than one batch lies since the last one: at batches 2, 4, 6.
  const TimestampMs times[] = {kNow + 5, kNow + 1, kNow + 3, kNow + 9, kNow + 2, kNow + 7, kNow};
  for (const TimestampMs time : times)
    must_append(*log, make_batch({.timestamp = time}));
  ASSERT_EQ(log->roll().value(), 7);
  must_append(*log, make_batch({}));
  ASSERT_TRUE(log->flush().ok());
  store.io().executor().run_pending();
  store.store().poll();
  log->state().value();

  const auto expect_files = [&] {
    std::vector<std::byte> offsets(24);
    std::vector<std::byte> wanted_times(24);
    for (int i = 0; i < 3; ++i) {
      store_be(std::span(offsets), static_cast<std::size_t>(8 * i), 2 + 2 * i);
      store_be(std::span(offsets), static_cast<std::size_t>(8 * i + 4),
               static_cast<std::int32_t>((2 + 2 * i) * batch_bytes()));
    }
    store_be(std::span(wanted_times), 0, kNow + 5);
    store_be(std::span(wanted_times), 8, std::int32_t{0});
    store_be(std::span(wanted_times), 12, kNow + 9);
    store_be(std::span(wanted_times), 20, std::int32_t{3});
    EXPECT_EQ(store.disk().read_file(store.file(0, ".index")).value(), offsets);
    EXPECT_EQ(store.disk().read_file(store.file(0, ".timeindex")).value(), wanted_times);
    EXPECT_FALSE(store.disk().read_file(store.file(0, ".txnindex")).ok());
    EXPECT_TRUE(store.disk().read_file(store.file(7, ".snapshot")).ok());
  };
  expect_files();
  store.reopen(log, options);
  expect_files();
  ASSERT_TRUE(store.disk().remove_file(store.file(0, ".index")).ok());
  ASSERT_TRUE(store.disk().remove_file(store.file(0, ".timeindex")).ok());
  store.kill_and_reopen(log, options);
  EXPECT_EQ(log->offset_for_timestamp(kNow + 8, Isolation::kLogEnd)->offset, 3);
  store.reopen(log, options);
  expect_files();
}

TEST(LogRoll, TheRollAndItsSealSurviveAPowerCutAtEveryPoint) {
  LogOptions options;
  options.segment_bytes = 2 * batch_bytes();
  for (std::uint64_t at = 0;; ++at) {
    SimStore store(nullptr, at + 1);
    std::shared_ptr<Log> log = store.open_log(options);
    const std::uint64_t begin = store.io().operation_count();
    store.io().crash_at(begin + at);
    Offset acknowledged = 0;
    for (int i = 0; i < 6; ++i) {
      const Result<AppendResult> result = log->append(make_batch({}));
      if (!result.ok()) break;
      acknowledged = result->last_offset + 1;
    }
    log.reset();
    const bool finished = acknowledged == 6;
    store.power_cut(at % 2 == 0 ? PowerCut::kSubset : PowerCut::kTorn, at);
    store.open();
    log = store.open_log(options);
    ASSERT_TRUE(log) << "crash at " << at;
    EXPECT_GE(log->offsets().log_end, acknowledged) << "crash at " << at;
    const Offsets offsets = read_offsets(*log, Isolation::kReadUncommitted);
    for (std::size_t i = 0; i < offsets.size(); ++i)
      EXPECT_EQ(offsets[i], static_cast<Offset>(i));
    EXPECT_EQ(must_append(*log, make_batch({})), static_cast<Offset>(offsets.size()));
    if (finished) break;
    ASSERT_LT(at, 500U);
  }
}

}  // namespace
}  // namespace oncelog::testing
