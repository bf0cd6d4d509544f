// Reading: byte limits, gaps, damaged indexes, lookups by time, legacy batches.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "storage/base/endian.h"
#include "tests/support/golden.h"
#include "tests/txn/log_support.h"

namespace oncelog::testing {
namespace {

using Offsets = std::vector<Offset>;
constexpr TimestampMs kNow = SimClock::kStartMs;

Result<FetchPage> fetch(const Log& log, FetchBuffer& buffer, Offset offset,
                        std::int64_t bytes_max = 1 << 20, bool at_least_one = true) {
  FetchRequest request;
  request.offset = offset;
  request.bytes_max = bytes_max;
  request.at_least_one = at_least_one;
  return log.fetch(request, buffer);
}

std::int64_t batch_bytes() {
  return static_cast<std::int64_t>(make_batch({}).size());
}

TEST(LogFetch, H104NeverCutsABatch) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  for (int i = 0; i < 5; ++i)
    must_append(*log, make_batch({}));
  FetchBuffer buffer;
  for (const std::int64_t bytes :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{61}, batch_bytes() - 1}) {
    const FetchPage one = fetch(*log, buffer, 1, bytes).value();
    EXPECT_EQ(one.batches().size(), 1U);
    EXPECT_EQ(one.next_offset, 2);
    const FetchPage none = fetch(*log, buffer, 1, bytes, false).value();
    EXPECT_TRUE(none.batches().empty());
    EXPECT_EQ(none.next_offset, 1);
    EXPECT_EQ(none.bytes_needed, batch_bytes());
  }
  const FetchPage two = fetch(*log, buffer, 1, 3 * batch_bytes() - 1, false).value();
  EXPECT_EQ(two.batches().size(), 2U);
  EXPECT_EQ(two.bytes, 2 * batch_bytes());
  const FetchPage exact = fetch(*log, buffer, 1, 3 * batch_bytes(), false).value();
  EXPECT_EQ(exact.batches().size(), 3U);
}

TEST(LogFetch, GoesOverSegmentsWithinItsLimit) {
  LogOptions options;
  options.segment_bytes = 2 * batch_bytes();
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  for (int i = 0; i < 9; ++i)
    must_append(*log, make_batch({}));
  FetchBuffer buffer;
  EXPECT_EQ(fetch(*log, buffer, 1, 5 * batch_bytes())->next_offset, 6);
  EXPECT_EQ(fetch(*log, buffer, 0)->batches().size(), 9U);
}

TEST(LogFetch, KnowsItsBounds) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  must_append(*log, make_batch({.count = 5}));
  FetchBuffer buffer;
  EXPECT_EQ(fetch(*log, buffer, -1).error().code, ErrorCode::kOffsetOutOfRange);
  EXPECT_EQ(fetch(*log, buffer, 6).error().code, ErrorCode::kOffsetOutOfRange);
  const FetchPage end = fetch(*log, buffer, 5).value();
  EXPECT_TRUE(end.batches().empty());
  EXPECT_EQ(end.next_offset, 5);
  const FetchPage middle = fetch(*log, buffer, 3).value();
  ASSERT_EQ(middle.batches().size(), 1U);
  EXPECT_EQ(middle.batches()[0].header().base_offset, 0);
}

TEST(LogFetch, WithholdsABatchThatReachesOverTheHighWatermark) {
  LogOptions options;
  options.visibility = Visibility::kEmbedder;
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  must_append(*log, make_batch({.count = 5}));
  must_append(*log, make_batch({.count = 5}));
  EXPECT_EQ(log->set_high_watermark(7).value(), 7);
  FetchBuffer buffer;
  const FetchPage page = fetch(*log, buffer, 0).value();
  EXPECT_EQ(page.batches().size(), 1U);
  EXPECT_EQ(page.next_offset, 5);
  EXPECT_TRUE(fetch(*log, buffer, 5)->batches().empty());
  EXPECT_TRUE(fetch(*log, buffer, 9)->batches().empty()) << "no error up to the log end";
  EXPECT_EQ(log->offsets().high_watermark, 7);
}

TEST(LogFetch, H102StartsInAGap) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  for (const Offset offset : {0, 7, 30})
    must_append(*log, numbered(make_batch({}), offset), as_replica());
  FetchBuffer buffer;
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(fetch(*log, buffer, 3, 1)->batches()[0].header().base_offset, 7);
    EXPECT_EQ(fetch(*log, buffer, 8, 1)->batches()[0].header().base_offset, 30);
    EXPECT_EQ(fetch(*log, buffer, 29, 1)->batches()[0].header().base_offset, 30);
    store.kill_and_reopen(log);
  }
}

