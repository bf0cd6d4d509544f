// Record batches v2: the worked examples byte for byte, reading, and broken input.
#include "oncelog/record_batch.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "storage/base/endian.h"
#include "storage/format/batch_header.h"
#include "storage/format/record.h"
#include "storage/format/sequence.h"
#include "tests/format/hex.h"
#include "tests/format/vectors.h"

namespace oncelog {
namespace {

using test::bytes_of;
using test::from_hex;
using test::text_of;
using test::to_hex;

constexpr TimestampMs kT = 1700000000000;

std::string hex(std::string_view vector) {
  return to_hex(from_hex(vector));
}

RecordBatchView view(std::span<const std::byte> bytes) {
  auto out = RecordBatchView::parse(bytes);
  EXPECT_TRUE(out.ok());
  return out.value();
}

/// A batch around raw records with a good CRC.
Buffer batch_around(std::span<const std::byte> records, std::int32_t count) {
  BatchHeader header;
  header.record_count = count;
  header.last_offset_delta = count - 1;
  return assemble_batch(header, records);
}

ErrorCode code_of(const Buffer& batch) {
  auto records = read_records(view(batch.bytes()));
  EXPECT_FALSE(records.ok());
  return records.ok() ? ErrorCode::kIo : records.error().code;
}

RecordBatchBuilder builder_a(Codec codec = Codec::kNone) {
  RecordBatchBuilder out({.codec = codec, .base_offset = 42, .leader_epoch = 7});
  out.add(
      {.timestamp_ms = kT, .key = "k1", .value = "hello", .headers = {{.key = "h", .value = "x"}}});
  return out;
}

TEST(RecordBatchBuilder, WritesVectorA) {
  EXPECT_EQ(to_hex(builder_a().finish().bytes()), hex(test::kVectorA));
}

TEST(RecordBatchBuilder, KnowsItsSizeBeforeItFinishes) {
  RecordBatchBuilder a = builder_a();
  EXPECT_EQ(a.size_bytes(), 79U);
  EXPECT_EQ(a.record_count(), 1);
}

TEST(RecordBatchBuilder, WritesVectorB) {
  RecordBatchBuilder b({.producer = {.id = 4000, .epoch = 3},
                        .base_sequence = 10,
                        .transactional = true,
                        .base_offset = 100,
                        .leader_epoch = 7});
  b.add({.timestamp_ms = kT, .key = "a", .value = "1"});
  b.add({.timestamp_ms = kT + 5});

  const Buffer bytes = std::move(b).finish();

  EXPECT_EQ(to_hex(bytes.bytes()), hex(test::kVectorB));
  const BatchHeader header = view(bytes.bytes()).header();
  EXPECT_EQ(header.last_sequence(), 11);
  EXPECT_EQ(header.last_offset(), 101);
  EXPECT_EQ(header.next_offset(), 102);
  EXPECT_TRUE(header.is_transactional());
}

TEST(RecordBatchBuilder, IsEmptyAfterFinishing) {
  RecordBatchBuilder a = builder_a();
  std::move(a).finish();
  EXPECT_EQ(a.record_count(), 0);  // NOLINT(bugprone-use-after-move): the contract says so
  EXPECT_EQ(a.size_bytes(), kBatchHeaderBytes);
}

TEST(RecordBatchView, ReadsVectorA) {
  const auto bytes = from_hex(test::kVectorA);
  const RecordBatchView batch = view(bytes);

  ASSERT_TRUE(batch.crc_matches());
  auto records = read_records(batch);
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->records.size(), 1U);
  const RecordView& record = records->records.front();
  EXPECT_EQ(record.offset, 42);
  EXPECT_EQ(record.timestamp, kT);
  EXPECT_EQ(record.sequence, -1);
  EXPECT_EQ(text_of(*record.key), "k1");
  EXPECT_EQ(text_of(*record.value), "hello");
  ASSERT_EQ(record.headers.size(), 1U);
  EXPECT_EQ(record.headers[0].key, "h");
  EXPECT_EQ(text_of(*record.headers[0].value), "x");
}

TEST(RecordBatchView, TellsNullFromEmptyInVectorB) {
  const auto bytes = from_hex(test::kVectorB);
  auto records = read_records(view(bytes));

  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->records.size(), 2U);
  EXPECT_EQ(records->records[1].offset, 101);
  EXPECT_EQ(records->records[1].sequence, 11);
  EXPECT_EQ(records->records[1].timestamp, kT + 5);
  EXPECT_FALSE(records->records[1].key.has_value());
  EXPECT_FALSE(records->records[1].value.has_value());
}

