// The reading half of recovery, in order: names, sidecar, floor, scan with verdicts, state,
// indexes.
//
// One pass over the batches feeds everything that is derived from them. It begins at the sidecar's
// checkpoint where the sidecar covers what is below, else with the first segment: nothing that no
// one vouches for is trusted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recovery/analysis_hooks.h"
#include "recovery/index_check.h"
#include "recovery/plan.h"
#include "recovery/replay.h"
#include "recovery/segment_build.h"
#include "recovery/verdict.h"

namespace oncelog {

enum class AnalysisMode : std::uint8_t {
  kRecover,  ///< a writer will follow: policies apply
  kLook,     ///< nothing will be changed: go on past damage
};

/// What a pass over one segment found besides its facts.
struct SegmentPass {
  explicit SegmentPass(SegmentBuild segment_build) : build(std::move(segment_build)) {}

  SegmentBuild build;
  std::optional<OffsetIndexCheck> offset_check;  ///< of the file, when there is one
  std::optional<TimeIndexCheck> time_check;
  std::vector<AbortedTxn> aborted;  ///< in marker order
  std::vector<std::pair<ProducerId, Offset>> abort_markers;
  bool from_beginning = true;
  std::string txn_fault;  ///< of the aborted index file, when it has to be written again
  std::int64_t txn_fault_position = -1;
};

class Analysis {
 public:
  Analysis(FileSystem& files, const std::string& directory, const RootFacts& root,
           const RecoverOptions& options, AnalysisMode mode);

  /// Before `run`; borrowed until it returns.
  void set_hooks(const AnalysisHooks* hooks) {
    hooks_ = hooks;
    reads_everything_ = true;
  }
  /// Reads what the sidecar vouches for too.
  void read_everything() { reads_everything_ = true; }
  const RecoveryPlan& plan() const { return *plan_; }

  Result<RecoveryPlanPtr> run();

 private:
  enum class Next : std::uint8_t { kSegment, kResume, kStop };
  struct Resume {
    Next next = Next::kSegment;
    std::int64_t position = 0;
  };

  // analysis.cc
  Status list();
  Status open_segments();
  Status read_small_files();
  Status set_floor();
  void finish_report();
  void end_phase(const char* name, std::int64_t files, std::int64_t bytes);
  bool can_start_at_checkpoint();
  Result<std::vector<std::byte>> read_derived(const std::string& name) const;
  std::string path_of(const std::string& name) const { return plan_->directory + '/' + name; }

  // analysis_scan.cc
  Status scan();
  Status take_covered_segments(std::size_t count);
  Status scan_segment(std::size_t i);
  Result<SegmentPass> begin_pass(std::size_t i);
  Result<SegmentPass> begin_pass_at_checkpoint(std::size_t i);
  Status read_batches(std::size_t i, SegmentScanner& scanner, SegmentPass& pass);
  Status take_batch(const ScannedBatch& batch, SegmentPass& pass);
  Status check_overlap(std::size_t i, const ScannedBatch& batch) const;

  // analysis_verdict.cc
  Result<Resume> judge(std::size_t i, const SegmentScanner& scanner);
  Result<Resume> judge_bad_spot(std::size_t i, const SegmentScanner& scanner);
  Result<Resume> on_damage(std::size_t i, const BadSpot& spot, const Behind& behind, char rule);
  void cut_here(std::size_t i, const BadSpot& spot, bool keep_bytes);
  bool loss_is_known(std::size_t i, Offset next_offset) const;
  void end_of_log();
  void drop_empty_segments_behind_a_gap();
  void tell_gaps_from_compaction();
  void close_hole(Offset before);

  // analysis_indexes.cc
  Status finish_segment(std::size_t i, SegmentPass& pass);
  void release_indexes_below(std::size_t i);
  Status finish_txn_index(std::size_t i, SegmentPass& pass);
  Result<bool> explains(const TxnIndex& file, const TxnIndex& rebuilt, SegmentPass& pass);
  Status check_covered_indexes(std::size_t i);
  Status check_aborted_at_checkpoint(std::size_t i);

  // analysis_state.cc
  Status adopt_snapshots_up_to(Offset offset);
  void finish_producers();
  void choose_state_snapshots();
  Status choose_snapshots();
  Result<std::optional<ProducerList>> load_snapshot(Offset offset);
  void finish_epochs();
  static void add_epoch(LeaderEpochCache& epochs, const EpochEntry& entry);

  FileSystem& files_;
  AnalysisMode mode_;
  const AnalysisHooks* hooks_ = nullptr;
  bool reads_everything_ = false;
  RecoveryPlanPtr plan_;
  Replay replay_;
  Offset floor_ = 0;
  std::int64_t window_bytes_ = kUnsyncedUnlimited;
  bool at_checkpoint_ = false;   // the pass begins there
  bool epochs_trusted_ = false;  // the file is there and good
  bool epochs_damaged_ = false;  // it is there and not
  LeaderEpochCache epochs_on_disk_;
  LeaderEpochCache epochs_derived_;  // from the batches read
  LeaderEpoch last_leader_epoch_ = kNoLeaderEpoch;
  std::optional<Offset> hole_first_;  // first offset of a hole whose end is not seen yet
  std::size_t next_snapshot_ = 0;
  std::vector<Offset> bad_snapshots_;
  bool stopped_ = false;
  bool compacted_ = false;  // offsets are missing as compaction leaves them
  std::int64_t phase_begin_ns_ = 0;
};

}  // namespace oncelog
