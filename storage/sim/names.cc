// Name changes, their durability, and what a power cut leaves of them.
#include "storage/sim/names.h"

#include <algorithm>
#include <utility>

namespace oncelog::sim {
namespace {

void set_name(std::map<InodeId, Names::Directory>& tree, const NameEdit& edit) {
  Names::Directory& directory = tree[edit.directory];
  if (edit.after == kNoInode) {
    directory.erase(edit.name);
  } else {
    directory[edit.name] = edit.after;
  }
}

void reach(const std::map<InodeId, Names::Directory>& tree, std::set<InodeId>& reached) {
  std::vector<InodeId> open{kRootInode};
  std::set<InodeId> seen{kRootInode};
  while (!open.empty()) {
    const InodeId here = open.back();
    open.pop_back();
    reached.insert(here);
    const auto directory = tree.find(here);
    if (directory == tree.end()) continue;
    for (const auto& [name, inode] : directory->second) {
      if (seen.insert(inode).second) open.push_back(inode);
    }
  }
}

}  // namespace

Names::Names() {
  add_directory(kRootInode);
}

InodeId Names::find(InodeId directory, const std::string& name) const {
  const Directory& names = live_.at(directory);
  const auto entry = names.find(name);
  return entry == names.end() ? kNoInode : entry->second;
}

std::int64_t Names::link_count(InodeId inode) const {
  const auto found = links_.find(inode);
  return found == links_.end() ? 0 : found->second;
}

std::set<InodeId> Names::named() const {
  std::set<InodeId> out;
  for (const auto& [inode, count] : links_)
    out.insert(inode);
  if (pending_.empty()) return out;
  for (const auto& [id, directory] : durable_) {
    for (const auto& [name, inode] : directory)
      out.insert(inode);
  }
  for (const NameChange& change : pending_) {
    for (const NameEdit& edit : change.edits)
      out.insert({edit.before, edit.after});
  }
  return out;
}

InodeId Names::parent_of(InodeId directory) const {
  for (const auto& [id, names] : live_) {
    for (const auto& [name, inode] : names) {
      if (inode == directory) return id;
    }
  }
  return kNoInode;
}

void Names::add_directory(InodeId inode) {
  live_[inode];
  durable_[inode];
}

void Names::change(NameChange change) {
  for (const NameEdit& edit : change.edits) {
    if (edit.before != kNoInode && --links_[edit.before] == 0) links_.erase(edit.before);
    if (edit.after != kNoInode) ++links_[edit.after];
    set_name(live_, edit);
  }
  pending_.push_back(std::move(change));
}

std::uint64_t Names::last_change_of(InodeId inode) const {
  std::uint64_t last = kNoSequence;
  for (const NameChange& change : pending_) {
    for (const NameEdit& edit : change.edits) {
      if (edit.directory == inode || edit.before == inode || edit.after == inode)
        last = change.sequence;
    }
  }
  return last;
}

void Names::persist(const std::function<bool(const NameChange&)>& chosen) {
  std::vector<bool> kept(pending_.size());
  std::set<std::pair<InodeId, std::string>> forced;
  for (std::size_t i = pending_.size(); i-- > 0;) {
    const NameChange& change = pending_[i];
    kept[i] = chosen(change);
    for (const NameEdit& edit : change.edits) {
      if (forced.count({edit.directory, edit.name}) != 0) kept[i] = true;
    }
    if (!kept[i]) continue;
    for (const NameEdit& edit : change.edits)
      forced.insert({edit.directory, edit.name});
  }
  std::vector<NameChange> rest;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (!kept[i]) {
      rest.push_back(std::move(pending_[i]));
      continue;
    }
    for (const NameEdit& edit : pending_[i].edits)
      set_name(durable_, edit);
  }
  pending_ = std::move(rest);
}

void Names::persist_through(std::uint64_t sequence) {
  persist([&](const NameChange& change) { return change.sequence <= sequence; });
}

void Names::persist_directory(InodeId directory) {
  persist([&](const NameChange& change) { return change.edits.back().directory == directory; });
}

void Names::persist_name(InodeId directory, const std::string& name) {
  persist([&](const NameChange& change) {
    return std::any_of(change.edits.begin(), change.edits.end(), [&](const NameEdit& edit) {
      return edit.directory == directory && edit.name == name;
    });
  });
}

void Names::power_cut(const CutPlan& plan) {
  if (plan.any_subset && plan.metadata == MetadataMode::kStrict) {
    persist([&](const NameChange&) {
      const std::uint64_t roll = plan.random->below(100);
      if (roll < plan.newest_percent) return true;
      if (roll < plan.newest_percent + plan.oldest_percent) return false;
      return plan.random->percent(50);
    });
  } else {
    persist_through(plan.kept_through);
  }
  pending_.clear();
  live_ = durable_;
  drop_unreachable();
  links_.clear();
  for (const auto& [id, directory] : live_) {
    for (const auto& [name, inode] : directory)
      ++links_[inode];
  }
}

void Names::drop_unreachable() {
  std::set<InodeId> reached;
  reach(live_, reached);
  reach(durable_, reached);
  for (const NameChange& change : pending_) {
    for (const NameEdit& edit : change.edits)
      reached.insert({edit.directory, edit.before, edit.after});
  }
  for (auto directory = live_.begin(); directory != live_.end();) {
    if (reached.count(directory->first) != 0) {
      ++directory;
      continue;
    }
    durable_.erase(directory->first);
    directory = live_.erase(directory);
  }
}

}  // namespace oncelog::sim
