// Saving what the log can do without: indexes and snapshots of segments that were rolled away from,
// the epoch file, the sidecar, and the recovery point that follows from them.
//
// Nothing here is on the acknowledgement path. Files are written by the executor, from values.
//
// INVARIANTS
//   A snapshot or index is put in place only when the log is durable up to its end. The
//   recovery point passes a segment only after its files are in place.
// THREADS  the shard's driver.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "index/leader_epoch_cache.h"
#include "index/sidecar.h"
#include "recovery/recover.h"
#include "txn/ack_queue.h"
#include "txn/log_environment.h"
#include "txn/log_segment.h"

namespace oncelog {

class LogCheckpoints {
 public:
  /// `owner` keeps the log alive while a task runs; `on_idle` is called when the last one ended.
  LogCheckpoints(const LogEnvironment& env, const TopicPartition& name, std::string directory,
                 std::function<std::shared_ptr<void>()> owner, std::function<void()> on_idle);

  /// Starts from what recovery found.
  void load(const LoadedLog& loaded);

  /// A segment that was rolled away from. Its files are written once it is durable.
  struct Seal {
    std::shared_ptr<LogSegment> segment;
    std::shared_ptr<SegmentIndexes> indexes;
    Offset end = 0;                                  ///< base of the next segment
    std::optional<std::vector<std::byte>> snapshot;  ///< at `end`, when state had changed
  };
  void add_seal(Seal seal);
  /// Starts what has become possible; `active_base` bounds nothing but names the active segment.
  void on_durable(Offset durable_end);
  /// Drops what is not yet written: the log failed or is loaded anew.
  void drop_seals() { seals_.clear(); }

  /// Whether state at `map_end` is newer than every snapshot taken.
  bool wants_snapshot(Offset map_end) const { return map_end > last_snapshot_; }
  /// A snapshot at `offset` is on its way to the disk.
  void take_snapshot(Offset offset) { last_snapshot_ = offset; }
  const std::vector<Offset>& snapshots() const { return snapshots_; }
  void add_snapshot_file(Offset offset) { snapshots_.push_back(offset); }
  void forget_snapshot_file(Offset offset) { std::erase(snapshots_, offset); }
  bool has_seals() const { return !seals_.empty(); }

  /// Everything below is durable with its derived files.
  Offset recovery_point() const { return recovery_point_; }
  /// Moves the recovery point as far as `durable_end` and the seals allow; true when it moved.
  bool advance_recovery_point(Offset durable_end);

  /// Writes the root's checkpoint files soon (one write for all that changed meanwhile).
  void write_root(Done done = {});
  /// Replaces the epoch file soon, with the latest value given.
  void save_epochs(const LeaderEpochCache& epochs, Done done = {});
  /// Replaces the sidecar soon, with the latest value given.
  void save_sidecar(const Sidecar& sidecar, Done done);
  /// Runs `work` on the executor; `busy` until it ended.
  void background(std::function<Status()> work, Done done);

  bool busy() const { return running_ > 0; }
  /// Something could not be written; the log still serves.
  const std::optional<Error>& last_error() const { return last_error_; }

 private:
  void start_seal();
  void finish_seal(const Status& status);

  const LogEnvironment& env_;
  const TopicPartition& name_;
  const std::string directory_;
  const std::function<std::shared_ptr<void>()> owner_;
  const std::function<void()> on_idle_;
  std::deque<Seal> seals_;
  bool sealing_ = false;
  std::size_t running_ = 0;
  std::vector<Offset> snapshots_;
  Offset last_snapshot_ = 0;
  Offset recovery_point_ = 0;
  Offset durable_end_ = 0;
  // A cut inside a batch leaves a log that ends at the offset asked for, without bytes up to there:
  // offsets in (loaded_data_end_, loaded_end_] prove nothing about the files.
  Offset loaded_data_end_ = 0;
  Offset loaded_end_ = 0;
  /// Work that runs once at a time; whoever asks meanwhile is served by the next run.
  struct Repeated {
    bool running = false;
    bool wanted = false;
    std::vector<Done> waiting;
  };
  void run_repeated(Repeated& repeated, const std::function<std::function<Status()>()>& make_work);
  Repeated root_;
  Repeated epochs_;
  std::string epochs_text_;
  Repeated sidecar_;
  std::vector<std::byte> sidecar_bytes_;
  std::optional<Error> last_error_;
};

/// Writes one segment's .index, .timeindex and .txnindex and syncs the directory. Blocks.
Status write_index_files(FileSystem& files, const std::string& directory, Offset base_offset,
                         const SegmentIndexes& indexes);

}  // namespace oncelog
