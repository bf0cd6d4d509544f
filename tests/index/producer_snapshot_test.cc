// Snapshot bytes, what is refused, and what a reload keeps.
#include "index/producer_snapshot.h"

#include <gtest/gtest.h>

#include "storage/base/crc32c.h"
#include "storage/base/endian.h"
#include "tests/index/bytes.h"
#include "tests/index/producer_inputs.h"

namespace oncelog {
namespace {

constexpr std::string_view kVectorD = R"(
    00 01 37 7a ef 62 00 00 00 03 00 00 00 00 00 00 0f a0 00 03 00 00 00 0b 00 00 00 00 00 00 00 65
    00 00 00 01 00 00 01 8b cf e5 68 64 00 00 00 09 ff ff ff ff ff ff ff ff 00 00 00 00 00 00 0f a1
    00 00 00 00 00 04 00 00 00 00 00 00 00 cc 00 00 00 04 00 00 01 8b cf e5 68 c8 ff ff ff ff 00 00
    00 00 00 00 00 c8 00 00 00 00 00 00 0f a2 00 06 ff ff ff ff ff ff ff ff ff ff ff ff 00 00 00 00
    00 00 01 8b cf e5 69 2c 00 00 00 09 ff ff ff ff ff ff ff ff)";

ProducerState state_of(const ProducerList& producers) {
  ProducerState state;
  for (const auto& [id, entry] : producers)
    state.restore(id, entry);
  return state;
}

// Sets the checksum right, so that what lies behind it is looked at.
std::vector<std::byte> sealed(std::vector<std::byte> bytes) {
  store_be(std::span(bytes), 2, crc32c(std::span(bytes).subspan(6)));
  return bytes;
}

void expect_damaged(std::span<const std::byte> bytes, std::int64_t position,
                    Offset end = INT64_MAX) {
  const auto producers = decode_producer_snapshot(bytes, end);
  ASSERT_FALSE(producers.ok());
  EXPECT_EQ(producers.error().code, ErrorCode::kDamaged);
  EXPECT_EQ(producers.error().position, position) << producers.error().message;
}

TEST(ProducerSnapshot, ReadsAndWritesTheVectorOfTheFormat) {
  const auto bytes = from_hex(kVectorD);

  const auto producers = decode_producer_snapshot(bytes, 205);

  ASSERT_TRUE(producers.ok()) << to_string(producers.error());
  ASSERT_EQ(producers->size(), 3U);
  const ProducerEntry& first = (*producers)[0].second;
  EXPECT_EQ((*producers)[0].first, 4000);
  EXPECT_EQ(first.epoch, 3);
  EXPECT_EQ(first.cached()[0].first_sequence(), 10);
  EXPECT_EQ(first.last_sequence(), 11);
  EXPECT_EQ(first.cached()[0].first_offset(), 100);
  EXPECT_EQ(first.coordinator_epoch, 9);
  EXPECT_EQ(first.last_timestamp, 1700000000100);
  EXPECT_FALSE(first.has_open_txn());
  EXPECT_EQ((*producers)[1].second.txn_first_offset, 200);
  EXPECT_TRUE((*producers)[2].second.cached().empty());
  EXPECT_EQ((*producers)[2].second.epoch, 6);
  EXPECT_EQ(encode_producer_snapshot(state_of(*producers)), bytes);
}

TEST(ProducerSnapshot, WritesTheVectorOfNoProducers) {
  EXPECT_EQ(encode_producer_snapshot(ProducerState()), from_hex("00 01 48 67 4b c7 00 00 00 00"));
  EXPECT_TRUE(decode_producer_snapshot(from_hex("00 01 48 67 4b c7 00 00 00 00"))->empty());
}

TEST(ProducerSnapshot, GivesEqualBytesForEqualStates) {
  ProducerState up;
  ProducerState down;
  for (ProducerId id = 0; id < 1000; ++id) {
    up.replay(data_batch({.producer_id = id, .offset = id}));
  }
  for (ProducerId id = 1000; id-- > 0;)
    down.replay(data_batch({.producer_id = id, .offset = id}));

  EXPECT_EQ(encode_producer_snapshot(up), encode_producer_snapshot(down));
}

// BEHAVIOURS 1, RecoverFromSnapshotUnfinishedTransaction; H-005
TEST(ProducerSnapshot, BringsBackOpenTransactionsAndTheLastBatch) {
  ProducerState state;
  state.replay(data_batch({.first = 0, .offset = 0, .transactional = true}));
  state.replay(data_batch({.first = 1, .offset = 1, .transactional = true}));
  state.replay(marker_batch({.producer_id = 8, .epoch = 3, .coordinator_epoch = 5, .offset = 2}));

  ProducerState loaded = state_of(*decode_producer_snapshot(encode_producer_snapshot(state), 3));

  EXPECT_EQ(loaded.find(7)->cached().size(), 1U);
  EXPECT_EQ(loaded.find(7)->txn_first_offset, 0);
  EXPECT_EQ(loaded.txns().first_unstable(0), 0);
  EXPECT_EQ(loaded.find(8)->coordinator_epoch, 5);
  EXPECT_EQ(try_append(loaded, data_batch({.first = 1, .offset = 3, .transactional = true})),
            "duplicate 1");
  EXPECT_EQ(try_append(loaded, data_batch({.first = 2, .offset = 3, .transactional = true})), "ok");
  EXPECT_EQ(
      try_append(loaded, data_batch({.producer_id = 8, .epoch = 3, .first = 17, .offset = 4})),
      kGap);
}

TEST(ProducerSnapshot, KeepsAnOpenTransactionWithoutBatch) {
  ProducerEntry entry;
  entry.epoch = 1;
  entry.txn_first_offset = 40;
  const ProducerList producers{{7, entry}};

  EXPECT_EQ(*decode_producer_snapshot(encode_producer_snapshot(state_of(producers))), producers);
}

// H-003
TEST(ProducerSnapshot, RefusesEveryCutAndEveryFlippedBit) {
  const auto bytes = from_hex(kVectorD);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_FALSE(decode_producer_snapshot(std::span(bytes).first(size)).ok()) << size;
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    ASSERT_FALSE(decode_producer_snapshot(flipped).ok()) << bit;
  }
}

