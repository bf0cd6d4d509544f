// The verdict table: rules 1 to 5 and the places where nothing is wrong.
#include "recovery/verdict.h"

#include <gtest/gtest.h>

namespace oncelog {
namespace {

constexpr VerdictFacts bad(bool below, bool behind, bool within) {
  return {ChainEnd::kBadSpot, below, behind, within};
}

TEST(Verdict, Rule1BadBytesBelowTheFloorAreDamageWhateverStandsBehind) {
  for (const bool behind : {false, true}) {
    for (const bool within : {false, true}) {
      EXPECT_EQ(rule_for(bad(true, behind, within)).label, '1');
      EXPECT_EQ(rule_for(bad(true, behind, within)).ruling, Ruling::kDamageBad);
    }
  }
}

TEST(Verdict, Rule2ALogThatEndsBelowTheFloorIsShort) {
  const VerdictRule& rule = rule_for({ChainEnd::kLogEnd, true, false, false});

  EXPECT_EQ(rule.label, '2');
  EXPECT_EQ(rule.ruling, Ruling::kDamageShort);
  EXPECT_EQ(verdict_of(rule.ruling), Verdict::kDamage);
}

TEST(Verdict, Rule3NothingValidBehindIsATornTail) {
  EXPECT_EQ(rule_for(bad(false, false, false)).ruling, Ruling::kTorn);
  EXPECT_EQ(rule_for(bad(false, false, true)).ruling, Ruling::kTorn);
}

TEST(Verdict, Rule4ValidBatchesWithinTheWindowAreAHoledTail) {
  EXPECT_EQ(rule_for(bad(false, true, true)).label, '4');
  EXPECT_EQ(verdict_of(rule_for(bad(false, true, true)).ruling), Verdict::kHoledTail);
}

TEST(Verdict, Rule5ValidBatchesBeyondTheWindowAreDamage) {
  EXPECT_EQ(rule_for(bad(false, true, false)).label, '5');
  EXPECT_EQ(verdict_of(rule_for(bad(false, true, false)).ruling), Verdict::kDamage);
}

TEST(Verdict, ZerosAreNothingAtTheLogEndAndBeforeAContinuingSegment) {
  EXPECT_EQ(chain_end_of({.zeros_behind = true}), ChainEnd::kLogEnd);
  EXPECT_EQ(
      chain_end_of({.zeros_behind = true, .last_segment = false, .successor_continues = true}),
      ChainEnd::kContinued);
  EXPECT_EQ(rule_for({ChainEnd::kContinued, true, true, false}).ruling, Ruling::kSound);
}

TEST(Verdict, ZerosWhereBatchesAreMissingAreABadSpot) {
  EXPECT_EQ(chain_end_of({.zeros_behind = true, .last_segment = false}), ChainEnd::kBadSpot);
}

TEST(Verdict, AnEarlierSegmentThatEndsEarlyIsAGapUnlessTheLossIsKnown) {
  EXPECT_EQ(chain_end_of({.last_segment = false}), ChainEnd::kGap);
  EXPECT_EQ(chain_end_of({.last_segment = false, .loss_is_known = true}), ChainEnd::kBadSpot);
  EXPECT_EQ(rule_for({ChainEnd::kGap, false, true, false}).ruling, Ruling::kSound);
}

TEST(Verdict, GarbageIsABadSpotEverywhere) {
  for (const bool last : {false, true}) {
    for (const bool continues : {false, true}) {
      EXPECT_EQ(
          chain_end_of(
              {.garbage_behind = true, .last_segment = last, .successor_continues = continues}),
          ChainEnd::kBadSpot);
    }
  }
}

}  // namespace
}  // namespace oncelog