TEST(LogFetch, H102MovesOnBehindABatchWithoutItsLastRecords) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  RecordBatchBuilder builder;
  RecordInput record;
  record.timestamp_ms = kNow;
  builder.add_at(0, record);
  builder.add_at(9, record);
  Buffer sparse = std::move(builder).finish();
  must_append(*log, numbered(std::move(sparse), 20), as_replica());
  must_append(*log, numbered(make_batch({}), 30), as_replica());
  FetchBuffer buffer;
  EXPECT_EQ(fetch(*log, buffer, 26, 1)->next_offset, 30);
  EXPECT_EQ(fetch(*log, buffer, 30, 1)->next_offset, 31);
}

TEST(LogFetch, H103MovesOverGapsAtTheEndOfSegments) {
  LogOptions options;
  options.visibility = Visibility::kEmbedder;
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  must_append(*log, numbered(make_batch({}), 0), as_replica());
  ASSERT_EQ(log->roll().value(), 1);
  must_append(*log, numbered(make_batch({}), 10), as_replica());
  ASSERT_EQ(log->roll().value(), 11);
  must_append(*log, numbered(make_batch({}), 20), as_replica());
  log->set_high_watermark(11).value();
  FetchBuffer buffer;
  EXPECT_EQ(fetch(*log, buffer, 0, 1)->next_offset, 1);
  EXPECT_EQ(fetch(*log, buffer, 1, 1)->next_offset, 11);
  EXPECT_EQ(fetch(*log, buffer, 11)->next_offset, 11);
  log->set_high_watermark(15).value();
  EXPECT_TRUE(fetch(*log, buffer, 11)->batches().empty());
}

TEST(LogFetch, H103PassesSegmentsOfMarkersOnly) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  must_append(*log, make_batch({}));
  ASSERT_TRUE(log->roll().ok());
  for (ProducerId id = 1; id < 5; ++id)
    must_append(*log, make_marker(id, 0, ControlType::kAbort), as_coordinator());
  ASSERT_TRUE(log->roll().ok());
  must_append(*log, make_batch({}));
  EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (Offsets{0, 5}));
}

TEST(LogFetch, FileRangesHoldWhatTheBatchesHold) {
  LogOptions options;
  options.segment_bytes = 3 * batch_bytes();
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  for (int i = 0; i < 8; ++i)
    must_append(*log, make_batch({.value = "v"}));
  FetchBuffer buffer;
  FetchRequest request;
  request.offset = 1;
  request.file_ranges_only = true;
  const FetchPage ranges = log->fetch(request, buffer).value();
  EXPECT_TRUE(ranges.batches().empty());
  EXPECT_EQ(ranges.next_offset, 8);
  std::vector<std::byte> from_files;
  for (const FileRange& range : ranges.file_ranges()) {
    std::vector<std::byte> part(static_cast<std::size_t>(range.bytes));
    ASSERT_TRUE(range.file->read_at(range.position, part).ok());
    from_files.insert(from_files.end(), part.begin(), part.end());
  }
  EXPECT_EQ(ranges.file_ranges().size(), 3U);
  std::vector<std::byte> from_batches;
  FetchBuffer other;
  const FetchPage page = fetch(*log, other, 1).value();
  for (const RecordBatchView& batch : page.batches())
    from_batches.insert(from_batches.end(), batch.bytes().begin(), batch.bytes().end());
  EXPECT_EQ(from_files, from_batches);
  EXPECT_EQ(ranges.bytes, page.bytes);
}

