// What the recovery tests share: opening a copy of a directory as a writer would.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "oncelog/io.h"

#include "recovery/recover.h"
#include "tests/support/golden.h"

namespace oncelog::test {

/// Files of the real disk.
FileSystem& real_files();

/// A golden case in a directory of its own.
struct GoldenCopy {
  explicit GoldenCopy(const GoldenCase& golden);
  TempDirectory temp;
  std::string root_directory;
  std::string directory;  ///< of the partition
  RootFacts root;
};

/// Options as the golden case's `config` and clock say.
RecoverOptions options_of(const GoldenCase& golden);

/// analyse and apply.
Result<LoadedLog> recover_directory(FileSystem& files, const std::string& directory,
                                    const RootFacts& root, const RecoverOptions& options);

/// What the loaded log says otherwise than a golden expect.json: "field: ours, not theirs". Files
/// are read through `files` where the log left indexes on the disk.
std::vector<std::string> differences(FileSystem& files, const LoadedLog& log,
                                     const nlohmann::json& expect);

}  // namespace oncelog::test
