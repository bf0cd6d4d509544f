// Control records: the marker vector, unknown types (H024), broken keys and values.
#include "oncelog/control_record.h"

#include <gtest/gtest.h>

#include "storage/format/batch_header.h"
#include "tests/format/hex.h"
#include "tests/format/vectors.h"

namespace oncelog {
namespace {

using test::from_hex;
using test::to_hex;

TEST(EndTxnMarker, IsVectorC) {
  Buffer marker =
      make_end_txn_marker({.id = 4000, .epoch = 3},
                          {.type = ControlType::kCommit, .coordinator_epoch = 9}, 1700000000100);
  set_base_offset(marker.mutable_bytes(), 102);
  set_leader_epoch(marker.mutable_bytes(), 7);
  EXPECT_EQ(to_hex(marker.bytes()), to_hex(from_hex(test::kVectorC)));
}

TEST(EndTxnMarker, IsDecodedFromItsBatch) {
  const Buffer bytes = make_end_txn_marker(
      {.id = 1, .epoch = 0}, {.type = ControlType::kAbort, .coordinator_epoch = 77}, 5);
  auto batch = RecordBatchView::parse(bytes.bytes());
  ASSERT_TRUE(batch.ok());
  auto records = read_records(*batch);
  ASSERT_TRUE(records.ok());
  auto marker = decode_end_txn_marker(records->records[0]);
  ASSERT_TRUE(marker.ok() && marker->has_value());
  EXPECT_EQ((*marker)->type, ControlType::kAbort);
  EXPECT_EQ((*marker)->coordinator_epoch, 77);
}

TEST(ControlType, H024UnknownTypesAndNewerVersionsAreNoErrors) {
  struct Case {
    const char* key;
    ControlType type;
  };
  for (const Case& c :
       {Case{"0000 0002", ControlType::kLeaderChange}, Case{"0000 0006", ControlType::kKraftVoters},
        Case{"0000 004d", ControlType::kUnknown}, Case{"0000 ffff", ControlType::kUnknown},
        Case{"0001 0001 aabb", ControlType::kCommit}}) {
    const auto key = from_hex(c.key);
    auto type = decode_control_type(std::span<const std::byte>(key));
    ASSERT_TRUE(type.ok()) << c.key;
    EXPECT_EQ(*type, c.type) << c.key;
    if (c.type != ControlType::kCommit) {
      RecordView record;
      record.key = key;
      auto marker = decode_end_txn_marker(record);
      ASSERT_TRUE(marker.ok());
      EXPECT_FALSE(marker->has_value());
    }
  }
}

TEST(ControlType, RefusesShortKeysAndNegativeVersions) {
  EXPECT_FALSE(decode_control_type(std::nullopt).ok());
  for (const char* hex : {"", "0000 00", "ffff 0001", "8000 0000"}) {
    const auto key = from_hex(hex);
    EXPECT_FALSE(decode_control_type(std::span<const std::byte>(key)).ok()) << hex;
  }
}

TEST(EndTxnMarker, RefusesShortValuesAndNegativeVersions) {
  const auto key = from_hex("0000 0001");
  for (const char* hex : {"", "0000 000000", "ffff 00000001"}) {
    const auto value = from_hex(hex);
    RecordView record;
    record.key = key;
    record.value = value;
    auto marker = decode_end_txn_marker(record);
    ASSERT_FALSE(marker.ok()) << hex;
    EXPECT_EQ(marker.error().code, ErrorCode::kInvalidRecord);
  }
  RecordView without_value;
  without_value.key = key;
  EXPECT_FALSE(decode_end_txn_marker(without_value).ok());
}

TEST(EndTxnMarker, AcceptsNewerVersionsAndLongerValues) {
  const auto key = from_hex("0003 0000 07");
  const auto value = from_hex("0002 0000002a 0102");
  RecordView record;
  record.key = key;
  record.value = value;
  auto marker = decode_end_txn_marker(record);
  ASSERT_TRUE(marker.ok() && marker->has_value());
  EXPECT_EQ((*marker)->type, ControlType::kAbort);
  EXPECT_EQ((*marker)->coordinator_epoch, 42);
}

}  // namespace
}  // namespace oncelog
