// Creating and cutting segment files: the blocking steps of roll and truncate.
//
// INVARIANTS  A file with a pinned reader or with a second link is never cut in place: the cut
// writes a new file. Every step is durable before it returns.
// THREADS  any; one call per directory at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oncelog/io.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

/// The path of a segment's files without extension, below its directory: 20 digits.
std::string file_stem(Offset base_offset);

/// Creates an empty .log durably and removes leftovers of its indexes. An empty file that is there
/// already (a roll that failed half-way) is taken over; one with content is kAlreadyExists.
Result<std::shared_ptr<File>> create_segment_file(FileSystem& files, const std::string& directory,
                                                  Offset base_offset);

struct CutOptions {
  Offset offset = 0;         ///< first offset to go; a batch that reaches it goes whole
  bool copy_always = false;  ///< a reader pins the file: write a new one
};
/// Removes everything at or above `offset` from the segment files of a directory, snapshots above
/// it included, from the end backwards. The segment that holds `offset` stays, perhaps empty.
Status cut_segment_files(FileSystem& files, const std::string& directory,
                         const CutOptions& options);

/// Removes all segments and snapshots and creates an empty segment at `offset`.
Status restart_segment_files(FileSystem& files, const std::string& directory, Offset offset);

}  // namespace oncelog
