// The parser of script files.
#include <string>

#include <gtest/gtest.h>

#include "tools/script/parser.h"
#include "tools/script/runner.h"

namespace oncelog::tools::script {
namespace {

std::string error_of(const std::string& text) {
  const auto steps = parse_script(text);
  return steps.ok() ? "none" : steps.error().message;
}

TEST(ScriptParser, SkipsCommentsAndEmptyLinesAndCountsThem) {
  const auto steps = parse_script("# a comment\n\n{\"op\":\"open\"}\r\n  \n{\"op\":\"close\"}");

  ASSERT_TRUE(steps.ok());
  ASSERT_EQ(steps->size(), 2U);
  EXPECT_EQ((*steps)[0].line, 3U);
  EXPECT_EQ((*steps)[1].line, 5U);
  EXPECT_EQ((*steps)[1].op, "close");
}

TEST(ScriptParser, SeparatesFieldsFromExpectAndSave) {
  const auto steps =
      parse_script(R"({"op":"verify_start","producerId":7,"producerEpoch":0,"baseSequence":0,)"
                   R"("save":{"g":"guard"},"expect":{"ok":true}})");

  ASSERT_TRUE(steps.ok());
  const Step& step = steps->front();
  EXPECT_EQ(step.fields.members().size(), 3U);
  EXPECT_EQ(step.expect["ok"].as_bool(), true);
  ASSERT_EQ(step.save.size(), 1U);
  EXPECT_EQ(step.save[0].first, "g");
  EXPECT_EQ(step.save[0].second, "guard");
}

TEST(ScriptParser, NamesTheLineOfEveryMistake) {
  EXPECT_EQ(error_of("{\"op\":\"open\"}\n{\"op\":\"fly\"}"), "line 2: unknown operation \"fly\"");
  EXPECT_EQ(error_of("{\"op\":\"open\",\"dir\":1}"), "line 1: \"open\" has no field \"dir\"");
  EXPECT_EQ(error_of("\n{\"op\":\"truncate\"}"), "line 2: \"truncate\" needs \"offset\"");
  EXPECT_EQ(error_of("{\"op\":\"truncate\",\"offset\":\"x\"}"),
            "line 1: \"offset\" cannot be \"x\"");
  EXPECT_EQ(error_of("{}"), "line 1: \"op\" is missing");
  EXPECT_EQ(error_of("[]"), "line 1: an operation is a JSON object");
  EXPECT_TRUE(error_of("{\"op\":\"open\"").starts_with("line 1: "));
}

TEST(ScriptParser, RefusesWordsAndExpectationsThatDoNotExist) {
  EXPECT_NE(error_of(R"({"op":"open","onDamage":"ignore"})"), "none");
  EXPECT_NE(error_of(R"({"op":"power_cut","mode":"half"})"), "none");
  EXPECT_NE(error_of(R"({"op":"open","expect":7})"), "none");
  EXPECT_NE(error_of(R"({"op":"open","expect":{"x":{"$near":7}}})"), "none");
  EXPECT_NE(error_of(R"({"op":"open","save":["x"]})"), "none");
  EXPECT_NE(error_of(R"({"op":"append","timestamps":["x"]})"), "none");
  EXPECT_NE(error_of(R"({"op":"append","keys":[7]})"), "none");
}

TEST(ScriptParser, ReplacesReferencesByWhatWasSaved) {
  Json value = Json::object({{"guard", "$g"}, {"list", Json::array({"$g", 1})}});

  ASSERT_TRUE(substitute(value, Json::object({{"g", 42}})).ok());

  EXPECT_EQ(value["guard"].as_integer(), 42);
  EXPECT_EQ(value["list"].items()[0].as_integer(), 42);
  Json unknown = Json("$h");
  EXPECT_FALSE(substitute(unknown, Json::object()).ok());
}

TEST(ScriptGlob, MatchesStarsAndQuestionMarks) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("*.log", "00000000000000000000.log"));
  EXPECT_TRUE(matches_glob("*0*.?og", "00.log"));
  EXPECT_FALSE(matches_glob("*.log", "a.logx"));
  EXPECT_FALSE(matches_glob("?", ""));
  EXPECT_TRUE(matches_glob("a*b*c", "aXbYbZc"));
}

}  // namespace
}  // namespace oncelog::tools::script
