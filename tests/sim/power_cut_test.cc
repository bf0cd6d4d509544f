// What a power cut leaves of the simulated disk: every state the model allows, and no other.
#include <algorithm>
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "tests/sim/sim_fixture.h"

namespace oncelog {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSector = 512;

std::string page_of(char c) {
  return std::string(kPage, c);
}

/// "A" for a page of A, "0" for zeros, "?" for a mix; one letter per page. "-" without a file.
std::string pages_on(const SimDisk& disk, const std::string& path) {
  const std::string text = text_on(disk, path);
  if (text == kMissing) return "-";
  std::string letters;
  for (std::size_t at = 0; at < text.size(); at += kPage) {
    const std::string_view page = std::string_view(text).substr(at, kPage);
    const bool even = page.find_first_not_of(page[0]) == std::string_view::npos;
    letters += !even ? '?' : page[0] == '\0' ? '0' : page[0];
  }
  return letters;
}

struct Machine {
  explicit Machine(MetadataMode metadata = MetadataMode::kStrict)
      : disk(std::make_shared<SimDisk>(metadata)), io(std::make_shared<SimIo>(disk)) {}
  Outcomes after(PowerCut mode, const std::string& path) const {
    return outcomes(*disk, mode, [&](const SimDisk& cut) { return pages_on(cut, path); });
  }
  std::shared_ptr<SimDisk> disk;
  std::shared_ptr<SimIo> io;
};

TEST(PowerCut, KeepsWhatWasSynced) {
  Machine m;
  const auto file = open(*m.io, "f");
  write(*file, 0, page_of('A'));
  ASSERT_TRUE(file->sync().ok());
  ASSERT_TRUE(m.io->files().sync_directory("/").ok());

  for (const PowerCut mode : {PowerCut::kNoneKept, PowerCut::kAllKept, PowerCut::kPrefix,
                              PowerCut::kSubset, PowerCut::kTorn}) {
    EXPECT_EQ(m.after(mode, "f"), Outcomes{"A"}) << to_string(mode);
  }
  EXPECT_EQ(m.disk->unsynced_changes(), 0U);
}

TEST(PowerCut, NoneAndAllAreTheTwoEnds) {
  Machine m;
  put(*m.disk, "f", page_of('A'));
  write(*open(*m.io, "f"), 0, page_of('B') + page_of('C'));

  EXPECT_EQ(m.after(PowerCut::kNoneKept, "f"), Outcomes{"A"});
  EXPECT_EQ(m.after(PowerCut::kAllKept, "f"), Outcomes{"BC"});
}

TEST(PowerCut, APrefixKeepsWholeChangesInOrder) {
  Machine m;
  put(*m.disk, "f", "");
  const auto file = open(*m.io, "f");
  write(*file, 0, page_of('A') + page_of('B'));
  write(*file, 2 * kPage, page_of('C'));
  ASSERT_TRUE(file->truncate(kPage).ok());

  EXPECT_EQ(m.after(PowerCut::kPrefix, "f"), (Outcomes{"", "AB", "ABC", "A"}));
}

TEST(PowerCut, ASubsetKeepsAnyPagesAndAnySize) {
  Machine m;
  put(*m.disk, "f", "");
  write(*open(*m.io, "f"), 0, page_of('A') + page_of('B'));

  // Size without data, data of the second page without the first, and the size of half a write.
  EXPECT_EQ(m.after(PowerCut::kSubset, "f"), (Outcomes{"", "0", "A", "00", "A0", "0B", "AB"}));
}

TEST(PowerCut, APageHoldsAnyOfItsVersions) {
  Machine m;
  put(*m.disk, "f", page_of('A'));
  const auto file = open(*m.io, "f");
  write(*file, 0, page_of('B'));
  write(*file, 0, page_of('C'));

  EXPECT_EQ(m.after(PowerCut::kSubset, "f"), (Outcomes{"A", "B", "C"}));
}

TEST(PowerCut, TearsPagesOnlyAtSectors) {
  Machine m;
  put(*m.disk, "f", page_of('A'));
  write(*open(*m.io, "f"), 100, std::string(kPage - 100, 'B'));

  const Outcomes seen =
      outcomes(*m.disk, PowerCut::kTorn, [](const SimDisk& cut) { return text_on(cut, "f"); });

  EXPECT_GT(seen.size(), 8U);
  for (const std::string& text : seen) {
    ASSERT_EQ(text.size(), kPage);
    EXPECT_EQ(text.substr(0, 100), std::string(100, 'A'));
    for (std::size_t at = 0; at < kPage; at += kSector) {
      const std::string sector = text.substr(std::max<std::size_t>(at, 100), kSector / 2);
      EXPECT_EQ(sector.find_first_not_of(sector[0]), std::string::npos) << at;
    }
  }
}

TEST(PowerCut, AnUnsyncedTruncationMayBeUndone) {
  Machine m;
  put(*m.disk, "f", page_of('A') + page_of('B'));
  const auto file = open(*m.io, "f");
  ASSERT_TRUE(file->truncate(0).ok());
  write(*file, 0, page_of('C'));

  EXPECT_EQ(m.after(PowerCut::kPrefix, "f"), (Outcomes{"AB", "", "C"}));
  EXPECT_EQ(m.after(PowerCut::kSubset, "f").count("CB"), 1U) << "old tail behind new data";
  ASSERT_TRUE(file->sync().ok());
  EXPECT_EQ(m.after(PowerCut::kSubset, "f"), Outcomes{"C"});
}

TEST(PowerCut, CutBytesComeBackAsZeros) {
  Machine m;
  put(*m.disk, "f", std::string(100, 'A'));
  const auto file = open(*m.io, "f");
  ASSERT_TRUE(file->truncate(10).ok());
  ASSERT_TRUE(file->truncate(100).ok());
  ASSERT_TRUE(file->sync().ok());

  m.disk->power_cut(PowerCut::kSubset, 1);

  EXPECT_EQ(text_on(*m.disk, "f"), std::string(10, 'A') + std::string(90, '\0'));
}

TEST(PowerCut, StrictModeLosesANameWithoutDirectorySync) {
  Machine m;
  const auto file = open(*m.io, "f");
  write(*file, 0, page_of('A'));
  ASSERT_TRUE(file->sync().ok());

  EXPECT_EQ(m.after(PowerCut::kNoneKept, "f"), Outcomes{"-"});
  EXPECT_EQ(m.after(PowerCut::kSubset, "f"), (Outcomes{"-", "A"}));
  ASSERT_TRUE(m.io->files().sync_directory(".").ok());
  EXPECT_EQ(m.after(PowerCut::kNoneKept, "f"), Outcomes{"A"});
}

TEST(PowerCut, StrictModeNeedsEveryDirectoryOnTheWay) {
  Machine m;
  ASSERT_TRUE(m.io->files().make_directory("d").ok());
  write(*open(*m.io, "d/f"), 0, page_of('A'));
  ASSERT_TRUE(open(*m.io, "d/f")->sync().ok());
  ASSERT_TRUE(m.io->files().sync_directory("d").ok());

  EXPECT_EQ(m.after(PowerCut::kNoneKept, "d/f"), Outcomes{"-"});
  ASSERT_TRUE(m.io->files().sync_directory("/").ok());
  EXPECT_EQ(m.after(PowerCut::kNoneKept, "d/f"), Outcomes{"A"});
}

// CRASH.md 2b, "new file, fdatasync, no directory fsync: present" on ext4, xfs and btrfs.
TEST(PowerCut, JournalledModeKeepsTheNameOfASyncedFile) {
  Machine m(MetadataMode::kJournalled);
  ASSERT_TRUE(m.io->files().make_directory("d").ok());
  const auto file = open(*m.io, "d/f");
  write(*file, 0, page_of('A'));
  ASSERT_TRUE(file->sync().ok());

  EXPECT_EQ(m.after(PowerCut::kNoneKept, "d/f"), Outcomes{"A"});
  EXPECT_EQ(m.after(PowerCut::kSubset, "d/f"), Outcomes{"A"});
}

TEST(PowerCut, JournalledModeKeepsNameChangesInOrder) {
  Machine m(MetadataMode::kJournalled);
  open(*m.io, "a");
  open(*m.io, "b");
  ASSERT_TRUE(m.io->files().rename("a", "c").ok());
  const auto names = [](const SimDisk& cut) {
    std::string all;
    for (const std::string& path : cut.paths())
      all += path;
    return all;
  };

  EXPECT_EQ(outcomes(*m.disk, PowerCut::kSubset, names), (Outcomes{"", "a", "ab", "bc"}));
}

TEST(PowerCut, JournalledModeDoesNotUndoATruncationThatTheJournalHolds) {
  Machine m(MetadataMode::kJournalled);
  put(*m.disk, "f", page_of('A'));
  const auto file = open(*m.io, "f");
  ASSERT_TRUE(file->truncate(0).ok());
  const auto other = open(*m.io, "g");
  write(*file, 0, page_of('B'));
  ASSERT_TRUE(other->sync().ok());

  EXPECT_EQ(m.after(PowerCut::kNoneKept, "f"), Outcomes{""});
  EXPECT_EQ(m.after(PowerCut::kSubset, "f"), (Outcomes{"", "0", "B"}));
}

TEST(PowerCut, StrictModeKeepsAnyOfIndependentNames) {
  Machine m;
  open(*m.io, "a");
  open(*m.io, "b");
  const auto names = [](const SimDisk& cut) {
    std::string all;
    for (const std::string& path : cut.paths())
      all += path;
    return all;
  };

  EXPECT_EQ(outcomes(*m.disk, PowerCut::kSubset, names), (Outcomes{"", "a", "b", "ab"}));
}

TEST(PowerCut, ARenameIsAtomicAndItsNamesKeepTheirOrder) {
  for (const MetadataMode metadata : {MetadataMode::kStrict, MetadataMode::kJournalled}) {
    Machine m(metadata);
    put(*m.disk, "f", "old");
    const auto temporary = open(*m.io, "f.tmp");
    write(*temporary, 0, "new");
    ASSERT_TRUE(temporary->sync().ok());
    ASSERT_TRUE(m.io->files().rename("f.tmp", "f").ok());
    const auto see = [](const SimDisk& cut) {
      return text_on(cut, "f") + " " + text_on(cut, "f.tmp");
    };

    const Outcomes seen = outcomes(*m.disk, PowerCut::kSubset, see);

    EXPECT_EQ(seen.count("new (missing)"), 1U);
    for (const std::string& state : seen) {
      EXPECT_TRUE(state == "new (missing)" || state == "old new" || state == "old (missing)")
          << state;
    }
  }
}

// CRASH.md 2b, "tmp NOT synced, renamed over old, directory fsync: EMPTY file" on xfs and btrfs.
TEST(PowerCut, ARenameWithoutSyncLeavesAnEmptyFile) {
  Machine m;
  put(*m.disk, "f", page_of('A'));
  write(*open(*m.io, "f.tmp"), 0, page_of('B'));
  ASSERT_TRUE(m.io->files().rename("f.tmp", "f").ok());
  ASSERT_TRUE(m.io->files().sync_directory("/").ok());

  EXPECT_EQ(m.after(PowerCut::kSubset, "f"), (Outcomes{"", "0", "B"}));
}

TEST(PowerCut, ARenameBetweenDirectoriesNeedsTheTargetsSync) {
  Machine m;
  put(*m.disk, "a/f", "text");
  put(*m.disk, "b/g", "");
  ASSERT_TRUE(m.io->files().rename("a/f", "b/f").ok());
  const auto see = [](const SimDisk& cut) {
    return text_on(cut, "a/f") + " " + text_on(cut, "b/f");
  };

  ASSERT_TRUE(m.io->files().sync_directory("a").ok());
  EXPECT_EQ(outcomes(*m.disk, PowerCut::kSubset, see),
            (Outcomes{"text (missing)", "(missing) text"}));
  ASSERT_TRUE(m.io->files().sync_directory("b").ok());
  EXPECT_EQ(outcomes(*m.disk, PowerCut::kSubset, see), Outcomes{"(missing) text"});
}

TEST(PowerCut, AnUnlinkMayBeUndone) {
  for (const MetadataMode metadata : {MetadataMode::kStrict, MetadataMode::kJournalled}) {
    Machine m(metadata);
    put(*m.disk, "f", page_of('A'));
    ASSERT_TRUE(m.io->files().unlink("f").ok());

    EXPECT_EQ(m.after(PowerCut::kSubset, "f"), (Outcomes{"-", "A"}));
    ASSERT_TRUE(m.io->files().sync_directory("/").ok());
    EXPECT_EQ(m.after(PowerCut::kSubset, "f"), Outcomes{"-"});
  }
}

TEST(PowerCut, SyncOfTheFileSystemKeepsEverything) {
  Machine m;
  ASSERT_TRUE(m.io->files().make_directory("d").ok());
  write(*open(*m.io, "d/f"), 0, page_of('A'));
  ASSERT_TRUE(m.io->files().sync_file_system("d").ok());

  EXPECT_EQ(m.after(PowerCut::kNoneKept, "d/f"), Outcomes{"A"});
}

TEST(PowerCut, IsTheSameForTheSameSeed) {
  Machine m;
  put(*m.disk, "f", "");
  const auto file = open(*m.io, "f");
  for (std::int64_t i = 0; i < 20; ++i)
    write(*file, i * 700, std::string(1500, static_cast<char>('a' + i)));

  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto one = m.disk->clone();
    const auto two = m.disk->clone();
    one->power_cut(PowerCut::kTorn, seed);
    two->power_cut(PowerCut::kTorn, seed);
    EXPECT_EQ(one->digest(), two->digest());
  }
}

