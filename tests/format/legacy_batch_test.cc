// Batches of magic 0 and 1: entries, wrappers, offset rules, broken input.
#include "storage/format/legacy_batch.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "storage/base/endian.h"
#include "storage/format/codec.h"
#include "storage/segment_scanner.h"
#include "tests/format/hex.h"
#include "tests/format/memory_file.h"
#include "tests/format/sample_log.h"

namespace oncelog {
namespace {

using test::append_to;
using test::bytes_of;
using test::text_of;

struct EntrySpec {
  Offset offset = 0;
  int magic = 1;
  int attributes = 0;
  TimestampMs timestamp = 1000;
  std::optional<std::string_view> key = std::nullopt;
  std::optional<std::string_view> value = std::nullopt;
};

template <class T>
void put(std::vector<std::byte>& out, T value) {
  out.resize(out.size() + sizeof(T));
  store_be(std::span<std::byte>(out), out.size() - sizeof(T), value);
}

void put(std::vector<std::byte>& out, const std::optional<std::string_view>& text) {
  put(out, text ? static_cast<std::int32_t>(text->size()) : -1);
  if (!text) return;
  const auto bytes = bytes_of(*text);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::vector<std::byte> entry(const EntrySpec& spec) {
  std::vector<std::byte> body;
  put(body, static_cast<std::int8_t>(spec.magic));
  put(body, static_cast<std::int8_t>(spec.attributes));
  if (spec.magic == 1) put(body, spec.timestamp);
  put(body, spec.key);
  put(body, spec.value);
  std::vector<std::byte> out;
  put(out, spec.offset);
  put(out, static_cast<std::int32_t>(body.size() + 4));
  put(out, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                                            static_cast<uInt>(body.size()))));
  append_to(out, body);
  return out;
}

std::vector<std::byte> wrapper(EntrySpec spec, const std::vector<std::byte>& inner, Codec codec) {
  const auto packed = compress(codec, inner, 0);
  const std::string value = text_of(packed);
  spec.attributes |= static_cast<int>(codec);
  spec.value = value;
  return entry(spec);
}

Result<Records> records_of(const std::vector<std::byte>& bytes) {
  return read_records_of(bytes);
}

TEST(LegacyBatch, ReadsOnePlainRecord) {
  const auto bytes = entry({.offset = 5, .magic = 1, .key = "k", .value = "v"});
  const auto view = LegacyBatchView::parse(bytes);
  ASSERT_TRUE(view.ok());
  EXPECT_TRUE(view->crc_matches());
  auto records = records_of(bytes);
  ASSERT_TRUE(records.ok());
  EXPECT_EQ(records->records[0].offset, 5);
  EXPECT_EQ(records->records[0].timestamp, 1000);
  EXPECT_EQ(text_of(*records->records[0].key), "k");
}

TEST(LegacyBatch, Magic0HasNoTimestamp) {
  const auto bytes = entry({.offset = 5, .magic = 0, .attributes = 8, .value = ""});
  auto records = records_of(bytes);
  ASSERT_TRUE(records.ok());
  EXPECT_EQ(records->records[0].timestamp, -1);
  EXPECT_FALSE(records->records[0].key.has_value());
  EXPECT_TRUE(records->records[0].value->empty());
  EXPECT_EQ(LegacyBatchView::parse(bytes)->timestamp_type(), TimestampType::kCreateTime);
}

std::vector<std::byte> three_entries(int magic, Offset first) {
  std::vector<std::byte> out;
  for (Offset i = 0; i < 3; ++i) {
    append_to(out, entry({.offset = first + i, .magic = magic, .timestamp = 10 + i, .value = "v"}));
  }
  return out;
}

TEST(LegacyBatch, Magic1WrapperResolvesRelativeOffsets) {
  const auto bytes = wrapper({.offset = 12, .magic = 1}, three_entries(1, 0), Codec::kGzip);
  auto records = records_of(bytes);
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->records.size(), 3U);
  EXPECT_EQ(records->records[0].offset, 10);
  EXPECT_EQ(records->records[2].offset, 12);
  EXPECT_EQ(records->records[1].timestamp, 11);
  const BatchHeader header = legacy_header(*LegacyBatchView::parse(bytes));
  EXPECT_EQ(header.base_offset, 10);
  EXPECT_EQ(header.last_offset(), 12);
  EXPECT_EQ(header.record_count, 3);
  EXPECT_FALSE(header.has_producer());
}

