// Which leader epoch began where: assignment, ends for followers, truncation, the file.
#include "index/leader_epoch_cache.h"

#include <gtest/gtest.h>

#include "tests/index/bytes.h"

namespace oncelog {
namespace {

using Entries = std::vector<EpochEntry>;

LeaderEpochCache make(const Entries& entries) {
  LeaderEpochCache cache;
  for (const EpochEntry& entry : entries)
    cache.assign(entry.epoch, entry.start_offset);
  EXPECT_EQ(cache.entries(), entries);
  return cache;
}

TEST(LeaderEpochCache, IgnoresTheLatestEpochAtOrAboveItsStart) {
  LeaderEpochCache cache = make({{2, 6}});

  EXPECT_FALSE(cache.assign(2, 6));
  EXPECT_FALSE(cache.assign(2, 9));

  EXPECT_EQ(cache.entries(), (Entries{{2, 6}}));
  EXPECT_EQ(cache.latest(), (EpochEntry{2, 6}));
  EXPECT_FALSE(LeaderEpochCache().latest().has_value());
}

TEST(LeaderEpochCache, RemovesEntriesThatANewOneContradicts) {
  LeaderEpochCache lower_epoch = make({{1, 0}, {5, 10}, {7, 20}});
  LeaderEpochCache lower_offset = make({{1, 0}, {5, 10}, {7, 20}});
  LeaderEpochCache same_epoch = make({{1, 0}, {5, 10}});

  EXPECT_TRUE(lower_epoch.assign(3, 30));
  EXPECT_TRUE(lower_offset.assign(9, 10));
  EXPECT_TRUE(same_epoch.assign(5, 4));

  EXPECT_EQ(lower_epoch.entries(), (Entries{{1, 0}, {3, 30}}));
  EXPECT_EQ(lower_offset.entries(), (Entries{{1, 0}, {9, 10}}));
  EXPECT_EQ(same_epoch.entries(), (Entries{{1, 0}, {5, 4}}));
}

TEST(LeaderEpochCache, AnswersTheEndOfAnEpoch) {
  const LeaderEpochCache cache = make({{2, 6}, {5, 10}, {7, 20}});

  EXPECT_EQ(cache.end_offset_for(7, 33), (EpochEnd{7, 33}));
  EXPECT_EQ(cache.end_offset_for(5, 33), (EpochEnd{5, 20}));
  EXPECT_EQ(cache.end_offset_for(6, 33), (EpochEnd{5, 20}));
  EXPECT_EQ(cache.end_offset_for(3, 33), (EpochEnd{2, 10}));
  EXPECT_EQ(cache.end_offset_for(1, 33), (EpochEnd{1, 6}));
  EXPECT_EQ(cache.end_offset_for(8, 33), (EpochEnd{-1, -1}));
  EXPECT_EQ(cache.end_offset_for(-1, 33), (EpochEnd{-1, -1}));
  EXPECT_EQ(LeaderEpochCache().end_offset_for(0, 33), (EpochEnd{-1, -1}));
}

TEST(LeaderEpochCache, NamesTheEpochInForceAtAnOffset) {
  const LeaderEpochCache cache = make({{2, 6}, {5, 10}});

  EXPECT_FALSE(cache.epoch_at(5).has_value());
  EXPECT_EQ(cache.epoch_at(6), 2);
  EXPECT_EQ(cache.epoch_at(9), 2);
  EXPECT_EQ(cache.epoch_at(10), 5);
  EXPECT_EQ(cache.epoch_at(INT64_MAX), 5);
}

// H-113: an epoch at the log end has no data, and goes when the log is cut to exactly there.
TEST(LeaderEpochCache, TruncatesFromTheEndWhatStartsThere) {
  LeaderEpochCache cache = make({{0, 0}, {1, 10}, {3, 20}});

  EXPECT_FALSE(cache.truncate_from_end(21));
  EXPECT_TRUE(cache.truncate_from_end(20));
  EXPECT_EQ(cache.entries(), (Entries{{0, 0}, {1, 10}}));
  EXPECT_TRUE(cache.truncate_from_end(0));
  EXPECT_TRUE(cache.entries().empty());
  EXPECT_FALSE(cache.truncate_from_end(0));
}

TEST(LeaderEpochCache, TruncatesFromTheStartMovingTheOneInForce) {
  LeaderEpochCache cache = make({{2, 6}, {3, 8}, {4, 11}});

  EXPECT_FALSE(cache.truncate_from_start(-1));
  EXPECT_FALSE(cache.truncate_from_start(5));
  EXPECT_FALSE(cache.truncate_from_start(6));
  EXPECT_TRUE(cache.truncate_from_start(7));
  EXPECT_EQ(cache.entries(), (Entries{{2, 7}, {3, 8}, {4, 11}}));
  EXPECT_TRUE(cache.truncate_from_start(8));
  EXPECT_EQ(cache.entries(), (Entries{{3, 8}, {4, 11}}));
  EXPECT_TRUE(cache.truncate_from_start(15));
  EXPECT_EQ(cache.entries(), (Entries{{4, 15}}));
  cache.clear();
  EXPECT_FALSE(cache.truncate_from_start(15));
}

TEST(LeaderEpochCache, RoundTripsThroughItsFile) {
  const LeaderEpochCache cache = make({{0, 0}, {3, 1LL << 40}});

  EXPECT_EQ(cache.encode(), "0\n2\n0 0\n3 1099511627776\n");
  EXPECT_EQ(*LeaderEpochCache::decode(cache.encode()), cache);
  EXPECT_EQ(LeaderEpochCache().encode(), "0\n0\n");
  // SEEN 4: a new log has an empty file.
  EXPECT_EQ(*LeaderEpochCache::decode(""), LeaderEpochCache());
}

// H-073
TEST(LeaderEpochCache, NamesTheLineOfEveryKindOfDamage) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"1\n0\n", "line 1"},
      {"0\n", "line 2"},
      {"0\n2\n0 0\n", "line 4"},
      {"0\n1\n0 0\n1 5\n", "line 4"},
      {"0\n1\n0\n", "line 3"},
      {"0\n1\n0 0 0\n", "line 3"},
      {"0\n1\n-1 0\n", "line 3"},
      {"0\n1\n0 -1\n", "line 3"},
      {"0\n1\nx 0\n", "line 3"},
      {"0\n1\n0 x\n", "line 3"},
      {"0\n1\n0 12", "line 3"},
      {"0\n2\n1 0\n1 5\n", "line 4"},
      {"0\n2\n1 5\n2 5\n", "line 4"},
      {"0\n2\n2 5\n1 9\n", "line 4"},
      {"0\n1\n2147483648 0\n", "line 3"}};
  for (const auto& [text, line] : cases) {
    const auto cache = LeaderEpochCache::decode(text);
    ASSERT_FALSE(cache.ok()) << text;
    EXPECT_EQ(cache.error().code, ErrorCode::kDamaged);
    EXPECT_EQ(cache.error().message.substr(0, 6), line) << text;
  }
}

