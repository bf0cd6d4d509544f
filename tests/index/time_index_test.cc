// Lookup in the time index, its reserved slot, its bytes, and what is refused when it is read.
#include "index/time_index.h"

#include <gtest/gtest.h>

#include "tests/index/bytes.h"

namespace oncelog {
namespace {

constexpr std::int64_t kCapacity = 1 << 20;

void expect_damaged(std::string_view hex, std::int64_t position, Offset log_end = 1000) {
  const auto index = TimeIndex::decode(from_hex(hex), 50, kCapacity, log_end);
  ASSERT_FALSE(index.ok()) << hex;
  EXPECT_EQ(index.error().code, ErrorCode::kDamaged);
  EXPECT_EQ(index.error().position, position) << index.error().message;
}

TEST(TimeIndex, EncodesTheVectorOfTheFormat) {
  TimeIndex index(50, kCapacity);

  index.maybe_append(1700000000005, 101);

  EXPECT_EQ(index.encode(), from_hex("00 00 01 8b cf e5 68 05 00 00 00 33"));
}

TEST(TimeIndex, AnswersTheGreatestTimestampAtOrBelowTheTarget) {
  TimeIndex index(50, kCapacity);
  EXPECT_EQ(index.lookup(99), (TimeIndexEntry{kNoTimestamp, 50}));
  EXPECT_EQ(index.last(), (TimeIndexEntry{kNoTimestamp, 50}));
  index.maybe_append(100, 55);
  index.maybe_append(110, 65);

  EXPECT_EQ(index.lookup(99), (TimeIndexEntry{kNoTimestamp, 50}));
  EXPECT_EQ(index.lookup(100), (TimeIndexEntry{100, 55}));
  EXPECT_EQ(index.lookup(109), (TimeIndexEntry{100, 55}));
  EXPECT_EQ(index.lookup(INT64_MAX), (TimeIndexEntry{110, 65}));
  EXPECT_EQ(index.last(), (TimeIndexEntry{110, 65}));
}

// H-055
TEST(TimeIndex, IgnoresTimestampsThatDoNotRise) {
  TimeIndex index(0, kCapacity);
  index.maybe_append(kNoTimestamp, 0);
  EXPECT_EQ(index.size(), 0U);
  index.maybe_append(100, 5);

  index.maybe_append(100, 9);
  index.maybe_append(40, 9);

  EXPECT_EQ(index.size(), 1U);
  index.maybe_append(101, 5);
  EXPECT_EQ(index.size(), 2U);
}

TEST(TimeIndex, KeepsItsLastSlotForTheClosingEntry) {
  TimeIndex index(0, 3 * 12 + 11);
  index.maybe_append(1, 1);
  EXPECT_FALSE(index.is_full());
  index.maybe_append(2, 2);
  EXPECT_TRUE(index.is_full());

  index.maybe_append(3, 3);
  EXPECT_EQ(index.size(), 2U);
  index.maybe_append(3, 3, true);
  EXPECT_EQ(index.size(), 3U);
  index.maybe_append(4, 4, true);
  EXPECT_EQ(index.size(), 3U);
}

TEST(TimeIndex, HasNoRoomWithoutCapacity) {
  TimeIndex index(0, 0);

  index.maybe_append(1, 1, true);

  EXPECT_TRUE(index.is_full());
  EXPECT_EQ(index.size(), 0U);
}

TEST(TimeIndex, RefusesWhatCannotBeAnIndexAndNamesTheByte) {
  expect_damaged("00 00 01 8b cf e5 68 05 00 00 00", 0);
  expect_damaged("0000000000000064 00000001 00", 12);
  expect_damaged("ffffffffffffffff 00000001", 0);
  expect_damaged("0000000000000064 ffffffff", 8);
  expect_damaged("0000000000000064 00000001 0000000000000064 00000002", 12);
  expect_damaged("0000000000000064 00000001 0000000000000063 00000002", 12);
  expect_damaged("0000000000000064 00000002 0000000000000065 00000001", 20);
  expect_damaged("0000000000000064 00000032", 8, 100);
  expect_damaged("0000000000000064 00000000", 8, 50);
}

// H-056: such a tail would make the segment's greatest timestamp one of 1970.
TEST(TimeIndex, RefusesAZeroTail) {
  expect_damaged("0000000000000064 00000001 0000000000000000 00000000", 12);
  expect_damaged("0000000000000000 00000000 0000000000000000 00000000", 12);
}

TEST(TimeIndex, AcceptsOffsetsThatStay) {
  const auto index = TimeIndex::decode(
      from_hex("0000000000000000 00000031 0000000000000065 00000031"), 50, kCapacity, 100);

  ASSERT_TRUE(index.ok()) << to_string(index.error());
  EXPECT_EQ((*index)->last(), (TimeIndexEntry{101, 99}));
}

TEST(TimeIndex, ComparesBasesNearTheTopWithoutOverflow) {
  const auto index =
      TimeIndex::decode(from_hex("0000000000000001 7fffffff"), INT64_MAX - 5, kCapacity, INT64_MAX);

  EXPECT_FALSE(index.ok());
}

TEST(TimeIndex, CopiesWhatATruncationLeaves) {
  TimeIndex index(0, kCapacity);
  index.maybe_append(1, 5);
  index.maybe_append(2, 9);

  EXPECT_EQ(index.copy_below(10)->size(), 2U);
  EXPECT_EQ(index.copy_below(9)->last(), (TimeIndexEntry{1, 5}));
  EXPECT_EQ(index.copy_below(5)->size(), 0U);
}

TEST(TimeIndex, AgreesWithAModelAndRoundTrips) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "ONCELOG_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    TimeIndex index(7, kCapacity);
    std::vector<TimeIndexEntry> model;
    Offset offset = 7;
    for (std::uint64_t n = random() % 200; n > 0; --n) {
      const auto timestamp = static_cast<TimestampMs>(random() % 1000);
      offset += static_cast<Offset>(random() % 5);
      index.maybe_append(timestamp, offset);
      if (model.empty() || timestamp > model.back().timestamp) model.push_back({timestamp, offset});
    }
    const auto read = TimeIndex::decode(index.encode(), 7, kCapacity, offset + 1);
    ASSERT_TRUE(read.ok());
    for (TimestampMs target = -1; target <= 1000; ++target) {
      TimeIndexEntry expected{kNoTimestamp, 7};
      for (const TimeIndexEntry& entry : model) {
        if (entry.timestamp <= target) expected = entry;
      }
      ASSERT_EQ(index.lookup(target), expected);
      ASSERT_EQ((*read)->lookup(target), expected);
    }
  }
}

}  // namespace
}  // namespace oncelog
