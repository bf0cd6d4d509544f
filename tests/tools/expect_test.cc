// Expectations of scripts.
#include "tools/script/expect.h"

#include <string>

#include <gtest/gtest.h>

#include "tools/json.h"

namespace oncelog::tools::script {
namespace {

Json json(const std::string& text) {
  return parse_json(text).value();
}

std::string mismatch(const std::string& wanted, const std::string& got) {
  const auto found = compare(json(wanted), json(got));
  return found ? found->where : "none";
}

TEST(Expect, ComparesOnlyTheNamedFields) {
  EXPECT_EQ(mismatch(R"({"a":1})", R"({"a":1,"b":2})"), "none");
  EXPECT_EQ(mismatch(R"({"a":1,"b":3})", R"({"a":1,"b":2})"), "b");
  EXPECT_EQ(mismatch(R"({"c":1})", R"({"a":1})"), "c");
}

TEST(Expect, GoesIntoObjectsByTheirNamedFields) {
  EXPECT_EQ(mismatch(R"({"r":{"x":1}})", R"({"r":{"x":1,"y":2}})"), "none");
  EXPECT_EQ(mismatch(R"({"r":{"x":1}})", R"({"r":{"x":2}})"), "r.x");
  EXPECT_EQ(mismatch(R"({"r":{"x":1}})", R"({"r":5})"), "r");
}

TEST(Expect, ComparesArraysInLengthAndOrder) {
  EXPECT_EQ(mismatch(R"({"o":[0,1]})", R"({"o":[0,1]})"), "none");
  EXPECT_EQ(mismatch(R"({"o":[0,1]})", R"({"o":[1,0]})"), "o[0]");
  EXPECT_EQ(mismatch(R"({"o":[0]})", R"({"o":[0,1]})"), "o");
  EXPECT_EQ(mismatch(R"({"o":[{"k":1}]})", R"({"o":[{"k":1,"v":2}]})"), "none");
  EXPECT_EQ(mismatch(R"({"o":[{"k":1}]})", R"({"o":[{"k":2}]})"), "o[0].k");
}

TEST(Expect, TellsNullFromAbsentAndFromMinusOne) {
  EXPECT_EQ(mismatch(R"({"k":null})", R"({"k":null})"), "none");
  EXPECT_EQ(mismatch(R"({"k":null})", R"({})"), "k");
  EXPECT_EQ(mismatch(R"({"k":null})", R"({"k":-1})"), "k");
}

TEST(Expect, EvaluatesConditions) {
  EXPECT_EQ(mismatch(R"({"e":{"$in":["A","B"]}})", R"({"e":"B"})"), "none");
  EXPECT_EQ(mismatch(R"({"e":{"$in":["A","B"]}})", R"({"e":"C"})"), "e");
  EXPECT_EQ(mismatch(R"({"n":{"$min":3}})", R"({"n":3})"), "none");
  EXPECT_EQ(mismatch(R"({"n":{"$min":3}})", R"({"n":2})"), "n");
  EXPECT_EQ(mismatch(R"({"n":{"$min":3,"$max":4}})", R"({"n":5})"), "n");
  EXPECT_EQ(mismatch(R"({"n":{"$max":4}})", R"({"n":"x"})"), "n");
  EXPECT_EQ(mismatch(R"({"n":{"$min":4}})", R"({})"), "n");
}

TEST(Expect, FindsConditionsThatDoNotExist) {
  EXPECT_TRUE(find_invalid(json(R"({"n":{"$least":3}})")).has_value());
  EXPECT_TRUE(find_invalid(json(R"({"n":{"$min":"3"}})")).has_value());
  EXPECT_TRUE(find_invalid(json(R"({"n":[{"$in":3}]})")).has_value());
  EXPECT_TRUE(find_invalid(json(R"({"n":{"$min":3,"x":1}})")).has_value());
  EXPECT_FALSE(find_invalid(json(R"({"n":{"$min":3,"$max":9},"o":[1]})")).has_value());
}

}  // namespace
}  // namespace oncelog::tools::script
