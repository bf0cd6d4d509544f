// Errors, byte order and checksums.
#include "oncelog/result.h"

#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "storage/base/crc32c.h"
#include "storage/base/endian.h"

namespace oncelog {
namespace {

TEST(Error, NamesFileByteAndOffset) {
  const Error error =
      make_error(ErrorCode::kDamaged, "CRC mismatch").at("t-0/00.log", 17).with_offset(5);

  EXPECT_EQ(to_string(error), "t-0/00.log: CRC mismatch, byte 17, offset 5");
}

TEST(ErrorCode, HasKafkasNameAndNumber) {
  EXPECT_EQ(to_string(ErrorCode::kOutOfOrderSequence), "OUT_OF_ORDER_SEQUENCE_NUMBER");
  EXPECT_EQ(kafka_error_of(ErrorCode::kOutOfOrderSequence), 45);
}

TEST(Crc32c, GivesTheCheckValueAndContinues) {
  const std::array<char, 9> text{'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  const auto bytes = std::as_bytes(std::span(text));

  EXPECT_EQ(crc32c(bytes), 0xE3069283U);
  EXPECT_EQ(crc32c(bytes.subspan(4), crc32c(bytes.first(4))), 0xE3069283U);
}

TEST(Endian, RoundTripsNegativeNumbers) {
  std::array<std::byte, 8> bytes{};

  store_be<std::int32_t>(bytes, 2, -2);

  EXPECT_EQ(load_be<std::int32_t>(bytes, 2), -2);
  EXPECT_EQ(bytes[5], std::byte{0xfe});
  EXPECT_EQ(bytes[1], std::byte{0});
}

}  // namespace
}  // namespace oncelog
