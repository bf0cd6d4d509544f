// The scanner of log files: good logs, every kind of bad spot, and its limits.
#include "storage/segment_scanner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "storage/base/endian.h"
#include "storage/format/batch_header.h"
#include "tests/format/memory_file.h"
#include "tests/format/sample_log.h"

namespace oncelog {
namespace {

using test::append_to;
using test::make_batch;
using test::make_log;
using test::MemoryFile;

struct Scan {
  std::vector<BatchHeader> headers;
  std::vector<std::int64_t> positions;
  std::optional<BadSpot> bad_spot;
  std::int64_t position = 0;
  Offset next_offset = 0;

  BadKind kind() const {
    EXPECT_TRUE(bad_spot.has_value());
    return bad_spot ? bad_spot->kind : BadKind::kHeader;
  }
};

Scan scan(const std::vector<std::byte>& bytes, const ScanOptions& options = {}) {
  MemoryFile file(bytes);
  SegmentScanner scanner(file, options);
  Scan out;
  while (true) {
    auto batch = scanner.next();
    EXPECT_TRUE(batch.ok());
    if (!batch.ok() || !batch->has_value()) break;
    out.headers.push_back((*batch)->header);
    out.positions.push_back((*batch)->position);
  }
  out.bad_spot = scanner.bad_spot();
  out.position = scanner.position();
  out.next_offset = scanner.next_offset();
  return out;
}

/// Stores a field and, if asked, the CRC that fits.
template <class T>
void patch(std::vector<std::byte>& log, std::size_t batch_at, Field field, T value) {
  store_be(std::span<std::byte>(log), batch_at + field.offset, value);
}
void fix_crc(std::vector<std::byte>& log, std::size_t batch_at) {
  const auto batch = std::span<std::byte>(log).subspan(batch_at);
  store_be(batch, batch_field::kCrc.offset, batch_crc(batch));
}

TEST(SegmentScanner, WalksAllBatchesInOrder) {
  const auto log = make_log(5, 100);
  for (const std::size_t chunk_bytes : {1U, 61U, 100U, 1U << 20}) {
    const Scan result = scan(log, {.segment_base = 100, .chunk_bytes = chunk_bytes});
    ASSERT_EQ(result.headers.size(), 5U);
    EXPECT_EQ(result.headers[4].base_offset, 104);
    EXPECT_EQ(result.positions[1], result.headers[0].size_bytes());
    EXPECT_FALSE(result.bad_spot.has_value());
    EXPECT_EQ(result.position, static_cast<std::int64_t>(log.size()));
    EXPECT_EQ(result.next_offset, 105);
  }
}

TEST(SegmentScanner, AcceptsGapsAndAFirstOffsetAboveTheBase) {
  std::vector<std::byte> log = make_batch({.base_offset = 7});
  append_to(log, make_batch({.base_offset = 1000, .records = 3}));
  const Scan result = scan(log, {.segment_base = 5});
  EXPECT_EQ(result.headers.size(), 2U);
  EXPECT_FALSE(result.bad_spot.has_value());
  EXPECT_EQ(result.next_offset, 1003);
}

TEST(SegmentScanner, AnEmptyFileIsTheEnd) {
  const Scan result = scan({}, {.segment_base = 9});
  EXPECT_FALSE(result.bad_spot.has_value());
  EXPECT_EQ(result.next_offset, 9);
}

TEST(SegmentScanner, H066StopsAtALastBatchCutAtAnyByte) {
  const auto log = make_log(3);
  const std::size_t batch_bytes = log.size() / 3;
  for (std::size_t n = 1; n < batch_bytes; ++n) {
    std::vector<std::byte> cut(log.begin(),
                               log.begin() + static_cast<std::ptrdiff_t>(2 * batch_bytes + n));
    for (const std::size_t chunk_bytes : {1U, 1U << 20}) {
      const Scan result = scan(cut, {.chunk_bytes = chunk_bytes});
      ASSERT_EQ(result.headers.size(), 2U);
      // Up to seven bytes of base offset 2 are zeros.
      EXPECT_EQ(result.kind(), n < 8 ? BadKind::kZeros : BadKind::kTruncated) << n;
      EXPECT_EQ(result.bad_spot->position, static_cast<std::int64_t>(2 * batch_bytes));
      EXPECT_EQ(result.bad_spot->expected_offset, 2);
      EXPECT_EQ(result.next_offset, 2);
    }
  }
}

TEST(SegmentScanner, H067ZerosToTheEndAreTheirOwnKind) {
  for (const std::size_t zeros : {1U, 16U, 61U, 62U, 5000U, 3U << 20}) {
    auto log = make_log(2);
    const auto size = static_cast<std::int64_t>(log.size());
    log.resize(log.size() + zeros);
    const Scan result = scan(log);
    EXPECT_EQ(result.kind(), BadKind::kZeros) << zeros;
    EXPECT_EQ(result.position, size);
    EXPECT_EQ(scan(log, {.headers_only = true}).kind(), BadKind::kZeros);
  }
}

TEST(SegmentScanner, H067ZerosWithAnythingBehindThemAreNotTheEnd) {
  auto log = make_log(1);
  log.resize(log.size() + (2U << 20));
  log.back() = std::byte{1};
  EXPECT_EQ(scan(log).kind(), BadKind::kLength);
}

TEST(SegmentScanner, H068GarbageBehindTheDataIsABadSpot) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    auto log = make_log(2);
    const auto size = static_cast<std::int64_t>(log.size());
    append_to(log, test::random_bytes(1 + seed * 7, seed));
    const Scan result = scan(log);
    EXPECT_TRUE(result.bad_spot.has_value()) << seed;
    EXPECT_EQ(result.position, size) << seed;
  }
}

