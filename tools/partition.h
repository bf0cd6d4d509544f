// What a PATH on the command line means: a partition directory or a data root, and what the root's
// files say about a partition.
//
// Read-only tools neither lock nor write; they tell when somebody else holds the lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncelog/io.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

#include "recovery/recover.h"
#include "storage/file_names.h"
#include "tools/json.h"

namespace oncelog::tools {

/// Nothing when a directory name is not that of a live partition (those being deleted or moved
/// are none).
std::optional<TopicPartition> parse_partition_name(std::string_view name);

/// One partition directory to look at.
struct Partition {
  std::string directory;               ///< absolute, no '/' at the end
  std::string root;                    ///< its parent
  std::optional<TopicPartition> name;  ///< nothing: the directory is not called like a partition
  RootFacts facts;                     ///< empty without a name
  bool in_use = false;                 ///< somebody holds the lock of the root
  std::vector<std::string> notes;      ///< files of the root that cannot be read

  /// Which of the root's files counted, e.g. "log start, clean marker"; "nothing" when none did.
  std::string facts_used() const;
  /// The same as an object: members null where the root says nothing.
  Json facts_json() const;
};

/// A path with '..' and '.' resolved by name, absolute, without '/' at the end.
std::string absolute_path(const std::string& path);

/// The partition at `path`. kNotFound when nothing is there; kInvalidArgument when it is no
/// directory, or a directory without segment files that is not called like a partition.
Result<Partition> find_partition(FileSystem& files, const std::string& path);

/// The partition at `path`, or all partitions of the data root at `path`, by name.
Result<std::vector<Partition>> find_partitions(FileSystem& files, const std::string& path);

/// Names and sizes of the live files of a kind, ascending by base offset.
struct BaseFile {
  Offset base_offset = 0;
  std::string name;
  std::int64_t size = 0;
};
Result<std::vector<BaseFile>> live_files(FileSystem& files, const std::string& directory,
                                         FileKind kind);

}  // namespace oncelog::tools