TEST(PowerCut, AWriteInFlightMayBeOnTheDisk) {
  Machine m;
  put(*m.disk, "f", page_of('A'));
  const auto file = open(*m.io, "f");
  auto queue = queue_of(*m.io);
  queue->submit(request_of(IoRequest::Kind::kWrite, 1, file, 0, page_of('B')));

  EXPECT_EQ(m.after(PowerCut::kSubset, "f"), (Outcomes{"A", "B"}));
  EXPECT_EQ(m.after(PowerCut::kNoneKept, "f"), Outcomes{"A"});
}

TEST(Kill, LosesNothingThatWasWritten) {
  Machine m;
  write(*open(*m.io, "f"), 0, page_of('A'));

  m.disk->kill(1);

  EXPECT_EQ(pages_on(*m.disk, "f"), "A");
  m.disk->power_cut(PowerCut::kNoneKept, 1);
  EXPECT_EQ(pages_on(*m.disk, "f"), "-") << "a later power cut still can";
}

TEST(Kill, ReleasesLocksAndEndsHandles) {
  Machine m;
  const auto locked = open(*m.io, "f");
  ASSERT_TRUE(locked->lock().ok());
  SimIo other(m.disk);
  ASSERT_TRUE(*open(other, "f")->is_locked());

  m.io->kill();

  EXPECT_TRUE(m.io->dead());
  EXPECT_FALSE(locked->write_at(0, text_bytes("x")).ok());
  EXPECT_TRUE(open(other, "f")->lock().ok());
}

