// Offsets, leader epochs, replica appends, and what validation stores or refuses.
#include <gtest/gtest.h>

#include "oncelog/record_batch.h"

#include "tests/txn/log_support.h"

namespace oncelog::testing {
namespace {

using Offsets = std::vector<Offset>;

/// The batches of a log as they are stored.
std::vector<BatchHeader> headers_of(const Log& log) {
  std::vector<BatchHeader> headers;
  FetchBuffer buffer;
  FetchRequest request;
  request.offset = log.offsets().log_start;
  request.isolation = Isolation::kLogEnd;
  request.bytes_max = 16 << 20;
  const Result<FetchPage> page = log.fetch(request, buffer);
  EXPECT_TRUE(page.ok()) << to_string(page.error());
  if (!page.ok()) return headers;
  for (const RecordBatchView& batch : page->batches()) {
    EXPECT_TRUE(batch.crc_matches());
    headers.push_back(batch.header());
  }
  return headers;
}

std::vector<std::string> values_of(const Log& log) {
  std::vector<std::string> values;
  FetchBuffer buffer;
  FetchRequest request;
  request.bytes_max = 16 << 20;
  const Result<FetchPage> page = log.fetch(request, buffer);
  EXPECT_TRUE(page.ok());
  std::vector<Records> storage;
  const Result<std::vector<VisibleRecord>> records =
      visible_records(*page, 0, Isolation::kReadUncommitted, storage);
  EXPECT_TRUE(records.ok());
  for (const VisibleRecord& one : *records) {
    const auto bytes = *one.record.value;
    values.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return values;
}

TEST(LogEpochs, StampsAppendsWithTheAssignedEpochAndKeepsItOverReopens) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();

  must_append(*log, make_batch({}));
  ASSERT_TRUE(log->assign_leader_epoch(3).ok());
  must_append(*log, make_batch({.count = 2}));
  ASSERT_TRUE(log->assign_leader_epoch(3).ok());
  EXPECT_EQ(log->assign_leader_epoch(2).error().code, ErrorCode::kFencedLeaderEpoch);
  EXPECT_EQ(log->assign_leader_epoch(-1).error().code, ErrorCode::kInvalidArgument);

  for (int life = 0; life < 2; ++life) {
    const std::vector<BatchHeader> headers = headers_of(*log);
    ASSERT_EQ(headers.size(), 2U);
    EXPECT_EQ(headers[0].leader_epoch, kNoLeaderEpoch);
    EXPECT_EQ(headers[1].leader_epoch, 3);
    EXPECT_EQ(log->leader_epoch(), 3);
    EXPECT_EQ(log->end_offset_for_epoch(3)->end_offset, 3);
    EXPECT_EQ(log->end_offset_for_epoch(4)->end_offset, kNoOffset);
    store.kill_and_reopen(log);
  }
}

TEST(LogEpochs, FencesAppendsOfAnotherEpochAndChangesNothing) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  ASSERT_TRUE(log->assign_leader_epoch(5).ok());
  must_append(*log, make_batch({}));
  const std::uint64_t before = store.disk().digest();
  AppendOptions options;

  options.leader_epoch = 4;
  EXPECT_EQ(refusal(*log, make_batch({}), options), ErrorCode::kFencedLeaderEpoch);
  options.leader_epoch = 6;
  EXPECT_EQ(refusal(*log, make_batch({}), options), ErrorCode::kUnknownLeaderEpoch);
  EXPECT_EQ(store.disk().digest(), before);
  options.leader_epoch = 5;
  EXPECT_EQ(must_append(*log, make_batch({}), options), 1);
}

TEST(LogReplica, TakesOffsetsEpochsAndGapsAsTheyAre) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();

  const Offset first = must_append(
      *log,
      joined(numbered(make_batch({.count = 3}), 10, 1), numbered(make_batch({.count = 2}), 20, 2)),
      as_replica());

