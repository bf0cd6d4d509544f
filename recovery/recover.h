// Opening a partition directory: from files to a LoadedLog, a value.
//
// Two steps: `analyse` only reads and decides; `apply` carries the decision out, durably, and gives
// the loaded log. Offline tools stop after the first. RECOVERY.md; ARCHITECTURE.md, "Verdicts".
//
// INVARIANTS  I8, I10; a cut is durable before `apply` returns; a crash at any step of `apply`
// leaves a directory that opens with the same result.
// The sidecar is taken at its word where nothing else wrote since: before a log takes batches out
// of the middle (compaction) or off the end (truncation), it must rewrite the sidecar without them.
// THREADS  none kept; one call per directory at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oncelog/io.h"
#include "oncelog/recovery_report.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

#include "index/leader_epoch_cache.h"
#include "index/offset_index.h"
#include "index/producer_state.h"
#include "index/sidecar.h"
#include "index/text_files.h"
#include "index/time_index.h"
#include "index/txn_index.h"

namespace oncelog {

struct RecoverOptions {
  OnDamage on_damage = OnDamage::kFail;
  OnHoledTail on_holed_tail = OnHoledTail::kCut;
  std::int64_t index_interval_bytes = 4096;
  std::int64_t segment_index_bytes = 10485760;
  ProducerStateOptions producers;
  TimestampMs now_ms = 0;  ///< for expiring producers; 0 expires none
  Clock* clock = nullptr;  ///< for the phases' durations; null: all 0
};

/// What the data root says about this partition.
struct RootFacts {
  bool clean = false;                    ///< the clean marker was there when the root was opened
  std::optional<Offset> recovery_point;  ///< nothing: missing or unreadable file or entry
  std::optional<Offset> log_start;
  std::optional<Offset> high_watermark;
};

struct LoadedSegment {
  SidecarSegment facts;    ///< base, size, last offset, timestamps, header chain
  Offset next_offset = 0;  ///< last offset + 1, or base when empty
  std::string log_file;    ///< its name now; a read-only load may find an unfinished ".log.swap"
  bool dirty = false;      ///< its derived files were rebuilt or it was scanned as unclean
  /// Always set for the active (last) segment; for sealed ones set when they had to be rebuilt or a
  /// hole lies in them, else null and read from their files on demand.
  std::unique_ptr<OffsetIndex> offset_index;
  std::unique_ptr<TimeIndex> time_index;
  std::unique_ptr<TxnIndex> txn_index;
};

struct LoadedLog {
  std::string directory;
  std::vector<LoadedSegment> segments;  ///< at least one; ascending; the last is active
  Offset log_start = 0;
  Offset log_end = 0;
  Offset last_stable_floor = 0;  ///< LSO with the high watermark at the log end
  Offset recovery_point = 0;     ///< everything below is durable with its derived files
  ProducerState producers;
  LeaderEpochCache epochs;
  std::optional<Uuid> topic_id;
  std::vector<Offset> snapshots;                         ///< good snapshot files present, ascending
  std::int64_t unsynced_bytes_max = kUnsyncedUnlimited;  ///< W in the sidecar found, if trusted
  bool sidecar_covers = false;  ///< a trusted sidecar without foreign writer was found
  bool read_only = false;       ///< damage with OnDamage::kReadOnly
  std::vector<DamagedRange> damaged;
  RecoveryReport report;
};

/// The decision: what is there, what is wrong, what would be done. Opaque outside recovery.
struct RecoveryPlan;
struct RecoveryPlanDeleter {
  void operator()(RecoveryPlan* plan) const noexcept;
};
using RecoveryPlanPtr = std::unique_ptr<RecoveryPlan, RecoveryPlanDeleter>;

/// Reads only. Errors: I/O errors; kDamaged for overlapping segments (both named).
Result<RecoveryPlanPtr> analyse(FileSystem& files, const std::string& directory,
                                const RootFacts& root, const RecoverOptions& options);
/// What `apply` would report and do, one action per line ("cut 00..55.log from 819 to 335").
const RecoveryReport& report_of(const RecoveryPlan& plan);
std::vector<std::string> actions_of(const RecoveryPlan& plan);

/// Carries the plan out. kDamaged when the log may not open (damage with kFail, holed tail with
/// kFail): nothing was changed then. After success everything that the log will serve is synced.
/// `before_cut`, when set, is called once before anything durable is cut, with the offset to which
/// the root's recovery point must be lowered durably first.
struct RecoveryEffects {
  std::function<Status(Offset recovery_point)> before_cut;
};
Result<LoadedLog> apply(FileSystem& files, RecoveryPlanPtr plan,
                        const RecoveryEffects& effects = {});

/// The loaded log as the directory stands, without changing anything: for offline tools. Damage
/// does not fail it; `damaged` and the report say what is missing.
Result<LoadedLog> load_read_only(FileSystem& files, const std::string& directory,
                                 const RootFacts& root, const RecoverOptions& options);

/// Reads the root's files for one partition. Unreadable files count as missing and are noted.
RootFacts read_root_facts(FileSystem& files, const std::string& root, const TopicPartition& name,
                          std::vector<std::string>& notes);

}  // namespace oncelog
