// Paths, names, files and handles of the simulated disk; crashes are in disk_crash.cc.
#include "storage/sim/disk_state.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace oncelog::sim {
namespace {

/// "a/./b/../c" -> {"a", "c"}; the root is where every path begins.
std::vector<std::string> components_of(const std::string& path) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    std::string name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name == "..") {
      if (!out.empty()) out.pop_back();
    } else if (!name.empty() && name != ".") {
      out.push_back(std::move(name));
    }
  }
  return out;
}

}  // namespace

DiskState::DiskState(const DiskState& other)
    : metadata_(other.metadata_),
      capacity_(other.capacity_),
      last_inode_(other.last_inode_),
      last_sequence_(other.last_sequence_),
      names_(other.names_),
      files_(other.files_),
      in_flight_(other.in_flight_),
      last_in_flight_(other.last_in_flight_),
      files_dropped_at_(other.files_dropped_at_) {}

FileNode& DiskState::change_file(InodeId inode) {
  std::shared_ptr<FileNode>& node = files_.at(inode);
  if (node.use_count() > 1) node = std::make_shared<FileNode>(*node);
  return *node;
}

Names& DiskState::change_names() {
  if (names_.use_count() > 1) names_ = std::make_shared<Names>(*names_);
  return *names_;
}

bool DiskState::is_open(InodeId inode) const {
  return std::any_of(handles_.begin(), handles_.end(),
                     [&](const auto& handle) { return handle.second.inode == inode; });
}

std::int64_t DiskState::used_bytes() const {
  std::int64_t pages = 0;
  for (const auto& [inode, node] : files_) {
    if (names_->link_count(inode) > 0 || is_open(inode)) pages += node->page_count();
  }
  return pages * kPageBytes;
}

std::int64_t DiskState::new_pages_max() const {
  if (capacity_ < 0) return FileNode::kNoPageLimit;
  return std::max<std::int64_t>(0, (capacity_ - used_bytes()) / kPageBytes);
}

std::size_t DiskState::unsynced_changes() const {
  std::size_t count = names_->unsynced_changes();
  for (const auto& [inode, node] : files_)
    count += node->unsynced_changes();
  return count;
}

Found DiskState::find(const std::string& path) const {
  Found found;
  found.inode = kRootInode;
  for (std::string& name : components_of(path)) {
    found.directory = found.inode;
    if (found.directory == kNoInode) {
      found.error = ENOENT;
      return found;
    }
    if (!names_->is_directory(found.directory)) {
      found.error = ENOTDIR;
      return found;
    }
    if (name.size() > kNameBytesMax) {
      found.error = ENAMETOOLONG;
      return found;
    }
    found.inode = names_->find(found.directory, name);
    found.name = std::move(name);
  }
  return found;
}

int DiskState::create(const Found& where, std::int64_t now_ms, InodeId& inode) {
  if (where.inode != kNoInode) return EEXIST;
  drop_now_and_then();
  inode = ++last_inode_;
  auto node = std::make_shared<FileNode>();
  node->replace({}, now_ms);
  files_[inode] = std::move(node);
  change_names().change({next_sequence(), {{where.directory, where.name, kNoInode, inode}}});
  return 0;
}

int DiskState::make_directory(const Found& where) {
  if (where.inode != kNoInode) return EEXIST;
  const InodeId inode = ++last_inode_;
  Names& names = change_names();
  names.add_directory(inode);
  names.change({next_sequence(), {{where.directory, where.name, kNoInode, inode}}});
  return 0;
}

int DiskState::remove_directory(const Found& what) {
  if (what.inode == kNoInode) return ENOENT;
  if (!is_directory(what.inode)) return ENOTDIR;
  if (what.inode == kRootInode) return EBUSY;
  if (!names_->entries(what.inode).empty()) return ENOTEMPTY;
  change_names().change({next_sequence(), {{what.directory, what.name, what.inode, kNoInode}}});
  return 0;
}

int DiskState::unlink(const Found& what) {
  if (what.inode == kNoInode) return ENOENT;
  if (is_directory(what.inode)) return EISDIR;
  change_names().change({next_sequence(), {{what.directory, what.name, what.inode, kNoInode}}});
  return 0;
}

int DiskState::link(const Found& existing, const Found& name) {
  if (existing.inode == kNoInode) return ENOENT;
  if (is_directory(existing.inode)) return EPERM;
  if (name.inode != kNoInode) return EEXIST;
  change_names().change({next_sequence(), {{name.directory, name.name, kNoInode, existing.inode}}});
  return 0;
}

