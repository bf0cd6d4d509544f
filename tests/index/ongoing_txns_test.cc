// The arithmetic of open transactions and of the last stable offset.
#include "index/ongoing_txns.h"

#include <gtest/gtest.h>

namespace oncelog {
namespace {

constexpr ProducerId kA = 1;
constexpr ProducerId kB = 2;
constexpr ProducerId kC = 3;

CompletedTxn completed(ProducerId producer_id, Offset first, Offset last) {
  return {producer_id, first, last, true};
}

// PRODUCER_STATE 12, column by column.
TEST(OngoingTxns, FollowsTheWorkedScenario) {
  OngoingTxns txns;
  txns.start({kA, 0});
  txns.start({kB, 3});
  EXPECT_EQ(txns.first_unstable(0), 0);

  EXPECT_EQ(txns.stable_offset_at(completed(kA, 0, 5)), 3);
  txns.complete(completed(kA, 0, 5));
  EXPECT_EQ(txns.first_unstable(0), 0);
  EXPECT_EQ(txns.last_stable(0, 0), 0);

  txns.on_high_watermark(5);
  EXPECT_EQ(txns.last_stable(0, 5), 0);
  txns.on_high_watermark(6);
  EXPECT_EQ(txns.first_unstable(0), 3);
  EXPECT_EQ(txns.last_stable(0, 6), 3);

  txns.start({kA, 6});
  txns.complete({kB, 3, 7, false});
  EXPECT_EQ(txns.last_stable(0, 6), 3);
  txns.on_high_watermark(8);
  EXPECT_EQ(txns.last_stable(0, 8), 6);

  EXPECT_EQ(txns.stable_offset_at(completed(kA, 6, 8)), 9);
  txns.complete(completed(kA, 6, 8));
  EXPECT_FALSE(txns.has_open());
  EXPECT_EQ(txns.last_stable(0, 8), 6);
  txns.on_high_watermark(10);
  EXPECT_FALSE(txns.first_unstable(0).has_value());
  EXPECT_EQ(txns.last_stable(0, 10), 10);
}

// BEHAVIOURS 1, FirstUnstableOffset
TEST(OngoingTxns, StaysUnstableUntilTheHighWatermarkPassesTheMarker) {
  OngoingTxns txns;
  txns.start({kA, 99});
  txns.start({kB, 105});
  txns.complete({kA, 99, 109, false});
  EXPECT_EQ(txns.open().size(), 1U);
  EXPECT_EQ(txns.open()[0].first_offset, 105);
  EXPECT_EQ(txns.first_unstable(0), 99);

  txns.on_high_watermark(100);
  EXPECT_EQ(txns.first_unstable(0), 99);
  txns.on_high_watermark(109);
  EXPECT_EQ(txns.first_unstable(0), 99);
  txns.on_high_watermark(110);
  EXPECT_EQ(txns.first_unstable(0), 105);

  txns.complete(completed(kB, 105, 112));
  EXPECT_EQ(txns.first_unstable(0), 105);
  txns.on_high_watermark(113);
  EXPECT_FALSE(txns.first_unstable(0).has_value());
}

// BEHAVIOURS 1, LastStableOffsetCompletedTxn
TEST(OngoingTxns, NamesTheEarliestOtherTransactionAsStable) {
  OngoingTxns txns;
  txns.start({kA, 10});
  txns.start({kB, 20});
  txns.start({kC, 30});

  EXPECT_EQ(txns.stable_offset_at(completed(kC, 30, 40)), 10);
  EXPECT_EQ(txns.stable_offset_at(completed(kA, 10, 40)), 20);
  txns.complete(completed(kA, 10, 40));
  EXPECT_EQ(txns.stable_offset_at(completed(kC, 30, 41)), 20);
  txns.complete(completed(kC, 30, 41));
  EXPECT_EQ(txns.stable_offset_at(completed(kB, 20, 42)), 43);
}

// Replaying several batches at once starts all transactions before it completes any.
TEST(OngoingTxns, LooksBeyondTheProducersOwnLaterTransaction) {
  OngoingTxns txns;
  txns.start({kA, 0});
  txns.start({kA, 4});
  txns.start({kB, 9});

  EXPECT_EQ(txns.stable_offset_at(completed(kA, 0, 3)), 9);
}

TEST(OngoingTxns, IgnoresACompletionWhoseStartIsUnknown) {
  OngoingTxns txns;
  txns.start({kA, 5});

  txns.complete(completed(kB, 4, 9));
  txns.complete(completed(kB, 5, 9));

  EXPECT_TRUE(txns.is_open(kA));
  EXPECT_EQ(txns.first_unstable(0), 5);
}

TEST(OngoingTxns, NeverAnswersBelowTheLogStart) {
  OngoingTxns txns;
  txns.start({kA, 10});
  txns.start({kB, 11});
  txns.complete(completed(kB, 11, 12));

  txns.on_log_start(15);

  EXPECT_EQ(txns.first_unstable(15), 15);
  EXPECT_EQ(txns.last_stable(15, 20), 15);
  EXPECT_EQ(txns.last_stable(15, 15), 15);
  EXPECT_TRUE(txns.is_open(kA));
  EXPECT_FALSE(txns.is_open(kB));
}

// H-012
TEST(OngoingTxns, IsStableUpToTheHighWatermarkWhenEmpty) {
  OngoingTxns txns;
  EXPECT_EQ(txns.last_stable(0, 0), 0);
  txns.start({kA, 3});
  txns.complete(completed(kA, 3, 4));
  txns.clear();
  EXPECT_EQ(txns.last_stable(7, 7), 7);
}

}  // namespace
}  // namespace oncelog
