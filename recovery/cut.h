// Cutting a log file, and keeping what a cut removes.
//
// INVARIANTS  what goes is durable under its new name before it leaves its old one; a file that has
// other names (a backup by hard links) is never changed in place.
#pragma once

#include <cstdint>
#include <string>

#include "oncelog/file_system.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

/// Copies `log` from `position` on to "oncelog-damaged-<base>-<position>.log" and gives that name;
/// an equal copy that is there is enough, one that differs gets another number behind. Nothing is
/// written, and the name is empty, when there are no bytes.
Result<std::string> keep_tail(FileSystem& files, const std::string& directory,
                              const std::string& log, Offset base_offset, std::int64_t position);

/// Renames `log` to "oncelog-damaged-<base>-0.log"; the caller syncs the directory.
Result<std::string> keep_whole(FileSystem& files, const std::string& directory,
                               const std::string& log, Offset base_offset);

/// Cuts `log` to `size` bytes, durably.
Status cut_log(FileSystem& files, const std::string& directory, const std::string& log,
               std::int64_t size);

}  // namespace oncelog
