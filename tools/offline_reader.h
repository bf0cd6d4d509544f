// Reads the records of a partition from its files, as a consumer would see them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "oncelog/io.h"
#include "oncelog/record_batch.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

#include "storage/segment_scanner.h"
#include "tools/json.h"
#include "tools/loaded_partition.h"

namespace oncelog::tools {

/// LIFETIME  borrows the file system. Changes made to the files later are not seen: open again.
class OfflineReader {
 public:
  struct Options {
    bool read_committed = false;
    std::optional<Offset> high_watermark;
  };
  static Result<OfflineReader> open(FileSystem& files, const std::string& directory,
                                    const Options& options);

  Offset log_start() const { return loaded_.log.log_start; }
  /// First offset that is not shown: the high watermark, or the last stable offset.
  Offset bound() const { return bound_; }
  Json facts() const { return facts_json(loaded_); }

  /// Calls `visit` for each record from `from` to the bound; control and (read committed) aborted
  /// records are left out. `visit` returns whether it wants more. Returns where to go on.
  /// kOffsetOutOfRange below the log start or above the log end; kDamaged at bad bytes below the
  /// bound.
  Result<Offset> read(Offset from, const std::function<bool(const RecordView&)>& visit);

 private:
  OfflineReader(FileSystem& files, LoadedPartition loaded)
      : files_(&files), loaded_(std::move(loaded)) {}
  Result<bool> read_segment(const LoadedSegment& segment, Offset& next,
                            const std::function<bool(const RecordView&)>& visit);
  Result<bool> read_batch(const ScannedBatch& batch, Offset& next,
                          const std::function<bool(const RecordView&)>& visit) const;
  bool is_aborted(const BatchHeader& header) const;

  FileSystem* files_;
  LoadedPartition loaded_;
  Offset bound_ = 0;
  bool read_committed_ = false;
  /// Per producer: last offset (the marker's) to first offset.
  std::map<ProducerId, std::map<Offset, Offset>> aborted_;
};

}  // namespace oncelog::tools
