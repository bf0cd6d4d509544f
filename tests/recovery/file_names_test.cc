// Names of files and directories: FORMAT.md 9, traps H-096 and H-097.
#include "storage/file_names.h"

#include <string>

#include <gtest/gtest.h>

namespace oncelog {
namespace {

constexpr const char* kId = "0123456789abcdef0123456789abcdef";

TEST(FileNames, RoundTripForEveryKindAndStage) {
  using enum FileKind;
  using enum FileStage;
  for (const FileKind kind : {kLog, kOffsetIndex, kTimeIndex, kTxnIndex, kSnapshot}) {
    for (const FileStage stage : {kLive, kCleaned, kSwap, kDeleted}) {
      if (kind == kSnapshot && (stage == kCleaned || stage == kSwap)) continue;
      const PartitionFileName name{kind, stage, 9223372036854775807};

      EXPECT_EQ(parse_file_name(file_name(name.kind, name.base_offset, name.stage)), name);
    }
  }
  EXPECT_EQ(file_name(kLog, 55), "00000000000000000055.log");
  EXPECT_EQ(file_name(kTimeIndex, 0, kSwap), "00000000000000000000.timeindex.swap");
}

TEST(FileNames, H096ForeignNamesAreNotParsed) {
  for (const char* name : {"lost+found",
                           ".DS_Store",
                           "abc.log",
                           "00000000000000000000.log.bak",
                           "000000000000000000000.log",
                           "0000000000000000000.log",
                           "9223372036854775808.log",
                           "09223372036854775808.log",
                           "00000000000000000000",
                           "00000000000000000000.",
                           "00000000000000000000.LOG",
                           "-0000000000000000001.log",
                           "+0000000000000000001.log",
                           "00000000000000000000.snapshot.swap",
                           "00000000000000000000.snapshot.cleaned",
                           "00000000000000000000.log.swap.deleted",
                           "00000000000000000000.log.swap.swap",
                           "",
                           ".log",
                           "0000000000000000000x.log"}) {
    EXPECT_FALSE(parse_file_name(name).has_value()) << name;
  }
}

TEST(FileNames, KnowsItsOwnNamesAndKafkasTextFiles) {
  EXPECT_EQ(damaged_file_name(55, 335), "oncelog-damaged-55-335.log");
  EXPECT_TRUE(is_own_file_name("oncelog.sidecar"));
  EXPECT_TRUE(is_own_file_name(damaged_file_name(0, 0)));
  EXPECT_FALSE(is_own_file_name("oncelogs"));
  EXPECT_TRUE(is_partition_text_file("leader-epoch-checkpoint"));
  EXPECT_TRUE(is_partition_text_file("leader-epoch-checkpoint.tmp"));
  EXPECT_TRUE(is_partition_text_file("partition.metadata"));
  EXPECT_FALSE(is_partition_text_file("partition.metadata.bak"));
}

TEST(DirectoryNames, H097AreSplitAtTheLastDash) {
  const auto name = parse_directory_name("a-b.c-delete-12");

  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->partition.topic, "a-b.c-delete");
  EXPECT_EQ(name->partition.partition, 12);
  EXPECT_EQ(name->state, DirectoryState::kLive);
}

TEST(DirectoryNames, H097MarkedNamesFit255BytesAndParseAgain) {
  const TopicPartition name{std::string(249, 'x'), 2147483647};

  const std::string deleting = marked_directory_name(name, DirectoryState::kDeleting, kId);
  const std::string future = marked_directory_name(name, DirectoryState::kFuture, kId);

  EXPECT_EQ(deleting.size(), kFileNameBytesMax);
  const auto parsed = parse_directory_name(deleting);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->state, DirectoryState::kDeleting);
  EXPECT_EQ(parsed->unique_id, kId);
  EXPECT_EQ(parsed->partition.partition, 2147483647);
  EXPECT_TRUE(future.starts_with(name.topic + "-2147483647."));
  EXPECT_EQ(parse_directory_name(future)->state, DirectoryState::kFuture);
  EXPECT_EQ(parse_directory_name("a.b-0.0123456789ABCDEF0123456789abcdef-stray")->state,
            DirectoryState::kStray);
}

TEST(DirectoryNames, RefusesWhatIsNoPartition) {
  for (const char* name :
       {"", "topic", "topic-", "-0", "topic-x", "topic-2147483648", "topic--1x", ".-0", "..-0",
        "to/pic-0", "topic-0-delete", "topic-0.0123-delete", "topic-0.zz-stray", "topic-0-future",
        "x-delete", "remote-log-index-cache", "topic-+1"}) {
    EXPECT_FALSE(parse_directory_name(name).has_value()) << name;
  }
}

TEST(TopicNames, H097SlashDotAndDotDotAreRefused) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), std::string("a b"),
        std::string("\xc3\xa4"), std::string(250, 'a'), std::string("a\0b", 3)}) {
    EXPECT_FALSE(check_topic_name(name).ok()) << name;
  }
  EXPECT_TRUE(check_topic_name(std::string(249, 'a')).ok());
  EXPECT_TRUE(check_topic_name("...").ok());
  EXPECT_TRUE(check_topic_name("a.b-delete").ok());
}

}  // namespace
}  // namespace oncelog
