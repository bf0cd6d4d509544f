// What stands in the derived files of a partition, entry by entry, for `dump`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "oncelog/io.h"
#include "oncelog/result.h"

#include "tools/dump_batches.h"
#include "tools/json.h"

namespace oncelog::tools {

/// Reads the files raw: what a broker would see, not what it should see. Slots of zeros behind the
/// last entry (a preallocated file) are no entries.
class DerivedDump {
 public:
  using Visit = std::function<void(const Json&)>;
  DerivedDump(FileSystem& files, std::string directory)
      : files_(files), directory_(std::move(directory)) {}

  Status offset_index(const Visit& visit) { return index(FileKind::kOffsetIndex, visit); }
  Status time_index(const Visit& visit) { return index(FileKind::kTimeIndex, visit); }
  Status txn_index(const Visit& visit) { return index(FileKind::kTxnIndex, visit); }
  /// Snapshots that a load would keep, given the log's ends and its segment bases.
  Status snapshots(Offset log_start, Offset log_end, const Visit& visit);

  /// Number of entries of one segment's file; 0 when it is missing.
  std::int64_t entry_count(FileKind kind, Offset base_offset) const;
  const std::vector<UnreadablePlace>& unreadable() const { return unreadable_; }

 private:
  Status index(FileKind kind, const Visit& visit);
  Status snapshot(const BaseFile& file, const Visit& visit);
  bool is_counted(FileKind kind, Offset base_offset) const;

  struct Count {
    FileKind kind;
    Offset base_offset;
    std::int64_t entries;
  };
  FileSystem& files_;
  std::string directory_;
  std::vector<Count> counts_;
  std::vector<UnreadablePlace> unreadable_;
};

}  // namespace oncelog::tools
