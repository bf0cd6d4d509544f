// Writing and reading the small files that the log can do without: whole or not at all.
//
// INVARIANTS  I8: a file appears complete or stays as it was: temp name, fsync, rename, fsync of
// the directory. The temp name begins with "oncelog.tmp." so that a broker leaves it alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "oncelog/io.h"
#include "oncelog/result.h"

namespace oncelog {

inline constexpr std::string_view kTempPrefix = "oncelog.tmp.";

/// Replaces `directory`/`name`. With `sync_directory` false the caller syncs the directory itself
/// before it relies on the new name (one sync for several files).
Status replace_file(FileSystem& files, const std::string& directory, const std::string& name,
                    std::span<const std::byte> bytes, bool sync_directory = true);

/// The whole content; kNotFound when missing, kDamaged when larger than `bytes_max`.
Result<std::vector<std::byte>> read_whole_file(FileSystem& files, const std::string& path,
                                               std::int64_t bytes_max);

/// Unlinks; a missing file is fine.
Status remove_if_exists(FileSystem& files, const std::string& path);

}  // namespace oncelog
