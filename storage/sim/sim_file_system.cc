// Names of the simulated disk: number the operation, then look up, then change.
#include "storage/sim/sim_file_system.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "storage/sim/errno_error.h"
#include "storage/sim/sim_file.h"

namespace oncelog::sim {
namespace {

constexpr std::int64_t kUnlimitedBytes = std::int64_t{1} << 50;

Status status_of(int sys_errno, const std::string& path) {
  if (sys_errno == 0) return {};
  return errno_error(sys_errno, path);
}

}  // namespace

Status SimFileSystem::begin(SimOperationKind kind, const std::string& path) {
  SimOperation operation;
  operation.kind = kind;
  operation.path = path;
  return process_->begin(std::move(operation));
}

Result<Found> SimFileSystem::find(const std::string& path) const {
  Found found = process_->disk().find(path);
  if (path.empty()) found.error = ENOENT;
  if (found.error != 0) return errno_error(found.error, path);
  return found;
}

Result<Found> SimFileSystem::find_existing(const std::string& path) const {
  ONCELOG_TRY_ASSIGN(Found found, find(path));
  if (found.inode == kNoInode) return errno_error(ENOENT, path);
  return found;
}

Result<std::shared_ptr<File>> SimFileSystem::open(const std::string& path, OpenMode mode) {
  const bool may_create = mode == OpenMode::kCreate || mode == OpenMode::kCreateExclusive;
  const bool creates = may_create && process_->disk().find(path).inode == kNoInode;
  ONCELOG_TRY(begin(creates ? SimOperationKind::kCreate : SimOperationKind::kOpen, path));
  ONCELOG_TRY_ASSIGN(const Found found, find(path));
  InodeId inode = found.inode;
  if (inode == kNoInode) {
    if (!may_create) return errno_error(ENOENT, path);
    ONCELOG_TRY(status_of(process_->disk().create(found, process_->now_ms(), inode), path));
  } else if (mode == OpenMode::kCreateExclusive) {
    return errno_error(EEXIST, path);
  }
  if (process_->disk().is_directory(inode)) return errno_error(EISDIR, path);
  return std::shared_ptr<File>(
      std::make_shared<SimFile>(process_, inode, path, mode != OpenMode::kRead));
}

Result<std::vector<DirEntry>> SimFileSystem::list(const std::string& directory) {
  ONCELOG_TRY(begin(SimOperationKind::kList, directory));
  ONCELOG_TRY_ASSIGN(const Found found, find_existing(directory));
  const DiskState& disk = process_->disk();
  if (!disk.is_directory(found.inode)) return errno_error(ENOTDIR, directory);
  std::vector<DirEntry> entries;
  for (const auto& [name, inode] : disk.names().entries(found.inode)) {
    entries.push_back({name, disk.is_directory(inode) ? FileType::kDirectory : FileType::kRegular});
  }
  return entries;
}

Result<FileStat> SimFileSystem::stat(const std::string& path) {
  ONCELOG_TRY(begin(SimOperationKind::kStat, path));
  ONCELOG_TRY_ASSIGN(const Found found, find_existing(path));
  return stat_of(process_->disk(), found.inode);
}

Result<std::int64_t> SimFileSystem::free_bytes(const std::string& path) {
  ONCELOG_TRY(begin(SimOperationKind::kFreeBytes, path));
  ONCELOG_TRY(find_existing(path).status());
  const DiskState& disk = process_->disk();
  const std::int64_t capacity = disk.capacity() < 0 ? kUnlimitedBytes : disk.capacity();
  return std::max<std::int64_t>(0, capacity - disk.used_bytes());
}

Status SimFileSystem::rename(const std::string& from, const std::string& to) {
  ONCELOG_TRY(begin(SimOperationKind::kRename, to));
  ONCELOG_TRY_ASSIGN(const Found source, find_existing(from));
  ONCELOG_TRY_ASSIGN(const Found target, find(to));
  return status_of(process_->disk().rename(source, target), from);
}

Status SimFileSystem::unlink(const std::string& path) {
  ONCELOG_TRY(begin(SimOperationKind::kUnlink, path));
  ONCELOG_TRY_ASSIGN(const Found found, find_existing(path));
  return status_of(process_->disk().unlink(found), path);
}

Status SimFileSystem::link(const std::string& existing, const std::string& name) {
  ONCELOG_TRY(begin(SimOperationKind::kLink, name));
  ONCELOG_TRY_ASSIGN(const Found source, find_existing(existing));
  ONCELOG_TRY_ASSIGN(const Found target, find(name));
  return status_of(process_->disk().link(source, target), name);
}

Status SimFileSystem::make_directory(const std::string& path) {
  ONCELOG_TRY(begin(SimOperationKind::kMakeDirectory, path));
  ONCELOG_TRY_ASSIGN(const Found found, find(path));
  return status_of(process_->disk().make_directory(found), path);
}

Status SimFileSystem::remove_directory(const std::string& path) {
  ONCELOG_TRY(begin(SimOperationKind::kRemoveDirectory, path));
  ONCELOG_TRY_ASSIGN(const Found found, find_existing(path));
  return status_of(process_->disk().remove_directory(found), path);
}

Status SimFileSystem::sync_directory(const std::string& path) {
  ONCELOG_TRY(begin(SimOperationKind::kSyncDirectory, path));
  ONCELOG_TRY_ASSIGN(const Found found, find_existing(path));
  if (!process_->disk().is_directory(found.inode)) return errno_error(ENOTDIR, path);
  process_->disk().sync_directory(found.inode);
  return {};
}

Status SimFileSystem::sync_file_system(const std::string& path) {
  ONCELOG_TRY(begin(SimOperationKind::kSyncFileSystem, path));
  ONCELOG_TRY(find_existing(path).status());
  process_->disk().sync_all();
  return {};
}

}  // namespace oncelog::sim
