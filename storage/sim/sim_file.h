// A handle on a file of the simulated disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "oncelog/file_system.h"

#include "storage/sim/loses_unsynced.h"
#include "storage/sim/process.h"

namespace oncelog::sim {

class SimFile final : public File, public LosesUnsynced {
 public:
  SimFile(std::shared_ptr<Process> process, InodeId inode, std::string path, bool writable);
  ~SimFile() override;

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
  int native_handle() const noexcept override { return -1; }
  const std::string& path() const noexcept override { return path_; }

  void lose_unsynced() override;

  // For SimIoQueue: the effect of an operation, which it has numbered itself.
  Process& process() { return *process_; }
  InodeId inode() const { return inode_; }
  bool is_open() const { return open_; }
  Result<std::size_t> apply_read(std::int64_t position, std::span<std::byte> into);
  Status apply_write(std::int64_t position, std::span<const std::byte> bytes);
  Status apply_sync(const Status& begun, std::uint64_t sequence);

 private:
  /// Checks what needs no disk, then numbers the operation.
  Status begin(SimOperationKind kind, std::int64_t position = 0, std::int64_t bytes = 0);
  Status status_of(int sys_errno, std::int64_t position = -1) const;

  std::shared_ptr<Process> process_;
  InodeId inode_;
  std::string path_;
  bool writable_;
  bool open_ = true;
  std::uint64_t handle_;
};

FileStat stat_of(const DiskState& disk, InodeId inode);

}  // namespace oncelog::sim