TEST(SimDisk, ClonesAreIndependent) {
  Machine m;
  put(*m.disk, "f", page_of('A'));
  const auto copy = m.disk->clone();

  write(*open(*m.io, "f"), 0, page_of('B'));
  SimIo on_copy(copy);
  ASSERT_TRUE(on_copy.files().rename("f", "g").ok());

  EXPECT_EQ(pages_on(*m.disk, "f"), "B");
  EXPECT_EQ(pages_on(*copy, "g"), "A");
  EXPECT_EQ(pages_on(*m.disk, "g"), "-");
}

// The failed sync marks pages clean: readers see them, no later sync writes them.
TEST(SimDisk, AFailedSyncLosesThePagesForGood) {
  Machine m;
  put(*m.disk, "f", page_of('A'));
  const auto file = open(*m.io, "f");
  write(*file, 0, page_of('B'));
  m.io->fail_at(m.io->operation_count(), EIO);

  EXPECT_FALSE(file->sync().ok());
  EXPECT_TRUE(file->sync().ok());

  EXPECT_EQ(pages_on(*m.disk, "f"), "B");
  EXPECT_EQ(m.after(PowerCut::kAllKept, "f"), Outcomes{"A"});
  write(*file, 1, "C");
  ASSERT_TRUE(file->sync().ok());
  EXPECT_EQ(m.after(PowerCut::kNoneKept, "f"), Outcomes{"?"}) << "a dirty page is written whole";
}

