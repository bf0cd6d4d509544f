// Inputs that have broken log engines at opening: one test per trap, named by its number.
#include <algorithm>

#include <gtest/gtest.h>

#include "index/derived_file.h"
#include "index/producer_snapshot.h"
#include "storage/base/endian.h"
#include "storage/format/batch_header.h"
#include "tests/recovery/log_image.h"

namespace oncelog::test {
namespace {

RootFacts root_at(Offset recovery_point, bool clean = false) {
  RootFacts root;
  root.recovery_point = recovery_point;
  root.clean = clean;
  return root;
}

std::vector<std::byte> snapshot_of(const LoadedLog& log) {
  return encode_producer_snapshot(log.producers);
}

/// Producer 7 with sequences 0 to 5, a roll and a snapshot at 3, another snapshot at the end.
LogImage with_snapshots() {
  LogImage image;
  for (int i = 0; i < 3; ++i)
    image.add({.producer_id = 7, .sequence = i});
  image.file(file_name(FileKind::kSnapshot, 3)) = snapshot_of(*recover_on(image, root_at(0)));
  image.roll();
  for (int i = 3; i < 6; ++i)
    image.add({.producer_id = 7, .sequence = i});
  image.file(file_name(FileKind::kSnapshot, 6)) = snapshot_of(*recover_on(image, root_at(0)));
  return image;
}

TEST(RecoveryTrap, H001StateIsRebuiltFromTheLogWhenItsSnapshotsAreGone) {
  LogImage image;
  for (int i = 0; i < 3; ++i)
    image.add({.producer_id = 7, .sequence = i});

  const auto log = recover_on(image, root_at(3, true));

  ASSERT_TRUE(log.ok());
  const ProducerEntry* const entry = log->producers.find(7);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->last_sequence(), 2);
  EXPECT_EQ(entry->batch_count, 3);
  EXPECT_TRUE(log->report.duplicate_window_full);
}

TEST(RecoveryTrap, H003ADamagedSnapshotIsSetAsideAndTheOlderOneUsed) {
  const LogImage good = with_snapshots();
  const auto expected = recover_on(good, root_at(6));
  ASSERT_TRUE(expected.ok());
  const std::string newest = file_name(FileKind::kSnapshot, 6);
  for (int kind = 0; kind < 5; ++kind) {
    LogImage image = good;
    std::vector<std::byte>& bytes = image.file(newest);
    if (kind == 0) bytes.clear();
    if (kind == 1) bytes.resize(bytes.size() / 2);
    if (kind == 2) bytes[20] ^= std::byte{1};
    if (kind == 3) bytes[1] = std::byte{2};
    if (kind == 4) store_be<std::int32_t>(bytes, 6, 2147483647);

    const auto log = recover_on(image, root_at(6));

    ASSERT_TRUE(log.ok()) << kind;
    EXPECT_EQ(log->producers.producers(), expected->producers.producers()) << kind;
    EXPECT_EQ(log->report.snapshot_used, 3) << kind;
    EXPECT_EQ(log->report.removed, std::vector<std::string>{newest}) << kind;
  }
}

TEST(RecoveryTrap, H004AProducerWhoseBatchesAreGoneIsKnownFromASnapshot) {
  LogImage image;
  image.skip_to(50);
  LogImage before;
  before.add({.records = 5, .producer_id = 7});
  std::vector<std::byte> snapshot = snapshot_of(*recover_on(before, root_at(0)));
  LogImage trimmed;
  trimmed.skip_to(50);
  trimmed.roll();
  trimmed.add();
  const std::vector<std::byte> bytes = trimmed.log(50);
  const std::shared_ptr<SimDisk> disk = std::make_shared<SimDisk>();
  const std::string directory = std::string(LogImage::kDirectory) + "/";
  ASSERT_TRUE(disk->write_file(directory + log_name(50), bytes).ok());
  ASSERT_TRUE(disk->write_file(directory + file_name(FileKind::kSnapshot, 50), snapshot).ok());
  RootFacts root = root_at(51);
  root.log_start = 50;

  const auto log = recover_on(*disk, root, small_options());

  ASSERT_TRUE(log.ok());
  ASSERT_NE(log->producers.find(7), nullptr);
  EXPECT_EQ(log->producers.find(7)->last_sequence(), 4);
  EXPECT_EQ(log->snapshots, std::vector<Offset>{50});
}

TEST(RecoveryTrap, H040H041AnInterruptedReplacementIsFinishedOrGivenUp) {
  LogImage image;
  for (int i = 0; i < 3; ++i)
    image.add();
  image.roll();
  image.add();
  LogImage compacted;
  compacted.skip_to(1);
  compacted.add();
  compacted.skip_to(3);
  compacted.add();
  LogImage complete = image;
  complete.file(log_name(0) + ".swap") = compacted.log(0);
  complete.file(file_name(FileKind::kSnapshot, 3)) = snapshot_of(*recover_on(image, root_at(0)));
  LogImage unfinished = complete;
  unfinished.file(log_name(0) + ".cleaned");

  const auto finished = recover_on(complete, root_at(4));
  const auto given_up = recover_on(unfinished, root_at(4));

  ASSERT_TRUE(finished.ok()) << to_string(finished.error());
  EXPECT_EQ(finished->segments.size(), 1U);  // the replacement reaches offset 3 itself
  EXPECT_EQ(finished->log_end, 4);
  EXPECT_EQ(finished->snapshots, std::vector<Offset>{3});
  ASSERT_TRUE(given_up.ok());
  EXPECT_EQ(given_up->segments.size(), 2U);
  EXPECT_EQ(given_up->segments[0].facts.size, static_cast<std::int64_t>(image.log(0).size()));
}

TEST(RecoveryTrap, H044AStartInTheMiddleOfABatchStays) {
  LogImage image;
  image.add({.records = 10});
  image.add({.records = 10});
  RootFacts root = root_at(20);
  root.log_start = 15;

  const auto log = recover_on(image, root);

  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->log_start, 15);
  EXPECT_EQ(log->log_end, 20);
}

