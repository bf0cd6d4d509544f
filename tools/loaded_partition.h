// A partition as it stands in its files, loaded without changing anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oncelog/io.h"
#include "oncelog/log_state.h"
#include "oncelog/result.h"

#include "recovery/recover.h"
#include "tools/partition.h"

namespace oncelog::tools {

struct LoadedPartition {
  Partition partition;
  LoadedLog log;
  Offset high_watermark = 0;  ///< given, else the root's, else the log end; within the log
  const char* high_watermark_source = "log end";
};

/// Loads what `find_partition` found. `high_watermark` overrides the root's.
Result<LoadedPartition> load_partition(FileSystem& files, Partition partition,
                                       std::optional<Offset> high_watermark);

/// Aborted transactions of all segments in file order: from the .txnindex files, or from what the
/// load rebuilt where a file is missing or wrong.
Result<std::vector<AbortedTxnInfo>> aborted_transactions(FileSystem& files,
                                                         const LoadedPartition& loaded);

/// Everything at the log end as one value.
Result<LogState> state_of(FileSystem& files, const LoadedPartition& loaded);
/// The same with the log as it was when `at` was its end: the newest snapshot at or below it and a
/// replay from there. kOffsetOutOfRange below the log start or above the log end.
Result<LogState> state_at(FileSystem& files, const LoadedPartition& loaded, Offset at);

/// "log start, clean marker of the root; high watermark: log end", with "; in use" when it is.
std::string describe_facts(const LoadedPartition& loaded);
/// The same for the JSON summary.
Json facts_json(const LoadedPartition& loaded);

/// Damage that the load found, one sentence with file and position each.
std::vector<std::string> damage_lines(const RecoveryReport& report);

}  // namespace oncelog::tools
