// Search in the aborted-transaction index, its bytes, and what is refused when it is read.
#include "index/txn_index.h"

#include <utility>

#include <gtest/gtest.h>

#include "tests/index/bytes.h"

namespace oncelog {
namespace {

using Firsts = std::vector<Offset>;

std::pair<Firsts, bool> collect(const TxnIndex& index, Offset from, Offset to) {
  std::vector<AbortedTxn> found;
  const bool complete = index.collect(from, to, found);
  Firsts firsts;
  for (const AbortedTxn& txn : found)
    firsts.push_back(txn.first_offset);
  return {firsts, complete};
}

void expect_damaged(std::string_view hex, std::int64_t position) {
  const auto index = TxnIndex::decode(from_hex(hex), 50);
  ASSERT_FALSE(index.ok()) << hex;
  EXPECT_EQ(index.error().code, ErrorCode::kDamaged);
  EXPECT_EQ(index.error().position, position) << index.error().message;
}

constexpr std::string_view kVector =
    "0000 0000000000000fa0 0000000000000064 0000000000000066 0000000000000067";

TEST(TxnIndex, EncodesTheVectorOfTheFormat) {
  TxnIndex index(50);

  index.append({4000, 100, 102, 103});

  EXPECT_EQ(index.encode(), from_hex(kVector));
  const auto read = TxnIndex::decode(from_hex(kVector), 50);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ((*read)->entry(0), (AbortedTxn{4000, 100, 102, 103}));
}

TEST(TxnIndex, CollectsWhatOverlapsAndSaysWhenThatIsAll) {
  TxnIndex index(0);
  index.append({0, 0, 10, 11});
  index.append({1, 5, 15, 13});
  index.append({2, 18, 35, 25});
  index.append({3, 32, 50, 40});

  EXPECT_EQ(collect(index, 0, 100), (std::pair<Firsts, bool>({0, 5, 18, 32}, false)));
  EXPECT_EQ(collect(index, 0, 32), (std::pair<Firsts, bool>({0, 5, 18}, true)));
  EXPECT_EQ(collect(index, 0, 35), (std::pair<Firsts, bool>({0, 5, 18, 32}, true)));
  EXPECT_EQ(collect(index, 10, 35), (std::pair<Firsts, bool>({0, 5, 18, 32}, true)));
  EXPECT_EQ(collect(index, 11, 35), (std::pair<Firsts, bool>({5, 18, 32}, true)));
  EXPECT_EQ(collect(index, 20, 41), (std::pair<Firsts, bool>({18, 32}, false)));
}

// PRODUCER_STATE 12
TEST(TxnIndex, CollectsAsTheWorkedScenarioSays) {
  TxnIndex index(0);
  index.append({1, 0, 5, 3});
  index.append({1, 6, 8, 9});

  EXPECT_EQ(collect(index, 0, 6), (std::pair<Firsts, bool>({0}, true)));
  EXPECT_EQ(collect(index, 0, 3), (std::pair<Firsts, bool>({0}, true)));
  EXPECT_EQ(collect(index, 2, 5), (std::pair<Firsts, bool>({0}, true)));
  EXPECT_EQ(collect(index, 6, 10), (std::pair<Firsts, bool>({6}, false)));
  EXPECT_EQ(collect(index, 0, 10), (std::pair<Firsts, bool>({0, 6}, false)));
  EXPECT_EQ(collect(index, 9, 10), (std::pair<Firsts, bool>({}, false)));
}

// A follower applies a whole fetch at once, so an entry may know a stable offset beyond its end.
TEST(TxnIndex, StopsAtAnEntryBelowTheRangeThatIsStableBeyondIt) {
  TxnIndex index(0);
  index.append({1, 0, 1, 5});

  EXPECT_EQ(collect(index, 2, 5), (std::pair<Firsts, bool>({}, true)));
}

TEST(TxnIndex, CopiesWhatATruncationLeaves) {
  TxnIndex index(0);
  index.append({0, 0, 10, 11});
  index.append({3, 32, 50, 40});

  EXPECT_EQ(index.copy_below(51)->size(), 2U);
  EXPECT_EQ(index.copy_below(50)->size(), 1U);
  EXPECT_TRUE(index.copy_below(0)->empty());
}

TEST(TxnIndex, RefusesWhatCannotBeAnIndexAndNamesTheByte) {
  const std::string vector(kVector);
  expect_damaged(vector + "00", 34);
  expect_damaged(vector.substr(0, vector.size() - 2), 0);
  expect_damaged(vector + vector, 34 + 18);
  // SEEN 10: a broker does not notice version 1.
  expect_damaged("0001" + vector.substr(4), 0);
  expect_damaged("0100" + vector.substr(4), 0);
  // ends below its segment
  expect_damaged("0000 0000000000000fa0 0000000000000000 0000000000000031 0000000000000032", 18);
  // begins behind its end, or at a negative offset
  expect_damaged("0000 0000000000000fa0 0000000000000067 0000000000000066 0000000000000067", 10);
  expect_damaged("0000 0000000000000fa0 ffffffffffffffff 0000000000000066 0000000000000067", 10);
}

TEST(TxnIndexDeathTest, AbortsOnMarkersThatDoNotRise) {
  TxnIndex index(10);
  index.append({1, 5, 20, 21});

  EXPECT_DEATH(index.append({1, 6, 20, 21}), "invariant broken");
  EXPECT_DEATH(TxnIndex(10).append({1, 5, 9, 10}), "invariant broken");
}

TEST(TxnIndex, ReadsWhatABrokerWrote) {
  const auto files = golden_files(".txnindex");
  if (files.empty()) GTEST_SKIP() << "no golden data in " << golden_cases();
  for (const auto& file : files) {
    const auto bytes = read_bytes(file);
    const auto index = TxnIndex::decode(bytes, std::stoll(file.stem().string()));
    ASSERT_TRUE(index.ok()) << file << ": " << to_string(index.error());
    EXPECT_EQ((*index)->encode(), bytes) << file;
  }
}

}  // namespace
}  // namespace oncelog