TEST(RecoveryTrap, H045AStartAboveTheEndGivesAnEmptyLogThere) {
  LogImage image;
  image.add({.records = 60, .producer_id = 7});
  RootFacts root = root_at(100);
  root.log_start = 100;

  const auto log = recover_on(image, root);

  ASSERT_TRUE(log.ok()) << to_string(log.error());
  EXPECT_EQ(log->log_start, 100);
  EXPECT_EQ(log->log_end, 100);
  ASSERT_EQ(log->segments.size(), 1U);
  EXPECT_EQ(log->segments[0].facts.base_offset, 100);
  EXPECT_TRUE(log->producers.producers().empty());
  EXPECT_TRUE(log->epochs.entries().empty());
  EXPECT_EQ(log->report.removed, std::vector<std::string>{log_name(0)});
}

TEST(RecoveryTrap, H066TheLastBatchCutAtEveryByteIsReallyCut) {
  LogImage image;
  image.add();
  image.add();
  const Placed last = image.add();
  for (std::int64_t n = 1; n < last.end - last.position; ++n) {
    LogImage cut = image;
    cut.log(0).resize(static_cast<std::size_t>(last.position + n));
    SimIo io(cut.disk());
    auto plan = analyse(io.files(), LogImage::kDirectory, root_at(0), small_options());
    ASSERT_TRUE(plan.ok());

    const auto log = apply(io.files(), std::move(plan).value());

    ASSERT_TRUE(log.ok()) << n;
    EXPECT_EQ(log->log_end, last.first_offset) << n;
    // The first seven bytes of its base offset are zeros, and zeros are no tail.
    EXPECT_EQ(log->report.verdict, n < 8 ? Verdict::kNone : Verdict::kTornTail) << n;
    EXPECT_EQ(log->report.truncated_bytes, n);
    const std::string path = std::string(LogImage::kDirectory) + "/" + log_name(0);
    EXPECT_EQ(io.files().stat(path)->size, last.position) << n;
    EXPECT_EQ(io.disk().unsynced_changes(), 0U) << n;
  }
}

TEST(RecoveryTrap, H067ZerosBehindTheDataAreTheEndOfTheLogInAnySegment) {
  LogImage image;
  image.add();
  image.roll();
  image.add();
  image.log(0).resize(4096);
  image.log(1).resize(9000);

  const auto log = recover_on(image, root_at(2));

  ASSERT_TRUE(log.ok()) << to_string(log.error());
  EXPECT_EQ(log->log_end, 2);
  EXPECT_EQ(log->segments.size(), 2U);
  EXPECT_EQ(log->report.verdict, Verdict::kNone);
  EXPECT_GT(log->report.truncated_bytes, 12000);
}

TEST(RecoveryTrap, H067ZerosWhereBatchesAreMissingAreNot) {
  LogImage image;
  image.add();
  const Placed lost = image.add();
  image.roll();
  image.add();
  std::fill(image.log(0).begin() + lost.position, image.log(0).end(), std::byte{0});

  const auto above = recover_on(image, root_at(1));
  const auto below = recover_on(image, root_at(2));

  ASSERT_TRUE(above.ok());
  EXPECT_EQ(above->report.verdict, Verdict::kHoledTail);
  EXPECT_EQ(above->log_end, 1);
  EXPECT_FALSE(below.ok());
}

