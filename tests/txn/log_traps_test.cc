// Traps of the log layer that no other file states: opening, sizes near 2^31, names of segments.
#include <gtest/gtest.h>

#include "tests/txn/log_support.h"
#include "txn/append_placer.h"

namespace oncelog::testing {
namespace {

// H-013: a log is handed out after its replay, so that no reader can see past an open transaction.
TEST(LogOpening, ShowsNoStableOffsetBeyondAnOpenTransactionH013) {
  LogOptions options;
  options.segment_bytes = 400;
  SimStore store;
  std::shared_ptr<Log> log = store.open_log(options);
  must_append(*log, make_batch({.count = 2}));
  must_append(*log,
              make_batch({.producer_id = 1, .epoch = 0, .sequence = 0, .transactional = true}));
  for (int i = 0; i < 20; ++i)
    must_append(*log, make_batch({.count = 1}));

  log = store.kill_and_reopen(log, options);

  EXPECT_EQ(log->offsets().last_stable, 2);
  EXPECT_EQ(log->offsets().high_watermark, 23);
  EXPECT_EQ(read_offsets(*log, Isolation::kReadCommitted), (std::vector<Offset>{0, 1}));
}

AppendPlacer placer_at(std::int64_t size) {
  SidecarSegment facts;
  facts.size = size;
  facts.last_offset = 9;
  facts.first_batch_timestamp = SimClock::kStartMs;
  SegmentIndexes indexes;
  indexes.offset = std::make_unique<OffsetIndex>(0, 4096);
  indexes.time = std::make_unique<TimeIndex>(0, 4096);
  indexes.txn = std::make_unique<TxnIndex>(0);
  return AppendPlacer(facts, indexes, SimClock::kStartMs);
}

// H-065: positions are 31 bits on disk; sums near the limit roll and do not overflow.
TEST(AppendPlacer, RollsAtTheLargestSegmentSizeH065) {
  LogOptions options;
  options.segment_bytes = kSegmentBytesMax;
  const AppendPlacer nearly_full = placer_at(kSegmentBytesMax - 100);
  AppendPlacer::Incoming fits{100, 10, SimClock::kStartMs};
  AppendPlacer::Incoming too_long{101, 10, SimClock::kStartMs};
  AppendPlacer::Incoming huge{kSegmentBytesMax, 10, SimClock::kStartMs};

  EXPECT_FALSE(nearly_full.roll_needed(fits, options, SimClock::kStartMs));
  EXPECT_TRUE(nearly_full.roll_needed(too_long, options, SimClock::kStartMs));
  EXPECT_TRUE(nearly_full.roll_needed(huge, options, SimClock::kStartMs));
}

// H-076: the first acknowledgement in a new segment depends on its name being durable. The strict
// disk forgets every name whose directory was not synced.
TEST(LogRoll, KeepsTheNewSegmentsNameOverAPowerCutH076) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  must_append(*log, make_batch({.count = 1}));
  ASSERT_TRUE(log->roll().ok());
  must_append(*log, make_batch({.count = 1}));

  log.reset();
  store.power_cut(PowerCut::kNoneKept, 1);
  store.open();
  log = store.open_log();

  EXPECT_EQ(log->offsets().log_end, 2);
  EXPECT_EQ(log->state()->segments.size(), 2U);
}

}  // namespace
}  // namespace oncelog::testing
