// The sidecar's bytes, round trips, and what is refused.
#include "index/sidecar.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "storage/base/endian.h"
#include "tests/index/bytes.h"
#include "tests/index/producer_inputs.h"

namespace oncelog {
namespace {

BatchHeaderBytes header_of(std::uint8_t fill) {
  BatchHeaderBytes header;
  header.fill(static_cast<std::byte>(fill));
  return header;
}

SidecarSegment segment(Offset base, std::int64_t size, Offset last) {
  SidecarSegment out;
  out.base_offset = base;
  out.size = size;
  out.last_offset = last;
  out.largest_timestamp = 1700000000000 + base;
  out.largest_timestamp_offset = last;
  out.first_batch_timestamp = 1700000000000;
  out.last_batch_position = last == kNoOffset ? -1 : size - 61;
  out.last_batch_header = header_of(static_cast<std::uint8_t>(base));
  out.headers_hash = chain_header({}, out.last_batch_header);
  out.aborted_count = 3;
  return out;
}

Sidecar example() {
  Sidecar sidecar;
  sidecar.log_start = 2;
  sidecar.sealed = {segment(0, 1000, 9), segment(10, 0, kNoOffset), segment(12, 500, 20)};
  sidecar.active.segment = segment(21, 700, 40);
  sidecar.active.offset = 41;
  sidecar.active.last_stable_offset = 39;
  sidecar.active.unsynced_bytes_max = 1 << 20;
  sidecar.active.recovery_point = 21;
  ProducerState state;
  for (Sequence i = 0; i < 7; ++i)
    state.replay(data_batch({.first = i, .offset = i}));
  state.replay(data_batch({.producer_id = 9, .offset = 39, .transactional = true}));
  state.replay(marker_batch({.producer_id = 8, .epoch = 2, .offset = 40}));
  sidecar.producers = list_producers(state);
  sidecar.snapshots = {21, 41};
  return sidecar;
}

void expect_refused(const std::function<void(Sidecar&)>& change) {
  Sidecar sidecar = example();
  change(sidecar);
  const auto decoded = decode_sidecar(encode_sidecar(sidecar));
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
  EXPECT_GE(decoded.error().position, 20) << decoded.error().message;
}

std::vector<std::byte> sealed(std::vector<std::byte> bytes) {
  store_be(std::span(bytes), 12, xxh3_64(std::span(bytes).subspan(20)));
  return bytes;
}

TEST(Sidecar, RoundTripsAllFields) {
  const Sidecar sidecar = example();

  const auto decoded = decode_sidecar(encode_sidecar(sidecar));

  ASSERT_TRUE(decoded.ok()) << to_string(decoded.error());
  EXPECT_EQ(*decoded, sidecar);
  EXPECT_EQ(decoded->producers[0].second.cached().size(), 5U);
}

TEST(Sidecar, RoundTripsAnEmptyLog) {
  EXPECT_EQ(*decode_sidecar(encode_sidecar({})), Sidecar{});
}

// The places that index/FORMAT.md gives.
TEST(Sidecar, HasTheBytesOfItsTable) {
  const Sidecar sidecar = example();
  const auto bytes = encode_sidecar(sidecar);

  EXPECT_EQ(bytes[0], std::byte{'O'});
  EXPECT_EQ(bytes[7], std::byte{'1'});
  EXPECT_EQ(load_be<std::int32_t>(bytes, 8), 1);
  EXPECT_EQ(load_be<std::uint64_t>(bytes, 12), xxh3_64(std::span(bytes).subspan(20)));
  EXPECT_EQ(load_be<Offset>(bytes, 20), 2);
  EXPECT_EQ(load_be<std::uint32_t>(bytes, 28), 3U);
  EXPECT_EQ(load_be<std::int64_t>(bytes, 32 + 8), 1000);
  const std::size_t active = 32 + 3 * 137;
  EXPECT_EQ(load_be<Offset>(bytes, active), 21);
  EXPECT_EQ(load_be<std::uint64_t>(bytes, active + 117), sidecar.active.segment.headers_hash.high);
  EXPECT_EQ(load_be<std::uint32_t>(bytes, active + 133), 3U);
  EXPECT_EQ(load_be<Offset>(bytes, active + 137), 41);
  EXPECT_EQ(load_be<Offset>(bytes, active + 161), 21);
  EXPECT_EQ(load_be<std::uint32_t>(bytes, active + 169), 3U);
  EXPECT_EQ(load_be<ProducerId>(bytes, active + 173), 7);
  EXPECT_EQ(bytes[active + 173 + 30], std::byte{5});
  EXPECT_EQ(bytes.size(), active + 173 + 3 * 31 + 6 * 24 + 4 + 2 * 8);
}

TEST(Sidecar, RefusesEveryCutAndEveryFlippedBit) {
  const auto bytes = encode_sidecar(example());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_FALSE(decode_sidecar(std::span(bytes).first(size)).ok()) << size;
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    ASSERT_FALSE(decode_sidecar(flipped).ok()) << bit;
  }
}

TEST(Sidecar, NeverTrustsItsCounts) {
  const auto bytes = encode_sidecar(example());
  const std::size_t producers_at = 32 + 3 * 137 + 169;
  const std::size_t snapshots_at = bytes.size() - 20;
  for (const std::size_t at : {std::size_t{28}, producers_at, snapshots_at}) {
    for (const std::uint32_t count : {0xffffffffU, 0x7fffffffU, 1U, 0U}) {
      auto changed = bytes;
      store_be(std::span(changed), at, count);
      EXPECT_FALSE(decode_sidecar(sealed(changed)).ok()) << at << ' ' << count;
    }
  }
  auto longer = bytes;
  longer.resize(bytes.size() + 1);
  EXPECT_FALSE(decode_sidecar(sealed(longer)).ok());
}

TEST(Sidecar, RefusesNumbersThatCannotBe) {
  expect_refused([](Sidecar& s) { s.log_start = -1; });
  expect_refused([](Sidecar& s) { s.sealed[1].base_offset = 0; });
  expect_refused([](Sidecar& s) { s.sealed[0].base_offset = -1; });
  expect_refused([](Sidecar& s) { s.sealed[0].size = -1; });
  expect_refused([](Sidecar& s) { s.sealed[0].size = kSegmentBytesMax + 1; });
  expect_refused([](Sidecar& s) { s.sealed[2].last_offset = 11; });
  expect_refused([](Sidecar& s) { s.sealed[2].last_batch_position = 500; });
  expect_refused([](Sidecar& s) { s.sealed[2].last_batch_position = -1; });
  expect_refused([](Sidecar& s) { s.sealed[1].last_batch_position = 0; });
  expect_refused([](Sidecar& s) { s.active.segment.base_offset = 12; });
  expect_refused([](Sidecar& s) { s.active.offset = 40; });
  expect_refused([](Sidecar& s) { s.active.offset = 20; });
  expect_refused([](Sidecar& s) { s.active.unsynced_bytes_max = -2; });
  expect_refused([](Sidecar& s) { s.active.recovery_point = -1; });
  expect_refused([](Sidecar& s) { s.active.last_stable_offset = -1; });
  expect_refused([](Sidecar& s) { s.producers[1].first = 7; });
  expect_refused([](Sidecar& s) { s.producers[0].second.batches[4].last_offset = 41; });
  expect_refused([](Sidecar& s) { s.producers[0].second.txn_first_offset = 41; });
  expect_refused([](Sidecar& s) { s.snapshots[1] = 21; });
  expect_refused([](Sidecar& s) { s.snapshots[0] = -1; });
}

TEST(Sidecar, RefusesMoreBatchesThanAProducerKeeps) {
  auto bytes = encode_sidecar(example());
  bytes[32 + 3 * 137 + 173 + 30] = std::byte{6};
  EXPECT_FALSE(decode_sidecar(sealed(bytes)).ok());
}

TEST(Sidecar, SurvivesRandomChangesUnderAGoodChecksum) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "ONCELOG_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto bytes = encode_sidecar(example());
  for (int round = 0; round < 20000; ++round) {
    auto changed = bytes;
    for (std::uint64_t n = random() % 4 + 1; n > 0; --n) {
      changed[20 + random() % (changed.size() - 20)] = static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) changed.resize(20 + random() % (changed.size() - 20));

    const auto decoded = decode_sidecar(sealed(changed));

    if (decoded.ok()) {
      ASSERT_EQ(encode_sidecar(*decoded), sealed(changed));
    }
  }
}

TEST(HeaderChain, DependsOnEveryHeaderAndTheirOrder) {
  const BatchHeaderBytes a = header_of(1);
  const BatchHeaderBytes b = header_of(2);

  const Hash128 ab = chain_header(chain_header({}, a), b);

  EXPECT_EQ(ab, chain_header(chain_header({}, a), b));
  EXPECT_FALSE(ab == chain_header(chain_header({}, b), a));
  EXPECT_FALSE(ab == chain_header({}, b));
  std::vector<std::byte> bytes(16 + a.size());
  std::copy(a.begin(), a.end(), bytes.begin() + 16);
  EXPECT_EQ(chain_header({}, a), xxh3_128(bytes));
}

}  // namespace
}  // namespace oncelog
