// Directories as crashes leave them: tails that may be cut, and damage that may not.
//
// In the names: D is the durable floor, W the window (recovery/verdict.h).
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/recovery/log_image.h"

namespace oncelog::test {
namespace {

constexpr std::int64_t kWindow = 8192;

RootFacts root_at(Offset recovery_point, bool clean = false) {
  RootFacts root;
  root.recovery_point = recovery_point;
  root.clean = clean;
  return root;
}

RecoverOptions on_damage(OnDamage policy) {
  RecoverOptions options = small_options();
  options.on_damage = policy;
  return options;
}

void flip(std::vector<std::byte>& bytes, std::int64_t position) {
  bytes.at(static_cast<std::size_t>(position)) ^= std::byte{0x10};
}

void zero(std::vector<std::byte>& bytes, std::int64_t begin, std::int64_t end) {
  std::fill(bytes.begin() + begin, bytes.begin() + end, std::byte{0});
}

// A log that acknowledges before it syncs: the kernel wrote later pages and lost one in between.
TEST(CrashState, AWrittenLogWithAHoleAndGoodBatchesFarBehindIsAHoledTail) {
  LogImage image;
  image.add();
  image.checkpoint(kUnsyncedUnlimited);
  const Placed hole = image.add({.value_bytes = 3000});
  for (int i = 0; i < 50; ++i)
    image.add({.value_bytes = 3000});
  zero(image.log(0), hole.position, hole.end);

  const auto log = recover_on(image, root_at(0));

  ASSERT_TRUE(log.ok()) << to_string(log.error());
  EXPECT_EQ(log->report.verdict, Verdict::kHoledTail);
  EXPECT_EQ(log->report.rule, '4');
  EXPECT_EQ(log->log_end, hole.first_offset);
  EXPECT_EQ(log->report.kept_bytes, log->report.truncated_bytes);
  EXPECT_EQ(log->report.kept_files, std::vector<std::string>{damaged_file_name(0, hole.position)});
}

TEST(CrashState, TheSameHoleInALogWithAWindowIsDamage) {
  LogImage image;
  image.add();
  image.checkpoint(kWindow);
  const Placed hole = image.add({.value_bytes = 3000});
  for (int i = 0; i < 50; ++i)
    image.add({.value_bytes = 3000});
  zero(image.log(0), hole.position, hole.end);

  const auto log = recover_on(image, root_at(0));

  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().code, ErrorCode::kDamaged);
  EXPECT_EQ(log.error().position, hole.position);
  EXPECT_EQ(log.error().offset, hole.first_offset);
}

TEST(CrashState, AHoleWithinTheWindowIsAHoledTailAndMayBeRefused) {
  LogImage image;
  image.add();
  image.checkpoint(kWindow);
  const Placed hole = image.add({.value_bytes = 3000});
  image.add({.value_bytes = 3000});
  zero(image.log(0), hole.position, hole.end);
  RecoverOptions strict = small_options();
  strict.on_holed_tail = OnHoledTail::kFail;

  const auto cut = recover_on(image, root_at(0));
  const auto refused = recover_on(image, root_at(0), strict);

  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->report.verdict, Verdict::kHoledTail);
  EXPECT_EQ(cut->log_end, hole.first_offset);
  EXPECT_FALSE(refused.ok());
}

// A broker's directory: no sidecar, so only its recovery point proves anything.
TEST(CrashState, ABrokersLogIsDamagedBelowItsRecoveryPointAndTornOrHoledAbove) {
  LogImage image;
  image.add();
  const Placed below = image.add();
  image.add();
  const Placed above = image.add();
  image.add();
  LogImage bad_below = image;
  flip(bad_below.log(0), below.end - 1);
  LogImage bad_above = image;
  flip(bad_above.log(0), above.end - 1);

  const auto damaged = recover_on(bad_below, root_at(3));
  const auto holed = recover_on(bad_above, root_at(3));

  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().offset, below.first_offset);
  ASSERT_TRUE(holed.ok());
  EXPECT_EQ(holed->report.verdict, Verdict::kHoledTail);
  EXPECT_EQ(holed->log_end, above.first_offset);
}

TEST(CrashState, ABrokersEarlierSegmentMayBeTornAboveItsRecoveryPoint) {
  LogImage image;
  image.add();
  const Placed last = image.add();
  image.roll();
  image.add();
  flip(image.log(0), last.end - 1);

  const auto log = recover_on(image, root_at(1));

  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->report.verdict, Verdict::kHoledTail);
  EXPECT_EQ(log->log_end, 1);
  EXPECT_EQ(log->segments.size(), 1U);
  EXPECT_EQ(log->report.kept_files.size(), 2U);  // of the first segment, and the second
}

