// Lookup in the offset index, its bytes, and what is refused when it is read.
#include "index/offset_index.h"

#include <map>

#include <gtest/gtest.h>

#include "tests/index/bytes.h"

namespace oncelog {
namespace {

constexpr std::int64_t kCapacity = 1 << 20;

void expect_damaged(std::string_view hex, std::int64_t position, std::int64_t log_size = 1 << 20) {
  const auto index = OffsetIndex::decode(from_hex(hex), 50, kCapacity, log_size);
  ASSERT_FALSE(index.ok()) << hex;
  EXPECT_EQ(index.error().code, ErrorCode::kDamaged);
  EXPECT_EQ(index.error().position, position) << index.error().message;
}

TEST(OffsetIndex, EncodesTheVectorOfTheFormat) {
  OffsetIndex index(50, kCapacity);

  index.append(55, 8192);

  EXPECT_EQ(index.encode(), from_hex("00 00 00 05 00 00 20 00"));
}

TEST(OffsetIndex, AnswersTheGreatestEntryAtOrBelowTheTarget) {
  OffsetIndex index(50, kCapacity);
  EXPECT_EQ(index.lookup(60), (OffsetIndexEntry{50, 0}));
  EXPECT_FALSE(index.last().has_value());
  index.append(55, 100);
  index.append(60, 200);

  EXPECT_EQ(index.lookup(0), (OffsetIndexEntry{50, 0}));
  EXPECT_EQ(index.lookup(54), (OffsetIndexEntry{50, 0}));
  EXPECT_EQ(index.lookup(55), (OffsetIndexEntry{55, 100}));
  EXPECT_EQ(index.lookup(59), (OffsetIndexEntry{55, 100}));
  EXPECT_EQ(index.lookup(60), (OffsetIndexEntry{60, 200}));
  EXPECT_EQ(index.lookup(INT64_MAX), (OffsetIndexEntry{60, 200}));
  EXPECT_EQ(*index.last(), (OffsetIndexEntry{60, 200}));
}

TEST(OffsetIndex, FindsTheFirstEntryFromAPosition) {
  OffsetIndex index(0, kCapacity);
  index.append(5, 100);
  index.append(9, 200);

  EXPECT_EQ(index.first_from_position(0)->offset, 5);
  EXPECT_EQ(index.first_from_position(100)->offset, 5);
  EXPECT_EQ(index.first_from_position(101)->offset, 9);
  EXPECT_FALSE(index.first_from_position(201).has_value());
}

TEST(OffsetIndex, IsFullAtItsCapacityRoundedDown) {
  OffsetIndex index(0, 23);
  EXPECT_FALSE(index.is_full());
  index.append(1, 10);
  EXPECT_FALSE(index.is_full());
  index.append(2, 20);
  EXPECT_TRUE(index.is_full());
  EXPECT_TRUE(OffsetIndex(0, 7).is_full());
  EXPECT_TRUE(OffsetIndex(0, -1).is_full());
}

// H-109, H-049
TEST(OffsetIndex, KeepsOffsetsRelativeAtVeryLargeBases) {
  const Offset base = 5'000'000'000;
  OffsetIndex index(base, kCapacity);
  index.append(base + 1, 10);
  index.append(base + kRelativeOffsetMax, kSegmentBytesMax);

  const auto read = OffsetIndex::decode(index.encode(), base, kCapacity, kSegmentBytesMax + 1);

  ASSERT_TRUE(read.ok()) << to_string(read.error());
  EXPECT_EQ((*read)->entry(1), (OffsetIndexEntry{base + kRelativeOffsetMax, kSegmentBytesMax}));
}

// H-051: the number of entries is that of the file, whatever they hold.
TEST(OffsetIndex, KeepsASingleEntryOfZeros) {
  const auto index = OffsetIndex::decode(from_hex("0000000000000000"), 0, kCapacity, 100);

  ASSERT_TRUE(index.ok());
  ASSERT_EQ((*index)->size(), 1U);
  (*index)->append(1, 50);
  EXPECT_EQ((*index)->encode(), from_hex("0000000000000000 00000001 00000032"));
}

TEST(OffsetIndex, IsEmptyWhenItsFileIs) {
  const auto index = OffsetIndex::decode({}, 7, kCapacity, 0);

  ASSERT_TRUE(index.ok());
  EXPECT_EQ((*index)->size(), 0U);
  EXPECT_EQ((*index)->lookup(9), (OffsetIndexEntry{7, 0}));
}

// H-050
TEST(OffsetIndex, RefusesWhatCannotBeAnIndexAndNamesTheByte) {
  expect_damaged("00 00 00 05 00 00 20", 0);
  expect_damaged("00000005 00002000 00", 8);
  expect_damaged("ffffffff 00002000", 0);
  expect_damaged("00000005 ffffffff", 4);
  expect_damaged("00000005 00002000 00000005 00003000", 8);
  expect_damaged("00000005 00002000 00000004 00003000", 8);
  expect_damaged("00000005 00002000 00000006 00002000", 12);
  expect_damaged("00000005 00002000 00000006 00001000", 12);
  expect_damaged("00000005 00002000", 4, 8192);
  expect_damaged("00000005 00000000", 4, 0);
}

// RECOVERY 11.6: an active index that was not trimmed ends in zeros.
TEST(OffsetIndex, RefusesAZeroTail) {
  expect_damaged("00000005 00002000 0000000000000000 0000000000000000", 8);
  expect_damaged("0000000000000000 0000000000000000", 8);
}

TEST(OffsetIndex, CopiesWhatATruncationLeaves) {
  OffsetIndex index(0, 24);
  index.append(5, 100);
  index.append(9, 200);
  index.append(12, 300);

  EXPECT_EQ(index.copy_below(13)->size(), 3U);
  EXPECT_TRUE(index.copy_below(13)->is_full());
  EXPECT_EQ(index.copy_below(12)->size(), 2U);
  EXPECT_EQ(index.copy_below(0)->size(), 0U);
}

TEST(OffsetIndex, HoldsMoreEntriesThanItsCapacityWhenItsFileDoes) {
  const auto index =
      OffsetIndex::decode(from_hex("00000001 00000001 00000002 00000002"), 0, 8, 100);

  ASSERT_TRUE(index.ok());
  EXPECT_EQ((*index)->size(), 2U);
  EXPECT_TRUE((*index)->is_full());
}

TEST(OffsetIndexDeathTest, AbortsOnEntriesThatDoNotRise) {
  OffsetIndex index(10, kCapacity);
  index.append(20, 100);

  EXPECT_DEATH(index.append(20, 200), "invariant broken");
  EXPECT_DEATH(index.append(21, 100), "invariant broken");
  EXPECT_DEATH(index.append(10 + kRelativeOffsetMax + 1, 200), "invariant broken");
}

TEST(OffsetIndex, AgreesWithAModelAndRoundTrips) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "ONCELOG_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    const Offset base = static_cast<Offset>(random() % 1000);
    OffsetIndex index(base, kCapacity);
    std::map<Offset, std::int64_t> model;
    Offset offset = base - 1;
    std::int64_t position = -1;
    for (std::uint64_t n = random() % 300; n > 0; --n) {
      offset += static_cast<Offset>(random() % 9 + 1);
      position += static_cast<std::int64_t>(random() % 500 + 1);
      index.append(offset, position);
      model.emplace(offset, position);
    }
    const auto read = OffsetIndex::decode(index.encode(), base, kCapacity, position + 1);
    ASSERT_TRUE(read.ok());
    for (Offset target = base - 2; target <= offset + 2; ++target) {
      const auto after = model.upper_bound(target);
      const OffsetIndexEntry expected =
          after == model.begin()
              ? OffsetIndexEntry{base, 0}
              : OffsetIndexEntry{std::prev(after)->first, std::prev(after)->second};
      ASSERT_EQ(index.lookup(target), expected);
      ASSERT_EQ((*read)->lookup(target), expected);
    }
  }
}

}  // namespace
}  // namespace oncelog