TEST(RecoveryTrap, H068GarbageBehindTheDataIsCut) {
  LogImage image;
  const Placed last = image.add();
  for (int i = 0; i < 5000; ++i)
    image.log(0).push_back(static_cast<std::byte>(i * 131 + 7));

  const auto log = recover_on(image, root_at(1));

  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->report.verdict, Verdict::kTornTail);
  EXPECT_EQ(log->segments[0].facts.size, last.end);
}

TEST(RecoveryTrap, H069EmptyFilesOpen) {
  LogImage follows;
  follows.add({.records = 100});
  follows.roll();
  LogImage torn_before = follows;
  torn_before.log(0).resize(torn_before.log(0).size() - 1);
  LogImage few_bytes;
  few_bytes.log(0).resize(7, std::byte{1});
  const std::shared_ptr<SimDisk> nothing = std::make_shared<SimDisk>();
  ASSERT_TRUE(nothing->write_file(std::string(LogImage::kDirectory) + "/.DS_Store", {}).ok());
  RootFacts root = root_at(0);

  const auto kept = recover_on(follows, root_at(100));
  const auto checked = recover_on(torn_before, root_at(0));
  const auto emptied = recover_on(few_bytes, root_at(0));
  const auto created = recover_on(*nothing, root, small_options());

  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->segments.size(), 2U);
  EXPECT_EQ(kept->log_end, 100);
  ASSERT_TRUE(checked.ok());
  EXPECT_EQ(checked->log_end, 0);
  EXPECT_EQ(checked->segments.size(), 1U);
  ASSERT_TRUE(emptied.ok());
  EXPECT_EQ(emptied->log_end, 0);
  ASSERT_TRUE(created.ok());
  EXPECT_EQ(created->segments.size(), 1U);
  EXPECT_EQ(created->report.foreign, std::vector<std::string>{".DS_Store"});
}

TEST(RecoveryTrap, H069AnEmptySegmentAboveTheRecoveredEndGoes) {
  LogImage image;
  image.add();
  const Placed lost = image.add();
  image.roll();
  image.log(0).resize(static_cast<std::size_t>(lost.position));

  const auto log = recover_on(image, root_at(1));
  const auto refused = recover_on(image, root_at(2));

  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->log_end, 1);
  EXPECT_EQ(log->segments.size(), 1U);
  EXPECT_TRUE(log->report.gaps.empty());
  EXPECT_FALSE(refused.ok());
}

TEST(RecoveryTrap, H070AZeroPageInTheMiddleOfABatchIsFoundByItsCrc) {
  LogImage image;
  image.add();
  const Placed batch = image.add({.value_bytes = 20000});
  std::fill_n(image.log(0).begin() + 8192, 4096, std::byte{0});

  const auto log = recover_on(image, root_at(1));

  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->log_end, batch.first_offset);
}

TEST(RecoveryTrap, H072ARecoveryPointAheadOfTheDataIsRefusedOrLowered) {
  LogImage image;
  image.add({.records = 600});
  RecoverOptions cut = small_options();
  cut.on_damage = OnDamage::kCut;
  RootFacts root = root_at(1000);

  const auto refused = recover_on(image, root);
  const auto lowered = recover_on(*image.disk(), root, cut);

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kDamaged);
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ(lowered->log_end, 600);
  EXPECT_EQ(root.recovery_point, 600);
  ASSERT_EQ(lowered->report.damage.size(), 1U);
  EXPECT_EQ(lowered->report.damage[0].kind, DamageFinding::Kind::kShort);
}

TEST(RecoveryTrap, H073TornCheckpointFilesAreTakenAsMissing) {
  const std::vector<std::string> torn{"",      "0\n1\n",      "0\n2\n0 0\n",
                                      "hello", "1\n1\n0 0\n", "0\n1\n0 0"};
  for (const std::string& text : torn) {
    LogImage image;
    image.add({.leader_epoch = 3});
    std::vector<std::byte>& bytes = image.file("leader-epoch-checkpoint");
    for (const char c : text)
      bytes.push_back(static_cast<std::byte>(c));
    const std::shared_ptr<SimDisk> disk = image.disk();
    for (const char* name : {"recovery-point-offset-checkpoint", "log-start-offset-checkpoint"}) {
      ASSERT_TRUE(disk->write_file(std::string("root/") + name, bytes).ok());
    }
    SimIo io(disk->clone());
    std::vector<std::string> notes;
    RootFacts root = read_root_facts(io.files(), "root", {"topic", 0}, notes);

    const auto log = recover_on(*disk, root, small_options());

    ASSERT_TRUE(log.ok()) << text;
    EXPECT_FALSE(root.recovery_point.has_value()) << text;
    EXPECT_EQ(notes.size(), text.empty() ? 0U : 2U) << text;
    ASSERT_EQ(log->epochs.entries().size(), 1U) << text;
    EXPECT_EQ(log->epochs.entries()[0].epoch, 3) << text;
  }
}

