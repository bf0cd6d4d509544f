// The checks of the append path: APPEND.md 2, 3 and 9, BEHAVIOURS.md 15, H008 and H059 to H063.
#include "storage/batch_validator.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "storage/base/endian.h"
#include "storage/format/batch_header.h"
#include "storage/format/record.h"
#include "tests/format/hex.h"
#include "tests/format/sample_log.h"
#include "tests/format/vectors.h"

namespace oncelog {
namespace {

using test::append_to;
using test::bytes_of;
using test::from_hex;
using test::make_batch;
using test::to_hex;

constexpr TimestampMs kNow = 1700000000000;

ValidationRules rules(AppendOrigin origin = AppendOrigin::kClient) {
  ValidationRules out;
  out.origin = origin;
  out.now_ms = kNow;
  return out;
}

RecordBatchBuilder three_records(const RecordBatchOptions& options = {}) {
  RecordBatchBuilder out(options);
  out.add({.timestamp_ms = kNow, .key = "a", .value = "1"});
  out.add({.timestamp_ms = kNow + 7, .key = "b", .value = "2"});
  out.add({.timestamp_ms = kNow + 3, .key = "c", .value = "3"});
  return out;
}

std::vector<std::byte> bytes_of_batch(const RecordBatchOptions& options = {}) {
  const Buffer batch = three_records(options).finish();
  return {batch.bytes().begin(), batch.bytes().end()};
}

template <class T>
std::vector<std::byte> patched(std::vector<std::byte> batch, Field field, T value) {
  store_be(std::span<std::byte>(batch), field.offset, value);
  store_be(std::span<std::byte>(batch), batch_field::kCrc.offset, batch_crc(batch));
  return batch;
}

ErrorCode refusal(const std::vector<std::byte>& bytes, const ValidationRules& with = rules()) {
  auto out = validate_append(Buffer::copy_of(bytes), with);
  EXPECT_FALSE(out.ok());
  return out.ok() ? ErrorCode::kIo : out.error().code;
}

ValidatedAppend accepted(const std::vector<std::byte>& bytes,
                         const ValidationRules& with = rules()) {
  auto out = validate_append(Buffer::copy_of(bytes), with);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : to_string(out.error()));
  return out.ok() ? std::move(out).value() : ValidatedAppend{};
}

std::vector<std::byte> marker_bytes(const ProducerIdentity& producer = {.id = 4000, .epoch = 3}) {
  const Buffer marker =
      make_end_txn_marker(producer, {.type = ControlType::kCommit, .coordinator_epoch = 9}, kNow);
  return {marker.bytes().begin(), marker.bytes().end()};
}

TEST(ClientAppend, KeepsAGoodBatchByteForByte) {
  for (const Codec codec :
       {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    const auto bytes = bytes_of_batch({.codec = codec});
    const ValidatedAppend out = accepted(bytes);
    EXPECT_EQ(to_hex(out.bytes.bytes()), to_hex(bytes));
    ASSERT_EQ(out.batches.size(), 1U);
    EXPECT_EQ(out.max_timestamp, kNow + 7);
    EXPECT_EQ(out.log_append_time, -1);
    EXPECT_EQ(out.bytes_ignored, 0);
    EXPECT_FALSE(out.markers.at(0).has_value());
  }
}

TEST(ClientAppend, DropsAnIncompleteBatchBehindTheFirst) {
  const auto bytes = bytes_of_batch();
  for (const std::size_t extra : {1U, 11U, 16U, 17U, 60U, 62U}) {
    auto longer = bytes;
    longer.insert(longer.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(extra));
    const ValidatedAppend out = accepted(longer);
    EXPECT_EQ(out.bytes.size(), bytes.size());
    EXPECT_EQ(out.bytes_ignored, static_cast<std::int64_t>(extra));
  }
}

TEST(ClientAppend, IsExactlyOneBatch) {
  EXPECT_EQ(refusal({}), ErrorCode::kInvalidRecord);
  EXPECT_EQ(refusal(std::vector<std::byte>(5)), ErrorCode::kInvalidRecord);
  auto two = bytes_of_batch();
  append_to(two, bytes_of_batch());
  EXPECT_EQ(refusal(two), ErrorCode::kInvalidRecord);
  EXPECT_EQ(refusal(two, rules(AppendOrigin::kCoordinator)), ErrorCode::kInvalidRecord);
}

TEST(ClientAppend, RefusesBadSizesMagicsAndCrcs) {
  for (const std::int32_t length : {-1, 0, 13, 14, 48}) {
    auto bytes = bytes_of_batch();
    store_be(std::span<std::byte>(bytes), batch_field::kBatchLength.offset, length);
    EXPECT_EQ(refusal(bytes), ErrorCode::kCorruptBatch) << length;
  }
  for (const int magic : {3, -1}) {
    EXPECT_EQ(
        refusal(patched(bytes_of_batch(), batch_field::kMagic, static_cast<std::int8_t>(magic))),
        ErrorCode::kCorruptBatch);
  }
  for (std::size_t at = batch_field::kCrc.offset; at < bytes_of_batch().size(); ++at) {
    auto bytes = bytes_of_batch();
    bytes[at] ^= std::byte{1};
    EXPECT_EQ(refusal(bytes), ErrorCode::kCorruptBatch) << at;
  }
}

TEST(ClientAppend, RefusesLegacyMagic) {
  const auto legacy = patched(bytes_of_batch(), batch_field::kMagic, std::int8_t{1});
  EXPECT_EQ(refusal(legacy), ErrorCode::kInvalidRecord);
  EXPECT_EQ(refusal(legacy, rules(AppendOrigin::kReplica)), ErrorCode::kUnsupportedFormat);
}

TEST(ClientAppend, RefusesABaseOffset) {
  EXPECT_EQ(refusal(bytes_of_batch({.base_offset = 1})), ErrorCode::kInvalidRecord);
}

TEST(ClientAppend, RefusesLargeBatches) {
  ValidationRules small = rules();
  const auto bytes = bytes_of_batch();
  small.message_bytes_max = static_cast<std::int64_t>(bytes.size());
  accepted(bytes, small);
  --small.message_bytes_max;
  EXPECT_EQ(refusal(bytes, small), ErrorCode::kMessageTooLarge);
  ValidationRules segment = rules();
  segment.segment_bytes_max = static_cast<std::int64_t>(bytes.size()) - 1;
  EXPECT_EQ(refusal(bytes, segment), ErrorCode::kRecordListTooLarge);
}

TEST(ClientAppend, RefusesUnknownCodecs) {
  for (const int codec : {5, 6, 7}) {
    EXPECT_EQ(refusal(patched(bytes_of_batch(), batch_field::kAttributes,
                              static_cast<std::int16_t>(codec))),
              ErrorCode::kUnsupportedCompression);
  }
}

TEST(ClientAppend, H059RefusesACountThatLies) {
  for (const std::int32_t count : {4, 2, 0, -1, std::numeric_limits<std::int32_t>::max()}) {
    auto bytes = patched(bytes_of_batch(), batch_field::kRecordCount, count);
    EXPECT_EQ(refusal(bytes), ErrorCode::kInvalidRecord) << count;
    if (count <= 0) continue;
    bytes = patched(bytes, batch_field::kLastOffsetDelta, count - 1);
    EXPECT_EQ(refusal(bytes), ErrorCode::kInvalidRecord) << count;
    auto packed =
        patched(bytes_of_batch({.codec = Codec::kZstd}), batch_field::kRecordCount, count);
    packed = patched(packed, batch_field::kLastOffsetDelta, count - 1);
    EXPECT_EQ(refusal(packed), ErrorCode::kInvalidRecord) << count;
  }
}

TEST(ClientAppend, H060RefusesALastOffsetDeltaThatLies) {
  for (const std::int32_t delta : {3, 1, -1, std::numeric_limits<std::int32_t>::min()}) {
    EXPECT_EQ(refusal(patched(bytes_of_batch(), batch_field::kLastOffsetDelta, delta)),
              ErrorCode::kInvalidRecord)
        << delta;
  }
}

TEST(ClientAppend, RefusesRecordDeltasThatAreNotConsecutive) {
  for (const Codec codec : {Codec::kNone, Codec::kGzip}) {
    for (const std::int32_t second : {0, 2, -1}) {
      std::vector<std::byte> records;
      append_record(records, {.offset_delta = 0}, {});
      append_record(records, {.offset_delta = second}, {});
      BatchHeader header;
      header.last_offset_delta = 1;
      header.record_count = 2;
      const Buffer batch = assemble_batch(header, records, codec);
      EXPECT_EQ(refusal({batch.bytes().begin(), batch.bytes().end()}), ErrorCode::kInvalidRecord);
    }
  }
}

TEST(ClientAppend, H061RefusesLengthsBelowMinusOne) {
  const auto record = from_hex("0e 00 00 00 03 02 31 00");  // key length -2
  BatchHeader header;
  header.record_count = 1;
  const Buffer batch = assemble_batch(header, record);
  EXPECT_EQ(refusal({batch.bytes().begin(), batch.bytes().end()}), ErrorCode::kInvalidRecord);
}

TEST(ClientAppend, H008RefusesProducerFieldsThatDoNotFit) {
  struct Case {
    ProducerIdentity producer;
    Sequence sequence;
    bool transactional;
  };
  for (const Case& c :
       {Case{{7, 0}, -1, false}, Case{{7, 0}, -2147483407, false}, Case{{-1, -1}, 5, false},
        Case{{-1, 0}, -1, false}, Case{{-2, -1}, -1, false}, Case{{7, -1}, 0, false},
        Case{{7, -5}, 0, true}, Case{{-1, -1}, -1, true}}) {
    EXPECT_EQ(refusal(bytes_of_batch({.producer = c.producer,
                                      .base_sequence = c.sequence,
                                      .transactional = c.transactional})),
              ErrorCode::kInvalidRecord)
        << c.producer.id << ' ' << c.producer.epoch << ' ' << c.sequence;
  }
  accepted(bytes_of_batch({.producer = {.id = 7, .epoch = 0}, .base_sequence = 0}));
  accepted(bytes_of_batch(
      {.producer = {.id = 0, .epoch = 32767}, .base_sequence = 2147483647, .transactional = true}));
}

TEST(ClientAppend, RefusesControlBatchesAndDeleteHorizons) {
  EXPECT_EQ(refusal(marker_bytes()), ErrorCode::kInvalidRecord);
  EXPECT_EQ(refusal(patched(bytes_of_batch(), batch_field::kAttributes, std::int16_t{0x40})),
            ErrorCode::kInvalidRecord);
}

TEST(ClientAppend, NeedsKeysInACompactedLog) {
  ValidationRules compacted = rules();
  compacted.compacted = true;
  RecordBatchBuilder batch;
  batch.add({.timestamp_ms = kNow, .value = "no key"});
  const Buffer bytes = std::move(batch).finish();
  const std::vector<std::byte> copy(bytes.bytes().begin(), bytes.bytes().end());
  EXPECT_EQ(refusal(copy, compacted), ErrorCode::kInvalidRecord);
  accepted(copy);
  accepted(bytes_of_batch(), compacted);
}

std::vector<std::byte> one_record_at(TimestampMs timestamp) {
  RecordBatchBuilder batch;
  batch.add({.timestamp_ms = timestamp, .value = "v"});
  const Buffer bytes = std::move(batch).finish();
  return {bytes.bytes().begin(), bytes.bytes().end()};
}

TEST(ClientAppend, RefusesTimestampsOutsideTheRange) {
  ValidationRules range = rules();
  range.timestamp_before_max_ms = 1000;
  range.timestamp_after_max_ms = 500;
  accepted(one_record_at(kNow - 1000), range);
  accepted(one_record_at(kNow + 500), range);
  accepted(one_record_at(-1), range);
  EXPECT_EQ(refusal(one_record_at(kNow - 1001), range), ErrorCode::kInvalidTimestamp);
  EXPECT_EQ(refusal(one_record_at(kNow + 501), range), ErrorCode::kInvalidTimestamp);
  EXPECT_EQ(refusal(one_record_at(std::numeric_limits<std::int64_t>::max()), range),
            ErrorCode::kInvalidTimestamp);
  EXPECT_EQ(refusal(one_record_at(std::numeric_limits<std::int64_t>::min()), range),
            ErrorCode::kInvalidTimestamp);
  range.compacted = true;  // the null key comes second
  EXPECT_EQ(refusal(one_record_at(kNow + 501), range), ErrorCode::kInvalidTimestamp);
}

TEST(ClientAppend, HasNoLimitBeforeNowByDefault) {
  accepted(one_record_at(0));
  EXPECT_EQ(refusal(one_record_at(kNow + 3600001)), ErrorCode::kInvalidTimestamp);
}

TEST(ClientAppend, RefusesLogAppendTimeSetByTheProducer) {
  const auto bytes =
      bytes_of_batch({.timestamp_type = TimestampType::kLogAppendTime, .log_append_time = kNow});
  EXPECT_EQ(refusal(bytes), ErrorCode::kInvalidTimestamp);
  ValidationRules stamped = rules();
  stamped.timestamp_type = TimestampType::kLogAppendTime;
  EXPECT_EQ(refusal(bytes, stamped), ErrorCode::kInvalidTimestamp);
}

TEST(ClientAppend, StampsVectorAIntoVectorH) {
  auto bytes = from_hex(test::kVectorA);
  store_be(std::span<std::byte>(bytes), 0, Offset{0});
  ValidationRules stamped = rules();
  stamped.timestamp_type = TimestampType::kLogAppendTime;
  stamped.now_ms = 1700000099999;

  const ValidatedAppend out = accepted(bytes, stamped);

  EXPECT_EQ(out.batches.at(0).crc, 0x27beb9ebU);
  EXPECT_EQ(out.log_append_time, 1700000099999);
  EXPECT_EQ(out.max_timestamp, 1700000099999);
  EXPECT_EQ(out.batches.at(0).base_timestamp, kNow);
}

TEST(ClientAppend, CorrectsAWrongMaximumTimestamp) {
  const auto wrong = patched(bytes_of_batch(), batch_field::kMaxTimestamp, TimestampMs{5});
  const ValidatedAppend out = accepted(wrong);
  EXPECT_EQ(to_hex(out.bytes.bytes()), to_hex(bytes_of_batch()));
}

TEST(ClientAppend, RecompressesForAnotherCodec) {
  const RecordBatchOptions options{
      .producer = {.id = 7, .epoch = 2}, .base_sequence = 9, .transactional = true};
  for (const Codec from : {Codec::kNone, Codec::kLz4}) {
    for (const Codec to : {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kZstd}) {
      RecordBatchOptions packed = options;
      packed.codec = from;
      ValidationRules target = rules();
      target.target_codec = to;
      const ValidatedAppend out = accepted(bytes_of_batch(packed), target);
      RecordBatchOptions expected = options;
      expected.codec = to;
      EXPECT_EQ(to_hex(out.bytes.bytes()), to_hex(bytes_of_batch(expected)));
      EXPECT_EQ(out.batches.at(0).codec_bits(), static_cast<int>(to));
    }
  }
}

TEST(ClientAppend, RecompressionTakesTheFirstTimestampAsBase) {
  std::vector<std::byte> records;
  append_record(records, {.timestamp_delta = 100, .offset_delta = 0, .key = bytes_of("k")}, {});
  append_record(records, {.timestamp_delta = 50, .offset_delta = 1, .key = bytes_of("l")}, {});
  BatchHeader header;
  header.base_timestamp = kNow;
  header.last_offset_delta = 1;
  header.record_count = 2;
  const Buffer batch = assemble_batch(header, records);
  ValidationRules target = rules();
  target.target_codec = Codec::kGzip;

  const ValidatedAppend out = accepted({batch.bytes().begin(), batch.bytes().end()}, target);

  EXPECT_EQ(out.batches.at(0).base_timestamp, kNow + 100);
  EXPECT_EQ(out.batches.at(0).max_timestamp, kNow + 100);
  auto view = RecordBatchView::parse(out.bytes.bytes());
  ASSERT_TRUE(view.ok() && view->crc_matches());
  auto read = read_records(*view);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->records[0].timestamp, kNow + 100);
  EXPECT_EQ(read->records[1].timestamp, kNow + 50);
}

TEST(ClientAppend, ChecksTheSizeAgainAfterRecompression) {
  const std::string value(5000, 'x');
  RecordBatchBuilder batch({.codec = Codec::kGzip});
  batch.add({.timestamp_ms = kNow, .value = value});
  const Buffer bytes = std::move(batch).finish();
  ValidationRules small = rules();
  small.message_bytes_max = 1000;
  small.target_codec = Codec::kNone;
  EXPECT_EQ(refusal({bytes.bytes().begin(), bytes.bytes().end()}, small),
            ErrorCode::kMessageTooLarge);
}

TEST(ClientAppend, H063RefusesABatchThatOpensTooFar) {
  const std::string value(1 << 20, 'x');
  for (const Codec codec : {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    RecordBatchBuilder batch({.codec = codec});
    batch.add({.timestamp_ms = kNow, .value = value});
    const Buffer bytes = std::move(batch).finish();
    ValidationRules limited = rules();
    limited.limits.batch_bytes_max = 1 << 16;
    EXPECT_EQ(refusal({bytes.bytes().begin(), bytes.bytes().end()}, limited),
              ErrorCode::kCorruptBatch);
  }
}

TEST(CoordinatorAppend, TakesAMarker) {
  ValidationRules coordinator = rules(AppendOrigin::kCoordinator);
  coordinator.target_codec = Codec::kGzip;  // never for control batches
  const ValidatedAppend out = accepted(marker_bytes(), coordinator);
  ASSERT_TRUE(out.markers.at(0).has_value());
  EXPECT_EQ(out.markers[0]->type, ControlType::kCommit);
  EXPECT_EQ(out.markers[0]->coordinator_epoch, 9);
  EXPECT_EQ(out.bytes.size(), 78U);
}

TEST(CoordinatorAppend, TakesDataToo) {
  accepted(bytes_of_batch({.producer = {.id = 7, .epoch = 0}, .base_sequence = 0}),
           rules(AppendOrigin::kCoordinator));
}

TEST(CoordinatorAppend, RefusesControlBatchesThatAreNoMarker) {
  const ValidationRules coordinator = rules(AppendOrigin::kCoordinator);
  const auto good = marker_bytes();
  EXPECT_EQ(refusal(patched(good, batch_field::kProducerId, ProducerId{-1}), coordinator),
            ErrorCode::kInvalidRecord);
  EXPECT_EQ(refusal(patched(good, batch_field::kAttributes, std::int16_t{0x20}), coordinator),
            ErrorCode::kInvalidRecord);
  const std::size_t key_at = kBatchHeaderBytes + 5;
  for (const std::int16_t type : {std::int16_t{2}, std::int16_t{77}}) {
    EXPECT_EQ(
        refusal(patched(good, {static_cast<std::uint32_t>(key_at + 2), 2}, type), coordinator),
        ErrorCode::kInvalidRecord);
  }
  EXPECT_EQ(refusal(patched(good, {static_cast<std::uint32_t>(key_at), 2}, std::int16_t{-1}),
                    coordinator),
            ErrorCode::kInvalidRecord);
  EXPECT_EQ(refusal(patched(bytes_of_batch({.producer = {.id = 7, .epoch = 0}}),
                            batch_field::kAttributes, std::int16_t{0x30}),
                    coordinator),
            ErrorCode::kInvalidRecord);
}

TEST(ReplicaAppend, KeepsSeveralBatchesAsTheyAre) {
  auto bytes = make_batch({.base_offset = 10, .records = 3});
  const auto second_at = static_cast<std::int64_t>(bytes.size());
  append_to(bytes, make_batch({.base_offset = 20}));
  auto marker = from_hex(test::kVectorC);
  append_to(bytes, marker);
  append_to(bytes, from_hex("0000"));

  const ValidatedAppend out = accepted(bytes, rules(AppendOrigin::kReplica));

  EXPECT_EQ(out.bytes_ignored, 2);
  ASSERT_EQ(out.batches.size(), 3U);
  EXPECT_EQ(out.positions[1], second_at);
  EXPECT_TRUE(out.markers[2].has_value());
  EXPECT_EQ(to_hex(out.bytes.bytes()), to_hex(std::span(bytes).first(bytes.size() - 2)));
}

TEST(ReplicaAppend, OfNothingIsEmpty) {
  EXPECT_TRUE(accepted({}, rules(AppendOrigin::kReplica)).batches.empty());
}

TEST(ReplicaAppend, TakesWhatCompactionLeaves) {
  accepted(from_hex(test::kVectorE), rules(AppendOrigin::kReplica));
  accepted(from_hex(test::kVectorI), rules(AppendOrigin::kReplica));
  // A control batch without its record.
  const auto empty_control =
      patched(from_hex(test::kVectorE), batch_field::kAttributes, std::int16_t{0x30});
  const ValidatedAppend out = accepted(empty_control, rules(AppendOrigin::kReplica));
  EXPECT_FALSE(out.markers.at(0).has_value());
}

TEST(ReplicaAppend, RefusesOffsetsThatDoNotRise) {
  const ValidationRules replica = rules(AppendOrigin::kReplica);
  for (const Offset second :
       {Offset{0}, Offset{10}, Offset{12}, Offset{-1}, std::numeric_limits<Offset>::max()}) {
    auto bytes = make_batch({.base_offset = 10, .records = 3});
    append_to(bytes, make_batch({.base_offset = second}));
    EXPECT_EQ(refusal(bytes, replica), ErrorCode::kOffsetsOutOfOrder) << second;
  }
}

TEST(ReplicaAppend, H060RecordDeltasRiseAndStayWithinTheHeader) {
  const ValidationRules replica = rules(AppendOrigin::kReplica);
  struct Case {
    std::int32_t first;
    std::int32_t second;
    std::int32_t last;
    bool good;
  };
  for (const Case& c :
       {Case{0, 4, 4, true}, Case{2, 3, 9, true}, Case{0, 5, 4, false}, Case{2, 2, 4, false},
        Case{2, 1, 4, false}, Case{-1, 1, 4, false}, Case{0, 1, 0, false}, Case{0, 1, -1, false}}) {
    std::vector<std::byte> records;
    append_record(records, {.offset_delta = c.first}, {});
    append_record(records, {.offset_delta = c.second}, {});
    BatchHeader header;
    header.last_offset_delta = c.last;
    header.record_count = 2;
    const Buffer batch = assemble_batch(header, records);
    const std::vector<std::byte> bytes(batch.bytes().begin(), batch.bytes().end());
    if (c.good) {
      accepted(bytes, replica);
    } else {
      EXPECT_EQ(refusal(bytes, replica), ErrorCode::kInvalidRecord) << c.first << ' ' << c.second;
    }
  }
}

TEST(ReplicaAppend, H059RefusesACountThatLies) {
  for (const std::int32_t count : {1, 4, -1, std::numeric_limits<std::int32_t>::max()}) {
    EXPECT_EQ(refusal(patched(bytes_of_batch(), batch_field::kRecordCount, count),
                      rules(AppendOrigin::kReplica)),
              ErrorCode::kInvalidRecord);
  }
}

}  // namespace
}  // namespace oncelog
