// A small log that is right, and the mistakes that can be switched on in it: the simulator must
// find each of them and must accuse the right one of nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "oncelog/io.h"

namespace oncelog {

enum class Mistake : std::uint8_t {
  kNone,
  kAcknowledgeBeforeSync,
  kNoDirectorySync,
  kRenameWithoutSync,
  kRetryFailedSync,
  kNoChecksum,
  kServeUnsyncedTail,  // recovery shows what the page cache has (KAFKA-10101)
  kRollBeforeSync,     // the old segment is not synced before the new one is written
};

/// Segments of checksummed records in "log/", and a snapshot that is replaced by rename.
///
/// RULES THAT MAKE IT RIGHT
///   1  a record is acknowledged after a sync that was submitted when its write was complete
///   2  a segment is synced before the next one is created, and the directory after that
///   3  the snapshot: temporary file, sync, rename, sync of the directory
///   4  after a failed write or sync nothing more is acknowledged; no sync is retried
///   5  recovery writes the last segment again and syncs it before it shows it: after a failed sync
///      in an earlier process its pages may be clean and not on the disk
class ToyLog {
 public:
  static constexpr std::int64_t kRecordsPerSegment = 8;

  ToyLog(Io& io, Mistake mistake) : io_(io), mistake_(mistake) {}

  /// Recovers; afterwards `records` and `snapshot` are what it shows.
  Status open();
  /// Appends a group, acknowledged when it returns success.
  Status append(const std::vector<std::string>& payloads);
  Status save_snapshot(std::int64_t value);

  const std::vector<std::string>& records() const { return records_; }
  /// 0 when there is none, -1 when it is broken.
  std::int64_t snapshot() const { return snapshot_; }

 private:
  Status recover_segment(const std::string& path, bool& whole);
  Status load_snapshot();
  Status roll();
  Status sync_directory();
  Status sync_file();
  Status complete(std::vector<IoRequest> requests);

  Io& io_;
  Mistake mistake_;
  std::unique_ptr<IoQueue> queue_;
  std::shared_ptr<File> segment_;
  std::int64_t segment_bytes_ = 0;
  std::int64_t segment_records_ = 0;
  std::vector<std::string> records_;
  std::int64_t snapshot_ = 0;
};

}  // namespace oncelog
