// File over a POSIX descriptor.
//
// INVARIANTS
//   The descriptor number belongs to this object until it is destroyed, after `close` too: `close`
//   puts a placeholder in its place on which every read, write and sync fails with EBADF. So an
//   operation that races with `close`, or that sits in an IoQueue, can never hit another file that
//   was opened under the same number.
// THREADS  any thread, several at once.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "oncelog/file_system.h"

#include "storage/io/unique_fd.h"

namespace oncelog {

class PosixFile final : public File {
 public:
  /// `placeholder` is an O_PATH descriptor, shared by all files of a file system.
  PosixFile(UniqueFd fd, std::shared_ptr<const UniqueFd> placeholder, std::string path,
            bool writable);

  Result<std::size_t> read_at(std::int64_t position, std::span<std::byte> into) override;
  Status write_at(std::int64_t position, std::span<const std::byte> bytes) override;
  Status truncate(std::int64_t size) override;
  Status allocate(std::int64_t position, std::int64_t bytes) override;
  Status start_writeback(std::int64_t position, std::int64_t bytes) override;
  Status sync() override;
  Result<FileStat> stat() override;
  Status lock() override;
  Result<bool> is_locked() override;
  Status close() override;
  int native_handle() const noexcept override { return fd_.get(); }
  const std::string& path() const noexcept override { return path_; }

 private:
  Error not_open() const;
  /// The error of a system call that just failed with `number`.
  Error failed(int number, const char* what) const;
  /// What is wrong with a call on [position, position + bytes), if anything.
  Status check_call(std::int64_t position, std::int64_t bytes) const;

  UniqueFd fd_;
  std::shared_ptr<const UniqueFd> placeholder_;
  std::string path_;
  bool writable_;
  std::atomic<bool> closed_{false};
};

/// The Unix data of a file as the seam shows it.
FileStat to_file_stat(const struct ::stat& from) noexcept;

}  // namespace oncelog