TEST(LogFetch, H050AnIndexThatLeadsAstrayCostsNoAnswer) {
  LogOptions options;
  options.index_interval_bytes = 0;
  for (const bool while_open : {false, true}) {
    for (const std::int32_t position : {7, 100'000, 2147483647, -5, 0}) {
      SimStore store;
      std::shared_ptr<Log> log = store.open_log(options);
      for (int i = 0; i < 10; ++i)
        must_append(*log, make_batch({}));
      ASSERT_TRUE(log->roll().ok());
      must_append(*log, make_batch({}));
      log.reset();
      ASSERT_TRUE(store.store().close().ok());
      const auto damage = [&] {
        std::vector<std::byte> index = *store.disk().read_file(store.file(0, ".index"));
        ASSERT_EQ(index.size(), 72U);
        for (std::size_t entry = 0; entry < 72; entry += 8)
          store_be(std::span(index), entry + 4, position);
        ASSERT_TRUE(store.disk().write_file(store.file(0, ".index"), index).ok());
      };
      if (!while_open) damage();
      store.open();
      if (while_open) damage();
      log = store.open_log(options);
      ASSERT_TRUE(log);
      FetchBuffer buffer;
      for (Offset offset = 0; offset < 11; ++offset) {
        const Result<FetchPage> page = fetch(*log, buffer, offset, 1);
        ASSERT_TRUE(page.ok()) << to_string(page.error());
        ASSERT_EQ(page->batches().size(), 1U) << position << ' ' << offset;
        EXPECT_EQ(page->batches()[0].header().base_offset, offset);
      }
    }
  }
}

TEST(LogFetch, H052MissingIndexesAreMadeAgain) {
  LogOptions options;
  options.index_interval_bytes = 0;
  for (const char* const extension : {".index", ".timeindex"}) {
    for (const Offset base : {0, 10}) {
      SimStore store;
      std::shared_ptr<Log> log = store.open_log(options);
      for (int i = 0; i < 10; ++i)
        must_append(*log, make_batch({.timestamp = kNow + i}));
      ASSERT_TRUE(log->roll().ok());
      for (int i = 0; i < 10; ++i)
        must_append(*log, make_batch({.timestamp = kNow + 10 + i}));
      log.reset();
      ASSERT_TRUE(store.store().close().ok());
      const std::vector<std::byte> before = *store.disk().read_file(store.file(base, extension));
      ASSERT_TRUE(store.disk().remove_file(store.file(base, extension)).ok());
      store.open();
      log = store.open_log(options);
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(log->offset_for_timestamp(kNow + i, Isolation::kLogEnd)->offset, i);
      }
      EXPECT_EQ(read_offsets(*log, Isolation::kLogEnd).size(), 20U);
      store.reopen(log, options);
      EXPECT_EQ(*store.disk().read_file(store.file(base, extension)), before);
    }
  }
}

/// One batch with records at the times given.
Buffer timed(const std::vector<TimestampMs>& times, Codec codec = Codec::kNone) {
  RecordBatchOptions options;
  options.codec = codec;
  RecordBatchBuilder builder(options);
  for (const TimestampMs time : times) {
    RecordInput record;
    record.timestamp_ms = time;
    builder.add(record);
  }
  return std::move(builder).finish();
}

TEST(LogLookup, H057FindsTheFirstRecordAtOrAfterATime) {
  for (const Codec codec : {Codec::kNone, Codec::kZstd}) {
    SimStore store;
    const std::shared_ptr<Log> log = store.open_log();
    const auto find = [&](TimestampMs time) {
      return log->offset_for_timestamp(time, Isolation::kReadUncommitted)->offset;
    };
    must_append(*log, timed({100, 200, 300}, codec));
    ASSERT_TRUE(log->roll().ok());
    must_append(*log, timed({250, 500, 400}, codec));
    EXPECT_EQ(find(0), 0);
    EXPECT_EQ(find(150), 1);
    EXPECT_EQ(find(300), 2);
    EXPECT_EQ(find(301), 4);
    EXPECT_EQ(find(500), 4);
    EXPECT_EQ(find(501), kNoOffset);
    EXPECT_EQ(log->offset_for_timestamp(301, Isolation::kLogEnd)->timestamp, 500);
    ASSERT_TRUE(log->delete_records(3).ok());
    EXPECT_EQ(find(150), 3);
    ASSERT_TRUE(log->delete_records(5).ok());
    EXPECT_EQ(find(450), kNoOffset);
  }
}

TEST(LogLookup, H058FindsTheRecordOfTheLargestTimestamp) {
  for (const Codec codec : {Codec::kNone, Codec::kGzip}) {
    for (const TimestampType type : {TimestampType::kCreateTime, TimestampType::kLogAppendTime}) {
      LogOptions options;
      options.timestamp_type = type;
      SimStore store;
      std::shared_ptr<Log> log = store.open_log(options);
      EXPECT_EQ(log->offset_for_timestamp(kMaxTimestamp, Isolation::kLogEnd)->offset, kNoOffset);
      must_append(*log, timed({5, 9, 7}, codec));
      must_append(*log, timed({1, 9}, codec));
      for (int life = 0; life < 2; ++life) {
        const TimestampOffset found =
            log->offset_for_timestamp(kMaxTimestamp, Isolation::kLogEnd).value();
        const bool created = type == TimestampType::kCreateTime;
        EXPECT_EQ(found.offset, created ? 1 : 0);
        EXPECT_EQ(found.timestamp, created ? 9 : kNow);
        store.reopen(log, options);
      }
    }
  }
}

