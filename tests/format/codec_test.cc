// Codecs: round trips, the framings that readers must accept, broken input, and bombs (H063).
#include "storage/format/codec.h"

#include <array>
#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <lz4frame.h>
#include <snappy.h>
#include <zstd.h>

#include "tests/format/hex.h"

namespace oncelog {
namespace {

using test::bytes_of;
using test::from_hex;
using test::text_of;
using test::to_hex;

constexpr std::array<Codec, 4> kCodecs{Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd};
constexpr std::int64_t kMany = 64LL << 20;

std::vector<std::byte> noise(std::size_t size, unsigned distinct) {
  std::mt19937 random(7);
  std::vector<std::byte> out(size);
  for (std::byte& b : out)
    b = static_cast<std::byte>(random() % distinct);
  return out;
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

TEST(Codec, RoundTripsAtEveryLevelAndSize) {
  for (const Codec codec : kCodecs) {
    for (const std::size_t size : {1U, 17U, 32768U, 32769U, 65536U, 65537U, 300000U}) {
      for (const unsigned distinct : {1U, 4U, 256U}) {
        const auto plain = noise(size, distinct);
        for (const int level : {0, 1, 9, 17}) {
          const auto packed = compress(codec, plain, level);
          auto unpacked = decompress(codec, packed, {.bytes_max = kMany});
          ASSERT_TRUE(unpacked.ok()) << to_string(codec) << ' ' << size << ' ' << level << ' '
                                     << to_string(unpacked.error());
          EXPECT_TRUE(unpacked.value() == plain) << to_string(codec) << ' ' << size;
        }
      }
    }
  }
}

TEST(Codec, AcceptsExactlyTheLimit) {
  const auto plain = noise(100000, 3);
  for (const Codec codec : kCodecs) {
    const auto packed = compress(codec, plain, 0);
    EXPECT_TRUE(decompress(codec, packed, {.bytes_max = 100000}).ok()) << to_string(codec);
    const auto refused = decompress(codec, packed, {.bytes_max = 99999});
    ASSERT_FALSE(refused.ok()) << to_string(codec);
    EXPECT_EQ(refused.error().code, ErrorCode::kCorruptBatch);
  }
}

TEST(Codec, H063StopsABombAtItsLimit) {
  const std::vector<std::byte> zeros(std::size_t{64} << 20);
  for (const Codec codec : kCodecs) {
    const auto bomb = compress(codec, zeros, 0);
    const auto refused = decompress(codec, bomb, {.bytes_max = 1 << 20});
    ASSERT_FALSE(refused.ok()) << to_string(codec);
    EXPECT_NE(refused.error().message.find("opens to more than"), std::string::npos);
  }
}

TEST(Codec, RefusesInputCutAtAnyByte) {
  const auto plain = noise(2000, 30);
  for (const Codec codec : kCodecs) {
    const auto packed = compress(codec, plain, 0);
    for (std::size_t size = 0; size < packed.size(); ++size) {
      auto out = decompress(codec, std::span(packed).first(size), {.bytes_max = kMany});
      // A snappy stream has no end mark: cut between blocks it is only shorter.
      const bool block_border = codec == Codec::kSnappy && size == 16;
      if (!block_border) {
        EXPECT_FALSE(out.ok()) << to_string(codec) << ' ' << size;
      }
    }
  }
}

TEST(Codec, RefusesBytesBehindTheStream) {
  const auto plain = noise(2000, 30);
  for (const Codec codec : kCodecs) {
    auto packed = compress(codec, plain, 0);
    packed.push_back(std::byte{0});
    EXPECT_FALSE(decompress(codec, packed, {.bytes_max = kMany}).ok()) << to_string(codec);
  }
}

TEST(Codec, SurvivesChangedBytes) {
  const auto plain = noise(3000, 30);
  for (const Codec codec : kCodecs) {
    const auto packed = compress(codec, plain, 0);
    for (std::size_t at = 0; at < packed.size(); ++at) {
      auto changed = packed;
      changed[at] ^= std::byte{0x55};
      auto out = decompress(codec, changed, {.bytes_max = 100000});
      if (!out.ok()) {
        EXPECT_EQ(out.error().code, ErrorCode::kCorruptBatch);
      }
    }
  }
}

TEST(Gzip, WritesTheHeaderOfKafkasWriter) {
  EXPECT_EQ(to_hex(compress(Codec::kGzip, bytes_of("x"), 0)).substr(0, 20), "1f8b0800000000000000");
}

TEST(Gzip, ReadsConcatenatedMembers) {
  auto packed = compress(Codec::kGzip, bytes_of("one "), 0);
  append(packed, compress(Codec::kGzip, bytes_of("two"), 9));
  auto out = decompress(Codec::kGzip, packed, {.bytes_max = kMany});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(text_of(*out), "one two");
}

TEST(Snappy, ReadsABareBlock) {
  std::string packed;
  snappy::Compress("hello hello hello", 17, &packed);
  auto out = decompress(Codec::kSnappy, bytes_of(packed), {.bytes_max = kMany});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(text_of(*out), "hello hello hello");
}

TEST(Snappy, SkipsARepeatedHeader) {
  auto packed = compress(Codec::kSnappy, bytes_of("one "), 0);
  append(packed, compress(Codec::kSnappy, bytes_of("two"), 0));
  auto out = decompress(Codec::kSnappy, packed, {.bytes_max = kMany});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(text_of(*out), "one two");
}

TEST(Snappy, RefusesVersionZeroAndClaimedSizes) {
  EXPECT_FALSE(decompress(Codec::kSnappy, from_hex("82534e4150505900 00000000 00000001"),
                          {.bytes_max = kMany})
                   .ok());
  // A bare block that claims 2^32-1 bytes: refused before anything is allocated.
  EXPECT_FALSE(decompress(Codec::kSnappy, from_hex("ffffffff0f 00"), {.bytes_max = kMany}).ok());
}

std::vector<std::byte> lz4_frame(const LZ4F_preferences_t& preferences,
                                 std::span<const std::byte> plain) {
  std::vector<std::byte> out(LZ4F_compressFrameBound(plain.size(), &preferences));
  out.resize(LZ4F_compressFrame(out.data(), out.size(), plain.data(), plain.size(), &preferences));
  return out;
}

TEST(Lz4, ReadsEveryOptionOfAFrame) {
  const auto plain = noise(500000, 20);
  for (const auto size_id : {LZ4F_max64KB, LZ4F_max256KB, LZ4F_max1MB, LZ4F_max4MB}) {
    LZ4F_preferences_t preferences{};
    preferences.frameInfo.blockSizeID = size_id;
    preferences.frameInfo.blockMode = LZ4F_blockIndependent;
    preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    preferences.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
    preferences.frameInfo.contentSize = plain.size();
    const auto packed = lz4_frame(preferences, plain);

    auto out = decompress(Codec::kLz4, packed, {.bytes_max = kMany});

    ASSERT_TRUE(out.ok()) << to_string(out.error());
    EXPECT_TRUE(out.value() == plain);
    auto bad_block = packed;
    bad_block[100] ^= std::byte{1};
    EXPECT_FALSE(decompress(Codec::kLz4, bad_block, {.bytes_max = kMany}).ok());
    auto bad_content_checksum = packed;
    bad_content_checksum.back() ^= std::byte{1};
    EXPECT_TRUE(decompress(Codec::kLz4, bad_content_checksum, {.bytes_max = kMany}).ok());
  }
}

TEST(Lz4, RefusesLinkedBlocks) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockMode = LZ4F_blockLinked;
  const auto packed = lz4_frame(preferences, noise(200000, 20));
  auto out = decompress(Codec::kLz4, packed, {.bytes_max = kMany});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().message.find("linked"), std::string::npos);
}

TEST(Lz4, ChecksTheHeaderChecksumExceptForMagic0) {
  auto packed = compress(Codec::kLz4, bytes_of("hello"), 0);
  packed[6] = std::byte{0x1a};
  EXPECT_FALSE(decompress(Codec::kLz4, packed, {.bytes_max = kMany}).ok());
  EXPECT_TRUE(
      decompress(Codec::kLz4, packed, {.bytes_max = kMany, .ignore_lz4_header_checksum = true})
          .ok());
}

TEST(Zstd, WritesNoContentSizeAndNoChecksum) {
  const auto packed = compress(Codec::kZstd, noise(5000, 9), 0);
  EXPECT_EQ(ZSTD_getFrameContentSize(packed.data(), packed.size()), ZSTD_CONTENTSIZE_UNKNOWN);
  EXPECT_EQ(packed[4] & std::byte{0x04}, std::byte{0});
}

TEST(Zstd, ReadsConcatenatedAndSkippableFrames) {
  auto packed = compress(Codec::kZstd, bytes_of("one "), 0);
  append(packed, from_hex("502a4d18 03000000 aabbcc"));
  append(packed, compress(Codec::kZstd, bytes_of("two"), -5));
  auto out = decompress(Codec::kZstd, packed, {.bytes_max = kMany});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(text_of(*out), "one two");
}

TEST(Codec, ComesFromBitsOrNot) {
  EXPECT_EQ(codec_from_bits(4), Codec::kZstd);
  EXPECT_FALSE(codec_from_bits(5).has_value());
  EXPECT_FALSE(codec_from_bits(-1).has_value());
}

}  // namespace
}  // namespace oncelog
