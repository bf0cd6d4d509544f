// The state of one simulated disk and everything that can be done to it, as errno values.
//
// No operation counting here and no notion of a failed process: that is process.h. Files and names
// are shared between clones until one of them changes (copy on write).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "oncelog/sim_disk.h"

#include "storage/sim/file_node.h"
#include "storage/sim/names.h"

namespace oncelog::sim {

inline constexpr std::size_t kNameBytesMax = 255;
/// Un-synced changes of one file after which the older half is written back, as a kernel would.
inline constexpr std::size_t kUnsyncedChangesMax = 4096;

/// Where a path leads. `inode` is kNoInode when only the last component is missing.
struct Found {
  int error = 0;  // errno
  InodeId directory = kNoInode;
  std::string name;
  InodeId inode = kNoInode;
};

/// A write that was submitted and whose completion was not polled.
struct InFlightWrite {
  std::uint64_t process = 0;
  InodeId inode = kNoInode;
  std::int64_t position = 0;
  std::shared_ptr<const std::vector<std::byte>> bytes;
};

struct OpenHandle {
  InodeId inode = kNoInode;
  std::uint64_t process = 0;
};

class DiskState {
 public:
  explicit DiskState(MetadataMode metadata) : metadata_(metadata) {}
  /// The content and the writes in flight, not the processes.
  DiskState(const DiskState& other);
  DiskState& operator=(const DiskState&) = delete;

  MetadataMode metadata() const { return metadata_; }
  std::uint64_t epoch() const { return epoch_; }
  const Names& names() const { return *names_; }
  std::int64_t capacity() const { return capacity_; }
  void set_capacity(std::int64_t bytes) { capacity_ = bytes; }
  std::int64_t used_bytes() const;
  std::size_t unsynced_changes() const;
  std::uint64_t last_sequence() const { return last_sequence_; }

  Found find(const std::string& path) const;
  bool is_directory(InodeId inode) const { return names_->is_directory(inode); }
  const FileNode& file(InodeId inode) const { return *files_.at(inode); }

  // Names. Each returns an errno, 0 for success.
  int create(const Found& where, std::int64_t now_ms, InodeId& inode);
  int make_directory(const Found& where);
  int remove_directory(const Found& what);
  int unlink(const Found& what);
  int link(const Found& existing, const Found& name);
  int rename(const Found& from, const Found& to);
  void sync_directory(InodeId directory);
  void sync_all();

  // Files. REQUIRES: the inode of an open handle, a range that a file can have.
  int write(InodeId inode, std::int64_t position, std::span<const std::byte> bytes,
            std::int64_t now_ms);
  int truncate(InodeId inode, std::int64_t size, std::int64_t now_ms);
  int allocate(InodeId inode, std::int64_t position, std::int64_t bytes);
  /// Durable: the changes through `sequence`.
  void sync(InodeId inode, std::uint64_t sequence);
  void lose_unsynced(InodeId inode, std::uint64_t sequence);
  void replace(InodeId inode, std::span<const std::byte> bytes, std::int64_t now_ms);
  void persist_name(const Found& what);

  // Processes and what they hold.
  std::uint64_t add_process() { return ++last_process_; }
  std::uint64_t open_handle(InodeId inode, std::uint64_t process);
  void close_handle(std::uint64_t handle);
  bool lock(std::uint64_t handle);
  bool is_locked_by_other(std::uint64_t handle) const;
  std::uint64_t add_in_flight(InFlightWrite write);
  void remove_in_flight(std::uint64_t id) { in_flight_.erase(id); }
  /// Ends one process, or all (0).
  void kill(std::uint64_t process, Random& random, std::int64_t now_ms);
  void power_cut(PowerCut mode, std::uint64_t seed);

 private:
  FileNode& change_file(InodeId inode);
  Names& change_names();
  std::uint64_t next_sequence() { return ++last_sequence_; }
  std::int64_t new_pages_max() const;
  bool is_open(InodeId inode) const;
  void commit_journal(std::uint64_t sequence);
  void land_in_flight(std::uint64_t process, Random& random, std::int64_t now_ms);
  CutPlan plan_cut(PowerCut mode, Random& random) const;
  void drop_unreachable_files();
  void drop_now_and_then();

  MetadataMode metadata_;
  std::int64_t capacity_ = -1;
  std::uint64_t last_inode_ = kRootInode;
  std::uint64_t last_sequence_ = kNoSequence;
  std::shared_ptr<Names> names_ = std::make_shared<Names>();
  std::map<InodeId, std::shared_ptr<FileNode>> files_;
  std::map<std::uint64_t, InFlightWrite> in_flight_;
  std::uint64_t last_in_flight_ = 0;
  std::size_t files_dropped_at_ = 64;

  std::uint64_t epoch_ = 1;
  std::uint64_t last_process_ = 0;
  std::uint64_t last_handle_ = 0;
  std::map<std::uint64_t, OpenHandle> handles_;
  std::map<InodeId, std::uint64_t> locks_;  // the handle that holds it
};

}  // namespace oncelog::sim