TEST(LeaderEpochCache, ReadsWhatABrokerWrote) {
  const auto files = golden_files("leader-epoch-checkpoint");
  if (files.empty()) GTEST_SKIP() << "no golden data in " << golden_cases();
  for (const auto& file : files) {
    const std::string text = read_text(file);
    const auto cache = LeaderEpochCache::decode(text);
    ASSERT_TRUE(cache.ok()) << file << ": " << to_string(cache.error());
    if (!text.empty()) {
      EXPECT_EQ(cache->encode(), text) << file;
    }
  }
}

TEST(LeaderEpochCache, StaysAscendingUnderRandomCalls) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "ONCELOG_SEED=" << seed);
  std::mt19937_64 random(seed);
  LeaderEpochCache cache;
  for (int i = 0; i < 5000; ++i) {
    const auto offset = static_cast<Offset>(random() % 100);
    const LeaderEpochCache before = cache;
    const std::uint64_t kind = random() % 10;
    const bool changed = kind == 0 ? cache.truncate_from_end(offset)
                         : kind == 1
                             ? cache.truncate_from_start(offset)
                             : cache.assign(static_cast<LeaderEpoch>(random() % 20), offset);

    ASSERT_EQ(changed, !(cache == before));
    for (std::size_t k = 1; k < cache.entries().size(); ++k) {
      ASSERT_LT(cache.entries()[k - 1].epoch, cache.entries()[k].epoch);
      ASSERT_LT(cache.entries()[k - 1].start_offset, cache.entries()[k].start_offset);
    }
    ASSERT_EQ(*LeaderEpochCache::decode(cache.encode()), cache);
  }
}

}  // namespace
}  // namespace oncelog
