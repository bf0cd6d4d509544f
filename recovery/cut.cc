// Cuts log files and keeps what goes.
#include "recovery/cut.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "index/derived_file.h"
#include "storage/file_names.h"

namespace oncelog {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{1} << 20;
constexpr int kNamesMax = 1000;

std::string path_in(const std::string& directory, const std::string& name) {
  return directory + '/' + name;
}

/// Copies [from, end) of `source` to the beginning of `target`.
Status copy(File& source, std::int64_t from, std::int64_t end, File& target) {
  std::vector<std::byte> buffer(kCopyBytes);
  std::int64_t at = from;
  while (at < end) {
    const auto wanted = static_cast<std::size_t>(
        std::min<std::int64_t>(end - at, static_cast<std::int64_t>(buffer.size())));
    ONCELOG_TRY_ASSIGN(const std::size_t got, source.read_at(at, std::span(buffer).first(wanted)));
    if (got == 0) return make_error(ErrorCode::kIo, "file became shorter").at(source.path(), at);
    ONCELOG_TRY(target.write_at(at - from, std::span(buffer).first(got)));
    at += static_cast<std::int64_t>(got);
  }
  return {};
}

Result<bool> is_copy(FileSystem& files, const std::string& path, File& source, std::int64_t from,
                     std::int64_t end) {
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file, files.open(path, OpenMode::kRead));
  ONCELOG_TRY_ASSIGN(const FileStat stat, file->stat());
  if (stat.size != end - from) return false;
  std::vector<std::byte> ours(kCopyBytes);
  std::vector<std::byte> theirs(kCopyBytes);
  for (std::int64_t at = from; at < end;) {
    ONCELOG_TRY_ASSIGN(const std::size_t got, source.read_at(at, ours));
    const std::size_t count =
        std::min(got, static_cast<std::size_t>(std::min<std::int64_t>(end - at, kCopyBytes)));
    ONCELOG_TRY_ASSIGN(const std::size_t other,
                       file->read_at(at - from, std::span(theirs).first(count)));
    if (count == 0 || other != count ||
        !std::equal(ours.begin(), ours.begin() + static_cast<std::ptrdiff_t>(count),
                    theirs.begin())) {
      return false;
    }
    at += static_cast<std::int64_t>(count);
  }
  return true;
}

/// The n-th name for kept bytes; the first one is the usual.
std::string numbered(std::string name, int n) {
  if (n == 0) return name;
  name.insert(name.size() - suffix_of(FileKind::kLog).size(), "." + std::to_string(n));
  return name;
}

Result<bool> exists(FileSystem& files, const std::string& path) {
  const Result<FileStat> stat = files.stat(path);
  if (stat.ok()) return true;
  if (stat.error().code == ErrorCode::kNotFound) return false;
  return stat.error();
}

Error no_name(const std::string& directory) {
  return make_error(ErrorCode::kAlreadyExists, "too many files of damaged bytes").at(directory);
}

}  // namespace

Result<std::string> keep_tail(FileSystem& files, const std::string& directory,
                              const std::string& log, Offset base_offset, std::int64_t position) {
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> source,
                     files.open(path_in(directory, log), OpenMode::kRead));
  ONCELOG_TRY_ASSIGN(const FileStat stat, source->stat());
  if (stat.size <= position) return std::string();
  for (int n = 0; n < kNamesMax; ++n) {
    const std::string name = numbered(damaged_file_name(base_offset, position), n);
    const std::string path = path_in(directory, name);
    ONCELOG_TRY_ASSIGN(const bool taken, exists(files, path));
    if (taken) {
      ONCELOG_TRY_ASSIGN(const bool same, is_copy(files, path, *source, position, stat.size));
      if (same) return name;
      continue;
    }
    const std::string temp = path_in(directory, std::string(kTempPrefix).append(name));
    ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> target, files.open(temp, OpenMode::kCreate));
    ONCELOG_TRY(target->truncate(0));
    ONCELOG_TRY(copy(*source, position, stat.size, *target));
    ONCELOG_TRY(target->sync());
    ONCELOG_TRY(files.rename(temp, path));
    ONCELOG_TRY(files.sync_directory(directory));
    return name;
  }
  return no_name(directory);
}

Result<std::string> keep_whole(FileSystem& files, const std::string& directory,
                               const std::string& log, Offset base_offset) {
  for (int n = 0; n < kNamesMax; ++n) {
    const std::string name = numbered(damaged_file_name(base_offset, 0), n);
    ONCELOG_TRY_ASSIGN(const bool taken, exists(files, path_in(directory, name)));
    if (taken) continue;
    // Its bytes may never have been synced.
    ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file,
                       files.open(path_in(directory, log), OpenMode::kReadWrite));
    ONCELOG_TRY(file->sync());
    ONCELOG_TRY(files.rename(path_in(directory, log), path_in(directory, name)));
    return name;
  }
  return no_name(directory);
}

Status cut_log(FileSystem& files, const std::string& directory, const std::string& log,
               std::int64_t size) {
  const std::string path = path_in(directory, log);
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file, files.open(path, OpenMode::kReadWrite));
  ONCELOG_TRY_ASSIGN(const FileStat stat, file->stat());
  if (stat.link_count <= 1) {
    ONCELOG_TRY(file->truncate(size));
    return file->sync();
  }
  const std::string temp = path_in(directory, std::string(kTempPrefix).append(log));
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> target, files.open(temp, OpenMode::kCreate));
  ONCELOG_TRY(target->truncate(0));
  ONCELOG_TRY(copy(*file, 0, size, *target));
  ONCELOG_TRY(target->sync());
  ONCELOG_TRY(files.rename(temp, path));
  return files.sync_directory(directory);
}

}  // namespace oncelog