  EXPECT_EQ(first, 10);
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(log->offsets().log_end, 22);
    EXPECT_EQ(read_offsets(*log, Isolation::kLogEnd), (Offsets{10, 11, 12, 20, 21}));
    const LogState state = *log->state();
    ASSERT_EQ(state.leader_epochs.size(), 2U);
    EXPECT_EQ(state.leader_epochs[0].start_offset, 10);
    EXPECT_EQ(state.leader_epochs[1].start_offset, 20);
    store.kill_and_reopen(log);
  }
}

TEST(LogReplica, RefusesOffsetsThatDoNotRise) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  must_append(*log, make_batch({.count = 5}));
  const std::uint64_t before = store.disk().digest();

  EXPECT_EQ(refusal(*log, numbered(make_batch({}), 4), as_replica()),
            ErrorCode::kOffsetsOutOfOrder);
  EXPECT_EQ(
      refusal(*log, joined(numbered(make_batch({.count = 2}), 6), numbered(make_batch({}), 7)),
              as_replica()),
      ErrorCode::kOffsetsOutOfOrder);
  EXPECT_EQ(refusal(*log, numbered(make_batch({}), -3), as_replica()),
            ErrorCode::kOffsetsOutOfOrder);
  EXPECT_EQ(store.disk().digest(), before);
  EXPECT_EQ(log->offsets().log_end, 5);
}

TEST(LogReplica, DropsBatchesOfANewerEpochThanTheFetchAndAllBehindThem) {  // SEEN 15
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();

  must_append(*log,
              joined(numbered(make_batch({}), 0, 1), numbered(make_batch({}), 1, 2),
                     numbered(make_batch({}), 2, 1)),
              as_replica(1));
  const Result<AppendResult> all_newer = log->append(numbered(make_batch({}), 1, 2), as_replica(1));

  EXPECT_EQ(log->offsets().log_end, 1);
  ASSERT_TRUE(all_newer.ok());
  EXPECT_EQ(all_newer->first_offset, kNoOffset);
  EXPECT_EQ(log->leader_epoch(), 1);
}

TEST(LogValidation, RefusesBadBatchesWithoutTouchingDiskOrOffsets) {
  LogOptions options;
  options.message_bytes_max = 200;
  options.segment_bytes = 150;
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  must_append(*log, make_batch({}));
  const std::uint64_t before = store.disk().digest();
  Buffer bad_crc = make_batch({});
  bad_crc.mutable_bytes()[65] ^= std::byte{1};
  Buffer cut = make_batch({});
  cut.shrink(cut.size() - 1);

  EXPECT_EQ(refusal(*log, std::move(bad_crc)), ErrorCode::kCorruptBatch);
  EXPECT_EQ(refusal(*log, std::move(cut)), ErrorCode::kInvalidRecord);
  EXPECT_EQ(refusal(*log, Buffer()), ErrorCode::kInvalidRecord);
  EXPECT_EQ(refusal(*log, numbered(make_batch({}), 1)), ErrorCode::kInvalidRecord);
  EXPECT_EQ(refusal(*log, joined(make_batch({}), make_batch({}))), ErrorCode::kInvalidRecord);
  EXPECT_EQ(refusal(*log, make_marker(1, 0, ControlType::kAbort)), ErrorCode::kInvalidRecord);
  EXPECT_EQ(refusal(*log, make_batch({.value = std::string(140, 'x')})),
            ErrorCode::kMessageTooLarge);
  EXPECT_EQ(refusal(*log, make_batch({.value = std::string(90, 'x')})),
            ErrorCode::kRecordListTooLarge);
  EXPECT_EQ(refusal(*log, make_batch({.timestamp = SimClock::kStartMs + 3'600'001})),
            ErrorCode::kInvalidTimestamp);
  EXPECT_EQ(refusal(*log, make_batch({.producer_id = 7, .epoch = 0, .sequence = -1})),
            ErrorCode::kInvalidRecord);  // H-008
  EXPECT_EQ(refusal(*log, make_batch({.producer_id = 7, .epoch = 0, .sequence = -2147483407})),
            ErrorCode::kInvalidRecord);
  EXPECT_EQ(refusal(*log, make_batch({.sequence = 5})), ErrorCode::kInvalidRecord);
  EXPECT_EQ(store.disk().digest(), before);
  EXPECT_EQ(must_append(*log, make_batch({})), 1);
}

