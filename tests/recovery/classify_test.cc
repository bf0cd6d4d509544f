// Names to decisions: RECOVERY.md 3, traps H-040 to H-042 and H-096.
#include "recovery/classify.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oncelog {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::string name_of(Offset base, const std::string& suffix) {
  std::string digits = std::to_string(base);
  return std::string(20 - digits.size(), '0') + digits + suffix;
}

/// Replacements by base and their next offset; -1: does not check.
DirectoryPlan plan_for(const std::vector<std::string>& names,
                       const std::map<Offset, Offset>& swap_ends = {}) {
  std::vector<DirEntry> entries;
  for (const std::string& name : names)
    entries.push_back({name, FileType::kRegular});
  const Result<DirectoryPlan> plan =
      classify(entries, [&](const PartitionFileName& name) -> Result<std::optional<Offset>> {
        const Offset end = swap_ends.at(name.base_offset);
        return end < 0 ? std::optional<Offset>() : std::optional<Offset>(end);
      });
  EXPECT_TRUE(plan.ok());
  return *plan;
}

std::vector<Offset> bases(const DirectoryPlan& plan) {
  std::vector<Offset> out;
  for (const SegmentFiles& files : plan.segments)
    out.push_back(files.base_offset);
  return out;
}

TEST(Classify, H040DropsAnUnfinishedReplacementAndEverySwapAtOrAboveIt) {
  const DirectoryPlan plan = plan_for(
      {name_of(0, ".log"), name_of(0, ".index"), name_of(100, ".log"), name_of(0, ".log.cleaned"),
       name_of(0, ".index.cleaned"), name_of(0, ".log.swap"), name_of(100, ".log.swap")});

  EXPECT_THAT(bases(plan), ElementsAre(0, 100));
  EXPECT_THAT(plan.renames, IsEmpty());
  EXPECT_THAT(plan.removals,
              UnorderedElementsAre(name_of(0, ".log.cleaned"), name_of(0, ".index.cleaned"),
                                   name_of(0, ".log.swap"), name_of(100, ".log.swap")));
}

TEST(Classify, H040KeepsASwapBelowTheLowestUnfinishedOne) {
  const DirectoryPlan plan = plan_for({name_of(0, ".log"), name_of(0, ".log.swap"),
                                       name_of(100, ".log"), name_of(100, ".log.cleaned")},
                                      {{0, 50}});

  EXPECT_THAT(plan.removals, ElementsAre(name_of(100, ".log.cleaned")));
  ASSERT_EQ(plan.renames.size(), 1U);
  EXPECT_EQ(plan.renames[0].to, name_of(0, ".log"));
}

TEST(Classify, H041FinishesTheRenamesAndRemovesCoveredOriginalsButNoSnapshot) {
  const DirectoryPlan plan = plan_for(
      {name_of(0, ".log"), name_of(0, ".log.swap"), name_of(0, ".index"), name_of(0, ".timeindex"),
       name_of(0, ".timeindex.swap"), name_of(100, ".log"), name_of(100, ".index"),
       name_of(100, ".snapshot"), name_of(200, ".log"), name_of(200, ".snapshot")},
      {{0, 200}});

  EXPECT_THAT(bases(plan), ElementsAre(0, 200));
  EXPECT_THAT(plan.snapshots, ElementsAre(100, 200));
  EXPECT_THAT(plan.removals, UnorderedElementsAre(name_of(0, ".index"), name_of(0, ".timeindex"),
                                                  name_of(100, ".log"), name_of(100, ".index")));
  EXPECT_EQ(plan.renames.size(), 2U);
  EXPECT_EQ(plan.segments[0].log, name_of(0, ".log.swap"));
  EXPECT_EQ(plan.segments[0].offset_index, "");
  EXPECT_EQ(plan.segments[0].time_index, name_of(0, ".timeindex.swap"));
}

TEST(Classify, H041IndexFilesWhoseLogIsInPlaceAlreadyAreRenamed) {
  const DirectoryPlan plan = plan_for({name_of(0, ".log"), name_of(0, ".index"),
                                       name_of(0, ".index.swap"), name_of(7, ".txnindex.swap")});

  ASSERT_EQ(plan.renames.size(), 1U);
  EXPECT_EQ(plan.renames[0].from, name_of(0, ".index.swap"));
  EXPECT_THAT(plan.removals, ElementsAre(name_of(7, ".txnindex.swap")));
  EXPECT_EQ(plan.segments[0].offset_index, name_of(0, ".index.swap"));
}

