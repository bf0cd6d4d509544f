// The blocking half of the seam to the OS: files and directories. Part of oncelog/io.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "oncelog/result.h"

namespace oncelog {

enum class FileType : std::uint8_t { kRegular, kDirectory, kOther };

struct FileStat {
  FileType type = FileType::kRegular;
  std::int64_t size = 0;         ///< bytes
  std::int64_t link_count = 1;   ///< names of the file; 1 in the common case
  std::int64_t modified_ms = 0;  ///< last change of the content, Unix epoch
};

struct DirEntry {
  std::string name;  ///< without the directory
  FileType type = FileType::kRegular;
};

enum class OpenMode : std::uint8_t {
  kRead,             ///< must exist
  kReadWrite,        ///< must exist
  kCreate,           ///< read and write; created empty when missing
  kCreateExclusive,  ///< read and write; kAlreadyExists when it is there
};

/// One open file. The descriptor lives until the last reference goes; `close` reports its error.
///
/// THREADS  any thread, several at once; calls block.
class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;

  /// Reads up to `into.size()` bytes; fewer only at the end of the file, 0 behind it.
  virtual Result<std::size_t> read_at(std::int64_t position, std::span<std::byte> into) = 0;
  /// Writes all bytes (short writes are finished) or fails; on failure any part may be written.
  virtual Status write_at(std::int64_t position, std::span<const std::byte> bytes) = 0;
  virtual Status truncate(std::int64_t size) = 0;
  /// Reserves blocks for [position, position + bytes) without changing the size.
  virtual Status allocate(std::int64_t position, std::int64_t bytes) = 0;
  /// Starts writing dirty pages of the range to the disk; a hint, durable only after `sync`.
  virtual Status start_writeback(std::int64_t position, std::int64_t bytes) = 0;
  /// fdatasync: data and size are durable when it succeeds. Never retry a failed one: the kernel
  /// may have dropped the pages.
  virtual Status sync() = 0;
  virtual Result<FileStat> stat() = 0;
  /// Takes an exclusive OFD lock over the whole file; kLocked when anyone else holds one, in this
  /// process too. Held until the file is closed.
  virtual Status lock() = 0;
  /// Whether someone else holds the lock; takes nothing.
  virtual Result<bool> is_locked() = 0;
  /// Closes early and reports the error of close(2). Later calls fail with kNotOpen.
  virtual Status close() = 0;
  /// Descriptor for sendfile, -1 in the simulator. Valid while the File lives.
  virtual int native_handle() const noexcept = 0;
  virtual const std::string& path() const noexcept = 0;
};

/// Paths are used as given; directories are separated by '/'. Renames replace the target.
///
/// THREADS  any thread; calls block.
class FileSystem {
 public:
  FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  virtual ~FileSystem() = default;

  virtual Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  /// Entries without "." and "..", sorted by name.
  virtual Result<std::vector<DirEntry>> list(const std::string& directory) = 0;
  /// kNotFound when nothing is there.
  virtual Result<FileStat> stat(const std::string& path) = 0;
  virtual Result<std::int64_t> free_bytes(const std::string& path) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status unlink(const std::string& path) = 0;
  virtual Status link(const std::string& existing, const std::string& name) = 0;
  /// kAlreadyExists when something of that name is there.
  virtual Status make_directory(const std::string& path) = 0;
  /// The directory must be empty.
  virtual Status remove_directory(const std::string& path) = 0;
  /// fsync of a directory: creates, renames and unlinks in it are durable.
  virtual Status sync_directory(const std::string& path) = 0;
  /// syncfs: everything of the file system that holds `path`.
  virtual Status sync_file_system(const std::string& path) = 0;
};

}  // namespace oncelog
