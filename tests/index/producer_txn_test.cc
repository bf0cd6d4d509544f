// Transactions in the producer table: starts, markers, fencing, verification, replay.
#include <gtest/gtest.h>

#include "index/producer_state.h"
#include "tests/index/producer_inputs.h"

namespace oncelog {
namespace {

const CheckContext kCoordinatorContext = from(AppendOrigin::kCoordinator);

ProducerUpdate update_of(const ProducerState& state, std::span<const ProducerInput> batches,
                         const CheckContext& context) {
  auto decision = state.check(batches, context);
  EXPECT_TRUE(decision.ok()) << to_string(decision.error());
  return std::get<ProducerUpdate>(*std::move(decision));
}

// BEHAVIOURS 1, UpdateProducerTransactionState
TEST(ProducerTxn, StartsAtTheFirstTransactionalBatchAndEndsAtTheMarker) {
  ProducerState state;
  try_append(state, data_batch({.first = 0, .count = 5, .offset = 9}));
  const std::vector<ProducerInput> batches{
      data_batch({.first = 5, .count = 5, .offset = 16, .transactional = true}),
      data_batch({.first = 10, .count = 5, .offset = 26, .transactional = true})};

  const ProducerUpdate update = update_of(state, batches, {});
  ASSERT_EQ(update.started.size(), 1U);
  EXPECT_EQ(update.started[0].first_offset, 16);
  state.apply(update);
  EXPECT_EQ(state.find(7)->txn_first_offset, 16);
  EXPECT_EQ(state.txns().first_unstable(0), 16);

  const ProducerInput marker = marker_batch({.coordinator_epoch = 15, .offset = 40});
  const ProducerUpdate end = update_of(state, std::span(&marker, 1), kCoordinatorContext);
  ASSERT_EQ(end.completed.size(), 1U);
  EXPECT_EQ(end.completed[0].first_offset, 16);
  EXPECT_EQ(end.completed[0].last_offset, 40);
  EXPECT_FALSE(end.completed[0].aborted);
  EXPECT_TRUE(state.apply(end).aborted.empty());
  EXPECT_FALSE(state.find(7)->has_open_txn());
  EXPECT_EQ(state.find(7)->cached().size(), 3U);
  EXPECT_EQ(state.find(7)->coordinator_epoch, 15);
}

TEST(ProducerTxn, RefusesAPlainBatchInsideATransaction) {
  ProducerState state;
  try_append(state, data_batch({.first = 0, .offset = 0, .transactional = true}));

  EXPECT_EQ(try_append(state, data_batch({.first = 1, .offset = 1})), kBadTxn);
  EXPECT_EQ(try_append(state, data_batch({.first = 1, .offset = 1}), kCoordinatorContext), kBadTxn);
  EXPECT_EQ(state.find(7)->last_sequence(), 0);
}

// RECOVERY 11.15: Kafka cannot load such a log.
TEST(ProducerTxn, NotesAPlainBatchInsideATransactionOfAReplica) {
  ProducerState state;
  state.replay(data_batch({.first = 0, .offset = 0, .transactional = true}));

  const auto applied = state.replay(data_batch({.first = 1, .offset = 1}));

  EXPECT_EQ(applied.notes.size(), 1U);
  EXPECT_EQ(state.find(7)->txn_first_offset, 0);
  EXPECT_EQ(state.find(7)->last_sequence(), 1);
}

// H-011: the retry of a sequence that an abort left behind is a duplicate, in an aborted range.
TEST(ProducerTxn, AnswersADuplicateInAnAbortedRange) {
  ProducerState state;
  try_append(state, data_batch({.first = 42, .offset = 100, .transactional = true}));
  try_append(state, marker_batch({.offset = 101, .type = ControlType::kAbort}),
             kCoordinatorContext);

  EXPECT_EQ(try_append(state, data_batch({.first = 42, .offset = 102, .transactional = true})),
            "duplicate 100");
  EXPECT_FALSE(state.find(7)->has_open_txn());
}

// H-021
TEST(ProducerTxn, TakesTheSameMarkerTwiceWithoutSecondEffect) {
  for (const ControlType type : {ControlType::kCommit, ControlType::kAbort}) {
    ProducerState state;
    try_append(state, data_batch({.epoch = 3, .offset = 0, .transactional = true}));
    const ProducerInput first =
        marker_batch({.epoch = 3, .coordinator_epoch = 5, .offset = 1, .type = type});
    const ProducerInput second =
        marker_batch({.epoch = 3, .coordinator_epoch = 5, .offset = 2, .type = type});
    state.apply(update_of(state, std::span(&first, 1), kCoordinatorContext));

    const ProducerUpdate repeat = update_of(state, std::span(&second, 1), kCoordinatorContext);

    EXPECT_TRUE(repeat.completed.empty());
    EXPECT_TRUE(state.apply(repeat).aborted.empty());
    state.txns().on_high_watermark(2);
    EXPECT_EQ(state.txns().last_stable(0, 2), 2);
  }
}

// H-022
TEST(ProducerTxn, FencesAnOlderCoordinatorButReplaysItsMarker) {
  ProducerState state;
  try_append(state, marker_batch({.epoch = 3, .coordinator_epoch = 5, .offset = 0}),
             kCoordinatorContext);
  try_append(state, data_batch({.epoch = 3, .offset = 1, .transactional = true}));
  const ProducerInput old =
      marker_batch({.epoch = 3, .coordinator_epoch = 4, .offset = 2, .type = ControlType::kAbort});

  EXPECT_EQ(try_append(state, old, kCoordinatorContext), kOldCoordinator);
  EXPECT_TRUE(state.find(7)->has_open_txn());

  const auto applied = state.replay(old);
  EXPECT_EQ(applied.notes.size(), 1U);
  ASSERT_EQ(applied.aborted.size(), 1U);
  EXPECT_EQ(applied.aborted[0].last_stable_offset, 3);
  EXPECT_EQ(state.find(7)->coordinator_epoch, 4);
}

// H-023
TEST(ProducerTxn, FencesOlderMarkersAndTakesTheEpochOfNewerOnes) {
  ProducerState state;
  try_append(state, data_batch({.epoch = 3, .offset = 0, .transactional = true}));

  EXPECT_EQ(try_append(state, marker_batch({.epoch = 2, .offset = 1}), kCoordinatorContext),
            kOldEpoch);
  EXPECT_EQ(try_append(state, marker_batch({.epoch = 4, .offset = 1, .type = ControlType::kAbort}),
                       kCoordinatorContext),
            "ok");
  EXPECT_EQ(state.find(7)->epoch, 4);
  EXPECT_FALSE(state.find(7)->has_open_txn());
  EXPECT_TRUE(state.find(7)->cached().empty());
  EXPECT_EQ(try_append(state, data_batch({.epoch = 3, .first = 1, .offset = 2})), kOldEpoch);
  EXPECT_EQ(try_append(state, data_batch({.epoch = 4, .first = 1, .offset = 2})), kGap);
  EXPECT_EQ(try_append(state, data_batch({.epoch = 4, .first = 0, .offset = 2})), "ok");
}

// SEEN 13
TEST(ProducerTxn, GoesOnUnderABumpedEpochAndEndsFromItsFirstOffset) {
  ProducerState state;
  try_append(state, data_batch({.epoch = 0, .offset = 5, .transactional = true}));
  EXPECT_EQ(try_append(state, data_batch({.epoch = 1, .offset = 6, .transactional = true})), "ok");

  const auto applied =
      state.replay(marker_batch({.epoch = 1, .offset = 7, .type = ControlType::kAbort}));

  ASSERT_EQ(applied.aborted.size(), 1U);
  EXPECT_EQ(applied.aborted[0].txn.first_offset, 5);
}

TEST(ProducerTxn, WantsARisingEpochInMarkersOfTransactionVersion2) {
  ProducerState state;
  try_append(state, data_batch({.epoch = 3, .offset = 0, .transactional = true}));
  CheckContext version2 = kCoordinatorContext;
  version2.transaction_version = 2;

  EXPECT_EQ(try_append(state, marker_batch({.epoch = 3, .offset = 1}), version2), kOldEpoch);
  EXPECT_EQ(try_append(state, marker_batch({.epoch = 2, .offset = 1}), version2), kOldEpoch);
  EXPECT_EQ(try_append(state, marker_batch({.epoch = 4, .offset = 1}), version2), "ok");
  // The retry of that marker: equal epoch, nothing open.
  EXPECT_EQ(try_append(state, marker_batch({.epoch = 4, .offset = 2}), version2), "ok");
  EXPECT_EQ(try_append(state, marker_batch({.epoch = 3, .offset = 3}), version2), kOldEpoch);
}

// H-018: a marker without a transaction is written but completes nothing.
TEST(ProducerTxn, CompletesNothingWhenNothingIsOpen) {
  ProducerState state;

  EXPECT_TRUE(
      state.replay(marker_batch({.offset = 5, .type = ControlType::kAbort})).aborted.empty());
  state.replay(data_batch({.count = 5, .offset = 10, .transactional = true}));
  const auto applied = state.replay(marker_batch({.offset = 20, .type = ControlType::kAbort}));

  ASSERT_EQ(applied.aborted.size(), 1U);
  EXPECT_EQ(applied.aborted[0].txn.first_offset, 10);
  EXPECT_EQ(applied.aborted[0].txn.last_offset, 20);
}

// H-020, H-024
TEST(ProducerTxn, IgnoresEmptyControlBatchesAndUnknownControlTypes) {
  ProducerState state;
  state.replay(data_batch({.offset = 0, .transactional = true}));
  const ProducerEntry before = *state.find(7);
  ProducerInput empty = marker_batch({.epoch = 9, .offset = 1});
  empty.marker.reset();
  empty.header.record_count = 0;
  ProducerInput unknown = marker_batch({.epoch = 9, .offset = 2});
  unknown.marker.reset();
  ProducerInput stranger = unknown;
  stranger.header.producer_id = 8;

  state.replay(empty);
  state.replay(unknown);
  state.replay(stranger);

  EXPECT_EQ(*state.find(7), before);
  EXPECT_EQ(state.find(8), nullptr);
  EXPECT_EQ(state.map_end(), 3);
}

// PRODUCER_STATE 11: several transactions of one producer in one read.
TEST(ProducerTxn, TakesSeveralTransactionsOfOneProducerInOneAppend) {
  ProducerState state;
  const std::vector<ProducerInput> batches{
      data_batch({.first = 0, .offset = 0, .transactional = true}),
      marker_batch({.offset = 1, .type = ControlType::kAbort}),
      data_batch({.first = 1, .offset = 2, .transactional = true}),
      marker_batch({.offset = 3, .type = ControlType::kCommit}),
      data_batch({.first = 2, .offset = 4, .transactional = true})};

  const auto applied = state.apply(update_of(state, batches, from(AppendOrigin::kReplica)));

  ASSERT_EQ(applied.aborted.size(), 1U);
  EXPECT_EQ(applied.aborted[0].last_stable_offset, 2);
  EXPECT_EQ(state.find(7)->txn_first_offset, 4);
  ASSERT_EQ(state.txns().open().size(), 1U);
  EXPECT_EQ(state.txns().open()[0].first_offset, 4);
  EXPECT_EQ(state.find(7)->cached().size(), 3U);
}

// PRODUCER_STATE 12, through the table.
TEST(ProducerTxn, WritesTheAbortedEntriesOfTheWorkedScenario) {
  ProducerState state;
  std::vector<ProducerState::Applied::Aborted> aborted;
  const auto add = [&](const ProducerInput& batch) {
    for (const auto& entry : state.replay(batch).aborted)
      aborted.push_back(entry);
  };
  add(data_batch({.producer_id = 1, .count = 2, .offset = 0, .transactional = true}));
  add(plain_batch(2));
  add(data_batch({.producer_id = 2, .count = 2, .offset = 3, .transactional = true}));
  add(marker_batch({.producer_id = 1, .offset = 5, .type = ControlType::kAbort}));
  state.txns().on_high_watermark(6);
  EXPECT_EQ(state.txns().last_stable(0, 6), 3);
  add(data_batch({.producer_id = 1, .first = 2, .offset = 6, .transactional = true}));
  add(marker_batch({.producer_id = 2, .offset = 7}));
  state.txns().on_high_watermark(8);
  EXPECT_EQ(state.txns().last_stable(0, 8), 6);
  add(marker_batch({.producer_id = 1, .offset = 8, .type = ControlType::kAbort}));
  add(plain_batch(9));
  state.txns().on_high_watermark(10);

  EXPECT_EQ(state.txns().last_stable(0, 10), 10);
  ASSERT_EQ(aborted.size(), 2U);
  EXPECT_EQ(aborted[0].txn.first_offset, 0);
  EXPECT_EQ(aborted[0].txn.last_offset, 5);
  EXPECT_EQ(aborted[0].last_stable_offset, 3);
  EXPECT_EQ(aborted[1].txn.first_offset, 6);
  EXPECT_EQ(aborted[1].txn.last_offset, 8);
  EXPECT_EQ(aborted[1].last_stable_offset, 9);
}

ProducerState verifying() {
  ProducerStateOptions options;
  options.verification = true;
  return ProducerState(options);
}

std::string append_with(ProducerState& state, const ProducerInput& batch, VerificationGuard guard) {
  CheckContext context;
  context.guard = guard;
  return try_append(state, batch, context);
}

TEST(Verification, LetsOnlyTheGuardedAppendOpenATransaction) {
  ProducerState state = verifying();
  const ProducerInput batch = data_batch({.offset = 0, .transactional = true});
  EXPECT_EQ(append_with(state, batch, kNoGuard), kBadTxn);
  const VerificationGuard guard = *state.start_verification(7, 0, 0, 1, 0);
  EXPECT_NE(guard, kNoGuard);
  EXPECT_EQ(append_with(state, batch, guard + 1), kBadTxn);
  EXPECT_EQ(append_with(state, batch, kNoGuard), kBadTxn);

  EXPECT_EQ(append_with(state, batch, guard), "ok");

  // The transaction is open now: no guard is needed, and none is given.
  EXPECT_EQ(*state.start_verification(7, 0, 1, 1, 0), kNoGuard);
  EXPECT_EQ(
      append_with(state, data_batch({.first = 1, .offset = 1, .transactional = true}), kNoGuard),
      "ok");
}

// A late write of a transaction that its marker ended must not open it again.
TEST(Verification, RefusesAWriteWhoseGuardAMarkerTook) {
  ProducerState state = verifying();
  const VerificationGuard guard = *state.start_verification(7, 0, 0, 1, 0);
  EXPECT_EQ(try_append(state, marker_batch({.offset = 0, .type = ControlType::kAbort}),
                       kCoordinatorContext),
            "ok");

  EXPECT_EQ(append_with(state, data_batch({.offset = 1, .transactional = true}), guard), kBadTxn);
  const VerificationGuard fresh = *state.start_verification(7, 0, 0, 1, 0);
  EXPECT_GT(fresh, guard);
  EXPECT_EQ(append_with(state, data_batch({.offset = 1, .transactional = true}), guard), kBadTxn);
  EXPECT_EQ(append_with(state, data_batch({.offset = 1, .transactional = true}), fresh), "ok");
}

TEST(Verification, LeavesPlainBatchesMarkersAndReplicasAlone) {
  ProducerState state = verifying();
  EXPECT_EQ(try_append(state, data_batch({.offset = 0})), "ok");
  EXPECT_EQ(try_append(state, marker_batch({.offset = 1}), kCoordinatorContext), "ok");
  EXPECT_EQ(try_append(state, data_batch({.producer_id = 8, .offset = 2, .transactional = true}),
                       from(AppendOrigin::kReplica)),
            "ok");
  EXPECT_EQ(try_append(state, data_batch({.producer_id = 9, .offset = 3, .transactional = true}),
                       kCoordinatorContext),
            kBadTxn);
}

TEST(Verification, RefusesSequencesAboveTheLowestOneThatWaits) {
  ProducerState state = verifying();
  const VerificationGuard guard = *state.start_verification(7, 0, 5, 1, 0);
  EXPECT_EQ(*state.start_verification(7, 0, 3, 1, 0), guard);
  EXPECT_EQ(*state.start_verification(7, 0, 9, 1, 0), guard);

  EXPECT_EQ(append_with(state, data_batch({.first = 5, .offset = 0, .transactional = true}), guard),
            kGap);
  ProducerStateOptions off = state.options();
  off.verification = false;
  state.set_options(off);
  EXPECT_EQ(append_with(state, data_batch({.first = 5, .offset = 0, .transactional = true}), guard),
            kGap);
  EXPECT_EQ(append_with(state, data_batch({.first = 3, .offset = 0, .transactional = true}), guard),
            "ok");
}

TEST(Verification, TakesAHigherEpochAndFencesALowerOne) {
  ProducerState state = verifying();
  EXPECT_TRUE(state.start_verification(7, 1, 5, 1, 0).ok());
  EXPECT_TRUE(state.start_verification(7, 2, 8, 1, 0).ok());

  const auto older = state.start_verification(7, 1, 5, 1, 0);
  ASSERT_FALSE(older.ok());
  EXPECT_EQ(older.error().code, ErrorCode::kInvalidProducerEpoch);
  state.replay(data_batch({.producer_id = 9, .epoch = 4, .offset = 0}));
  EXPECT_EQ(state.start_verification(9, 3, 0, 1, 0).error().code, ErrorCode::kInvalidProducerEpoch);
  EXPECT_EQ(state.start_verification(-1, 0, 0, 1, 0).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(state.start_verification(1, 0, -1, 1, 0).error().code, ErrorCode::kInvalidArgument);
}

TEST(Verification, WantsTransactionVersion2ToBeginAtZero) {
  ProducerState state = verifying();
  const VerificationGuard guard = *state.start_verification(7, 0, 4, 2, 0);

  EXPECT_EQ(append_with(state, data_batch({.first = 4, .offset = 0, .transactional = true}), guard),
            kGap);
  EXPECT_EQ(append_with(state, data_batch({.first = 0, .offset = 0, .transactional = true}), guard),
            "ok");
}

TEST(Verification, ExpiresByItsOwnAgeAndIsBounded) {
  ProducerStateOptions options;
  options.verification = true;
  options.expiration_ms = 100;
  options.producers_max = 2;
  ProducerState state(options);
  const VerificationGuard guard = *state.start_verification(1, 0, 0, 1, 1000);
  EXPECT_TRUE(state.start_verification(2, 0, 0, 1, 1050).ok());
  EXPECT_EQ(state.start_verification(3, 0, 0, 1, 1050).error().code, ErrorCode::kBusy);

  EXPECT_EQ(state.expire(1100), 0U);

  EXPECT_EQ(
      append_with(state, data_batch({.producer_id = 1, .offset = 0, .transactional = true}), guard),
      kBadTxn);
  EXPECT_TRUE(state.start_verification(3, 0, 0, 1, 1100).ok());
}

TEST(Verification, GivesNoGuardsWhenItIsOff) {
  ProducerState state;
  EXPECT_EQ(*state.start_verification(7, 0, 0, 1, 0), kNoGuard);
  EXPECT_EQ(try_append(state, data_batch({.offset = 0, .transactional = true})), "ok");
}

}  // namespace
}  // namespace oncelog
