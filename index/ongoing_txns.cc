// Open and finished transactions, and the last stable offset.
#include "index/ongoing_txns.h"

#include <algorithm>

namespace oncelog {

void OngoingTxns::start(const OngoingTxn& txn) {
  open_.insert_or_assign(txn.first_offset, txn.producer_id);
}

Offset OngoingTxns::stable_offset_at(const CompletedTxn& txn) const {
  for (const auto& [first_offset, producer_id] : open_) {
    if (producer_id != txn.producer_id) return first_offset;
  }
  return txn.last_offset + 1;
}

void OngoingTxns::complete(const CompletedTxn& txn) {
  const auto open = open_.find(txn.first_offset);
  if (open == open_.end() || open->second != txn.producer_id) return;
  open_.erase(open);
  unreplicated_.emplace(txn.first_offset, txn.last_offset);
  unreplicated_by_end_.emplace(txn.last_offset, txn.first_offset);
}

void OngoingTxns::forget_finished_below(Offset end) {
  while (!unreplicated_by_end_.empty() && unreplicated_by_end_.begin()->first < end) {
    unreplicated_.erase(unreplicated_by_end_.begin()->second);
    unreplicated_by_end_.erase(unreplicated_by_end_.begin());
  }
}

void OngoingTxns::on_high_watermark(Offset high_watermark) {
  forget_finished_below(high_watermark);
}

void OngoingTxns::on_log_start(Offset log_start) {
  forget_finished_below(log_start);
}

std::optional<Offset> OngoingTxns::first_unstable(Offset log_start) const {
  std::optional<Offset> first;
  if (!open_.empty()) first = open_.begin()->first;
  if (!unreplicated_.empty()) {
    const Offset finished = unreplicated_.begin()->first;
    first = first.has_value() ? std::min(*first, finished) : finished;
  }
  if (!first.has_value()) return std::nullopt;
  return std::max(*first, log_start);
}

Offset OngoingTxns::last_stable(Offset log_start, Offset high_watermark) const {
  const std::optional<Offset> first = first_unstable(log_start);
  return first.has_value() && *first < high_watermark ? *first : high_watermark;
}

std::vector<OngoingTxn> OngoingTxns::open() const {
  std::vector<OngoingTxn> out;
  out.reserve(open_.size());
  for (const auto& [first_offset, producer_id] : open_)
    out.push_back({producer_id, first_offset});
  return out;
}

bool OngoingTxns::is_open(ProducerId producer_id) const {
  return std::any_of(open_.begin(), open_.end(),
                     [producer_id](const auto& entry) { return entry.second == producer_id; });
}

void OngoingTxns::clear() {
  open_.clear();
  unreplicated_.clear();
  unreplicated_by_end_.clear();
}

}  // namespace oncelog