TEST(Classify, H042AnEmptySwapReplacesTheSegmentOfItsBaseOnly) {
  const DirectoryPlan plan =
      plan_for({name_of(0, ".log"), name_of(50, ".log"), name_of(50, ".txnindex"),
                name_of(50, ".log.swap"), name_of(70, ".log")},
               {{50, 50}});

  EXPECT_THAT(bases(plan), ElementsAre(0, 50, 70));
  EXPECT_EQ(plan.segments[1].log, name_of(50, ".log.swap"));
  EXPECT_THAT(plan.removals, ElementsAre(name_of(50, ".txnindex")));
}

TEST(Classify, AReplacementWithoutAbortedIndexDoesNotInheritTheOldOne) {
  const DirectoryPlan plan =
      plan_for({name_of(0, ".log"), name_of(0, ".txnindex"), name_of(0, ".log.swap")}, {{0, 14}});

  EXPECT_THAT(plan.removals, ElementsAre(name_of(0, ".txnindex")));
  EXPECT_EQ(plan.segments[0].txn_index, "");
}

TEST(Classify, AReplacementThatDoesNotCheckIsDroppedWhileTheOriginalIsThere) {
  const DirectoryPlan plan = plan_for({name_of(0, ".log"), name_of(0, ".index"),
                                       name_of(0, ".log.swap"), name_of(0, ".index.swap")},
                                      {{0, -1}});

  EXPECT_EQ(plan.segments[0].log, name_of(0, ".log"));
  EXPECT_EQ(plan.segments[0].offset_index, name_of(0, ".index"));
  EXPECT_THAT(plan.removals,
              UnorderedElementsAre(name_of(0, ".log.swap"), name_of(0, ".index.swap")));
  EXPECT_EQ(plan.notes.size(), 1U);
}

TEST(Classify, AReplacementThatDoesNotCheckIsAllThereIsWithoutAnOriginal) {
  const DirectoryPlan plan = plan_for({name_of(0, ".log.swap"), name_of(9, ".log")}, {{0, -1}});

  EXPECT_THAT(bases(plan), ElementsAre(0, 9));
}

TEST(Classify, AReplacementRemovesWhatLiesBetweenTwoOthersOnlyWhenItCoversIt) {
  const DirectoryPlan plan =
      plan_for({name_of(0, ".log"), name_of(0, ".log.swap"), name_of(100, ".log"),
                name_of(200, ".log"), name_of(200, ".log.swap")},
               {{0, 51}, {200, 300}});

  EXPECT_THAT(bases(plan), ElementsAre(0, 100, 200));
  EXPECT_THAT(plan.removals, IsEmpty());
}

TEST(Classify, RemovesDeletedFilesTemporaryFilesAndIndexesWithoutALog) {
  const DirectoryPlan plan =
      plan_for({name_of(0, ".log.deleted"), name_of(0, ".snapshot.deleted"), name_of(3, ".index"),
                name_of(3, ".txnindex"), "oncelog.tmp.oncelog.sidecar", "oncelog.sidecar",
                "oncelog-damaged-0-335.log", "leader-epoch-checkpoint", "partition.metadata",
                "partition.metadata.tmp", "leader-epoch-checkpoint.deleted"});

  EXPECT_THAT(plan.segments, IsEmpty());
  EXPECT_THAT(plan.foreign, IsEmpty());
  EXPECT_THAT(plan.removals,
              UnorderedElementsAre(name_of(0, ".log.deleted"), name_of(0, ".snapshot.deleted"),
                                   name_of(3, ".index"), name_of(3, ".txnindex"),
                                   "oncelog.tmp.oncelog.sidecar"));
}

TEST(Classify, H096ForeignThingsAreLeftAloneAndNamed) {
  std::vector<DirEntry> entries{
      {"lost+found", FileType::kDirectory},         {".DS_Store", FileType::kRegular},
      {name_of(0, ".log"), FileType::kDirectory},   {"abc.log", FileType::kRegular},
      {name_of(0, ".log.bak"), FileType::kRegular}, {"0" + name_of(0, ".log"), FileType::kRegular},
      {"oncelog.sidecar", FileType::kDirectory}};

  const Result<DirectoryPlan> plan =
      classify(entries, [](const PartitionFileName&) -> Result<std::optional<Offset>> {
        return std::optional<Offset>();
      });

  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->foreign.size(), entries.size());
  EXPECT_THAT(plan->removals, IsEmpty());
  EXPECT_THAT(plan->segments, IsEmpty());
}

}  // namespace
}  // namespace oncelog