TEST(LogValidation, AcceptsTheLatestTimestampAllowed) {
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log();
  EXPECT_EQ(must_append(*log, make_batch({.timestamp = SimClock::kStartMs + 3'600'000})), 0);
}

TEST(LogValidation, WantsKeysInACompactedLog) {
  LogOptions options;
  options.cleanup_compact = true;
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  EXPECT_EQ(refusal(*log, make_batch({})), ErrorCode::kInvalidRecord);
}

TEST(LogValidation, StampsLogAppendTimeAndAnswersDuplicatesWithIt) {
  LogOptions options;
  options.timestamp_type = TimestampType::kLogAppendTime;
  SimStore store;
  const std::shared_ptr<Log> log = store.open_log(options);
  store.io().clock().advance_ms(1000);
  const BatchSpec spec{.producer_id = 7, .epoch = 0, .sequence = 0, .count = 2, .timestamp = 5};

  const Result<AppendResult> stored = log->append(make_batch(spec));
  store.io().clock().advance_ms(1000);
  const Result<AppendResult> again = log->append(make_batch(spec));

  ASSERT_TRUE(stored.ok() && again.ok());
  EXPECT_EQ(stored->log_append_time, SimClock::kStartMs + 1000);
  EXPECT_TRUE(again->duplicate);
  EXPECT_EQ(again->log_append_time, SimClock::kStartMs + 1000);
  const std::vector<BatchHeader> headers = headers_of(*log);
  ASSERT_EQ(headers.size(), 1U);
  EXPECT_EQ(headers[0].timestamp_type(), TimestampType::kLogAppendTime);
  EXPECT_EQ(headers[0].max_timestamp, SimClock::kStartMs + 1000);
  EXPECT_EQ(headers[0].base_timestamp, 5);  // SEEN 8
}

TEST(LogValidation, RecompressesToTheConfiguredCodecAndKeepsTheProducer) {
  for (const Codec target :
       {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    for (const Codec given :
         {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
      LogOptions options;
      options.compression = target;
      SimStore store;
      const std::shared_ptr<Log> log = store.open_log(options);
      must_append(*log, make_batch({}));
      const BatchSpec spec{.producer_id = 7,
                           .epoch = 2,
                           .sequence = 40,
                           .count = 30,
                           .transactional = true,
                           .codec = given};

      must_append(*log, make_batch(spec));
      must_append(*log, make_marker(7, 2, ControlType::kCommit), as_coordinator());

      const std::vector<BatchHeader> headers = headers_of(*log);
      ASSERT_EQ(headers.size(), 3U);
      EXPECT_EQ(headers[1].codec_bits(), static_cast<int>(target));
      EXPECT_EQ(headers[1].base_offset, 1);
      EXPECT_EQ(headers[1].producer_id, 7);
      EXPECT_EQ(headers[1].producer_epoch, 2);
      EXPECT_EQ(headers[1].base_sequence, 40);
      EXPECT_TRUE(headers[1].is_transactional());
      EXPECT_EQ(headers[1].max_timestamp, SimClock::kStartMs);
      EXPECT_EQ(headers[2].codec_bits(), 0) << "markers are never compressed";
      const std::vector<std::string> values = values_of(*log);
      ASSERT_EQ(values.size(), 31U);
      EXPECT_EQ(values[30], "v29");
      EXPECT_TRUE(log->append(make_batch(spec))->duplicate);
    }
  }
}

}  // namespace
}  // namespace oncelog::testing
