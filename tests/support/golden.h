// Access to the directories that Apache Kafka's own storage code wrote (../shared/golden*).
//
// Tests skip when they are absent:
//
//   const auto cases = golden_cases();
//   if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/directory_image.h"

namespace oncelog::test {

inline constexpr const char* kNoGoldenData =
    "no golden data: set ONCELOG_SHARED_DIR or put it beside the source tree as `shared`";

/// A data root with one partition, and what Kafka said of it.
struct GoldenCase {
  std::string name;                 ///< e.g. "txn-open"
  std::filesystem::path root;       ///< the data root; do not write there
  std::filesystem::path out;        ///< recovery cases: what Kafka left, empty when it refused
  std::string partition_directory;  ///< e.g. "topic-0"
  nlohmann::json expect;            ///< expect.json
  DirectoryImage image() const { return read_image(root, partition_directory); }
  std::string config(const std::string& name, const std::string& otherwise) const;
};

/// ONCELOG_SHARED_DIR, else `shared` beside the source tree; nothing when neither is a directory.
std::optional<std::filesystem::path> shared_directory();
/// Logs that were closed cleanly, by name; empty when there is no golden data.
std::vector<GoldenCase> golden_cases();
/// Logs found after a crash or damage, by name.
std::vector<GoldenCase> golden_recovery_cases();

/// A directory that goes with the object.
class TempDirectory {
 public:
  TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory();
  const std::filesystem::path& path() const { return path_; }
  std::string string() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// Copies a case's data root, without expect.json, to `target` (created), writable.
void copy_case(const GoldenCase& golden, const std::filesystem::path& target);

}  // namespace oncelog::test