int DiskState::rename(const Found& from, const Found& to) {
  if (from.inode == kNoInode) return ENOENT;
  if (from.inode == kRootInode || to.inode == kRootInode) return EBUSY;
  if (from.inode == to.inode) return 0;
  const bool of_directory = is_directory(from.inode);
  if (of_directory) {
    for (InodeId above = to.directory; above != kNoInode; above = names_->parent_of(above)) {
      if (above == from.inode) return EINVAL;
    }
  }
  if (to.inode != kNoInode) {
    if (of_directory && !is_directory(to.inode)) return ENOTDIR;
    if (!of_directory && is_directory(to.inode)) return EISDIR;
    if (of_directory && !names_->entries(to.inode).empty()) return ENOTEMPTY;
  }
  change_names().change({next_sequence(),
                         {{from.directory, from.name, from.inode, kNoInode},
                          {to.directory, to.name, to.inode, from.inode}}});
  return 0;
}

void DiskState::commit_journal(std::uint64_t sequence) {
  if (names_->unsynced_changes() > 0) change_names().persist_through(sequence);
  for (const auto& [inode, node] : files_) {
    if (node->has_uncommitted_truncation(sequence)) change_file(inode).commit_truncations(sequence);
  }
}

void DiskState::sync_directory(InodeId directory) {
  if (metadata_ == MetadataMode::kStrict) {
    if (names_->unsynced_changes() > 0) change_names().persist_directory(directory);
    return;
  }
  const std::uint64_t last = names_->last_change_of(directory);
  if (last != kNoSequence) commit_journal(last);
}

void DiskState::sync_all() {
  commit_journal(last_sequence_);
  for (const auto& [inode, node] : files_) {
    if (node->unsynced_changes() > 0) change_file(inode).sync(last_sequence_);
  }
}

int DiskState::write(InodeId inode, std::int64_t position, std::span<const std::byte> bytes,
                     std::int64_t now_ms) {
  if (bytes.empty()) return 0;
  if (position > kFileBytesMax - static_cast<std::int64_t>(bytes.size())) return EFBIG;
  const std::int64_t pages_max = new_pages_max();
  FileNode& node = change_file(inode);
  const std::size_t written = node.write(position, bytes, {next_sequence(), now_ms}, pages_max);
  if (node.unsynced_changes() > kUnsyncedChangesMax) {
    const std::uint64_t older_half = node.pending()[kUnsyncedChangesMax / 2].stamp.sequence;
    if (metadata_ == MetadataMode::kJournalled) commit_journal(older_half);
    node.sync(older_half);
  }
  return written == bytes.size() ? 0 : ENOSPC;
}

int DiskState::truncate(InodeId inode, std::int64_t size, std::int64_t now_ms) {
  if (size > kFileBytesMax) return EFBIG;
  change_file(inode).truncate(size, {next_sequence(), now_ms});
  return 0;
}

int DiskState::allocate(InodeId inode, std::int64_t position, std::int64_t bytes) {
  if (position > kFileBytesMax - bytes) return EFBIG;
  const std::int64_t pages_max = new_pages_max();
  return change_file(inode).allocate(position, bytes, pages_max) ? 0 : ENOSPC;
}

void DiskState::sync(InodeId inode, std::uint64_t sequence) {
  if (metadata_ == MetadataMode::kJournalled) {
    const std::uint64_t last =
        std::max(names_->last_change_of(inode), file(inode).last_metadata_change(sequence));
    if (last != kNoSequence) commit_journal(last);
  }
  if (file(inode).unsynced_changes() > 0) change_file(inode).sync(sequence);
}

void DiskState::lose_unsynced(InodeId inode, std::uint64_t sequence) {
  if (file(inode).unsynced_changes() > 0) change_file(inode).lose_unsynced(sequence);
}

void DiskState::replace(InodeId inode, std::span<const std::byte> bytes, std::int64_t now_ms) {
  change_file(inode).replace(bytes, now_ms);
}

void DiskState::persist_name(const Found& what) {
  change_names().persist_name(what.directory, what.name);
}

std::uint64_t DiskState::open_handle(InodeId inode, std::uint64_t process) {
  handles_[++last_handle_] = {inode, process};
  return last_handle_;
}

void DiskState::close_handle(std::uint64_t handle) {
  const auto open = handles_.find(handle);
  if (open == handles_.end()) return;
  const auto lock = locks_.find(open->second.inode);
  if (lock != locks_.end() && lock->second == handle) locks_.erase(lock);
  handles_.erase(open);
}

bool DiskState::lock(std::uint64_t handle) {
  if (is_locked_by_other(handle)) return false;
  locks_[handles_.at(handle).inode] = handle;
  return true;
}

bool DiskState::is_locked_by_other(std::uint64_t handle) const {
  const auto lock = locks_.find(handles_.at(handle).inode);
  return lock != locks_.end() && lock->second != handle;
}

std::uint64_t DiskState::add_in_flight(InFlightWrite write) {
  in_flight_[++last_in_flight_] = std::move(write);
  return last_in_flight_;
}

}  // namespace oncelog::sim
