// One partition log: append, fetch, truncate. Got from a Store.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "oncelog/append.h"
#include "oncelog/buffer.h"
#include "oncelog/fetch.h"
#include "oncelog/log_options.h"
#include "oncelog/log_state.h"
#include "oncelog/recovery_report.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

class LogCore;
class StoreCore;

/// A found timestamp; offset -1 means nothing was found.
struct TimestampOffset {
  Offset offset = kNoOffset;
  TimestampMs timestamp = kNoTimestamp;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
};
inline constexpr TimestampMs kLatestTimestamp = -1;
inline constexpr TimestampMs kEarliestTimestamp = -2;
inline constexpr TimestampMs kMaxTimestamp = -3;

struct LeaderEpochEnd {
  LeaderEpoch epoch = kNoLeaderEpoch;
  Offset end_offset = kNoOffset;
};

/// The high watermark, LSO and ends as one consistent picture.
struct LogOffsets {
  Offset log_start = 0;
  Offset last_stable = 0;
  Offset high_watermark = 0;
  Offset durable_end = 0;
  Offset log_end = 0;  ///< of what is written (readable with Isolation::kLogEnd)
};

/// THREADS  every call from any thread; blocking calls are refused (kInvalidArgument) inside a
/// completion callback. Callbacks run on the store's thread, or in `Store::poll`; none after
/// `close` returned.
/// ERRORS  kNotOpen after close or delete; kIo once the log has failed (reopen it).
class Log {
 public:
  Log(std::shared_ptr<LogCore> core, std::shared_ptr<StoreCore> store);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log();

  /// Appends one batch (client, coordinator) or several (replica). Success means: accepted,
  /// written, and synced as far as `durability` asks. Successes come in offset order. Errors:
  /// those of validation (APPEND.md 9), producer state (PRODUCER_STATE.md 13), kBusy when the
  /// queue is full, kDiskFull, kIo. A refused append changed nothing on disk.
  void append(Buffer bytes, const AppendOptions& options, AppendCallback done);
  /// The same, waiting for the answer (and for room in the queue).
  Result<AppendResult> append(Buffer bytes, const AppendOptions& options = {});

  /// Reads from an offset. kOffsetOutOfRange below log start or above log end; kDamaged in a
  /// damaged range; kOffsetGap where a whole segment is missing (`offset`: the next one present).
  Result<FetchPage> fetch(const FetchRequest& request, FetchBuffer& buffer) const;
  /// kLatestTimestamp, kEarliestTimestamp, kMaxTimestamp, or the first record at or after a time.
  Result<TimestampOffset> offset_for_timestamp(TimestampMs timestamp, Isolation isolation) const;
  /// Calls back once the bound of `isolation` has passed `offset` (or at once); for long polls.
  /// With kNotOpen when the log closes first.
  void when(Offset offset, Isolation isolation, std::function<void(Status)> ready);

  LogOffsets offsets() const;
  /// Raises the high watermark: from the first call on the embedder moves it. Bounded by log start
  /// and log end; returns what it became.
  Result<Offset> set_high_watermark(Offset offset);
  /// Records a new leader epoch that starts at the log end; appends are stamped with it.
  Status assign_leader_epoch(LeaderEpoch epoch);
  LeaderEpoch leader_epoch() const;
  Result<LeaderEpochEnd> end_offset_for_epoch(LeaderEpoch epoch) const;

  /// Moves the log start up; answers when its checkpoint is durable. -1: to the high watermark.
  /// kOffsetOutOfRange above the high watermark. Returns the log start.
  Result<Offset> delete_records(Offset offset);
  /// Removes everything from `offset` on. Durable when it returns.
  Status truncate(Offset offset);
  /// Removes everything and starts anew at `offset`.
  Status truncate_fully(Offset offset);
  /// Starts a new segment; an empty active one stays. Returns the active segment's base.
  Result<Offset> roll();
  /// Makes everything accepted so far durable.
  Status flush();

  /// A guard for the first transactional append of a producer (PRODUCER_STATE.md 6).
  Result<VerificationToken> start_verification(ProducerId producer_id, ProducerEpoch epoch,
                                               Sequence sequence, int transaction_version = 1);
  /// Forgets idle producers now; returns how many.
  Result<std::size_t> expire_producers();
  /// One retention pass (time, size, log start) and removal of files whose delay is over. Returns
  /// the number of segments deleted.
  Result<std::size_t> apply_retention();

  /// Producers, open and aborted transactions, epochs: a consistent copy.
  Result<LogState> state() const;
  const TopicPartition& name() const;
  const std::string& directory() const;
  /// 16 bytes as 22 characters of URL-safe base64; empty when the log has none.
  std::string topic_id() const;
  const RecoveryReport& recovery_report() const;
  LogOptions options() const;
  /// Changes options of an open log; weakening durability rewrites the sidecar durably first.
  Status set_options(const LogOptions& options);

  /// Finishes what is queued, syncs, writes the derived files. The store writes the clean marker.
  Status close();

 private:
  std::shared_ptr<StoreCore> store_;  // what the log runs on; gone or closed, calls still answer
  std::shared_ptr<LogCore> core_;
};

}  // namespace oncelog