TEST(BatchHeader, EmptiesVectorBIntoVectorE) {
  const auto b = from_hex(test::kVectorB);
  EXPECT_EQ(to_hex(make_emptied_batch(view(b).header()).bytes()), hex(test::kVectorE));
}

TEST(RecordBatchView, ReadsAnEmptiedBatch) {
  const auto bytes = from_hex(test::kVectorE);
  ASSERT_TRUE(view(bytes).crc_matches());
  auto records = read_records(view(bytes));
  ASSERT_TRUE(records.ok());
  EXPECT_TRUE(records->records.empty());
}

TEST(RecordBatchBuilder, WritesVectorGLz4) {
  const Buffer bytes = builder_a(Codec::kLz4).finish();
  EXPECT_EQ(to_hex(bytes.bytes().subspan(kBatchHeaderBytes)), hex(test::kVectorGLz4Payload));
  EXPECT_EQ(view(bytes.bytes()).header().crc, 0x5a665de3U);
  EXPECT_EQ(bytes.size(), 94U);
}

TEST(RecordBatchBuilder, WritesVectorGSnappy) {
  const Buffer bytes = builder_a(Codec::kSnappy).finish();
  EXPECT_EQ(to_hex(bytes.bytes().subspan(kBatchHeaderBytes)), hex(test::kVectorGSnappyPayload));
  EXPECT_EQ(view(bytes.bytes()).header().crc, 0x13e7bb76U);
  EXPECT_EQ(bytes.size(), 101U);
}

TEST(BatchHeader, StampsVectorAIntoVectorH) {
  auto bytes = from_hex(test::kVectorA);

  EXPECT_TRUE(set_max_timestamp(bytes, TimestampType::kLogAppendTime, 1700000099999));
  EXPECT_FALSE(set_max_timestamp(bytes, TimestampType::kLogAppendTime, 1700000099999));

  const RecordBatchView batch = view(bytes);
  EXPECT_EQ(batch.header().crc, 0x27beb9ebU);
  EXPECT_TRUE(batch.crc_matches());
  EXPECT_EQ(batch.header().attributes, 8);
  EXPECT_EQ(read_records(batch)->records[0].timestamp, 1700000099999);
}

TEST(BatchHeader, ReadsAndWritesTheDeleteHorizonOfVectorI) {
  const auto bytes = from_hex(test::kVectorI);
  const RecordBatchView batch = view(bytes);
  ASSERT_TRUE(batch.crc_matches());
  EXPECT_TRUE(batch.header().has_delete_horizon());
  EXPECT_EQ(batch.header().base_timestamp, 1700086400000);
  auto records = read_records(batch);
  ASSERT_TRUE(records.ok());
  EXPECT_EQ(records->records[0].timestamp, kT);
  EXPECT_EQ(records->records[0].offset, 101);
  EXPECT_FALSE(records->records[0].value.has_value());

  std::vector<std::byte> record;
  append_record(
      record, {.timestamp_delta = -86400000, .offset_delta = 1, .key = bytes_of("a"), .value = {}},
      {});
  EXPECT_EQ(to_hex(assemble_batch(batch.header(), record).bytes()), hex(test::kVectorI));
}

TEST(BatchHeader, AssignsOffsetAndEpochWithoutANewCrc) {
  auto bytes = from_hex(test::kVectorA);
  set_base_offset(bytes, 1LL << 40);
  set_leader_epoch(bytes, 9);
  EXPECT_TRUE(view(bytes).crc_matches());
  EXPECT_EQ(view(bytes).header().base_offset, 1LL << 40);
  EXPECT_EQ(view(bytes).header().leader_epoch, 9);
}

TEST(BatchHeader, DoesNotOverflowOnAnyOffset) {
  BatchHeader header;
  header.base_offset = std::numeric_limits<Offset>::max();
  header.last_offset_delta = 5;
  EXPECT_LT(header.next_offset(), 0);
}

TEST(BatchHeader, SequencesWrapAt31Bits) {
  EXPECT_EQ(increment_sequence(2147483645, 5), 2);
  EXPECT_EQ(decrement_sequence(2, 5), 2147483645);
  EXPECT_EQ(decrement_sequence(0, 1), 2147483647);
  EXPECT_TRUE(in_sequence(2147483647, 0));
  EXPECT_TRUE(in_sequence(-1, 0));
  EXPECT_FALSE(in_sequence(-1, 1));
}

TEST(RecordBatchView, CutAtAnyByteIsCorrupt) {
  const auto bytes = from_hex(test::kVectorA);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto parsed = RecordBatchView::parse(std::span(bytes).first(size));
    ASSERT_FALSE(parsed.ok()) << size;
    EXPECT_EQ(parsed.error().code, ErrorCode::kCorruptBatch);
  }
}