TEST(LogLookup, H055TimestampsBeforeTheFirstOfASegment) {
  LogOptions options;
  options.index_interval_bytes = 0;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  must_append(*log, timed({kNow, kNow - 3'600'000}));
  must_append(*log, timed({kNow - 3'600'000}));
  must_append(*log, timed({kNow - 1, kNow + 1}));
  for (int life = 0; life < 3; ++life) {
    EXPECT_EQ(log->state()->segments[0].largest_timestamp, kNow + 1);
    EXPECT_EQ(log->offset_for_timestamp(kNow + 1, Isolation::kLogEnd)->offset, 4);
    EXPECT_EQ(log->offset_for_timestamp(kNow - 1, Isolation::kLogEnd)->offset, 0);
    if (life == 0) store.reopen(log, options);
    if (life == 1) store.kill_and_reopen(log, options);
  }
  EXPECT_EQ(log->offset_for_timestamp(-7, Isolation::kLogEnd).error().code,
            ErrorCode::kInvalidArgument);
}

TEST(LogFetch, ServesWhatIsGoodAroundADamagedHeader) {
  for (const std::size_t byte : {std::size_t{16}, std::size_t{10}, std::size_t{65}}) {
    LogOptions options;
    SimStore store;
    std::shared_ptr<Log> log = store.open_log(options);
    for (int i = 0; i < 5; ++i)
      must_append(*log, make_batch({.count = 10}));
    log.reset();
    ASSERT_TRUE(store.store().close().ok());
    std::vector<std::byte> bytes = *store.disk().read_file(store.file(0, ".log"));
    bytes[2 * bytes.size() / 5 + byte] ^= std::byte{0x55};
    ASSERT_TRUE(store.disk().write_file(store.file(0, ".log"), bytes).ok());
    ASSERT_TRUE(store.disk().remove_file("data/t-0/oncelog.sidecar").ok());
    ASSERT_TRUE(store.disk().remove_file(store.file(0, ".index")).ok());
    options.on_damage = OnDamage::kReadOnly;
    store.open();
    log = store.open_log(options);
    ASSERT_TRUE(log);
    FetchBuffer buffer;
    const Result<FetchPage> before = fetch(*log, buffer, 0);
    ASSERT_TRUE(before.ok()) << byte << ' ' << to_string(before.error());
    EXPECT_EQ(before->batches().size(), 2U);
    EXPECT_EQ(before->next_offset, 20);
    const Result<FetchPage> inside = fetch(*log, buffer, 25);
    ASSERT_FALSE(inside.ok());
    EXPECT_EQ(inside.error().code, ErrorCode::kDamaged);
    EXPECT_EQ(refusal(*log, make_batch({})), ErrorCode::kDamaged);
  }
}

TEST(LogFetch, GivesLegacyBatchesAsBatchesOfTheNewFormat) {
  const std::vector<test::GoldenCase> cases = test::golden_cases();
  if (cases.empty()) GTEST_SKIP() << test::kNoGoldenData;
  const auto found = std::find_if(cases.begin(), cases.end(),
                                  [](const auto& one) { return one.name == "legacy-magic"; });
  if (found == cases.end()) GTEST_SKIP() << "no case legacy-magic";
  const auto disk = std::make_shared<SimDisk>();
  for (const auto& entry : std::filesystem::directory_iterator(found->root / "topic-0")) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    ASSERT_TRUE(disk->write_file("data/t-0/" + entry.path().filename().string(),
                                 std::as_bytes(std::span(text)))
                    .ok());
  }
  SimStore store(disk);
  const std::shared_ptr<Log> log = store.open_log();
  ASSERT_TRUE(log);
  EXPECT_EQ(log->offsets().log_end, 34);
  const Offsets offsets = read_offsets(*log, Isolation::kReadUncommitted);
  EXPECT_EQ(offsets.size(), 34U);
  FetchBuffer buffer;
  for (const Offset offset : offsets) {
    const Result<FetchPage> page = fetch(*log, buffer, offset, 1);
    ASSERT_TRUE(page.ok()) << to_string(page.error());
    ASSERT_FALSE(page->batches().empty());
    EXPECT_LE(page->batches()[0].header().base_offset, offset);
    EXPECT_GE(page->batches()[0].header().last_offset(), offset);
    EXPECT_GT(page->next_offset, offset);
  }
  EXPECT_EQ(must_append(*log, make_batch({})), 34);
}

}  // namespace
}  // namespace oncelog::testing
