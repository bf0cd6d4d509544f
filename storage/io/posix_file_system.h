// FileSystem over POSIX calls.
//
// THREADS  any thread; holds no state but the placeholder descriptor that its files share.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "oncelog/file_system.h"

#include "storage/io/unique_fd.h"

namespace oncelog {

class PosixFileSystem final : public FileSystem {
 public:
  /// Fails only when no descriptor is left.
  static Result<std::unique_ptr<PosixFileSystem>> create();

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
  explicit PosixFileSystem(std::shared_ptr<const UniqueFd> placeholder)
      : placeholder_(std::move(placeholder)) {}

  std::shared_ptr<const UniqueFd> placeholder_;
};

}  // namespace oncelog
