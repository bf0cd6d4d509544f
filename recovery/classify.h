// What the files of a partition directory are, and which of them go or get another name first.
//
// RECOVERY.md 3 with safer choices: a replacement removes only the segments that it covers itself,
// never a snapshot; one that does not check is dropped while the original is there.
// THREADS  pure: reads names through its arguments and decides.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "oncelog/file_system.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

#include "storage/file_names.h"

namespace oncelog {

/// The files of one segment under the names that they have now; empty when missing. After the
/// renames they are those of `file_name`.
struct SegmentFiles {
  Offset base_offset = 0;
  std::string log;
  std::string offset_index;
  std::string time_index;
  std::string txn_index;
};

struct FileRename {
  std::string from;
  std::string to;
};

struct DirectoryPlan {
  std::vector<SegmentFiles> segments;  ///< ascending by base
  std::vector<Offset> snapshots;       ///< ascending
  std::vector<std::string> removals;   ///< first, then the directory is synced
  std::vector<FileRename> renames;     ///< then these, then the directory is synced again
  std::vector<std::string> foreign;    ///< left alone
  std::vector<std::string> notes;
};

/// The next offset behind the last batch of a ".log.swap" file; nothing when its bytes do not check
/// to the end.
using SwapScan = std::function<Result<std::optional<Offset>>(const PartitionFileName& name)>;

/// Decides on a directory's entries. Errors: only those of `scan`.
Result<DirectoryPlan> classify(std::span<const DirEntry> entries, const SwapScan& scan);

}  // namespace oncelog