// Roll: cut the old file, sync it, create the new one, sync the directory, write to it.
TEST(CrashState, EveryStepOfARollOpensWithoutLoss) {
  LogImage before;
  before.add();
  before.checkpoint(kWindow);
  before.add();
  LogImage zero_tail = before;
  zero_tail.log(0).resize(zero_tail.log(0).size() + 4096);
  LogImage created = before;
  created.roll();
  LogImage zeros_in_new = created;
  zeros_in_new.log(2).resize(4096);
  LogImage torn = created;
  const Placed first = torn.add();
  torn.log(2).resize(static_cast<std::size_t>(first.end - 3));
  LogImage torn_in_zeros = created;
  const Placed half = torn_in_zeros.add();
  torn_in_zeros.log(2).resize(4096);
  zero(torn_in_zeros.log(2), half.end - 3, 4096);
  LogImage written = created;
  written.add();

  for (const LogImage* image :
       {&before, &zero_tail, &created, &zeros_in_new, &torn, &torn_in_zeros}) {
    const auto log = recover_on(*image, root_at(1));
    ASSERT_TRUE(log.ok()) << to_string(log.error());
    EXPECT_EQ(log->log_end, 2);
    EXPECT_TRUE(log->report.kept_files.empty());
  }
  const auto log = recover_on(written, root_at(1));
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->log_end, 3);
  EXPECT_EQ(log->report.durable_floor, 2);  // the second segment proves the first
}

TEST(CrashState, AfterARollBadBytesInTheOldSegmentAreDamage) {
  LogImage image;
  image.add();
  image.checkpoint(kWindow);
  const Placed last = image.add();
  image.roll();
  image.add();
  flip(image.log(0), last.end - 1);

  const auto log = recover_on(image, root_at(0));

  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().offset, last.first_offset);
}

// The first batch was synced and acknowledged; the second, in the same sector, never was.
TEST(CrashState, ALostBatchThatSharesASectorWithAnAcknowledgedOneIsATornTail) {
  LogImage image;
  image.add({.value_bytes = 100});
  image.checkpoint(kWindow);
  const Placed acknowledged = image.add({.value_bytes = 100});
  const Placed lost = image.add({.value_bytes = 600});
  std::vector<std::byte>& log = image.log(0);
  log.resize(64 << 10);  // zero-written ahead of the tail
  const std::int64_t sector_end = (lost.position / 512 + 1) * 512;
  ASSERT_LT(sector_end, lost.end);
  LogImage sector_written = image;
  zero(sector_written.log(0), sector_end, lost.end);
  LogImage sector_lost = image;
  zero(sector_lost.log(0), lost.position, lost.end);

  const auto torn = recover_on(sector_written, root_at(acknowledged.first_offset));
  const auto gone = recover_on(sector_lost, root_at(acknowledged.first_offset));

  ASSERT_TRUE(torn.ok()) << to_string(torn.error());
  EXPECT_EQ(torn->report.verdict, Verdict::kTornTail);
  EXPECT_EQ(torn->log_end, lost.first_offset);
  ASSERT_TRUE(gone.ok());
  EXPECT_EQ(gone->report.verdict, Verdict::kNone);
  EXPECT_EQ(gone->log_end, lost.first_offset);
}

TEST(CrashState, AnAcknowledgedBatchThatTheFloorKnowsCannotBeATornTail) {
  LogImage image;
  image.add();
  const Placed acknowledged = image.add();
  image.checkpoint(kWindow);
  image.log(0).resize(4096);
  zero(image.log(0), acknowledged.position, 4096);

  const auto log = recover_on(image, root_at(0));

  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().offset, acknowledged.first_offset);
}

TEST(CrashState, ASidecarThatIsEqualSavesTheScanAndKeepsFiveBatches) {
  LogImage image;
  for (int i = 0; i < 4; ++i)
    image.add({.producer_id = 7, .sequence = i});
  image.roll();
  image.add({.producer_id = 7, .sequence = 4});
  image.checkpoint(kWindow);
  image.add({.producer_id = 7, .sequence = 5});

  const auto log = recover_on(image, root_at(5));

  ASSERT_TRUE(log.ok()) << to_string(log.error());
  EXPECT_TRUE(log->report.sidecar_used);
  EXPECT_TRUE(log->sidecar_covers);
  EXPECT_EQ(log->report.batches_scanned, 1);
  EXPECT_EQ(log->unsynced_bytes_max, kWindow);
  const ProducerEntry* const entry = log->producers.find(7);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->batch_count, 5);
  EXPECT_EQ(entry->cached().front().last_sequence, 1);
  EXPECT_EQ(log->segments[1].facts, image.sidecar(kWindow).active.segment);
}

