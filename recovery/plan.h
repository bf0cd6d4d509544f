// What `analyse` decided: the plan that `apply` carries out. Internal to recovery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recovery/behind.h"
#include "recovery/classify.h"
#include "recovery/recover.h"
#include "recovery/sidecar_places.h"

namespace oncelog {

struct SegmentPlan {
  SegmentFiles files;  ///< names as they are before `apply`
  OpenSegment open;
  SidecarSegment facts;
  Offset next_offset = 0;
  bool scanned = false;
  bool has_hole = false;             ///< read-only: bytes in the middle are bad
  std::int64_t zero_tail_bytes = 0;  ///< behind the last batch, to be cut off
  bool needs_sync = false;
  std::unique_ptr<OffsetIndex> offset_index;
  std::unique_ptr<TimeIndex> time_index;
  std::unique_ptr<TxnIndex> txn_index;
  bool released = false;  ///< indexes that nobody needs were dropped
  bool write_offset_index = false;
  bool write_time_index = false;
  bool write_txn_index = false;
};

/// Where the log is cut: in `segments[segment]` at `position`; later segments go.
struct CutPlan {
  std::size_t segment = 0;
  std::int64_t position = 0;
  bool keep_bytes = false;  ///< copy what goes to oncelog-damaged-*
  std::string why;
};

struct SmallFileFault {
  std::string file;
  std::string what;
};

struct RecoveryPlan {
  std::string directory;
  RecoverOptions options;
  RootFacts root;
  DirectoryPlan names;
  SidecarFindings sidecar;
  std::vector<SegmentPlan> segments;  ///< all that are there, those behind a cut too
  std::optional<CutPlan> cut;
  std::size_t segments_kept = 0;    ///< the first so many stay; the others go
  bool reset_to_log_start = false;  ///< the log ends below its start: an empty segment there
  bool lowers_floor = false;        ///< the log will end below what was proved durable
  bool removes_sidecar = false;     ///< it vouches for what goes
  std::optional<Error> refusal;     ///< the policy forbids to open
  bool read_only = false;
  std::vector<DamagedRange> damaged;

  Offset log_start = 0;
  Offset log_end = 0;
  ProducerState producers;
  LeaderEpochCache epochs;
  std::optional<LeaderEpochCache> epochs_on_disk;  ///< nothing: missing or damaged
  std::vector<SmallFileFault> small_file_faults;
  bool write_epochs = false;
  std::optional<Uuid> topic_id;
  std::vector<Offset> snapshots;          ///< that stay
  std::vector<Offset> snapshot_removals;  ///< that go
  /// Snapshots that can be the state of this log: at the base of a segment, and of the others the
  /// greatest when it lies at or above the last base (a clean close). The rest are stray.
  std::vector<Offset> state_snapshots;
  RecoveryReport report;

  bool is_state_snapshot(Offset offset) const;
  /// Whether a valid batch holds the offset; reads the headers of one segment.
  Result<bool> is_covered_by_a_batch(Offset offset) const;
};

/// What the loaded log is made of, with the names that files have before `apply`.
LoadedLog to_loaded_log(RecoveryPlan&& plan);

}  // namespace oncelog