TEST(SimDisk, AFullDiskTakesAPartAndThenNothing) {
  Machine m;
  m.disk->set_capacity(3 * static_cast<std::int64_t>(kPage));
  const auto file = open(*m.io, "f");
  write(*file, 0, page_of('A') + page_of('B'));

  const Status over = file->write_at(2 * kPage, text_bytes(page_of('C') + page_of('D')));

  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().code, ErrorCode::kDiskFull);
  EXPECT_EQ(over.error().sys_errno, ENOSPC);
  EXPECT_EQ(pages_on(*m.disk, "f"), "ABC");
  EXPECT_EQ(*m.io->files().free_bytes("/"), 0);
  write(*file, 0, page_of('E'));  // takes no new space
  EXPECT_FALSE(file->allocate(3 * kPage, 1).ok());
  ASSERT_TRUE(file->truncate(kPage).ok());
  write(*file, kPage, page_of('F'));
  EXPECT_EQ(pages_on(*m.disk, "f"), "EF");
}

TEST(SimDisk, AnUnlinkedFileTakesSpaceUntilItIsClosed) {
  Machine m;
  auto file = open(*m.io, "f");
  write(*file, 0, page_of('A'));
  ASSERT_TRUE(m.io->files().unlink("f").ok());

  EXPECT_EQ(m.disk->used_bytes(), static_cast<std::int64_t>(kPage));
  file.reset();
  EXPECT_EQ(m.disk->used_bytes(), 0);
}