TEST(RecoveryTrap, H096ForeignThingsAreLeftAloneAndReportedOnce) {
  LogImage image;
  image.add();
  for (const char* name : {"abc.log", "00000000000000000000.log.bak", "000000000000000000000.log",
                           "99999999999999999999.log"}) {
    image.file(name).resize(3);
  }
  SimIo io(image.disk());
  auto plan = analyse(io.files(), LogImage::kDirectory, root_at(1), small_options());
  ASSERT_TRUE(plan.ok());

  const auto log = apply(io.files(), std::move(plan).value());

  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->report.foreign.size(), 4U);
  for (const std::string& name : log->report.foreign)
    EXPECT_TRUE(io.files().stat(std::string(LogImage::kDirectory) + "/" + name).ok());
}

TEST(RecoveryTrap, H102GapsThatCompactionLeftAreNoDamageAndNoMissingSegment) {
  LogImage image;
  image.add();
  image.skip_to(7);
  image.add({.records = 2});
  image.skip_to(30);
  image.roll();
  image.add();

  const auto log = recover_on(image, root_at(31, true));

  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->log_end, 31);
  EXPECT_EQ(log->report.verdict, Verdict::kNone);
  EXPECT_TRUE(log->report.gaps.empty());
}

TEST(RecoveryTrap, AMissingSegmentIsAGapAndNothingBehindItGoes) {
  LogImage image;
  image.add();
  image.skip_to(10);
  image.roll();
  image.add();

  const auto log = recover_on(image, root_at(11));

  ASSERT_TRUE(log.ok());
  ASSERT_EQ(log->report.gaps.size(), 1U);
  EXPECT_EQ(log->report.gaps[0].first_offset, 1);
  EXPECT_EQ(log->report.gaps[0].last_offset, 9);
  EXPECT_EQ(log->log_end, 11);
}

TEST(RecoveryTrap, ASegmentThatTheSidecarListsAndThatIsGoneIsDamage) {
  LogImage image;
  image.add();
  image.roll();
  image.add();
  image.roll();
  image.add();
  image.checkpoint(8192);
  const std::shared_ptr<SimDisk> disk = image.disk();
  ASSERT_TRUE(disk->remove_file(std::string(LogImage::kDirectory) + "/" + log_name(1)).ok());
  RootFacts root = root_at(0);

  const auto log = recover_on(*disk, root, small_options());

  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().offset, 1);
}

TEST(RecoveryTrap, AMarkerThatCannotBeReadIsANoteAndChangesNothing) {
  LogImage image;
  image.add({.producer_id = 7, .transactional = true});
  const Placed marker = image.add_marker(7, 0, false);
  // The key's version becomes negative, under a CRC that is right.
  std::vector<std::byte>& log = image.log(0);
  log[static_cast<std::size_t>(marker.position) + 61 + 5] = std::byte{0xff};
  const auto batch = std::span(log).subspan(static_cast<std::size_t>(marker.position));
  store_be<std::uint32_t>(batch, batch_field::kCrc.offset, batch_crc(batch));

  const auto loaded = recover_on(image, root_at(2));

  ASSERT_TRUE(loaded.ok()) << to_string(loaded.error());
  EXPECT_EQ(loaded->log_end, 2);
  EXPECT_EQ(loaded->last_stable_floor, 0);
  ASSERT_EQ(loaded->report.notes.size(), 1U);
}

TEST(RecoveryTrap, AbortedTransactionsAreRebuiltWhenTheirIndexIsMissingUnderACleanMarker) {
  LogImage image;
  image.add({.producer_id = 7, .transactional = true});
  image.add_marker(7, 0, false);
  image.roll();
  image.add();

  const auto log = recover_on(image, root_at(3, true));

  ASSERT_TRUE(log.ok());
  const std::string name = file_name(FileKind::kTxnIndex, 0);
  const auto& rebuilt = log->report.rebuilt;
  EXPECT_NE(std::find(rebuilt.begin(), rebuilt.end(), name), rebuilt.end());
  ASSERT_NE(log->segments[0].txn_index, nullptr);
  EXPECT_EQ(log->segments[0].txn_index->entry(0), (AbortedTxn{7, 0, 1, 2}));
}

}  // namespace
}  // namespace oncelog::test
