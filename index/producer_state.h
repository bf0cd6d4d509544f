// What a partition knows of its producers: epochs, the last five batches, open transactions.
//
// `check` never mutates, `apply` always does: an append is checked, then queued, then applied, and
// a refused or failed one leaves no trace. Rules: PRODUCER_STATE.md 1-6, 9. THREADS  the owner's
// thread (a shard, or recovery).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "oncelog/control_record.h"
#include "oncelog/record_batch.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

#include "index/ongoing_txns.h"

namespace oncelog {

/// Batches remembered per producer: a retry of any of them is answered as a duplicate.
inline constexpr std::size_t kProducerBatchesMax = 5;

struct ProducerBatch {
  Sequence last_sequence = kNoSequence;
  Offset last_offset = kNoOffset;
  std::int32_t offset_delta = 0;  ///< last - first, of offsets and of sequences
  TimestampMs timestamp = kNoTimestamp;
  Offset first_offset() const { return last_offset - offset_delta; }
  Sequence first_sequence() const;  ///< -1 when the batch has none
  friend bool operator==(const ProducerBatch&, const ProducerBatch&) = default;
};

struct ProducerEntry {
  ProducerEpoch epoch = kNoProducerEpoch;
  CoordinatorEpoch coordinator_epoch = kNoCoordinatorEpoch;
  TimestampMs last_timestamp = kNoTimestamp;
  Offset txn_first_offset = kNoOffset;  ///< of the open transaction, -1 when none
  std::uint8_t batch_count = 0;
  std::array<ProducerBatch, kProducerBatchesMax> batches{};  ///< oldest first, batch_count valid

  bool has_open_txn() const { return txn_first_offset != kNoOffset; }
  std::span<const ProducerBatch> cached() const { return std::span(batches).first(batch_count); }
  Sequence last_sequence() const;        ///< -1 without batches
  void add(const ProducerBatch& batch);  ///< the oldest goes when there are five
  /// Slots beyond `batch_count` do not count.
  friend bool operator==(const ProducerEntry& a, const ProducerEntry& b);
};

/// A batch as producer rules see it, with its final offset.
struct ProducerInput {
  BatchHeader header;                  ///< base_offset as it will be stored
  std::optional<EndTxnMarker> marker;  ///< of a control batch that holds COMMIT or ABORT
};

/// The append is a retry: what was answered the first time.
struct DuplicateBatch {
  Offset first_offset = kNoOffset;
  Offset last_offset = kNoOffset;
  TimestampMs timestamp = kNoTimestamp;
};

/// What an accepted append changes. A value; hand it to `apply`.
struct ProducerUpdate {
  struct Working {
    ProducerId producer_id = kNoProducerId;
    ProducerEntry entry;         ///< batches: only those of this append
    bool epoch_changed = false;  ///< the batches known so far are of another epoch
  };
  std::vector<Working> producers;
  std::vector<OngoingTxn> started;
  std::vector<CompletedTxn> completed;  ///< in log order
  Offset next_offset = 0;               ///< state covers offsets below it afterwards
  std::vector<std::string> notes;       ///< kReplica: rules that were broken and let pass
};

using ProducerDecision = std::variant<ProducerUpdate, DuplicateBatch>;

struct ProducerStateOptions {
  std::int64_t expiration_ms = 86'400'000;  ///< producer.id.expiration.ms
  std::size_t producers_max = 5'000'000;    ///< oldest idle non-transactional ones go first
  bool verification = false;                ///< transaction.partition.verification.enable
};

/// Proof that the coordinator knows this partition (PRODUCER_STATE.md 6). 0: none.
using VerificationGuard = std::int64_t;
inline constexpr VerificationGuard kNoGuard = 0;

struct CheckContext {
  AppendOrigin origin = AppendOrigin::kClient;
  VerificationGuard guard = kNoGuard;
  int transaction_version =
      1;  ///< 2: a marker's epoch must be above the producer's, a retry's equal
};

class ProducerState {
 public:
  explicit ProducerState(const ProducerStateOptions& options = {}) : options_(options) {}