TEST(SegmentScanner, H070AZeroPageInsideABatchIsFoundByItsCrc) {
  auto log = make_batch({.base_offset = 0, .value_bytes = 20000});
  std::fill(log.begin() + 8192, log.begin() + 12288, std::byte{0});
  EXPECT_EQ(scan(log).kind(), BadKind::kCrc);
  EXPECT_EQ(scan(log, {.check_crc = false}).headers.size(), 1U);
}

TEST(SegmentScanner, H064ACrcOfZeroIsANormalBatch) {
  // CRC-32C is linear: with the right last four bytes it becomes zero. They are found by trying
  // each bit's effect and solving the 32 equations.
  auto log = make_batch({.base_offset = 0, .value_bytes = 40});
  const std::size_t free_at = log.size() - 5;  // inside the value; the last byte counts headers
  std::vector<std::pair<std::uint32_t, std::uint32_t>> basis;  // effect on the CRC, bits
  const std::uint32_t start = batch_crc(log);
  for (unsigned bit = 0; bit < 32; ++bit) {
    auto changed = log;
    changed[free_at + bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    std::uint32_t effect = batch_crc(changed) ^ start;
    std::uint32_t bits = 1U << bit;
    for (const auto& [other, other_bits] : basis) {
      if ((effect ^ other) < effect) {
        effect ^= other;
        bits ^= other_bits;
      }
    }
    ASSERT_NE(effect, 0U);
    basis.emplace_back(effect, bits);
    std::sort(basis.rbegin(), basis.rend());
  }
  std::uint32_t left = start;
  std::uint32_t flips = 0;
  for (const auto& [effect, bits] : basis) {
    if ((left ^ effect) < left) {
      left ^= effect;
      flips ^= bits;
    }
  }
  for (unsigned bit = 0; bit < 32; ++bit) {
    if ((flips >> bit & 1U) != 0) {
      log[free_at + bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
  }
  fix_crc(log, 0);
  ASSERT_EQ(load_be<std::uint32_t>(log, batch_field::kCrc.offset), 0U);

  const Scan result = scan(log);

  EXPECT_EQ(result.headers.size(), 1U);
  EXPECT_FALSE(result.bad_spot.has_value());
}

TEST(SegmentScanner, H112AndH116RespectTheEndThatIsGiven) {
  const auto log = make_log(3);
  const auto one = static_cast<std::int64_t>(log.size() / 3);
  const Scan cut = scan(log, {.end = 2 * one - 1});
  EXPECT_EQ(cut.headers.size(), 1U);
  EXPECT_EQ(cut.kind(), BadKind::kTruncated);
  const Scan middle = scan(log, {.begin = one, .end = 2 * one, .expected_offset = 1});
  EXPECT_EQ(middle.headers.size(), 1U);
  EXPECT_FALSE(middle.bad_spot.has_value());
  const Scan at_end = scan(log, {.begin = 3 * one});
  EXPECT_TRUE(at_end.headers.empty());
  EXPECT_FALSE(at_end.bad_spot.has_value());
}

TEST(SegmentScanner, EndsWithTheFileWhenThatIsShorterThanTheEndGiven) {
  const auto log = make_log(2);
  const Scan result = scan(log, {.end = static_cast<std::int64_t>(log.size()) + 500});
  EXPECT_EQ(result.headers.size(), 2U);
  EXPECT_FALSE(result.bad_spot.has_value());
}

TEST(SegmentScanner, NamesLengthsThatNoBatchHas) {
  for (const std::int32_t length : {0, -1, 10, 48, std::numeric_limits<std::int32_t>::min()}) {
    auto log = make_log(2);
    patch(log, 0, batch_field::kBatchLength, length);
    EXPECT_EQ(scan(log).kind(), BadKind::kLength) << length;
  }
}

TEST(SegmentScanner, TakesNoMemoryForALengthBeyondTheFile) {
  auto log = make_log(2);
  patch(log, 0, batch_field::kBatchLength, std::numeric_limits<std::int32_t>::max());
  MemoryFile file(log);
  SegmentScanner scanner(file, {});
  ASSERT_FALSE(scanner.next()->has_value());
  EXPECT_EQ(scanner.bad_spot()->kind, BadKind::kTruncated);
  EXPECT_LE(file.largest_read(), static_cast<std::int64_t>(log.size()));
}

TEST(SegmentScanner, NamesUnknownMagics) {
  for (const int magic : {3, 127, -1, -128}) {
    auto log = make_log(1);
    patch(log, 0, batch_field::kMagic, static_cast<std::int8_t>(magic));
    EXPECT_EQ(scan(log).kind(), BadKind::kMagic);
  }
}

TEST(SegmentScanner, FindsOffsetsThatTheCrcDoesNotCover) {
  const Offset top = std::numeric_limits<Offset>::max();
  for (const Offset offset : {Offset{-1}, Offset{0}, Offset{100}, Offset{101} + kRelativeOffsetMax,
                              top, std::numeric_limits<Offset>::min()}) {
    auto log = make_log(2, 100);
    patch(log, log.size() / 2, batch_field::kBaseOffset, offset);
    const Scan result = scan(log, {.segment_base = 100});
    EXPECT_EQ(result.kind(), BadKind::kOffsetOrder) << offset;
    EXPECT_EQ(result.headers.size(), 1U);
  }
}

TEST(SegmentScanner, AcceptsTheLargestRelativeOffset) {
  auto log = make_log(2, 100);
  patch(log, log.size() / 2, batch_field::kBaseOffset, 100 + kRelativeOffsetMax);
  EXPECT_EQ(scan(log, {.segment_base = 100}).headers.size(), 2U);
}

TEST(SegmentScanner, NoBatchEndsAtTheLastOffsetThereIs) {
  const Offset top = std::numeric_limits<Offset>::max();
  auto log = make_log(1);
  patch(log, 0, batch_field::kBaseOffset, top);
  EXPECT_EQ(scan(log, {.segment_base = top - 10}).kind(), BadKind::kOffsetOrder);
  patch(log, 0, batch_field::kBaseOffset, top - 1);
  EXPECT_EQ(scan(log, {.segment_base = top - 10}).headers.size(), 1U);
}

TEST(SegmentScanner, NamesImpossibleHeaders) {
  for (const Field field : {batch_field::kLastOffsetDelta, batch_field::kRecordCount}) {
    auto log = make_log(1);
    patch(log, 0, field, std::int32_t{-1});
    fix_crc(log, 0);
    EXPECT_EQ(scan(log).kind(), BadKind::kHeader);
    EXPECT_EQ(scan(log, {.headers_only = true}).kind(), BadKind::kHeader);
  }
}

TEST(SegmentScanner, HeadersOnlyJumpsOverBodies) {
  std::vector<std::byte> log;
  for (int i = 0; i < 4; ++i) {
    append_to(log, make_batch({.base_offset = i, .value_bytes = 100000}));
  }
  log[200] ^= std::byte{1};  // in a body: not looked at
  MemoryFile file(log);
  SegmentScanner scanner(file, {.headers_only = true, .chunk_bytes = 4096});
  int batches = 0;
  while (true) {
    auto batch = scanner.next();
    ASSERT_TRUE(batch.ok());
    if (!batch->has_value()) break;
    EXPECT_EQ((*batch)->bytes.size(), kBatchHeaderBytes);
    ++batches;
  }
  EXPECT_EQ(batches, 4);
  EXPECT_LE(file.bytes_read(), 4 * 4096);
}

TEST(SegmentScanner, ManyRandomChangesNeverGiveABadBatch) {
  const auto log = make_log(6, 0, 50);
  for (std::size_t at = 0; at < log.size(); ++at) {
    auto changed = log;
    changed[at] ^= std::byte{0x10};
    const Scan result = scan(changed);
    for (std::size_t i = 1; i < result.headers.size(); ++i) {
      EXPECT_GT(result.headers[i].base_offset, result.headers[i - 1].last_offset());
    }
  }
}

}  // namespace
}  // namespace oncelog