TEST(RecordBatchView, AnyChangedByteFromTheAttributesOnBreaksTheCrc) {
  for (std::size_t at = batch_field::kCrc.offset; at < 79; ++at) {
    auto bytes = from_hex(test::kVectorA);
    bytes[at] ^= std::byte{1};
    EXPECT_FALSE(view(bytes).crc_matches()) << at;
  }
}

TEST(RecordBatchView, RefusesOtherMagicsAndSmallLengths) {
  for (const int magic : {0, 1, 3, 255}) {
    auto bytes = from_hex(test::kVectorA);
    bytes[16] = static_cast<std::byte>(magic);
    EXPECT_FALSE(RecordBatchView::parse(bytes).ok());
  }
  for (const std::int32_t length : {10, 48, 0, -1, std::numeric_limits<std::int32_t>::min()}) {
    auto bytes = from_hex(test::kVectorA);
    store_be(std::span<std::byte>(bytes), 8, length);
    EXPECT_FALSE(RecordBatchView::parse(bytes).ok()) << length;
  }
}

TEST(RecordBatchView, H112ReadsNothingPastItsSlice) {
  auto bytes = from_hex(std::string(test::kVectorA) + std::string(test::kVectorB));
  const auto slice = std::span(bytes).first(79 + 60);
  const RecordBatchView first = view(slice);
  EXPECT_EQ(first.bytes().size(), 79U);
  EXPECT_FALSE(RecordBatchView::parse(slice.subspan(79)).ok());
}

TEST(RecordReader, H059RefusesACountThatLies) {
  for (const std::int32_t count : {2, 0, -1, std::numeric_limits<std::int32_t>::max()}) {
    auto bytes = from_hex(test::kVectorA);
    store_be(std::span<std::byte>(bytes), batch_field::kRecordCount.offset, count);
    auto records = read_records(view(bytes));
    ASSERT_FALSE(records.ok()) << count;
    EXPECT_EQ(records.error().code, ErrorCode::kInvalidRecord);
  }
}

TEST(RecordReader, H061RefusesLengthsThatDoNotFit) {
  // length attributes timestamp offset keyLength key valueLength value headerCount
  for (const char* record : {
           "10 00 00 00 0c 61 02 31 00",          // key longer than the record
           "10 00 00 00 02 61 0c 31 00",          // value longer than the record
           "10 00 00 00 02 61 02 31 02",          // a header that is not there
           "10 00 00 00 02 61 02 31 01",          // header count -1
           "18 00 00 00 02 61 02 31 feffffff0f",  // header count 2^31-1
           "14 00 00 00 02 61 02 31 02 01 00",    // null header key
           "12 00 00 00 02 61 02 31 00 00",       // length larger than the fields
           "0e 00 00 00 02 61 02 31 00",          // length smaller than the fields
           "ff00 00 00 00 02 61 02 31 00",        // length -128
           "01", "00", "02 00", "808080808080",
           "16 00 80808080808080808080 00",  // endless timestamp delta
       }) {
    const auto bytes = from_hex(record);
    EXPECT_EQ(code_of(batch_around(bytes, 1)), ErrorCode::kInvalidRecord) << record;
  }
}

TEST(RecordReader, TakesLengthsBelowMinusOneAsNullLikeKafka) {
  const auto record = from_hex("0e 00 00 00 03 02 31 00");
  const Buffer batch = batch_around(record, 1);

  auto records = read_records(view(batch.bytes()));

  ASSERT_TRUE(records.ok());
  EXPECT_FALSE(records->records[0].key.has_value());
  ByteCursor cursor(record);
  EXPECT_FALSE(take_record(cursor, RecordRules::kStrict, nullptr).ok());  // H061
}

TEST(RecordReader, NamesTheBrokenRecord) {
  const auto good_then_bad = from_hex("10 00 00 00 02 61 02 31 00  10 00 00 02 0c 61 02 31 00");
  const Buffer batch = batch_around(good_then_bad, 2);
  auto records = read_records(view(batch.bytes()));
  ASSERT_FALSE(records.ok());
  EXPECT_NE(records.error().message.find("record 1 of 2"), std::string::npos);
}

TEST(RecordReader, RefusesUnknownCodecs) {
  for (const int codec : {5, 6, 7}) {
    auto bytes = from_hex(test::kVectorA);
    bytes[22] = static_cast<std::byte>(codec);
    auto records = read_records(view(bytes));
    ASSERT_FALSE(records.ok());
    EXPECT_EQ(records.error().code, ErrorCode::kCorruptBatch);
  }
}

}  // namespace
}  // namespace oncelog
