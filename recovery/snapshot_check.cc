// Compares a snapshot with what the log alone tells of its producers.
#include "recovery/snapshot_check.h"

#include <optional>
#include <unordered_set>

namespace oncelog {
namespace {

std::optional<ProducerBatch> last_batch(const ProducerEntry& entry) {
  if (entry.batch_count == 0) return std::nullopt;
  return entry.cached().back();
}

std::string compare_batches(const ProducerBatch& saved, const ProducerBatch& seen) {
  if (saved.last_sequence == seen.last_sequence && saved.offset_delta == seen.offset_delta) {
    return {};
  }
  return "the batch that ends at offset " + std::to_string(seen.last_offset) +
         " has sequences to " + std::to_string(seen.last_sequence) + ", not to " +
         std::to_string(saved.last_sequence);
}

}  // namespace

void SnapshotCheck::add(const ScannedBatch& batch) {
  std::vector<AbortedTxn> ignored;
  replay_.add(batch, ignored);
}

Result<std::vector<SnapshotFault>> SnapshotCheck::contradictions(
    const ProducerList& snapshot, const IsCovered& is_covered) const {
  std::vector<SnapshotFault> out;
  std::unordered_set<ProducerId> saved_ids;
  for (const auto& [producer_id, saved] : snapshot) {
    saved_ids.insert(producer_id);
    const auto complain = [&out, id = producer_id](const std::string& what, Offset offset) {
      out.push_back({"producer " + std::to_string(id) + ": " + what, offset});
    };
    const ProducerEntry* const seen = replay_.state().find(producer_id);
    const std::optional<ProducerBatch> saved_last = last_batch(saved);
    const std::optional<ProducerBatch> seen_last =
        seen == nullptr ? std::nullopt : last_batch(*seen);
    if (seen != nullptr && seen->epoch > saved.epoch) {
      complain("the log has epoch " + std::to_string(seen->epoch) + ", not " +
                   std::to_string(saved.epoch),
               seen_last ? seen_last->last_offset : kNoOffset);
    }
    if (seen_last && (!saved_last || seen_last->last_offset > saved_last->last_offset) &&
        seen->epoch == saved.epoch) {
      complain("the log has a batch that ends at offset " + std::to_string(seen_last->last_offset) +
                   ", later than the snapshot's last one",
               seen_last->last_offset);
    } else if (seen_last && saved_last && seen_last->last_offset == saved_last->last_offset) {
      const std::string what = compare_batches(*saved_last, *seen_last);
      if (!what.empty()) complain(what, seen_last->last_offset);
    } else if (saved_last) {
      ONCELOG_TRY_ASSIGN(const bool there, is_covered(saved_last->last_offset));
      if (there) {
        complain("its last batch does not end at offset " + std::to_string(saved_last->last_offset),
                 saved_last->last_offset);
      }
    }
    const Offset seen_txn = seen == nullptr ? kNoOffset : seen->txn_first_offset;
    if (seen_txn == saved.txn_first_offset) continue;
    const Offset claimed = saved.has_open_txn() ? saved.txn_first_offset : seen_txn;
    ONCELOG_TRY_ASSIGN(const bool there, is_covered(claimed));
    if (there) {
      complain("its open transaction begins at " + std::to_string(seen_txn) + ", not at " +
                   std::to_string(saved.txn_first_offset) + " (-1: none)",
               claimed);
    }
  }
  for (const auto& [producer_id, seen] : replay_.state().producers()) {
    if (seen.has_open_txn() && !saved_ids.contains(producer_id)) {
      out.push_back({"producer " + std::to_string(producer_id) +
                         ": it has an open transaction from offset " +
                         std::to_string(seen.txn_first_offset) + " and is missing",
                     seen.txn_first_offset});
    }
  }
  return out;
}

}  // namespace oncelog
