// Runs every script of tests/scripts: on a real directory where it can run there, and on the
// simulated disk. A script's name begins with the number of the trap that it covers.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/tools/run_program.h"

namespace oncelog::tools {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> script_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(ONCELOG_SOURCE_DIR "/tests/scripts")) {
    if (entry.path().extension() == ".jsonl") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string path_of(const std::string& name) {
  return std::string(ONCELOG_SOURCE_DIR "/tests/scripts/") + name + ".jsonl";
}

/// Power cuts and the size of the disk exist only on the simulated one.
bool needs_simulation(const std::string& name) {
  std::ifstream in(path_of(name));
  const std::string text(std::istreambuf_iterator<char>(in), {});
  return text.find("\"op\":\"power_cut\"") != std::string::npos ||
         text.find("\"op\":\"disk_capacity\"") != std::string::npos;
}

class Scripts : public ::testing::TestWithParam<std::string> {};

TEST_P(Scripts, HoldOnARealDirectory) {
  if (needs_simulation(GetParam())) GTEST_SKIP() << "needs the simulated disk";

  const ProgramRun run = run_program("script " + path_of(GetParam()));

  EXPECT_EQ(run.exit_code, 0) << run.errors;
}

TEST_P(Scripts, HoldOnTheSimulatedDisk) {
  for (const char* seed : {"1", "2", "3"}) {
    const ProgramRun run = run_program("script " + path_of(GetParam()) + " --sim " + seed);

    EXPECT_EQ(run.exit_code, 0) << "seed " << seed << "\n" << run.errors;
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Traps, Scripts, ::testing::ValuesIn(script_names()), test_name);

}  // namespace
}  // namespace oncelog::tools
