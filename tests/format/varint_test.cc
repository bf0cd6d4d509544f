// Variable-length integers: FORMAT.md 4 examples, round trips, and broken input (H062).
#include "storage/base/varint.h"

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "tests/format/hex.h"

namespace oncelog {
namespace {

using test::from_hex;
using test::to_hex;

TEST(Varint, EncodesTheExamplesOfTheFormat) {
  const std::array<std::pair<std::int32_t, const char*>, 9> examples{{
      {0, "00"},
      {-1, "01"},
      {1, "02"},
      {63, "7e"},
      {64, "8001"},
      {-64, "7f"},
      {-65, "8101"},
      {2147483647, "feffffff0f"},
      {std::numeric_limits<std::int32_t>::min(), "ffffffff0f"},
  }};
  for (const auto& [value, hex] : examples) {
    std::vector<std::byte> out;
    append_varint(out, value);
    EXPECT_EQ(to_hex(out), hex);
    EXPECT_EQ(varint_bytes(value), out.size());
    ByteCursor cursor(out);
    EXPECT_EQ(cursor.varint(), value);
    EXPECT_EQ(cursor.left(), 0U);
  }
}

TEST(Varlong, RoundTripsAtEveryGroupBorder) {
  for (int bit = 0; bit < 63; ++bit) {
    for (const std::int64_t off : {-1, 0, 1}) {
      const std::int64_t value = (std::int64_t{1} << bit) + off;
      for (const std::int64_t signed_value : {value, -value}) {
        std::vector<std::byte> out;
        append_varlong(out, signed_value);
        EXPECT_EQ(varlong_bytes(signed_value), out.size());
        ByteCursor cursor(out);
        EXPECT_EQ(cursor.varlong(), signed_value);
      }
    }
  }
  std::vector<std::byte> out;
  append_varlong(out, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(to_hex(out), "ffffffffffffffffff01");
}

TEST(Varint, AcceptsLongerThanNeededWithinFiveBytes) {
  const auto bytes = from_hex("8280808000 ff");
  ByteCursor cursor(bytes);

  EXPECT_EQ(cursor.varint(), 1);
  EXPECT_EQ(cursor.left(), 1U);
}

TEST(Varint, DropsSpareBitsOfTheFifthByte) {
  const auto bytes = from_hex("feffffff7f");
  EXPECT_EQ(ByteCursor(bytes).varint(), 2147483647);
}

TEST(Varint, H062RefusesEndlessAndCutInput) {
  for (const char* hex : {"", "80", "ffff", "8080808080", "808080808000", "ffffffffff01"}) {
    const auto bytes = from_hex(hex);
    EXPECT_FALSE(ByteCursor(bytes).varint().has_value()) << hex;
  }
  for (const char* hex : {"", "80", "8080808080808080808000", "80808080808080808080",
                          "ffffffffffffffffff03", "80808080808080808002"}) {
    const auto bytes = from_hex(hex);
    EXPECT_FALSE(ByteCursor(bytes).varlong().has_value()) << hex;
  }
}

TEST(ByteCursor, GivesNothingBeyondItsEnd) {
  const auto bytes = from_hex("010203");
  ByteCursor cursor(bytes);

  EXPECT_FALSE(cursor.bytes(-1).has_value());
  EXPECT_FALSE(cursor.bytes(4).has_value());
  EXPECT_EQ(to_hex(*cursor.bytes(2)), "0102");
  EXPECT_EQ(cursor.byte(), std::byte{3});
  EXPECT_FALSE(cursor.byte().has_value());
}

}  // namespace
}  // namespace oncelog
