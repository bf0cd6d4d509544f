// Index files that are wrong or missing when a log is opened: one test per trap, named by its
// number.
#include <gtest/gtest.h>

#include "storage/base/endian.h"
#include "tests/recovery/log_image.h"

namespace oncelog::test {
namespace {

RootFacts root_at(Offset recovery_point, bool clean = false) {
  RootFacts root;
  root.recovery_point = recovery_point;
  root.clean = clean;
  return root;
}

/// Two segments with indexes, the first sealed.
LogImage with_indexes() {
  LogImage image;
  for (int i = 0; i < 8; ++i)
    image.add({.value_bytes = 100, .timestamp = 1000 + i});
  image.roll();
  image.add({.value_bytes = 100, .timestamp = 2000});
  image.write_indexes();
  return image;
}

TEST(RecoveryTrap, H050AnOffsetIndexThatPointsElsewhereIsBuiltAgain) {
  const LogImage good = with_indexes();
  const std::string name = file_name(FileKind::kOffsetIndex, 0);
  for (const std::int32_t position : {1 << 30, 7, -5}) {
    LogImage image = good;
    store_be<std::int32_t>(image.file(name), 4, position);

    const auto log = recover_on(image, root_at(9, true));

    ASSERT_TRUE(log.ok());
    EXPECT_EQ(log->report.rebuilt, std::vector<std::string>{name}) << position;
    ASSERT_NE(log->segments[0].offset_index, nullptr);
    LogImage untouched = good;
    EXPECT_EQ(log->segments[0].offset_index->encode(), untouched.file(name));
  }
}

TEST(RecoveryTrap, H051OneEntryOfZerosIsCountedWhenItIsTrue) {
  LogImage image;
  image.add();
  image.roll();
  image.add();
  image.write_indexes();
  const std::string name = file_name(FileKind::kOffsetIndex, 0);
  image.file(name).assign(8, std::byte{0});  // last offset 0 at position 0: an older broker's

  const auto log = recover_on(image, root_at(2, true));

  ASSERT_TRUE(log.ok());
  EXPECT_TRUE(log->report.rebuilt.empty());
}

TEST(RecoveryTrap, H052MissingIndexesAreBuiltAgainWithoutAScanOfOtherSegments) {
  LogImage image = with_indexes();
  image.checkpoint(8192);
  const std::shared_ptr<SimDisk> disk = image.disk();
  const std::string directory = std::string(LogImage::kDirectory) + "/";
  for (const FileKind kind : {FileKind::kOffsetIndex, FileKind::kTimeIndex}) {
    ASSERT_TRUE(disk->remove_file(directory + file_name(kind, 0)).ok());
  }
  RootFacts root = root_at(9);

  const auto log = recover_on(*disk, root, small_options());

  ASSERT_TRUE(log.ok());
  EXPECT_TRUE(log->report.sidecar_used);
  EXPECT_EQ(log->report.batches_scanned, 8);
  EXPECT_EQ(log->report.rebuilt, (std::vector<std::string>{file_name(FileKind::kOffsetIndex, 0),
                                                           file_name(FileKind::kTimeIndex, 0)}));
}

TEST(RecoveryTrap, H056ZerosAtTheEndOfATimeIndexAreNoEntry) {
  const LogImage good = with_indexes();
  const std::string name = file_name(FileKind::kTimeIndex, 0);
  for (const std::size_t zeros : {12U, 1200U}) {
    LogImage image = good;
    std::vector<std::byte>& bytes = image.file(name);
    bytes.resize(bytes.size() + zeros);

    const auto log = recover_on(image, root_at(9, true));

    ASSERT_TRUE(log.ok());
    EXPECT_EQ(log->segments[0].facts.largest_timestamp, 1007);
    ASSERT_NE(log->segments[0].time_index, nullptr);
    EXPECT_EQ(log->segments[0].time_index->last().timestamp, 1007);
  }
}

}  // namespace
}  // namespace oncelog::test
