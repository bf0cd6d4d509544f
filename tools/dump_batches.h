// The batches and records of a partition for `dump`, read in a stream.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "oncelog/io.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

#include "storage/segment_scanner.h"
#include "tools/json.h"
#include "tools/partition.h"

namespace oncelog::tools {

/// What `dump` leaves out.
struct DumpFilter {
  std::optional<ProducerId> producer_id;
  std::optional<Offset> from, to;                 ///< offsets, `to` exclusive
  std::optional<TimestampMs> from_time, to_time;  ///< record timestamps, `to_time` exclusive

  bool takes_batch(const BatchHeader& header) const;
  bool takes_record(const BatchHeader& header, const RecordView& record) const;
};

/// What was seen of one segment.
struct SegmentSummary {
  Offset base_offset = 0;
  std::int64_t size = 0;
  std::int64_t batches = 0;
  Offset next_offset = 0;
  TimestampMs largest_timestamp = kNoTimestamp;
};

/// A place where reading had to stop or a batch that does not open.
struct UnreadablePlace {
  std::string file;
  std::int64_t position = 0;
  std::string what;
  Offset offset = 0;  ///< smallest offset that may have stood there
};

class BatchDump {
 public:
  using Visit = std::function<void(const Json&)>;
  BatchDump(FileSystem& files, std::string directory, DumpFilter filter)
      : files_(files), directory_(std::move(directory)), filter_(std::move(filter)) {}

  /// Calls `on_batch` for each batch and, when it is set, `on_record` for its records. Reads on in
  /// the next segment behind a bad place. Errors are those of the file system.
  Status walk(const Visit& on_batch, const Visit& on_record);

  /// Of the last walk.
  const std::vector<SegmentSummary>& segments() const { return segments_; }
  const std::vector<UnreadablePlace>& unreadable() const { return unreadable_; }

 private:
  Status walk_segment(const BaseFile& log, const Visit& on_batch, const Visit& on_record);
  void visit_batch(const BaseFile& log, const ScannedBatch& batch, const Visit& on_batch,
                   const Visit& on_record);

  FileSystem& files_;
  std::string directory_;
  DumpFilter filter_;
  std::vector<SegmentSummary> segments_;
  std::vector<UnreadablePlace> unreadable_;
};

}  // namespace oncelog::tools
