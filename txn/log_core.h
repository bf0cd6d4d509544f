// A log as its shard sees it: everything behind `Log`. Split by path: log_append, log_fetch,
// log_lookup, log_cut, log_close, log_retention, log_timers.
//
//   append: validate (caller's thread) -> check -> place -> enqueue -> apply | write -> index ->
//   publish -> sync -> publish -> acknowledge
//
// INVARIANTS
//   I2, I3  see Watermarks and ReadView.
//   I4  an index entry's position is the start of a batch below the written end.
//   I7  after the first failed write or sync nothing is acknowledged until the log is loaded anew.
// STATES
//   kOpen -> kReloading (truncate, disk full) -> kOpen | kFull | kFailed
//   kOpen -> kClosing -> kClosed;  any -> kFailed (on_writer_failed) -> kClosed
// THREADS  members marked "any thread"; all else the shard's driver.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "oncelog/log.h"

#include "index/leader_epoch_cache.h"
#include "index/producer_state.h"
#include "recovery/recover.h"
#include "storage/segment_writer.h"
#include "txn/ack_queue.h"
#include "txn/append_path.h"
#include "txn/append_placer.h"
#include "txn/deleted_files.h"
#include "txn/log_checkpoints.h"
#include "txn/log_environment.h"
#include "txn/read_view.h"

namespace oncelog {

class FetchPageBuilder;

class LogCore final : public SegmentWriter::Owner, public std::enable_shared_from_this<LogCore> {
 public:
  LogCore(const LogEnvironment& env, TopicPartition name, std::string directory,
          const LogOptions& options);

  // ---- any thread
  const TopicPartition& name() const { return name_; }
  const std::string& directory() const { return directory_; }
  Shard& shard() const { return *env_.shard; }
  const ReadView& view() const { return view_; }
  LogOptions options() const;
  LeaderEpochCache epochs() const;
  const RecoveryReport& report() const { return report_; }
  std::string topic_id() const { return topic_id_ ? to_string(*topic_id_) : std::string(); }
  Result<ValidatedAppend> validate(Buffer bytes, const AppendOptions& append) const;
  Result<FetchPage> fetch(const FetchRequest& request, FetchBuffer& buffer) const;
  Result<TimestampOffset> offset_for_timestamp(TimestampMs timestamp, Isolation isolation) const;

  /// Closes, waits, and returns after the last callback that was queued until then.
  Status close_and_wait();
  /// Closed or abandoned, with nothing left to do for it.
  bool is_closed() const { return ended_; }
  /// REQUIRES: is_closed().
  bool closed_clean() const { return closed_clean_; }

  // ---- driver
  /// Takes over what recovery loaded and opens the active file for writing. I/O errors.
  Status install(LoadedLog loaded);
  void append(AppendOp op);
  void when(Offset offset, Isolation isolation, Done ready);
  Result<Offset> set_high_watermark(Offset offset);
  void assign_leader_epoch(LeaderEpoch epoch, Done done);
  void delete_records(Offset offset, std::function<void(Result<Offset>)> done);
  void truncate(Offset offset, bool fully, Done done);
  void roll(std::function<void(Result<Offset>)> done);
  void flush(Done done);
  Result<VerificationToken> start_verification(ProducerId producer_id, ProducerEpoch epoch,
                                               Sequence sequence, int transaction_version);
  Result<std::size_t> expire_producers();
  void apply_retention(std::function<void(Result<std::size_t>)> done);
  Result<LogState> state();
  std::vector<OngoingTxn> open_txns() const { return producers_.txns().open(); }
  void set_options(const LogOptions& options, Done done);
  void close(Done done);
  /// The store goes away or the log is deleted: latch, write nothing.
  void abandon(const Error& why);
  /// Calls `then` once nothing of an abandoned log is in flight.
  void when_abandoned(std::function<void()> then) { when_idle(std::move(then)); }
  /// W as the sidecar on the disk has it.
  void set_recorded_unsynced_bytes(std::int64_t bytes) { unsynced_bytes_recorded_ = bytes; }
  /// flush.ms, idle checkpoint, sidecar, embedder's high watermark.
  void tick();
  /// The sidecar as of now. REQUIRES: nothing queued or in flight.
  Sidecar make_sidecar() const;

  void on_write_done() override;
  void on_progress() override;
  void on_roll_needed(Offset base) override;
  void on_writer_failed(const Error& error) override;

