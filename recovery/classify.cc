// Sorts the names of a partition directory and resolves interrupted replacements.
//
// Why a replacement is complete: its files are renamed .cleaned -> .swap from the highest base
// down, so one .cleaned file left proves that every .swap at or above it is not; none left proves
// that all are.
#include "recovery/classify.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "index/derived_file.h"

namespace oncelog {
namespace {

constexpr std::array<FileKind, 3> kIndexKinds{FileKind::kOffsetIndex, FileKind::kTimeIndex,
                                              FileKind::kTxnIndex};
using Names = std::map<std::pair<Offset, FileKind>, std::string>;

struct Sorted {
  Names live;
  Names swap;
  std::vector<PartitionFileName> cleaned;
};

std::string& index_name(SegmentFiles& files, FileKind kind) {
  if (kind == FileKind::kOffsetIndex) return files.offset_index;
  return kind == FileKind::kTimeIndex ? files.time_index : files.txn_index;
}

Sorted sort_names(std::span<const DirEntry> entries, DirectoryPlan& plan) {
  Sorted out;
  for (const DirEntry& entry : entries) {
    const bool regular = entry.type == FileType::kRegular;
    if (regular && entry.name.starts_with(kTempPrefix)) {
      plan.removals.push_back(entry.name);
      continue;
    }
    if (regular && (is_own_file_name(entry.name) || is_partition_text_file(entry.name))) continue;
    const std::optional<PartitionFileName> name = parse_file_name(entry.name);
    if (!regular || !name) {
      plan.foreign.push_back(entry.name);
      continue;
    }
    const std::pair<Offset, FileKind> key{name->base_offset, name->kind};
    switch (name->stage) {
      case FileStage::kLive:
        out.live.emplace(key, entry.name);
        break;
      case FileStage::kSwap:
        out.swap.emplace(key, entry.name);
        break;
      case FileStage::kCleaned:
        out.cleaned.push_back(*name);
        break;
      case FileStage::kDeleted:
        plan.removals.push_back(entry.name);
        break;
    }
  }
  return out;
}

/// Drops the output of an unfinished replacement: all .cleaned files and every .swap at or above
/// the lowest of them.
void drop_unfinished(Sorted& names, DirectoryPlan& plan) {
  if (names.cleaned.empty()) return;
  Offset lowest = names.cleaned.front().base_offset;
  for (const PartitionFileName& name : names.cleaned) {
    lowest = std::min(lowest, name.base_offset);
    plan.removals.push_back(file_name(name.kind, name.base_offset, name.stage));
  }
  for (auto it = names.swap.lower_bound({lowest, FileKind::kLog}); it != names.swap.end();) {
    plan.removals.push_back(it->second);
    it = names.swap.erase(it);
  }
}

void remove_kinds(Names& names, Offset base, DirectoryPlan& plan, bool with_log) {
  if (const auto log = names.find({base, FileKind::kLog}); with_log && log != names.end()) {
    plan.removals.push_back(log->second);
    names.erase(log);
  }
  for (const FileKind kind : kIndexKinds) {
    const auto it = names.find({base, kind});
    if (it == names.end()) continue;
    plan.removals.push_back(it->second);
    names.erase(it);
  }
}

std::vector<Offset> bases_of(const Names& names) {
  std::vector<Offset> bases;
  for (const auto& [key, name] : names) {
    if (key.second == FileKind::kLog) bases.push_back(key.first);
  }
  return bases;
}

/// Replacements whose bytes do not check go while the original is there: they must not cost it.
Result<std::map<Offset, Offset>> usable_swaps(Sorted& names, const SwapScan& scan,
                                              DirectoryPlan& plan) {
  std::map<Offset, Offset> ends;
  for (const Offset base : bases_of(names.swap)) {
    const PartitionFileName name{FileKind::kLog, FileStage::kSwap, base};
    ONCELOG_TRY_ASSIGN(const std::optional<Offset> end, scan(name));
    if (!end && names.live.contains({base, FileKind::kLog})) {
      plan.notes.push_back(file_name(name.kind, base, name.stage) +
                           ": replacement does not check, the original is kept");
      remove_kinds(names.swap, base, plan, true);
      continue;
    }
    ends.emplace(base, end.value_or(base));
  }
  return ends;
}

/// Removes the originals that replacements cover. The one of the same base goes by the rename; its
/// indexes go here, for a replacement without an aborted index must not inherit one.
void remove_covered(const std::map<Offset, Offset>& ends, Sorted& names, DirectoryPlan& plan) {
  for (const auto& [base, end] : ends) {
    for (const Offset live : bases_of(names.live)) {
      if (live > base && live < end && !ends.contains(live)) {
        remove_kinds(names.live, live, plan, true);
      }
    }
    names.live.erase({base, FileKind::kLog});
    remove_kinds(names.live, base, plan, false);
  }
}

/// Index files of a finished replacement, and those whose .log got its final name already.
void rename_swaps(Sorted& names, DirectoryPlan& plan) {
  for (const auto& [key, name] : names.swap) {
    const bool has_log = names.swap.contains({key.first, FileKind::kLog}) ||
                         names.live.contains({key.first, FileKind::kLog});
    if (!has_log) {
      plan.removals.push_back(name);
      continue;
    }
    plan.renames.push_back({name, file_name(key.second, key.first)});
    names.live[key] = name;  // where the bytes are now
  }
}

void collect_segments(const Names& live, DirectoryPlan& plan) {
  std::map<Offset, SegmentFiles> segments;
  for (const auto& [key, name] : live) {
    if (key.second != FileKind::kLog) continue;
    SegmentFiles& files = segments[key.first];
    files.base_offset = key.first;
    files.log = name;
  }
  for (const auto& [key, name] : live) {
    if (key.second == FileKind::kLog) continue;
    if (key.second == FileKind::kSnapshot) {
      plan.snapshots.push_back(key.first);
      continue;
    }
    const auto segment = segments.find(key.first);
    if (segment == segments.end()) {
      plan.removals.push_back(name);
    } else {
      index_name(segment->second, key.second) = name;
    }
  }
  for (auto& [base, files] : segments)
    plan.segments.push_back(std::move(files));
}

}  // namespace

Result<DirectoryPlan> classify(std::span<const DirEntry> entries, const SwapScan& scan) {
  DirectoryPlan plan;
  Sorted names = sort_names(entries, plan);
  drop_unfinished(names, plan);
  ONCELOG_TRY_ASSIGN(const auto ends, usable_swaps(names, scan, plan));
  remove_covered(ends, names, plan);
  rename_swaps(names, plan);
  collect_segments(names.live, plan);
  return plan;
}

}  // namespace oncelog
