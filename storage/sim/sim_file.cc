// The calls of one simulated file: number the operation, then change the disk.
#include "storage/sim/sim_file.h"

#include <cerrno>
#include <utility>

#include "storage/sim/errno_error.h"

namespace oncelog::sim {

FileStat stat_of(const DiskState& disk, InodeId inode) {
  FileStat stat;
  stat.link_count = disk.names().link_count(inode);
  if (disk.is_directory(inode)) {
    stat.type = FileType::kDirectory;
    return stat;
  }
  stat.size = disk.file(inode).live().size;
  stat.modified_ms = disk.file(inode).live().modified_ms;
  return stat;
}

SimFile::SimFile(std::shared_ptr<Process> process, InodeId inode, std::string path, bool writable)
    : process_(std::move(process)),
      inode_(inode),
      path_(std::move(path)),
      writable_(writable),
      handle_(process_->disk().open_handle(inode, process_->id())) {}

SimFile::~SimFile() {
  if (open_) process_->disk().close_handle(handle_);
}

Status SimFile::begin(SimOperationKind kind, std::int64_t position, std::int64_t bytes) {
  if (!open_) return make_error(ErrorCode::kNotOpen, "the file is closed").at(path_);
  ONCELOG_TRY(check_range(path_, position, bytes));
  SimOperation operation;
  operation.kind = kind;
  operation.path = path_;
  operation.position = position;
  operation.bytes = bytes;
  return process_->begin(std::move(operation));
}

Status SimFile::status_of(int sys_errno, std::int64_t position) const {
  if (sys_errno == 0) return {};
  return errno_error(sys_errno, path_, position);
}

Result<std::size_t> SimFile::read_at(std::int64_t position, std::span<std::byte> into) {
  ONCELOG_TRY(begin(SimOperationKind::kRead, position, static_cast<std::int64_t>(into.size())));
  return apply_read(position, into);
}

Result<std::size_t> SimFile::apply_read(std::int64_t position, std::span<std::byte> into) {
  return process_->disk().file(inode_).read(position, into);
}

Status SimFile::write_at(std::int64_t position, std::span<const std::byte> bytes) {
  ONCELOG_TRY(begin(SimOperationKind::kWrite, position, static_cast<std::int64_t>(bytes.size())));
  return apply_write(position, bytes);
}

Status SimFile::apply_write(std::int64_t position, std::span<const std::byte> bytes) {
  if (!writable_) return status_of(EBADF, position);
  return status_of(process_->disk().write(inode_, position, bytes, process_->now_ms()), position);
}

Status SimFile::truncate(std::int64_t size) {
  ONCELOG_TRY(begin(SimOperationKind::kTruncate, 0, size));
  if (!writable_) return status_of(EINVAL);
  return status_of(process_->disk().truncate(inode_, size, process_->now_ms()));
}

Status SimFile::allocate(std::int64_t position, std::int64_t bytes) {
  ONCELOG_TRY(begin(SimOperationKind::kAllocate, position, bytes));
  if (bytes == 0) return {};
  if (!writable_) return status_of(EBADF);
  return status_of(process_->disk().allocate(inode_, position, bytes));
}

Status SimFile::start_writeback(std::int64_t position, std::int64_t bytes) {
  // Promises nothing, and a power cut may keep un-synced pages anyway.
  return begin(SimOperationKind::kStartWriteback, position, bytes);
}

Status SimFile::sync() {
  return apply_sync(begin(SimOperationKind::kSync), process_->disk().last_sequence());
}

Status SimFile::apply_sync(const Status& begun, std::uint64_t sequence) {
  if (begun.ok()) {
    process_->disk().sync(inode_, sequence);
  } else if (open_ && !process_->dead()) {
    process_->disk().lose_unsynced(inode_, sequence);
  }
  return begun;
}

void SimFile::lose_unsynced() {
  if (open_ && !process_->dead())
    process_->disk().lose_unsynced(inode_, process_->disk().last_sequence());
}

Result<FileStat> SimFile::stat() {
  ONCELOG_TRY(begin(SimOperationKind::kStat));
  return stat_of(process_->disk(), inode_);
}

Status SimFile::lock() {
  ONCELOG_TRY(begin(SimOperationKind::kLock));
  if (!writable_) {
    return make_error(ErrorCode::kInvalidArgument, "a lock needs a file open for writing")
        .at(path_);
  }
  if (process_->disk().lock(handle_)) return {};
  return make_error(ErrorCode::kLocked, "someone else holds the lock").at(path_);
}

Result<bool> SimFile::is_locked() {
  ONCELOG_TRY(begin(SimOperationKind::kLock));
  return process_->disk().is_locked_by_other(handle_);
}

Status SimFile::close() {
  ONCELOG_TRY(begin(SimOperationKind::kClose));
  open_ = false;
  process_->disk().close_handle(handle_);
  return {};
}

}  // namespace oncelog::sim
