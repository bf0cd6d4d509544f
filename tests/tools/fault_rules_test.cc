// Fault rules as script fields, and what is left of them after some hits.
#include "tools/script/fault_rules.h"

#include <string>

#include <gtest/gtest.h>

namespace oncelog::tools::script {
namespace {

Json json(const std::string& text) {
  return parse_json(text).value();
}

TEST(FaultRules, SurviveTheWayToAnotherProcess) {
  for (const std::string text :
       {R"({"on":"write","nth":3,"times":-1,"file":"*.log","error":"ENOSPC"})",
        R"({"on":"fsync","nth":1,"times":2,"file":"*","lie":true})",
        R"({"on":"read","nth":1,"times":1,"file":"a?","short":7})",
        R"({"on":"fsync_dir","nth":1,"times":1,"file":"*","error":"EIO"})"}) {
    const auto rule = parse_fault(json(text));

    ASSERT_TRUE(rule.ok()) << text;
    EXPECT_EQ(to_text(fault_fields(*rule)), text);
  }
}

TEST(FaultRules, RefuseEffectsThatContradictEachOther) {
  EXPECT_FALSE(parse_fault(json(R"({"on":"fsync","lie":true,"error":"EIO"})")).ok());
  EXPECT_FALSE(parse_fault(json(R"({"on":"write","short":1,"error":"EIO"})")).ok());
  EXPECT_FALSE(parse_fault(json(R"({"on":"write","lie":true})")).ok());
  EXPECT_FALSE(parse_fault(json(R"({"on":"rename","short":1})")).ok());
  EXPECT_FALSE(parse_fault(json(R"({"on":"write","nth":0})")).ok());
}

TEST(FaultPlan, TellsWhatIsLeftOfARule) {
  FaultPlan plan;
  FaultRule rule;
  rule.nth = 3;
  rule.times = 2;
  ASSERT_TRUE(plan.add(rule).ok());

  EXPECT_FALSE(plan.next(FaultPoint::kWrite, "x").has_value());
  ASSERT_EQ(plan.remaining().size(), 1U);
  EXPECT_EQ(plan.remaining()[0].nth, 2);
  EXPECT_EQ(plan.remaining()[0].times, 2);
  EXPECT_FALSE(plan.next(FaultPoint::kWrite, "x").has_value());
  EXPECT_TRUE(plan.next(FaultPoint::kWrite, "x").has_value());
  ASSERT_EQ(plan.remaining().size(), 1U);
  EXPECT_EQ(plan.remaining()[0].nth, 1);
  EXPECT_EQ(plan.remaining()[0].times, 1);
  EXPECT_TRUE(plan.next(FaultPoint::kWrite, "x").has_value());
  EXPECT_TRUE(plan.remaining().empty());
}

TEST(FaultPlan, KeepsARuleThatHoldsForGood) {
  FaultPlan plan;
  FaultRule rule;
  rule.times = -1;
  ASSERT_TRUE(plan.add(rule).ok());

  EXPECT_TRUE(plan.next(FaultPoint::kWrite, "x").has_value());

  ASSERT_EQ(plan.remaining().size(), 1U);
  EXPECT_EQ(plan.remaining()[0].times, -1);
}

}  // namespace
}  // namespace oncelog::tools::script
