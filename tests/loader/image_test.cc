// Images of simulated disks, and the model on directories that make no sense.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "oncelog/sim.h"

#include "tests/support/golden.h"
#include "tests/support/kafka_loader.h"

namespace oncelog::test {
namespace {

TEST(DirectoryImage, HoldsWhatAPowerCutLeftOfASimulatedDisk) {
  const auto disk = std::make_shared<SimDisk>();
  {
    SimIo io(disk);
    ASSERT_TRUE(io.files().make_directory("root").ok());
    ASSERT_TRUE(io.files().make_directory("root/t-0").ok());
    for (const char* const name : {"root/t-0/kept", "root/t-0/lost"}) {
      const auto file = io.files().open(name, OpenMode::kCreate);
      ASSERT_TRUE(file.ok());
      ASSERT_TRUE((*file)->write_at(0, bytes_of("abc")).ok());
      if (std::string(name) != "root/t-0/kept") continue;
      ASSERT_TRUE((*file)->sync().ok());
      ASSERT_TRUE(io.files().sync_directory("root/t-0").ok());
      ASSERT_TRUE(io.files().sync_directory("root").ok());
      ASSERT_TRUE(io.files().sync_directory(".").ok());
    }
  }
  disk->power_cut(PowerCut::kNoneKept, 1);

  SimIo reader(disk);
  const Result<DirectoryImage> image = image_of(reader.files(), "root", "t-0");

  ASSERT_TRUE(image.ok()) << to_string(image.error());
  EXPECT_EQ(image->files, (FileMap{{"kept", bytes_of("abc")}}));
  EXPECT_TRUE(image->root_files.empty());
}

TEST(DirectoryImage, OfAPartitionThatIsNotThereHasNoFiles) {
  const auto disk = std::make_shared<SimDisk>();
  SimIo io(disk);
  ASSERT_TRUE(io.files().make_directory("root").ok());

  const Result<DirectoryImage> image = image_of(io.files(), "root", "t-0");

  ASSERT_TRUE(image.ok());
  EXPECT_TRUE(image->files.empty());
}

/// One byte, or the length, of one file becomes something else.
void damage(DirectoryImage& image, std::mt19937_64& random) {
  auto victim = image.files.begin();
  std::advance(victim, static_cast<std::ptrdiff_t>(random() % image.files.size()));
  std::vector<std::byte>& bytes = victim->second;
  if (bytes.empty() || random() % 8 == 0) {
    bytes.resize(random() % (bytes.size() + 40));
  } else {
    bytes[random() % bytes.size()] = static_cast<std::byte>(random() & 0xffU);
  }
}

TEST(KafkaLoader, AnswersForEveryDamagedDirectory) {
  const std::vector<GoldenCase> cases = golden_recovery_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  const char* const text = std::getenv("ONCELOG_SEED");
  const std::uint64_t seed = text == nullptr ? 7 : std::strtoull(text, nullptr, 10);
  SCOPED_TRACE("ONCELOG_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  kafka::LoaderConfig config;
  config.index_interval_bytes = 250;
  config.segment_index_bytes = 600;
  std::size_t loads = 0;
  for (const GoldenCase& golden : cases) {
    const DirectoryImage good = golden.image();
    if (good.files.empty()) continue;
    for (int i = 0; i < 40; ++i) {
      DirectoryImage image = good;
      damage(image, random);
      damage(image, random);

      const kafka::Loaded loaded = kafka::load(image, config);

      ++loads;
      EXPECT_TRUE(loaded.refused || loaded.log_start <= loaded.log_end ||
                  !loaded.segments_dropped.empty());
    }
  }
  EXPECT_GT(loads, 1000U);
}

}  // namespace
}  // namespace oncelog::test