TEST(CrashState, ASidecarOfAnotherHistoryIsStaleAndIgnored) {
  LogImage other;
  other.add();
  other.add({.value_bytes = 300});
  other.checkpoint(kWindow);
  LogImage image;
  image.add();
  image.add({.value_bytes = 20});
  image.add({.value_bytes = 400});
  image.file(std::string(kSidecarFile)) = other.file(std::string(kSidecarFile));

  const auto log = recover_on(image, root_at(0));

  ASSERT_TRUE(log.ok()) << to_string(log.error());
  EXPECT_FALSE(log->report.sidecar_used);
  EXPECT_EQ(log->log_end, 3);
  EXPECT_EQ(log->report.durable_floor, 0);
  EXPECT_EQ(log->unsynced_bytes_max, kUnsyncedUnlimited);
}

TEST(CrashState, ALogThatABrokerCutMakesTheSidecarStale) {
  LogImage image;
  image.add();
  const Placed cut = image.add();
  image.checkpoint(kWindow, 2);
  image.log(0).resize(static_cast<std::size_t>(cut.position));

  const auto with_trace = recover_on(image, root_at(1));
  const auto without = recover_on(image, root_at(2));

  ASSERT_TRUE(with_trace.ok()) << to_string(with_trace.error());
  EXPECT_EQ(with_trace->log_end, 1);
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code, ErrorCode::kDamaged);
}

TEST(CrashState, ASidecarThatDamageContradictsStaysTrustedForTheFloor) {
  LogImage image;
  image.add();
  const Placed vouched = image.add();
  image.checkpoint(kWindow);
  image.add();
  flip(image.log(0), vouched.end - 1);
  flip(image.log(0), vouched.position + 30);

  const auto log = recover_on(image, root_at(0));

  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().offset, vouched.first_offset);
}

TEST(CrashState, ADamagedSidecarIsIgnoredAndNamed) {
  LogImage image;
  image.add();
  image.checkpoint(kWindow);
  flip(image.file(std::string(kSidecarFile)), 30);

  const auto log = recover_on(image, root_at(0));

  ASSERT_TRUE(log.ok());
  EXPECT_FALSE(log->report.sidecar_used);
  EXPECT_EQ(log->report.durable_floor, 0);
}

// A broker opened our directory, appended, rolled, and was killed: what it wrote has no window, and
// its rolls prove nothing.
TEST(CrashState, ABrokerThatAppendedAndRolledAfterUsLeavesAHoledTail) {
  LogImage image;
  image.add();
  image.checkpoint(kWindow);
  const Placed lost = image.add({.value_bytes = 3000});
  image.roll();
  for (int i = 0; i < 20; ++i)
    image.add({.value_bytes = 3000});
  image.file(file_name(FileKind::kOffsetIndex, image.log(2).empty() ? 0 : 2)).resize(4096);
  zero(image.log(0), lost.position, lost.end);

  const auto log = recover_on(image, root_at(1));

  ASSERT_TRUE(log.ok()) << to_string(log.error());
  EXPECT_EQ(log->report.verdict, Verdict::kHoledTail);
  EXPECT_EQ(log->log_end, lost.first_offset);
  EXPECT_EQ(log->report.durable_floor, 1);
  EXPECT_FALSE(log->sidecar_covers);
}

TEST(CrashState, ABrokerThatClosedTheLogAfterUsIsSeenByItsRecoveryPoint) {
  LogImage image;
  image.add();
  image.checkpoint(kWindow);
  image.add();
  image.roll();
  image.add();

  const auto log = recover_on(image, root_at(3, true));

  ASSERT_TRUE(log.ok());
  EXPECT_FALSE(log->sidecar_covers);
  EXPECT_EQ(log->log_end, 3);
  EXPECT_EQ(log->recovery_point, 3);
}

TEST(CrashState, GoodBatchesBetweenTwoBadSpotsAreNotCutSilently) {
  LogImage image;
  image.add();
  image.checkpoint(kWindow);
  const Placed hole = image.add({.value_bytes = 100});
  for (int i = 0; i < 40; ++i)
    image.add({.value_bytes = 3000});
  const Placed torn = image.add();
  flip(image.log(0), hole.end - 1);
  image.log(0).resize(static_cast<std::size_t>(torn.end - 1));

  const auto log = recover_on(image, root_at(0));

  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().offset, hole.first_offset);
}