TEST(LegacyBatch, Magic1WrapperAtZeroHasItsInnerOffsets) {
  const auto bytes = wrapper({.offset = 0, .magic = 1}, three_entries(1, 0), Codec::kSnappy);
  EXPECT_EQ(records_of(bytes)->records[2].offset, 2);
}

TEST(LegacyBatch, Magic0WrapperHasAbsoluteOffsets) {
  const auto bytes = wrapper({.offset = 12, .magic = 0}, three_entries(0, 10), Codec::kGzip);
  EXPECT_EQ(records_of(bytes)->records[0].offset, 10);
}

TEST(LegacyBatch, LogAppendTimeOfAWrapperOverridesItsRecords) {
  const auto bytes = wrapper({.offset = 2, .magic = 1, .attributes = 8, .timestamp = 99},
                             three_entries(1, 0), Codec::kLz4);
  const auto records = records_of(bytes);
  ASSERT_TRUE(records.ok());
  for (const RecordView& record : records->records)
    EXPECT_EQ(record.timestamp, 99);
}

TEST(LegacyBatch, RefusesWrappersThatMakeNoSense) {
  const auto inner = three_entries(1, 0);
  EXPECT_FALSE(records_of(wrapper({.magic = 1}, {}, Codec::kGzip)).ok());
  EXPECT_FALSE(records_of(wrapper({.magic = 1}, inner, Codec::kZstd)).ok());
  EXPECT_FALSE(records_of(wrapper({.magic = 0}, inner, Codec::kGzip)).ok());
  EXPECT_FALSE(
      records_of(wrapper({.magic = 1}, wrapper({.magic = 1}, inner, Codec::kGzip), Codec::kGzip))
          .ok());
  EXPECT_FALSE(records_of(entry({.attributes = 1})).ok());
  EXPECT_FALSE(records_of(entry({.attributes = 1, .value = "not gzip"})).ok());
  EXPECT_FALSE(records_of(entry({.attributes = 5, .value = "no codec"})).ok());
}

TEST(LegacyBatch, AWrapperThatCannotBeOpenedIsOneRecordInItsHeader) {
  const auto bytes = entry({.offset = 7, .attributes = 1, .value = "not gzip"});
  const BatchHeader header = legacy_header(*LegacyBatchView::parse(bytes));
  EXPECT_EQ(header.base_offset, 7);
  EXPECT_EQ(header.last_offset(), 7);
  EXPECT_EQ(header.record_count, 1);
}

TEST(LegacyBatch, RefusesEntriesCutAtAnyByteOrWithWrongLengths) {
  const auto bytes = entry({.key = "k", .value = "v"});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(LegacyBatchView::parse(std::span(bytes).first(size)).ok());
  }
  for (const std::size_t at : {26U, 31U}) {  // key length, value length
    for (const std::int32_t length : {-2, 0, 2, 1 << 30}) {
      auto changed = bytes;
      store_be(std::span<std::byte>(changed), at, length);
      const auto parsed = LegacyBatchView::parse(changed);
      ASSERT_FALSE(parsed.ok()) << at << ' ' << length;
      EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidRecord);
    }
  }
}

TEST(LegacyBatch, IsScannedWithItsOwnCrc) {
  auto log = entry({.offset = 0, .magic = 0, .value = "v"});
  append_to(log, wrapper({.offset = 3, .magic = 1}, three_entries(1, 0), Codec::kGzip));
  append_to(log, test::make_batch({.base_offset = 4}));
  test::MemoryFile file(log);
  SegmentScanner scanner(file, {});
  for (const Offset base : {0, 1, 4}) {
    auto batch = scanner.next();
    ASSERT_TRUE(batch.ok() && batch->has_value());
    EXPECT_EQ((*batch)->header.base_offset, base);
  }

  log[20] ^= std::byte{1};
  test::MemoryFile damaged(log);
  SegmentScanner second(damaged, {});
  EXPECT_FALSE(second.next()->has_value());
  EXPECT_TRUE(second.bad_spot().has_value());
}

}  // namespace
}  // namespace oncelog
