// What Kafka's storage code was told to do gives the same bytes when oncelog is told to do it.
#include "tests/golden/replay.h"

#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/support/kafka_loader.h"

namespace oncelog::test {
namespace {

using nlohmann::json;

/// Files whose bytes are Kafka's format: segments, indexes, snapshots, leader epochs.
FileMap kafka_files(const FileMap& files) {
  FileMap out;
  for (const auto& [name, bytes] : files) {
    if (kafka::offset_of(name) || name == "leader-epoch-checkpoint") out.emplace(name, bytes);
  }
  return out;
}

void expect_same_files(const FileMap& expected, const FileMap& actual) {
  for (const auto& [name, bytes] : expected) {
    const auto found = actual.find(name);
    if (found == actual.end()) {
      ADD_FAILURE() << name << " is missing";
    } else if (kafka::ends_with(name, ".snapshot")) {
      const auto producers = kafka::decode_snapshot(found->second);
      ASSERT_TRUE(producers) << name;
      EXPECT_TRUE(producers == kafka::decode_snapshot(bytes)) << name;
    } else if (name == "leader-epoch-checkpoint" && bytes.empty()) {
      // Kafka's first one has no bytes, its later ones have a version and a count of entries.
      EXPECT_TRUE(found->second.empty() || text_of(found->second) == "0\n0\n");
    } else {
      EXPECT_TRUE(bytes == found->second)
          << name << ": Kafka has " << bytes.size() << " bytes, we have " << found->second.size();
    }
  }
  for (const auto& [name, bytes] : actual) {
    EXPECT_EQ(expected.count(name), 1U) << name << " is not among Kafka's files";
  }
}

/// What a broker would make of the directory is what it made of its own.
void expect_broker_sees_the_same(const GoldenCase& golden, const DirectoryImage& image) {
  kafka::LoaderConfig config;
  config.index_interval_bytes = std::stoll(golden.config("index.interval.bytes", "4096"));
  config.segment_index_bytes = std::stoll(golden.config("segment.index.bytes", "10485760"));
  config.now_ms = golden.expect.at("nowMs").get<std::int64_t>();
  const kafka::Loaded ours = kafka::load(image, config);
  const kafka::Loaded theirs = kafka::load(golden.image(), config);

  ASSERT_FALSE(ours.refused) << ours.reason;
  EXPECT_EQ(golden.expect.at("logEndOffset"), ours.log_end);
  EXPECT_EQ(golden.expect.at("lastStableOffset"), ours.last_stable_offset);
  EXPECT_EQ(golden.expect.at("recoveryPoint"), ours.recovery_point);
  EXPECT_TRUE(theirs.producers == ours.producers);
  EXPECT_EQ(theirs.read_committed_offsets, ours.read_committed_offsets);
  EXPECT_EQ(theirs.leader_epochs, ours.leader_epochs);
}

TEST(GoldenReplay, GivesTheBytesThatKafkaWrote) {
  const std::vector<GoldenCase> cases = golden_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  std::size_t replayed = 0;
  for (const GoldenCase& golden : cases) {
    SCOPED_TRACE(golden.name);
    if (const std::string reason = why_not_replayable(golden); !reason.empty()) {
      std::printf("not replayed: %s (%s)\n", golden.name.c_str(), reason.c_str());
      continue;
    }
    const TempDirectory directory;

    replay(golden, directory.string());

    if (::testing::Test::HasFatalFailure()) return;
    const DirectoryImage image = read_image(directory.path(), golden.partition_directory);
    const DirectoryImage expected = golden.image();
    expect_same_files(kafka_files(expected.files), kafka_files(image.files));
    // The high watermark of a log that nobody else moves is its end: no file says so.
    for (const char* const name :
         {"recovery-point-offset-checkpoint", "log-start-offset-checkpoint"}) {
      EXPECT_EQ(kafka::checkpoint_entry(expected, name).value_or(0),
                kafka::checkpoint_entry(image, name).value_or(0))
          << name;
    }
    EXPECT_EQ(image.root_files.count(".kafka_cleanshutdown"), 1U);
    expect_broker_sees_the_same(golden, image);
    std::printf("replayed: %s, byte for byte\n", golden.name.c_str());
    ++replayed;
  }
  EXPECT_GE(replayed, 10U);
}

}  // namespace
}  // namespace oncelog::test
