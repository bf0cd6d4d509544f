// Replacing a file is all or nothing, over every failing call and every crash.
#include "index/derived_file.h"

#include <cerrno>
#include <memory>

#include <gtest/gtest.h>

#include "oncelog/sim.h"

#include "tests/index/bytes.h"

namespace oncelog {
namespace {

const std::string kPath = "data/name";
const std::string kTemp = "data/oncelog.tmp.name";
const std::vector<std::byte> kOld = from_hex("01 02 03 04 05 06 07 08");
const std::vector<std::byte> kNew = from_hex("aa bb cc");

std::shared_ptr<SimDisk> disk_with_old() {
  auto disk = std::make_shared<SimDisk>();
  EXPECT_TRUE(disk->write_file(kPath, kOld).ok());
  return disk;
}

bool has(const SimDisk& disk, const std::string& path) {
  return disk.read_file(path).ok();
}

std::uint64_t operations_of_a_replacement() {
  SimIo io(disk_with_old());
  EXPECT_TRUE(replace_file(io.files(), "data", "name", kNew).ok());
  return io.operation_count();
}

TEST(ReplaceFile, ReplacesTheContentAndLeavesNoTempFile) {
  const auto disk = disk_with_old();
  SimIo io(disk);

  ASSERT_TRUE(replace_file(io.files(), "data", "name", kNew).ok());

  EXPECT_EQ(*disk->read_file(kPath), kNew);
  EXPECT_FALSE(has(*disk, kTemp));
  EXPECT_EQ(disk->unsynced_changes(), 0U);
  EXPECT_EQ(*read_whole_file(io.files(), kPath, 3), kNew);
}

TEST(ReplaceFile, CutsALongerTempFileThatACrashLeft) {
  const auto disk = disk_with_old();
  ASSERT_TRUE(disk->write_file(kTemp, std::vector<std::byte>(100)).ok());
  SimIo io(disk);

  ASSERT_TRUE(replace_file(io.files(), "data", "name", kNew).ok());

  EXPECT_EQ(*disk->read_file(kPath), kNew);
}

TEST(ReplaceFile, LeavesTheDirectoryToTheCallerWhenAskedTo) {
  const auto disk = disk_with_old();
  SimIo io(disk);

  ASSERT_TRUE(replace_file(io.files(), "data", "name", kNew, false).ok());
  EXPECT_GT(disk->unsynced_changes(), 0U);

  ASSERT_TRUE(io.files().sync_directory("data").ok());
  EXPECT_EQ(disk->unsynced_changes(), 0U);
}

// I8
TEST(ReplaceFile, ShowsOldOrNewAfterAPowerCutAtAnyPoint) {
  const std::uint64_t operations = operations_of_a_replacement();
  for (const PowerCut mode : {PowerCut::kNoneKept, PowerCut::kAllKept, PowerCut::kPrefix,
                              PowerCut::kSubset, PowerCut::kTorn}) {
    for (std::uint64_t point = 0; point <= operations; ++point) {
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const auto disk = disk_with_old();
        SimIo io(disk);
        io.crash_at(point);
        const bool done = replace_file(io.files(), "data", "name", kNew).ok();
        disk->power_cut(mode, seed);

        const auto content = disk->read_file(kPath);

        ASSERT_TRUE(content.ok()) << to_string(mode) << ' ' << point << ' ' << seed;
        ASSERT_TRUE(*content == kNew || (!done && *content == kOld))
            << to_string(mode) << ' ' << point << ' ' << seed;
      }
    }
  }
}

// H-099: a failing call leaves no temp file behind, and its own error is the one returned.
TEST(ReplaceFile, ReturnsTheFirstErrorAndRemovesTheTempFile) {
  const std::uint64_t operations = operations_of_a_replacement();
  for (std::uint64_t point = 0; point < operations; ++point) {
    const auto disk = disk_with_old();
    SimIo io(disk);
    io.fail_at(point, EIO);

    const Status status = replace_file(io.files(), "data", "name", kNew);

    ASSERT_FALSE(status.ok()) << point;
    EXPECT_EQ(status.error().sys_errno, EIO) << point;
    EXPECT_FALSE(has(*disk, kTemp)) << point;
    const auto content = *disk->read_file(kPath);
    // Only the last operation, the directory's fsync, comes behind the rename.
    EXPECT_EQ(content, point + 1 == operations ? kNew : kOld) << point;
  }
}

TEST(ReplaceFile, FailsInADirectoryThatIsNotThere) {
  SimIo io(std::make_shared<SimDisk>());

  EXPECT_FALSE(replace_file(io.files(), "gone", "name", kNew).ok());
}

TEST(ReadWholeFile, RefusesLargeFilesAndTellsMissingOnes) {
  SimIo io(disk_with_old());

  EXPECT_EQ(*read_whole_file(io.files(), kPath, 8), kOld);
  const auto large = read_whole_file(io.files(), kPath, 7);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, ErrorCode::kDamaged);
  EXPECT_EQ(large.error().path, kPath);
  EXPECT_EQ(read_whole_file(io.files(), "data/none", 7).error().code, ErrorCode::kNotFound);
}

TEST(RemoveIfExists, TakesAMissingFileForRemoved) {
  const auto disk = disk_with_old();
  SimIo io(disk);

  EXPECT_TRUE(remove_if_exists(io.files(), "data/none").ok());
  EXPECT_TRUE(remove_if_exists(io.files(), kPath).ok());
  EXPECT_FALSE(has(*disk, kPath));
  io.fail_at(io.operation_count(), EIO);
  EXPECT_FALSE(remove_if_exists(io.files(), kPath).ok());
}

}  // namespace
}  // namespace oncelog
