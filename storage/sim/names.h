// The directories of the simulated disk: live names, durable names, and the changes in between.
//
// INVARIANTS
//   S4  an un-synced change becomes durable only together with all earlier changes of the same
//       names, so that a name always holds one of the values it had.
//   S5  all edits of one change (a rename has two) become durable together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "storage/sim/cut_plan.h"

namespace oncelog::sim {

using InodeId = std::uint64_t;
inline constexpr InodeId kNoInode = 0;
inline constexpr InodeId kRootInode = 1;

/// One name gets another file, or none.
struct NameEdit {
  InodeId directory = kNoInode;
  std::string name;
  InodeId before = kNoInode;
  InodeId after = kNoInode;
};

struct NameChange {
  std::uint64_t sequence = kNoSequence;
  std::vector<NameEdit> edits;  // of a rename: the target is the last
};

class Names {
 public:
  using Directory = std::map<std::string, InodeId>;

  Names();

  bool is_directory(InodeId inode) const { return live_.count(inode) != 0; }
  /// REQUIRES: is_directory(directory)
  const Directory& entries(InodeId directory) const { return live_.at(directory); }
  /// kNoInode when the name is free. REQUIRES: is_directory(directory)
  InodeId find(InodeId directory, const std::string& name) const;
  std::int64_t link_count(InodeId inode) const;
  /// The files and directories that a name, live, durable or in a change, holds.
  std::set<InodeId> named() const;
  /// The directory of a directory, kNoInode for the root or an unlinked one.
  InodeId parent_of(InodeId directory) const;

  void add_directory(InodeId inode);
  void change(NameChange change);

  std::size_t unsynced_changes() const { return pending_.size(); }
  const std::vector<NameChange>& pending() const { return pending_; }
  /// The last un-synced change in or of a directory, or of a file; kNoSequence when none.
  std::uint64_t last_change_of(InodeId inode) const;

  void persist_through(std::uint64_t sequence);
  /// Strict sync_directory.
  void persist_directory(InodeId directory);
  void persist_name(InodeId directory, const std::string& name);
  void power_cut(const CutPlan& plan);
  /// Forgets directories that nothing leads to any more.
  void drop_unreachable();

 private:
  /// Makes the chosen changes durable, and what S4 ties to them.
  void persist(const std::function<bool(const NameChange&)>& chosen);

  std::map<InodeId, Directory> live_;  // a key for each directory
  std::map<InodeId, Directory> durable_;
  std::vector<NameChange> pending_;
  std::map<InodeId, std::int64_t> links_;  // of live names
};

}  // namespace oncelog::sim
