// JSON values and base64 as the tools print and parse them.
#include "tools/json.h"

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/base64.h"

namespace oncelog::tools {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> out;
  for (const char c : text)
    out.push_back(static_cast<std::byte>(c));
  return out;
}

TEST(Json, PrintsMembersInTheOrderInWhichTheyWereSet) {
  Json value = Json::object({{"b", 1}, {"a", true}});
  value.set("c", nullptr);
  value.set("b", "x");

  EXPECT_EQ(to_text(value), R"({"b":"x","a":true,"c":null})");
}

TEST(Json, PrintsWhatItParsed) {
  for (const std::string text : {R"({"a":[1,-2,{"b":null}],"c":"\n\"","d":9223372036854775807})",
                                 "[]", "{}", "\"\"", "-9223372036854775808", "false"}) {
    const auto parsed = parse_json(text);

    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(to_text(*parsed), text);
  }
}

TEST(Json, RefusesWhatIsNoJson) {
  for (const std::string text :
       {"", "{", "{\"a\":}", "[1,]", "nul", "{\"a\":1}x", "'a'", "18446744073709551615",
        "{\"a\":1,\"a\":2}", "99999999999999999999999"}) {
    EXPECT_FALSE(parse_json(text).ok()) << text;
  }
}

TEST(Json, RefusesDeepNestingInsteadOfRecursing) {
  EXPECT_FALSE(parse_json(std::string(100'000, '[')).ok());
}

TEST(Json, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(to_text(Json("a\xff\xc3\xa9\xed\xa0\x80")),
            "\"a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(Json, GivesNullForMembersThatAreNotThere) {
  const Json value = Json::object({{"a", 1}});

  EXPECT_TRUE(value["b"].is_null());
  EXPECT_EQ(value.find("b"), nullptr);
  EXPECT_EQ(value["a"].as_integer(), 1);
  EXPECT_EQ(value["a"]["x"].as_integer(7), 7);
}

TEST(Base64, DecodesWhatItEncoded) {
  for (const std::string text : {"", "f", "fo", "foo", "foob", "fooba", "foobar"})
    EXPECT_EQ(decode_base64(encode_base64(bytes_of(text))), bytes_of(text));
  EXPECT_EQ(encode_base64(bytes_of("foob")), "Zm9vYg==");
}

TEST(Base64, RefusesWrongCharactersAndLengths) {
  for (const std::string text : {"Zm9", "Zm9v!A==", "====", "Z===", "Zm9vYg=", "Zm 9"})
    EXPECT_FALSE(decode_base64(text).has_value()) << text;
}

}  // namespace
}  // namespace oncelog::tools