// H-003
TEST(ProducerSnapshot, NamesTheByteOfWhatIsWrong) {
  const auto bytes = from_hex(kVectorD);
  expect_damaged({}, 0);
  expect_damaged(std::vector<std::byte>(148), 0);
  auto version = bytes;
  version[1] = std::byte{2};
  expect_damaged(sealed(version), 0);
  auto flipped = bytes;
  flipped[100] ^= std::byte{1};
  expect_damaged(flipped, 2);
  auto count = bytes;
  store_be<std::int32_t>(std::span(count), 6, 2147483647);
  expect_damaged(sealed(count), 6);
  store_be<std::int32_t>(std::span(count), 6, -1);
  expect_damaged(sealed(count), 6);
  auto longer = bytes;
  longer.push_back(std::byte{0});
  expect_damaged(sealed(longer), 6);
}

// H-002: nothing in a snapshot is at or above its name.
TEST(ProducerSnapshot, RefusesOffsetsItCannotCover) {
  const auto bytes = from_hex(kVectorD);
  EXPECT_TRUE(decode_producer_snapshot(bytes, 205).ok());
  expect_damaged(bytes, 10, 204);
  auto open_beyond = bytes;
  store_be<Offset>(std::span(open_beyond), 10 + 46 + 38, 205);
  expect_damaged(sealed(open_beyond), 10, 205);
}

TEST(ProducerSnapshot, RefusesEntriesThatCannotBe) {
  const auto bytes = from_hex(kVectorD);
  const auto with = [&bytes](std::size_t at, auto value) {
    auto changed = bytes;
    store_be(std::span(changed), at, value);
    return sealed(changed);
  };
  expect_damaged(with(10, ProducerId{-1}), 10);
  expect_damaged(with(10, ProducerId{4001}), 10);  // twice
  expect_damaged(with(18, ProducerEpoch{-2}), 10);
  expect_damaged(with(20, Sequence{-2}), 10);
  expect_damaged(with(32, std::int32_t{-1}), 10);
  expect_damaged(with(32, std::int32_t{102}), 10);  // first offset -1
  expect_damaged(with(48, Offset{-2}), 10);
  expect_damaged(with(48, Offset{200}), 10);  // where another one begins
}

TEST(ProducerSnapshot, ReadsWhatABrokerWrote) {
  const auto files = golden_files(".snapshot");
  if (files.empty()) GTEST_SKIP() << "no golden data in " << golden_cases();
  for (const auto& file : files) {
    const auto bytes = read_bytes(file);
    auto producers = decode_producer_snapshot(bytes, std::stoll(file.stem().string()));
    ASSERT_TRUE(producers.ok()) << file << ": " << to_string(producers.error());

    const auto again = decode_producer_snapshot(encode_producer_snapshot(state_of(*producers)));

    std::sort(producers->begin(), producers->end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    EXPECT_EQ(*again, *producers) << file;
  }
}

TEST(ProducerSnapshot, SurvivesRandomBytesUnderAGoodChecksum) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "ONCELOG_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t count = random() % 5;
    std::vector<std::byte> bytes(10 + count * 46);
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(random() % 4 == 0 ? random() : 0);
    store_be<std::int16_t>(std::span(bytes), 0, 1);
    store_be(std::span(bytes), 6, static_cast<std::int32_t>(count));

    const auto producers = decode_producer_snapshot(sealed(bytes));

    if (producers.ok()) {
      ProducerState state = state_of(*producers);
      state.replay(data_batch({.producer_id = 0, .epoch = 3, .first = 5, .offset = 9}));
      state.replay(marker_batch({.producer_id = 0, .offset = 10, .type = ControlType::kAbort}));
      state.expire(5);
    }
  }
}

// H-101, reduced
TEST(ProducerSnapshot, LoadsAndExpiresManyProducers) {
  constexpr ProducerId kCount = 200'000;
  ProducerState state;
  for (ProducerId id = 0; id < kCount; ++id) {
    state.replay(data_batch({.producer_id = id, .offset = id, .timestamp = id % 2}));
  }

  const auto bytes = encode_producer_snapshot(state);
  ProducerState loaded = state_of(*decode_producer_snapshot(bytes, kCount));

  EXPECT_EQ(bytes.size(), 10U + 46U * kCount);
  EXPECT_EQ(loaded.producers().size(), std::size_t{kCount});
  EXPECT_EQ(loaded.expire(loaded.options().expiration_ms), std::size_t{kCount / 2});
}

}  // namespace
}  // namespace oncelog
