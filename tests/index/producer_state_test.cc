// Sequences, epochs, duplicates, expiry and the size limit of the producer table.
#include "index/producer_state.h"

#include <gtest/gtest.h>

#include "storage/format/sequence.h"
#include "tests/index/producer_inputs.h"

namespace oncelog {
namespace {

constexpr Sequence kMax = 2147483647;

// PRODUCER_STATE 12
TEST(SequenceArithmetic, WrapsAt31Bits) {
  EXPECT_EQ(increment_sequence(kMax, 1), 0);
  EXPECT_EQ(increment_sequence(kMax - 1, 1), kMax);
  EXPECT_EQ(increment_sequence(kMax - 1, 3), 1);
  EXPECT_EQ(decrement_sequence(0, 1), kMax);
  EXPECT_EQ(decrement_sequence(1, 3), kMax - 1);
}

// PRODUCER_STATE 12: known epoch 3, last batch 10-11 at offsets 100-101.
ProducerState known() {
  ProducerState state;
  EXPECT_EQ(try_append(state, data_batch({.epoch = 3, .first = 10, .count = 2, .offset = 100})),
            "ok");
  return state;
}

std::string after(ProducerState state, ProducerEpoch epoch, Sequence first,
                  std::int32_t count = 1) {
  return try_append(state,
                    data_batch({.epoch = epoch, .first = first, .count = count, .offset = 102}));
}

ProducerState known_and_marker(ProducerEpoch epoch) {
  ProducerState state = known();
  EXPECT_EQ(try_append(state, marker_batch({.epoch = epoch, .offset = 102}),
                       from(AppendOrigin::kCoordinator)),
            "ok");
  return state;
}

TEST(ProducerState, DecidesAsTheVectorsSay) {
  EXPECT_EQ(after(known(), 3, 12), "ok");
  EXPECT_EQ(after(known(), 3, 10, 2), "duplicate 100");
  EXPECT_EQ(after(known(), 3, 10, 3), kGap);
  EXPECT_EQ(after(known(), 3, 13), kGap);
  EXPECT_EQ(after(known(), 2, 0), kOldEpoch);
  EXPECT_EQ(after(known(), 2, 12), kOldEpoch);
  EXPECT_EQ(after(known(), 4, 0), "ok");
  EXPECT_EQ(after(known(), 4, 12), kGap);
  EXPECT_EQ(after(known_and_marker(3), 3, 12), "ok");
  EXPECT_EQ(after(known_and_marker(4), 4, 0), "ok");
  EXPECT_EQ(after(known_and_marker(4), 4, 12), kGap);
  EXPECT_EQ(after(known_and_marker(4), 3, 12), kOldEpoch);
  ProducerState expired = known();
  EXPECT_EQ(expired.expire(1000 + 86'400'000), 1U);
  EXPECT_EQ(after(expired, 1, 57), "ok");
}

// BEHAVIOURS 1, BasicIdMapping
TEST(ProducerState, RefusesGapsOldSequencesAndOldEpochs) {
  ProducerState state;
  EXPECT_EQ(try_append(state, data_batch({.first = 0, .count = 2, .offset = 0})), "ok");
  EXPECT_EQ(try_append(state, data_batch({.first = 1, .offset = 2})), kGap);
  EXPECT_EQ(try_append(state, data_batch({.first = 5, .offset = 2})), kGap);
  EXPECT_EQ(try_append(state, data_batch({.epoch = 1, .first = 0, .offset = 2})), "ok");
  EXPECT_EQ(try_append(state, data_batch({.epoch = 0, .first = 2, .offset = 3})), kOldEpoch);
  EXPECT_EQ(state.map_end(), 3);
}

// H-005
TEST(ProducerState, KnowsAProducerFromAMarkerAlone) {
  ProducerState state;
  EXPECT_EQ(try_append(state, marker_batch({.epoch = 3, .coordinator_epoch = 5}),
                       from(AppendOrigin::kCoordinator)),
            "ok");

  const ProducerEntry* const entry = state.find(7);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->epoch, 3);
  EXPECT_EQ(entry->coordinator_epoch, 5);
  EXPECT_EQ(entry->last_sequence(), kNoSequence);
  EXPECT_TRUE(entry->cached().empty());
  EXPECT_EQ(try_append(state, data_batch({.epoch = 3, .first = 17, .offset = 1})), kGap);
  EXPECT_EQ(try_append(state, data_batch({.epoch = 2, .first = 0, .offset = 1})), kOldEpoch);
  EXPECT_EQ(try_append(state, data_batch({.epoch = 3, .first = 0, .offset = 1})), "ok");
}

// H-006
TEST(ProducerState, AnswersTheLastFiveBatchesAsDuplicates) {
  ProducerState state;
  for (Sequence first = 0; first <= 10; first += 2) {
    ASSERT_EQ(try_append(state, data_batch({.first = first, .count = 2, .offset = first})), "ok");
  }

  EXPECT_EQ(try_append(state, data_batch({.first = 0, .count = 2, .offset = 12})), kGap);
  for (Sequence first = 2; first <= 10; first += 2) {
    EXPECT_EQ(try_append(state, data_batch({.first = first, .count = 2, .offset = 12})),
              "duplicate " + std::to_string(first));
  }
  EXPECT_EQ(try_append(state, data_batch({.first = 10, .count = 1, .offset = 12})), kGap);
  EXPECT_EQ(state.map_end(), 12);
}

TEST(ProducerState, AnswersADuplicateWithItsTimestamp) {
  ProducerState state;
  try_append(state, data_batch({.count = 3, .offset = 40, .timestamp = 77}));

  const ProducerInput retry = data_batch({.count = 3, .offset = 99, .timestamp = 88});
  const auto decision = state.check(std::span(&retry, 1), {});

  ASSERT_TRUE(decision.ok());
  const auto duplicate = std::get<DuplicateBatch>(*decision);
  EXPECT_EQ(duplicate.first_offset, 40);
  EXPECT_EQ(duplicate.last_offset, 42);
  EXPECT_EQ(duplicate.timestamp, 77);
}

// H-007
TEST(ProducerState, WrapsInsideABatch) {
  ProducerState state;
  EXPECT_EQ(try_append(state, data_batch({.first = kMax - 2, .count = 6, .offset = 0})), "ok");
  EXPECT_EQ(state.find(7)->last_sequence(), 2);
  EXPECT_EQ(state.find(7)->cached()[0].first_sequence(), kMax - 2);
  EXPECT_EQ(try_append(state, data_batch({.first = kMax - 2, .count = 6, .offset = 6})),
            "duplicate 0");
  EXPECT_EQ(try_append(state, data_batch({.first = 3, .offset = 6})), "ok");
  EXPECT_EQ(try_append(state, data_batch({.first = 3, .offset = 7})), "duplicate 6");
}

// BEHAVIOURS 1, ProducerSequenceInvalidWrapAround
TEST(ProducerState, ExpectsZeroBehindTheLargestSequence) {
  ProducerState state;
  try_append(state, data_batch({.first = kMax, .offset = 0}));

  EXPECT_EQ(try_append(state, data_batch({.first = 1, .offset = 1})), kGap);
  EXPECT_EQ(try_append(state, data_batch({.first = 0, .offset = 1})), "ok");
}

// H-009
TEST(ProducerState, StartsANewEpochAtZeroOnly) {
  ProducerState state;
  try_append(state, data_batch({.epoch = 0, .first = 0, .count = 10, .offset = 0}));
  const ProducerEntry before = *state.find(7);

  EXPECT_EQ(try_append(state, data_batch({.epoch = 1, .first = 10, .offset = 10})), kGap);
  EXPECT_EQ(*state.find(7), before);
  EXPECT_EQ(try_append(state, data_batch({.epoch = 1, .first = 0, .offset = 10})), "ok");
  EXPECT_EQ(try_append(state, data_batch({.epoch = 0, .first = 10, .offset = 11})), kOldEpoch);
  EXPECT_EQ(state.find(7)->cached().size(), 1U);
}

// H-010
TEST(ProducerState, AcceptsAnUnknownProducerAtAnySequence) {
  ProducerState state;
  EXPECT_EQ(try_append(state, data_batch({.first = 7, .count = 8, .offset = 0})), "ok");
  EXPECT_EQ(try_append(state, data_batch({.first = 15, .offset = 8})), "ok");
}

TEST(ProducerState, ChecksLaterBatchesOfAnAppendAgainstEarlierOnes) {
  ProducerState state = known();
  const std::vector<ProducerInput> good{data_batch({.epoch = 3, .first = 12, .offset = 102}),
                                        data_batch({.epoch = 3, .first = 13, .offset = 103}),
                                        data_batch({.epoch = 4, .first = 0, .offset = 104}),
                                        data_batch({.epoch = 4, .first = 1, .offset = 105})};
  std::vector<ProducerInput> gap = good;
  gap[3].header.base_sequence = 2;
  std::vector<ProducerInput> fenced = good;
  fenced[3].header.producer_epoch = 3;

  EXPECT_EQ(try_append(state, gap), kGap);
  EXPECT_EQ(try_append(state, fenced), kOldEpoch);
  EXPECT_EQ(*state.find(7), *known().find(7));
  EXPECT_EQ(try_append(state, good), "ok");
  EXPECT_EQ(state.find(7)->epoch, 4);
  EXPECT_EQ(state.find(7)->cached().size(), 2U);
  EXPECT_EQ(state.map_end(), 106);
}

TEST(ProducerState, AnswersADuplicateAnywhereInAnAppendForAllOfIt) {
  ProducerState state = known();
  const std::vector<ProducerInput> batches{
      plain_batch(102), data_batch({.epoch = 3, .first = 10, .count = 2, .offset = 103})};

  EXPECT_EQ(try_append(state, batches), "duplicate 100");
  EXPECT_EQ(state.map_end(), 102);
}

TEST(ProducerState, KeepsManyProducersOfOneAppendApart) {
  ProducerState state;
  std::vector<ProducerInput> batches;
  for (int round = 0; round < 2; ++round) {
    for (ProducerId id = 0; id < 50; ++id) {
      batches.push_back(data_batch({.producer_id = id, .first = round, .offset = round * 50 + id}));
    }
  }

  EXPECT_EQ(try_append(state, batches), "ok");
  for (ProducerId id = 0; id < 50; ++id) {
    ASSERT_EQ(state.find(id)->cached().size(), 2U);
    ASSERT_EQ(state.find(id)->last_sequence(), 1);
  }
}

TEST(ProducerState, MovesItsEndWithBatchesOfNoProducer) {
  ProducerState state;
  EXPECT_EQ(try_append(state, plain_batch(5, 3)), "ok");
  EXPECT_EQ(state.map_end(), 8);
  EXPECT_TRUE(state.producers().empty());
  EXPECT_EQ(try_append(state, std::span<const ProducerInput>()), "ok");
  EXPECT_EQ(state.map_end(), 8);
}

// BEHAVIOURS 1, AcceptAppendWithSequenceGapsOnReplica
TEST(ProducerState, LetsAReplicaHaveGaps) {
  ProducerState state;
  try_append(state, data_batch({.first = 0, .offset = 0}));
  EXPECT_EQ(try_append(state, data_batch({.first = 3, .offset = 1})), kGap);
  EXPECT_EQ(state.find(7)->last_sequence(), 0);

  EXPECT_EQ(try_append(state, data_batch({.first = 3, .offset = 1}), from(AppendOrigin::kReplica)),
            "ok");
  EXPECT_EQ(state.find(7)->last_sequence(), 3);
  EXPECT_EQ(state.find(7)->cached().size(), 2U);
}

// As Kafka does: the stored epoch follows the log, also down.
TEST(ProducerState, NotesAnOlderEpochOfAReplicaAndTakesIt) {
  ProducerState state = known();

  const auto applied = state.replay(data_batch({.epoch = 2, .first = 0, .offset = 102}));

  ASSERT_EQ(applied.notes.size(), 1U);
  EXPECT_NE(applied.notes[0].find("epoch 2 is older than 3"), std::string::npos);
  EXPECT_EQ(state.find(7)->epoch, 2);
  EXPECT_EQ(state.find(7)->cached().size(), 1U);
}

TEST(ProducerState, ChecksEpochsButNotSequencesOfACoordinator) {
  ProducerState state = known();
  const CheckContext coordinator = from(AppendOrigin::kCoordinator);
  EXPECT_EQ(try_append(state, data_batch({.epoch = 3, .first = 0, .offset = 102}), coordinator),
            "ok");
  EXPECT_EQ(try_append(state, data_batch({.epoch = 3, .first = 0, .offset = 103}), coordinator),
            "ok");
  EXPECT_EQ(try_append(state, data_batch({.epoch = 2, .first = 0, .offset = 104}), coordinator),
            kOldEpoch);
}

TEST(ProducerState, NamesProducerAndOffsetInItsErrors) {
  const ProducerState state = known();
  const ProducerInput batch = data_batch({.epoch = 3, .first = 20, .offset = 102});

  const auto decision = state.check(std::span(&batch, 1), {});

  ASSERT_FALSE(decision.ok());
  EXPECT_EQ(to_string(decision.error()), "producer 7: sequence 20 does not follow 11, offset 102");
}

// BEHAVIOURS 1, PidExpirationTimeout and ProducersWithOngoingTransactionsDontExpire
TEST(ProducerState, ExpiresIdleProducersWithoutOpenTransaction) {
  ProducerStateOptions options;
  options.expiration_ms = 100;
  ProducerState state(options);
  try_append(state, data_batch({.producer_id = 1, .offset = 0, .timestamp = 1000}));
  try_append(state,
             data_batch({.producer_id = 2, .offset = 1, .transactional = true, .timestamp = 1000}));
  try_append(state, data_batch({.producer_id = 3, .offset = 2, .timestamp = 1001}));

  EXPECT_EQ(state.expire(1099), 0U);
  EXPECT_EQ(state.expire(1100), 1U);

  EXPECT_EQ(state.find(1), nullptr);
  EXPECT_NE(state.find(2), nullptr);
  EXPECT_NE(state.find(3), nullptr);
  EXPECT_EQ(state.expire(INT64_MAX), 1U);
  EXPECT_NE(state.find(2), nullptr);
  EXPECT_EQ(try_append(state, data_batch({.producer_id = 1, .first = 9, .offset = 3})), "ok");
}

TEST(ProducerState, ExpiresExtremeTimestampsWithoutOverflow) {
  ProducerState state;
  try_append(state, data_batch({.producer_id = 1, .offset = 0, .timestamp = INT64_MIN}));
  try_append(state, data_batch({.producer_id = 2, .offset = 1, .timestamp = INT64_MAX}));

  EXPECT_EQ(state.expire(0), 1U);
  EXPECT_NE(state.find(2), nullptr);
}

TEST(ProducerState, EvictsTheOldestIdleProducersBeyondItsLimit) {
  ProducerStateOptions options;
  options.producers_max = 32;
  ProducerState state(options);
  try_append(state,
             data_batch({.producer_id = 0, .offset = 0, .transactional = true, .timestamp = 0}));
  for (ProducerId id = 1; id <= 32; ++id) {
    try_append(state, data_batch({.producer_id = id, .offset = id, .timestamp = id}));
  }

  EXPECT_EQ(state.producers().size(), 30U);
  EXPECT_EQ(state.evicted_count(), 3U);
  EXPECT_NE(state.find(0), nullptr);
  for (ProducerId id = 1; id <= 3; ++id)
    EXPECT_EQ(state.find(id), nullptr);
  EXPECT_NE(state.find(4), nullptr);
}

TEST(ProducerState, NeverEvictsTheProducerThatJustWroteNorAnOpenTransaction) {
  ProducerStateOptions options;
  options.producers_max = 4;
  ProducerState state(options);
  for (ProducerId id = 0; id < 40; ++id) {
    try_append(state, data_batch({.producer_id = id, .offset = id, .transactional = true}));
  }
  EXPECT_EQ(state.producers().size(), 40U);
  EXPECT_EQ(state.evicted_count(), 0U);

  EXPECT_EQ(try_append(state, data_batch({.producer_id = 99, .offset = 40, .timestamp = 0})), "ok");
  EXPECT_NE(state.find(99), nullptr);
}

}  // namespace
}  // namespace oncelog
