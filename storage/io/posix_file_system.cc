// FileSystem over POSIX calls.
#include "storage/io/posix_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "storage/io/os_error.h"
#include "storage/io/posix_file.h"

namespace oncelog {
namespace {

constexpr mode_t kFileMode = 0644;
constexpr mode_t kDirectoryMode = 0755;

int open_flags(OpenMode mode) {
  switch (mode) {
    case OpenMode::kRead:
      return O_RDONLY;
    case OpenMode::kReadWrite:
      return O_RDWR;
    case OpenMode::kCreate:
      return O_RDWR | O_CREAT;
    case OpenMode::kCreateExclusive:
      return O_RDWR | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

/// open(2), again after EINTR, with errno in the error. The number is at least kDescriptorMin.
Result<UniqueFd> open_descriptor(const std::string& path, int flags) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, kFileMode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return os_error(errno, "cannot open", path);
  UniqueFd owned(fd);
  if (fd >= kDescriptorMin) return owned;
  UniqueFd higher(::fcntl(fd, F_DUPFD_CLOEXEC, kDescriptorMin));
  if (!higher.valid()) return os_error(errno, "cannot open", path);
  return higher;
}

class DirectoryStream {
 public:
  explicit DirectoryStream(UniqueFd fd) : stream_(::fdopendir(fd.get())) {
    if (stream_ != nullptr) static_cast<void>(fd.release());
  }
  DirectoryStream(const DirectoryStream&) = delete;
  DirectoryStream& operator=(const DirectoryStream&) = delete;
  ~DirectoryStream() {
    if (stream_ != nullptr) ::closedir(stream_);
  }
  DIR* get() const { return stream_; }

 private:
  DIR* stream_;
};

/// Links are followed, as for a data directory whose partitions live elsewhere.
FileType type_of(int directory_fd, const dirent& entry) {
  if (entry.d_type == DT_REG) return FileType::kRegular;
  if (entry.d_type == DT_DIR) return FileType::kDirectory;
  if (entry.d_type != DT_UNKNOWN && entry.d_type != DT_LNK) return FileType::kOther;
  struct stat found {};
  if (::fstatat(directory_fd, entry.d_name, &found, 0) != 0) return FileType::kOther;
  return to_file_stat(found).type;
}

Status done_or(int result, const char* what, const std::string& path) {
  if (result != 0) return os_error(errno, what, path);
  return {};
}

}  // namespace

Result<std::unique_ptr<PosixFileSystem>> PosixFileSystem::create() {
  ONCELOG_TRY_ASSIGN(UniqueFd placeholder, open_descriptor("/", O_PATH));
  return std::unique_ptr<PosixFileSystem>(
      new PosixFileSystem(std::make_shared<const UniqueFd>(std::move(placeholder))));
}

Result<std::shared_ptr<File>> PosixFileSystem::open(const std::string& path, OpenMode mode) {
  // O_NONBLOCK so that a pipe of that name cannot stop us for ever; taken away again because
  // io_uring answers EAGAIN where a file that has it would wait.
  ONCELOG_TRY_ASSIGN(UniqueFd fd, open_descriptor(path, open_flags(mode) | O_NONBLOCK));
  struct stat found {};
  if (::fstat(fd.get(), &found) != 0) return os_error(errno, "cannot stat", path);
  if (S_ISDIR(found.st_mode)) return os_error(EISDIR, "cannot open", path);
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) {
    return os_error(errno, "cannot open", path);
  }
  return std::shared_ptr<File>(
      std::make_shared<PosixFile>(std::move(fd), placeholder_, path, mode != OpenMode::kRead));
}

Result<std::vector<DirEntry>> PosixFileSystem::list(const std::string& directory) {
  ONCELOG_TRY_ASSIGN(UniqueFd fd, open_descriptor(directory, O_RDONLY | O_DIRECTORY));
  const int directory_fd = fd.get();
  const DirectoryStream stream(std::move(fd));
  if (stream.get() == nullptr) return os_error(errno, "cannot list", directory);
  std::vector<DirEntry> entries;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());  // NOLINT(concurrency-mt-unsafe): own stream
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    entries.push_back({std::string(name), type_of(directory_fd, *entry)});
  }
  if (errno != 0) return os_error(errno, "cannot list", directory);
  std::sort(entries.begin(), entries.end(),
            [](const DirEntry& a, const DirEntry& b) { return a.name < b.name; });
  return entries;
}

Result<FileStat> PosixFileSystem::stat(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return os_error(errno, "cannot stat", path);
  return to_file_stat(found);
}

Result<std::int64_t> PosixFileSystem::free_bytes(const std::string& path) {
  struct statvfs found {};
  int result = 0;
  do {
    result = ::statvfs(path.c_str(), &found);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return os_error(errno, "cannot ask for free space", path);
  return static_cast<std::int64_t>(found.f_bavail) * static_cast<std::int64_t>(found.f_frsize);
}

Status PosixFileSystem::rename(const std::string& from, const std::string& to) {
  return done_or(::rename(from.c_str(), to.c_str()), "cannot rename", from);
}

Status PosixFileSystem::unlink(const std::string& path) {
  return done_or(::unlink(path.c_str()), "cannot unlink", path);
}

Status PosixFileSystem::link(const std::string& existing, const std::string& name) {
  return done_or(::link(existing.c_str(), name.c_str()), "cannot link", name);
}

Status PosixFileSystem::make_directory(const std::string& path) {
  return done_or(::mkdir(path.c_str(), kDirectoryMode), "cannot make directory", path);
}

Status PosixFileSystem::remove_directory(const std::string& path) {
  return done_or(::rmdir(path.c_str()), "cannot remove directory", path);
}

Status PosixFileSystem::sync_directory(const std::string& path) {
  ONCELOG_TRY_ASSIGN(const UniqueFd fd, open_descriptor(path, O_RDONLY | O_DIRECTORY));
  int result = 0;
  do {
    result = ::fsync(fd.get());
  } while (result != 0 && errno == EINTR);
  return done_or(result, "cannot sync directory", path);
}

Status PosixFileSystem::sync_file_system(const std::string& path) {
  ONCELOG_TRY_ASSIGN(const UniqueFd fd, open_descriptor(path, O_RDONLY | O_NONBLOCK));
  int result = 0;
  do {
    result = ::syncfs(fd.get());
  } while (result != 0 && errno == EINTR);
  return done_or(result, "cannot sync file system", path);
}

}  // namespace oncelog
