// The golden data is there, whole, and what its README says.
#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace oncelog::test {
namespace {

TEST(GoldenData, EveryCaseHasItsPartitionDirectoryWithTheFilesItNames) {
  std::vector<GoldenCase> cases = golden_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  for (GoldenCase& golden : golden_recovery_cases())
    cases.push_back(std::move(golden));

  for (const GoldenCase& golden : cases) {
    SCOPED_TRACE(golden.name);
    if (!golden.expect.contains("files")) continue;
    const DirectoryImage image = golden.image();
    for (const auto& file : golden.expect.at("files")) {
      const auto found = image.files.find(file.at("name").get<std::string>());
      ASSERT_NE(found, image.files.end()) << file;
      EXPECT_EQ(found->second.size(), file.at("size").get<std::size_t>()) << file;
    }
  }
}

TEST(GoldenData, ACopyIsWritableAndGoesWithItsDirectory) {
  const std::vector<GoldenCase> cases = golden_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  std::filesystem::path path;
  {
    const TempDirectory directory;
    path = directory.path();
    copy_case(cases.front(), path);

    EXPECT_EQ(read_image(path, cases.front().partition_directory).files,
              cases.front().image().files);
    EXPECT_FALSE(std::filesystem::exists(path / "expect.json"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace oncelog::test