TEST(CrashState, ABatchInsideATornBatchIsNoValidBatch) {
  LogImage inner;
  inner.skip_to(100);
  inner.add();
  const std::vector<std::byte>& embedded = inner.log(0);
  LogImage image;
  image.add();
  const Placed torn = image.add({.value_bytes = 4000});
  std::copy(embedded.begin(), embedded.end(), image.log(0).begin() + torn.position + 1000);
  image.log(0).resize(static_cast<std::size_t>(torn.end - 10));

  const auto log = recover_on(image, root_at(1));

  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->report.verdict, Verdict::kTornTail);
}

TEST(CrashState, ReadOnlyServesBothSidesOfTheHole) {
  LogImage image;
  image.add();
  const Placed hole = image.add();
  image.add();
  flip(image.log(0), hole.end - 1);

  const auto log = recover_on(image, root_at(3), on_damage(OnDamage::kReadOnly));

  ASSERT_TRUE(log.ok());
  EXPECT_TRUE(log->read_only);
  EXPECT_EQ(log->log_end, 3);
  ASSERT_EQ(log->damaged.size(), 1U);
  EXPECT_EQ(log->damaged[0].first_offset, 1);
  EXPECT_EQ(log->damaged[0].last_offset, 1);
  EXPECT_EQ(log->segments[0].offset_index->lookup(2).position, hole.end);
}

TEST(CrashState, DamageThatIsCutLowersTheFloorOnceAndKeepsEverything) {
  LogImage image;
  image.add();
  const Placed bad = image.add();
  image.add();
  image.roll();
  image.add();
  image.checkpoint(kWindow);
  flip(image.log(0), bad.end - 1);
  flip(image.log(0), bad.position + 20);
  const std::shared_ptr<SimDisk> disk = image.disk();
  SimIo io(disk);
  std::vector<Offset> lowered;
  // The sealed segment is equal in the sidecar, so only a scan finds the bad batch.
  ASSERT_TRUE(disk->remove_file(std::string(LogImage::kDirectory) + "/" +
                                file_name(FileKind::kTimeIndex, 0))
                  .ok());
  auto plan = analyse(io.files(), LogImage::kDirectory, root_at(4), on_damage(OnDamage::kCut));
  ASSERT_TRUE(plan.ok());
  const std::vector<std::string> actions = actions_of(**plan);

  const auto log = apply(io.files(), std::move(plan).value(), {[&](Offset to) {
                           lowered.push_back(to);
                           return Status{};
                         }});

  ASSERT_TRUE(log.ok());
  EXPECT_EQ(lowered, std::vector<Offset>{1});
  EXPECT_EQ(log->log_end, 1);
  EXPECT_EQ(log->report.kept_files.size(), 2U);
  EXPECT_NE(std::find(actions.begin(), actions.end(), "set aside " + log_name(3)), actions.end());
  EXPECT_FALSE(io.files().stat(std::string(LogImage::kDirectory) + "/oncelog.sidecar").ok());
}

TEST(CrashState, AFileWithOtherNamesIsNeverCutInPlace) {
  LogImage image;
  image.add();
  const Placed torn = image.add();
  image.log(0).resize(static_cast<std::size_t>(torn.end - 1));
  SimIo io(image.disk());
  const std::string path = std::string(LogImage::kDirectory) + "/" + log_name(0);
  ASSERT_TRUE(io.files().link(path, "root/backup").ok());
  auto plan = analyse(io.files(), LogImage::kDirectory, root_at(0), small_options());
  ASSERT_TRUE(plan.ok());

  const auto log = apply(io.files(), std::move(plan).value());

  ASSERT_TRUE(log.ok());
  EXPECT_EQ(io.files().stat(path)->size, torn.position);
  EXPECT_EQ(io.files().stat("root/backup")->size, torn.end - 1);
}

TEST(CrashState, OverlappingSegmentsAreRefusedAndBothNamed) {
  LogImage image;
  image.add({.records = 5});
  LogImage second;
  second.skip_to(3);
  second.roll();
  second.add();
  image.file(log_name(3)) = second.log(3);

  const auto log = recover_on(image, root_at(0), on_damage(OnDamage::kCut));

  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().code, ErrorCode::kDamaged);
  EXPECT_NE(log.error().message.find(log_name(0)), std::string::npos);
  EXPECT_NE(log.error().message.find(log_name(3)), std::string::npos);
}

}  // namespace
}  // namespace oncelog::test
