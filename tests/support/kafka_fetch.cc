// Reads of the model.
#include "tests/support/kafka_fetch.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tests/support/kafka_loader.h"

namespace oncelog::test::kafka {
namespace {

constexpr std::int64_t kFetchBytes = 4096;

/// The records of one answer that an application sees, and where to go on.
class ConsumerFilter {
 public:
  explicit ConsumerFilter(const std::vector<AbortedTxn>& aborted) {
    for (const AbortedTxn& txn : aborted)
      starts_.emplace(txn.first_offset, txn.producer_id);
  }

  bool shows(const FileBatch& batch) {
    if (batch.has_producer()) {
      while (!starts_.empty() && starts_.begin()->first <= batch.last_offset) {
        aborting_.insert(starts_.begin()->second);
        starts_.erase(starts_.begin());
      }
    }
    if (batch.is_control()) {
      if (batch.has_producer() && control_type_of(batch) == 0) aborting_.erase(batch.producer_id);
      return false;
    }
    return !batch.is_transactional() || aborting_.count(batch.producer_id) == 0;
  }

 private:
  std::multimap<Offset, ProducerId> starts_;
  std::set<ProducerId> aborting_;
};

}  // namespace

FetchModel::FetchModel(std::vector<Segment*> segments, Offset log_start, Offset log_end)
    : segments_(std::move(segments)), log_start_(log_start), log_end_(log_end) {}

std::optional<std::size_t> FetchModel::floor(Offset offset) const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i]->base() <= offset) found = i;
  }
  return found;
}

Offset FetchModel::batch_start(Offset offset) const {
  for (std::size_t i = floor(offset).value_or(0); i < segments_.size(); ++i) {
    if (const std::optional<FileBatch> batch = segments_[i]->translate(offset)) {
      return batch->base_offset;
    }
  }
  return offset;
}

std::optional<FetchModel::Answer> FetchModel::read(Offset start, std::int64_t bytes_max,
                                                   Offset limit, bool committed) const {
  const std::optional<std::size_t> from = floor(start);
  if (start >= limit || !from) return std::nullopt;
  // Where the limit lies: the start of the batch that holds it, or the end of the data.
  std::size_t limit_segment = segments_.size() - 1;
  std::int64_t limit_position = segments_.back()->size();
  if (limit < log_end_) {
    limit_segment = floor(limit).value_or(0);
    std::optional<FileBatch> batch = segments_[limit_segment]->translate(limit);
    while (!batch && limit_segment + 1 < segments_.size()) {
      batch = segments_[++limit_segment]->translate(limit);
    }
    limit_position = batch ? batch->position : segments_[limit_segment]->size();
  }
  for (std::size_t i = *from; i < segments_.size(); ++i) {
    const std::optional<FileBatch> first = segments_[i]->translate(start);
    if (!first) continue;
    if (i > limit_segment) return std::nullopt;
    const std::int64_t position_max = i < limit_segment ? segments_[i]->size() : limit_position;
    const std::int64_t size =
        std::min(position_max - first->position, std::max(bytes_max, first->size));
    if (size <= 0) return std::nullopt;
    Answer answer{i,
                  segments_[i]->log().subspan(static_cast<std::size_t>(first->position),
                                              static_cast<std::size_t>(size)),
                  first->position,
                  {}};
    if (committed) answer.aborted = collect_aborted(i, start, first->position + size);
    return answer;
  }
  return std::nullopt;
}

std::vector<AbortedTxn> FetchModel::collect_aborted(std::size_t segment, Offset start,
                                                    std::int64_t end_position) const {
  Offset upper = segment + 1 < segments_.size() ? segments_[segment + 1]->base() : log_end_;
  for (const OffsetPosition& entry : segments_[segment]->offset_entries()) {
    if (entry.position < end_position) continue;
    upper = entry.offset;
    break;
  }
  std::vector<AbortedTxn> out;
  for (std::size_t i = segment; i < segments_.size(); ++i) {
    for (const AbortedTxn& txn : segments_[i]->aborted()) {
      if (txn.last_offset >= start && txn.first_offset < upper) out.push_back(txn);
      if (txn.last_stable_offset >= upper) return out;
    }
  }
  return out;
}

std::vector<Offset> FetchModel::consume(Offset limit, bool committed,
                                        std::vector<CommittedFetch>* fetches) const {
  std::vector<Offset> out;
  Offset next = log_start_;
  while (const std::optional<Answer> answer = read(next, kFetchBytes, limit, committed)) {
    ConsumerFilter filter(answer->aborted);
    CommittedFetch fetch;
    fetch.offset = next;
    fetch.bytes = static_cast<std::int64_t>(answer->bytes.size());
    for (const AbortedTxn& txn : answer->aborted) {
      fetch.aborted.emplace_back(txn.producer_id, txn.first_offset);
    }
    const Offset wanted = next;
    FileBatches batches(answer->bytes, 0, fetch.bytes);
    while (const std::optional<FileBatch> batch = batches.next()) {
      ++fetch.batches;
      fetch.last_offset = batch->last_offset;
      next = batch->last_offset + 1;
      if (!filter.shows(*batch)) continue;
      for (const Offset offset : record_offsets(*batch)) {
        if (offset >= wanted) out.push_back(offset);
      }
    }
    if (fetches != nullptr) fetches->push_back(fetch);
    if (fetch.batches == 0 || next <= wanted) break;  // damaged bytes: a consumer gets stuck here
  }
  return out;
}

void FetchModel::consume(Loaded& out) const {
  out.read_committed_offsets = consume(out.last_stable_offset, true, &out.committed_fetches);
  out.read_uncommitted_offsets = consume(log_end_, false, nullptr);
}

}  // namespace oncelog::test::kafka