TEST(SimDisk, ChangesFromOutsideAreDurable) {
  Machine m;
  write(*open(*m.io, "d", OpenMode::kCreate), 0, "un-synced");

  put(*m.disk, "x/y/f", "text");
  put(*m.disk, "d", "other");
  ASSERT_TRUE(m.disk->write_file("gone", {}).ok());
  ASSERT_TRUE(m.disk->remove_file("gone").ok());
  m.disk->power_cut(PowerCut::kNoneKept, 3);

  EXPECT_EQ(m.disk->paths(), (std::vector<std::string>{"d", "x/", "x/y/", "x/y/f"}));
  EXPECT_EQ(text_on(*m.disk, "x/y/f"), "text");
  EXPECT_EQ(text_on(*m.disk, "d"), "other");
  EXPECT_FALSE(m.disk->remove_file("gone").ok());
  EXPECT_FALSE(m.disk->write_file("x/y", text_bytes("")).ok());
}

TEST(PowerCutMode, HasANameBothWays) {
  for (const PowerCut mode : {PowerCut::kNoneKept, PowerCut::kAllKept, PowerCut::kPrefix,
                              PowerCut::kSubset, PowerCut::kTorn}) {
    EXPECT_EQ(power_cut_of(to_string(mode)), mode);
  }
  EXPECT_EQ(power_cut_of("other"), std::nullopt);
}

}  // namespace
}  // namespace oncelog
