// The blocking calls on paths of one simulated process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "oncelog/file_system.h"

#include "storage/sim/process.h"

namespace oncelog::sim {

class SimFileSystem final : public FileSystem {
 public:
  explicit SimFileSystem(std::shared_ptr<Process> process) : process_(std::move(process)) {}

  Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Result<std::vector<DirEntry>> list(const std::string& directory) override;
  Result<FileStat> stat(const std::string& path) override;
  Result<std::int64_t> free_bytes(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status unlink(const std::string& path) override;
  Status link(const std::string& existing, const std::string& name) override;
  Status make_directory(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  Status sync_file_system(const std::string& path) override;

 private:
  Status begin(SimOperationKind kind, const std::string& path);
  /// The path's place; an error when a directory on the way is missing.
  Result<Found> find(const std::string& path) const;
  /// An error also when nothing is there.
  Result<Found> find_existing(const std::string& path) const;

  std::shared_ptr<Process> process_;
};

}  // namespace oncelog::sim
