// Replaces small files atomically and reads them with a bound.
#include "index/derived_file.h"

#include <algorithm>

namespace oncelog {
namespace {

Status write_temp(FileSystem& files, const std::string& path, std::span<const std::byte> bytes) {
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file, files.open(path, OpenMode::kCreate));
  // A crash may have left a longer one of the same name.
  ONCELOG_TRY(file->truncate(0));
  ONCELOG_TRY(file->write_at(0, bytes));
  ONCELOG_TRY(file->sync());
  return file->close();
}

}  // namespace

Status replace_file(FileSystem& files, const std::string& directory, const std::string& name,
                    std::span<const std::byte> bytes, bool sync_directory) {
  const std::string temp = directory + '/' + std::string(kTempPrefix) + name;
  Status status = write_temp(files, temp, bytes);
  if (status.ok()) status = files.rename(temp, directory + '/' + name);
  if (!status.ok()) {
    // Best effort: the first error is the one that matters, and a left temp file is harmless.
    static_cast<void>(files.unlink(temp));
    return status;
  }
  return sync_directory ? files.sync_directory(directory) : Status{};
}

Result<std::vector<std::byte>> read_whole_file(FileSystem& files, const std::string& path,
                                               std::int64_t bytes_max) {
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file, files.open(path, OpenMode::kRead));
  ONCELOG_TRY_ASSIGN(const FileStat stat, file->stat());
  if (stat.size > bytes_max) {
    return make_error(ErrorCode::kDamaged, "file of " + std::to_string(stat.size) +
                                               " bytes, expected at most " +
                                               std::to_string(bytes_max))
        .at(path, bytes_max);
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::max<std::int64_t>(stat.size, 0)));
  std::size_t count = 0;
  while (count < bytes.size()) {
    ONCELOG_TRY_ASSIGN(const std::size_t read, file->read_at(static_cast<std::int64_t>(count),
                                                             std::span(bytes).subspan(count)));
    if (read == 0) break;  // cut meanwhile
    count += read;
  }
  bytes.resize(count);
  return bytes;
}

Status remove_if_exists(FileSystem& files, const std::string& path) {
  Status status = files.unlink(path);
  if (!status.ok() && status.error().code == ErrorCode::kNotFound) return {};
  return status;
}

}  // namespace oncelog
