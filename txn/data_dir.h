// A data root: its lock and its checkpoint files, shared by all logs of the directory.
//
// INVARIANTS  I8. The recovery point of a log passes a segment only when the log says so: its data,
// indexes, aborted-transaction index and the snapshot at its end are durable then.
// THREADS  any thread; `write` blocks.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncelog/io.h"
#include "oncelog/result.h"

#include "index/text_files.h"
#include "recovery/recover.h"

namespace oncelog {

/// An id that no other call gives: hashed from names, both clocks and a counter of the process.
Uuid make_uuid(std::string_view seed, std::int64_t wall_ms, std::int64_t monotonic_ns);

class DataDir {
 public:
  struct Options {
    std::string path;
    std::int64_t broker_epoch = -1;
  };
  /// Creates the directory when missing, takes the lock and reads the files; changes none of them.
  /// kLocked when someone else has it, kDamaged for a meta.properties that is none.
  static Result<std::unique_ptr<DataDir>> open(FileSystem& files, const Options& options,
                                               std::vector<std::string>& notes);
  /// Once, before anything else is changed: makes meta.properties when missing, and removes the
  /// clean marker durably, so that a crash from here on counts as unclean (H-071).
  Status begin(const std::string& cluster_id, std::int32_t node_id);
  DataDir(FileSystem& files, Options options, std::shared_ptr<File> lock);

  const std::string& path() const { return options_.path; }
  /// The clean marker was there when the directory was opened.
  bool was_clean() const { return was_clean_; }
  /// As found; nothing when the file was not there.
  const std::optional<MetaProperties>& meta() const { return meta_; }
  RootFacts facts_of(const TopicPartition& name) const;

  /// What the recovery-point file holds now for a log.
  std::optional<Offset> saved_recovery_point(const TopicPartition& name) const;
  void set_recovery_point(const TopicPartition& name, Offset offset);
  /// Offset 0 or the first segment's base is not written, as Kafka does: give kNoOffset.
  void set_log_start(const TopicPartition& name, Offset offset);
  /// kNoOffset: the log moves its high watermark itself; no entry.
  void set_high_watermark(const TopicPartition& name, Offset offset);
  /// Takes a log out of the files, durably when it was in one.
  Status forget(const TopicPartition& name);

  /// Writes the checkpoint files that changed; durable when it returns.
  Status write();
  bool dirty() const;
  /// After everything is closed and written: the clean marker.
  Status write_clean_marker();
  /// Gives the lock back.
  Status unlock() { return lock_->close(); }

 private:
  struct Checkpoint {
    std::string_view file;
    OffsetCheckpoint offsets;
    OffsetCheckpoint saved;           // what the file holds
    std::uint64_t version = 0;        // raised by every change
    std::uint64_t saved_version = 0;  // of `saved`
  };
  void set(Checkpoint& checkpoint, const TopicPartition& name, Offset offset);
  Status read(std::vector<std::string>& notes);
  Status read_checkpoint(Checkpoint& checkpoint, std::vector<std::string>& notes);
  Status remove_clean_marker();
  Status read_meta_properties();
  Status write(Checkpoint& checkpoint);

  FileSystem& files_;
  const Options options_;
  std::shared_ptr<File> lock_;
  bool was_clean_ = false;
  std::optional<MetaProperties> meta_;
  mutable std::mutex mutex_;  // the maps
  std::mutex write_mutex_;    // one writer of files at a time; taken before mutex_
  Checkpoint recovery_points_{kRecoveryPointFile, {}, {}, 0, 0};
  Checkpoint log_starts_{kLogStartFile, {}, {}, 0, 0};
  Checkpoint high_watermarks_{kHighWatermarkFile, {}, {}, 0, 0};
};

}  // namespace oncelog
