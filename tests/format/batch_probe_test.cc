// Searching for valid batches behind a bad spot.
#include "storage/batch_probe.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "oncelog/record_batch.h"

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

ProbeResult probe(const std::vector<std::byte>& log, std::int64_t position,
                  const ProbeLimits& limits = {}) {
  MemoryFile file(log);
  auto out = find_valid_batch_after(file, position, limits);
  EXPECT_TRUE(out.ok());
  return out.value();
}

TEST(BatchProbe, FindsTheBatchBehindADamagedBody) {
  auto log = make_log(4);
  const auto one = static_cast<std::int64_t>(log.size() / 4);
  log[static_cast<std::size_t>(one) + 70] ^= std::byte{1};

  const ProbeResult result = probe(log, one, {.expected_offset_min = 1});

  EXPECT_EQ(result.outcome, ProbeOutcome::kFound);
  EXPECT_EQ(result.position, 2 * one);
  EXPECT_EQ(result.offset, 2);
  EXPECT_EQ(result.chain_end, 4 * one);
  EXPECT_EQ(result.chain_next_offset, 4);
}

TEST(BatchProbe, FindsItWithoutAUsableLength) {
  auto log = make_log(4);
  const auto one = log.size() / 4;
  store_be(std::span<std::byte>(log), one + batch_field::kBatchLength.offset, std::int32_t{7});
  const ProbeResult result = probe(log, static_cast<std::int64_t>(one), {.expected_offset_min = 1});
  EXPECT_EQ(result.outcome, ProbeOutcome::kFound);
  EXPECT_EQ(result.position, static_cast<std::int64_t>(2 * one));
}

TEST(BatchProbe, FindsItAcrossChunksAndWithZerosBehind) {
  auto log = make_log(1);
  append_to(log, test::random_bytes((1U << 20) - 100, 5));
  const auto at = static_cast<std::int64_t>(log.size());
  append_to(log, make_log(2, 50));
  const auto end = static_cast<std::int64_t>(log.size());
  log.resize(log.size() + 5000);
  const ProbeResult result = probe(log, 88, {.expected_offset_min = 1});
  EXPECT_EQ(result.outcome, ProbeOutcome::kFound);
  EXPECT_EQ(result.position, at);
  EXPECT_EQ(result.chain_end, end);
}

TEST(BatchProbe, FindsNothingBehindATornTail) {
  auto log = make_log(3);
  const auto one = static_cast<std::int64_t>(log.size() / 3);
  log.resize(log.size() - 1);
  EXPECT_EQ(probe(log, 2 * one, {.expected_offset_min = 2}).outcome, ProbeOutcome::kNone);
  append_to(log, test::random_bytes(100000, 9));
  EXPECT_EQ(probe(log, 2 * one, {.expected_offset_min = 2}).outcome, ProbeOutcome::kNone);
  EXPECT_EQ(probe(log, static_cast<std::int64_t>(log.size()), {}).outcome, ProbeOutcome::kNone);
}

// A record may hold a whole batch as its value: it is valid, but what follows it is not.
TEST(BatchProbe, IsNotFooledByABatchInsideARecord) {
  const auto inner = make_batch({.base_offset = 9});
  RecordBatchBuilder builder({.base_offset = 1});
  builder.add(
      {.value = std::string_view(reinterpret_cast<const char*>(inner.data()), inner.size())});
  builder.add({.value = "something behind it"});
  const Buffer outer = std::move(builder).finish();
  std::vector<std::byte> log(outer.bytes().begin(), outer.bytes().end());
  log.resize(log.size() - 5);  // torn

  const ProbeResult result = probe(log, 0, {.expected_offset_min = 1});

  EXPECT_EQ(result.outcome, ProbeOutcome::kNone);
  EXPECT_EQ(result.unchained_batches, 1);
}

TEST(BatchProbe, IgnoresOffsetsAndEpochsThatCannotFollow) {
  std::vector<std::byte> log(100, std::byte{0xee});
  append_to(log, make_batch({.base_offset = 5, .leader_epoch = 3}));
  EXPECT_EQ(probe(log, 0, {.expected_offset_min = 5}).outcome, ProbeOutcome::kFound);
  EXPECT_EQ(probe(log, 0, {.expected_offset_min = 6}).outcome, ProbeOutcome::kNone);
  EXPECT_EQ(probe(log, 0, {.segment_base = 6}).outcome, ProbeOutcome::kNone);
  EXPECT_EQ(probe(log, 0, {.leader_epoch_min = 3}).outcome, ProbeOutcome::kFound);
  EXPECT_EQ(probe(log, 0, {.leader_epoch_min = 4}).outcome, ProbeOutcome::kNone);
}

TEST(BatchProbe, AChainWhoseEpochFallsIsNone) {
  std::vector<std::byte> log(100, std::byte{0xee});
  append_to(log, make_batch({.base_offset = 5, .leader_epoch = 3}));
  append_to(log, make_batch({.base_offset = 6, .leader_epoch = 2}));
  // The second batch alone is a chain to the end.
  const ProbeResult result = probe(log, 0, {});
  EXPECT_EQ(result.outcome, ProbeOutcome::kFound);
  EXPECT_EQ(result.offset, 6);
  EXPECT_EQ(probe(log, 0, {.leader_epoch_min = 3}).outcome, ProbeOutcome::kNone);
}

TEST(BatchProbe, SaysWhenItStoppedAtALimit) {
  std::vector<std::byte> log(100000, std::byte{0xee});
  append_to(log, make_log(1, 5));
  EXPECT_EQ(probe(log, 0, {.search_bytes_max = 1000}).outcome, ProbeOutcome::kLimitReached);
  EXPECT_EQ(probe(log, 0, {.search_bytes_max = 99999}).outcome, ProbeOutcome::kLimitReached);
  EXPECT_EQ(probe(log, 0, {.search_bytes_max = 100000}).outcome, ProbeOutcome::kFound);
}

TEST(BatchProbe, FollowsALongChainToABadSpotOnlyOnce) {
  std::vector<std::byte> log(100, std::byte{0xee});
  append_to(log, make_log(20000, 1));
  log.resize(log.size() - 1);
  MemoryFile file(log);
  auto result = find_valid_batch_after(file, 0, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->outcome, ProbeOutcome::kNone);
  EXPECT_EQ(result->unchained_batches, 19999);
  EXPECT_EQ(result->unchained_position, 100);
  EXPECT_LE(file.bytes_read(), static_cast<std::int64_t>(4 * log.size()));
}

}  // namespace
}  // namespace oncelog