  /// Decides on the batches of one append; later ones see what earlier ones change. A duplicate
  /// among them answers for all (kClient only). Errors: kInvalidProducerEpoch, kOutOfOrderSequence,
  /// kInvalidTxnState, kCoordinatorFenced, with the batch's offset; kReplica never fails
  /// (violations become notes). Control batches without a marker change nothing.
  Result<ProducerDecision> check(std::span<const ProducerInput> batches,
                                 const CheckContext& context) const;
  /// Clears a producer's verification state, as any transactional batch that passed `check` does.
  void consume_guards(std::span<const ProducerInput> batches);
  /// Applies an update; returns the aborted-index entries to write, in order (aborted ones only,
  /// with last_stable_offset computed).
  struct Applied {
    struct Aborted {
      CompletedTxn txn;
      Offset last_stable_offset = 0;
    };
    std::vector<Aborted> aborted;
    std::vector<std::string> notes;  ///< of the update, moved out by `replay` only
  };
  Applied apply(const ProducerUpdate& update);
  /// check as kReplica and apply, for recovery: one batch already in the log.
  Applied replay(const ProducerInput& batch);

  /// A guard for a producer without an open transaction here, made or reused (then its lowest
  /// sequence may fall and its epoch rise). kNoGuard, the sentinel that matches nothing, when a
  /// transaction is open or verification is off: then the append needs none. Errors:
  /// kInvalidProducerEpoch when the producer or a pending verification has a higher epoch,
  /// kInvalidArgument for negative numbers, kBusy at `producers_max` pending ones.
  Result<VerificationGuard> start_verification(ProducerId producer_id, ProducerEpoch epoch,
                                               Sequence sequence, int transaction_version,
                                               TimestampMs now_ms);

  const std::unordered_map<ProducerId, ProducerEntry>& producers() const { return producers_; }
  const ProducerEntry* find(ProducerId producer_id) const;
  OngoingTxns& txns() { return txns_; }
  const OngoingTxns& txns() const { return txns_; }
  /// State covers offsets below this.
  Offset map_end() const { return map_end_; }
  void set_map_end(Offset end) { map_end_ = end; }

  /// Removes idle producers without an open transaction: now - last_timestamp >= expiration_ms, and
  /// verification states of that age. Returns how many producers went.
  std::size_t expire(TimestampMs now_ms);
  std::uint64_t evicted_count() const { return evicted_count_; }

  /// Puts an entry as it is (from a snapshot or the sidecar), recreating its open transaction.
  /// For a state that was cleared; of two entries for one producer the last one stays.
  void restore(ProducerId producer_id, const ProducerEntry& entry);
  /// Replaces the cached batches of a known producer; nothing else of it. REQUIRES: it is known.
  void replace_batches(ProducerId producer_id, const ProducerEntry& entry);
  void clear();
  const ProducerStateOptions& options() const { return options_; }
  void set_options(const ProducerStateOptions& options) { options_ = options; }

 private:
  struct Verification {
    TimestampMs created_ms = kNoTimestamp;
    VerificationGuard guard = kNoGuard;
    Sequence lowest_sequence = 0;
    ProducerEpoch epoch = kNoProducerEpoch;
    int transaction_version = 1;
  };
  friend class AppendCheck;
  void merge(const ProducerUpdate::Working& working);
  void enforce_producers_max(const ProducerUpdate& update);

  ProducerStateOptions options_;
  std::unordered_map<ProducerId, ProducerEntry> producers_;
  std::unordered_map<ProducerId, Verification> verifications_;
  OngoingTxns txns_;
  Offset map_end_ = 0;
  std::uint64_t evicted_count_ = 0;
  /// When all above the limit have open transactions: the size at which to look again.
  std::size_t evict_again_at_ = 0;
};

}  // namespace oncelog
