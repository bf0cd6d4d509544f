// Offline verification of one partition directory: every batch, and every derived file against it.
//
// Changes nothing and needs no lock. What a crash may leave behind and opening repairs is a note;
// an error is what no crash explains: bytes that do not check below what was durable, or a derived
// file that contradicts the log where it was vouched for (a clean close, a recovery point above).
// What a broker's compaction leaves is neither.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oncelog/file_system.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

#include "recovery/recover.h"

namespace oncelog {

enum class Severity : std::uint8_t { kNote, kError };
std::string_view to_string(Severity severity) noexcept;

struct VerifyFinding {
  std::string file;            ///< name inside the directory
  std::int64_t position = -1;  ///< byte in that file, -1 when it has none
  Offset offset = kNoOffset;
  Severity severity = Severity::kError;
  std::string what;  ///< one sentence without final period
};
/// "file at byte N, offset M: what".
std::string to_string(const VerifyFinding& finding);

struct VerifyOptions {
  bool deep = false;  ///< decompress and check the records of compressed batches too
  std::int64_t index_interval_bytes = 4096;
  std::int64_t segment_index_bytes = 10485760;
  TimestampMs now_ms = 0;  ///< clock, for nothing but the report
  std::size_t findings_max = 1000;
};

struct VerifyReport {
  std::vector<VerifyFinding> findings;  ///< in the order in which they were found
  std::uint64_t findings_dropped = 0;   ///< beyond `findings_max`
  std::int64_t segments = 0;
  std::int64_t batches = 0;
  std::int64_t records = 0;  ///< as headers count them
  std::int64_t bytes = 0;    ///< of valid batches
  std::int64_t index_entries = 0;
  std::int64_t snapshots = 0;
  Offset log_start = 0;
  Offset log_end = 0;
  RecoveryReport recovery;  ///< verdict, rule, damage, what opening would rebuild

  bool has_errors() const;
};

/// Errors are those of reading; whatever is wrong with the data is a finding.
Result<VerifyReport> verify_partition(FileSystem& files, const std::string& directory,
                                      const RootFacts& root, const VerifyOptions& options = {});

}  // namespace oncelog