 private:
  enum class State : std::uint8_t { kOpen, kReloading, kFull, kClosing, kClosed, kFailed };

  // log_core.cc
  Status check_open() const;
  void publish();
  Offset data_end() const;
  Marks current_marks() const;
  void update_high_watermark();
  void set_epochs(const LeaderEpochCache& epochs);
  void when_idle(std::function<void()> then);
  void check_idle();
  bool idle() const;
  void resume();
  void run_deferred();
  SegmentWriter::Options writer_options() const;
  // log_append.cc
  void accept(AppendOp op);
  Result<PlacedAppend> place_offsets(const AppendOp& op) const;
  void answer_duplicate(const AppendOp& op, const DuplicateBatch& duplicate);
  void store_accepted(AppendOp op, PlacedAppend placed, const ProducerUpdate& update);
  void start_segment(Offset base);
  void finish_roll(Result<std::shared_ptr<File>> file);
  void cut_and_reload(Offset offset, bool fully, const Done& done);
  void reload(std::function<Result<LoadedLog>()> load, Offset log_end, const Done& done);
  void finish_reload(Result<LoadedLog> loaded, Offset log_end, const Done& done);
  void recover_from_full();
  void defer(std::function<void()> call);
  // log_close.cc
  void write_final_files(const Done& done);
  void finish_close(const Status& status, const Done& done);
  void end_close(const Status& status, const Done& done);
  // log_retention.cc
  std::size_t deletable_segments() const;
  bool is_expired(const LogSegment& segment, TimestampMs now_ms) const;
  void drop_segments(std::size_t count, std::function<void(Result<std::size_t>)> done);
  void remove_files(std::vector<std::string> paths, Done done);
  // log_fetch.cc
  Result<FetchPage> fetch_once(const FetchRequest& request, FetchBuffer& buffer, const Marks& marks,
                               const SegmentList& list) const;
  Result<std::vector<AbortedRange>> collect_aborted(const SegmentList& list,
                                                    std::size_t first_segment, Offset from,
                                                    const FetchPageBuilder& page) const;
  Result<std::vector<BatchVerdict>> verdicts_of(const std::vector<BatchHeader>& headers,
                                                const std::vector<AbortedRange>& aborted,
                                                const Marks& marks) const;
  // log_timers.cc
  void save_sidecar(Done done);
  void fill_producers(Sidecar& sidecar) const;

  const LogEnvironment env_;
  const TopicPartition name_;
  const std::string directory_;
  ReadView view_;
  mutable std::mutex shared_mutex_;  // options_ and epochs_ for other threads
  LogOptions options_;
  LeaderEpochCache epochs_;
  RecoveryReport report_;  // of the opening; constant afterwards
  std::optional<Uuid> topic_id_;

  State state_ = State::kClosed;
  Error failure_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const SegmentList> list_;
  std::unique_ptr<SegmentWriter> writer_;
  ProducerState producers_;
  AppendPlacer placer_;
  std::shared_ptr<LogSegment> accept_segment_;  // where accepted batches go
  std::shared_ptr<SegmentIndexes> accept_indexes_;
  std::deque<RolledSegment> rolled_to_;
  std::deque<UnwrittenAppend> unwritten_;
  AckQueue acks_{0};
  std::deque<AppendOp> waiting_;  // blocked callers, in order
  std::vector<std::function<void()>> idle_waiters_;
  std::vector<std::function<void()>> deferred_;  // what came while reloading
  bool closing_ = false;                         // from the first `close` to its answer
  std::vector<Done> closers_;                    // the others that wait for that answer
  bool files_given_up_ = false;                  // readers may not start any more
  std::atomic<bool> ended_{false};               // see is_closed
  Offset log_start_ = 0;
  Offset high_watermark_ = 0;
  bool embedder_moves_ = false;
  bool read_only_ = false;
  bool loaded_once_ = false;
  bool closed_clean_ = false;
  LogCheckpoints checkpoints_;
  DeletedFiles deleted_;
  std::int64_t bytes_since_sidecar_ = 0;
  std::int64_t last_append_ns_ = 0;
  std::int64_t last_flush_ns_ = 0;
  std::int64_t last_high_watermark_save_ns_ = 0;
  bool sidecar_stale_ = false;
  std::int64_t unsynced_bytes_recorded_ = kUnsyncedUnlimited;  // W in the sidecar
  Offset sidecar_offset_ = 0;                                  // where the newest one ends
};

}  // namespace oncelog
