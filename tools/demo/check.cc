// Comparing acknowledgements with what a recovered log holds.
#include "tools/demo/check.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "oncelog/fetch.h"

#include "tools/text.h"

namespace oncelog::tools::demo {
namespace {

constexpr std::size_t kBrokenMax = 20;
/// Batches of a producer that a retry is recognised of.
constexpr std::size_t kDuplicateWindow = 5;

/// A record as stored: whose it is and a hash of its value.
struct StoredRecord {
  ProducerId producer = kNoProducerId;
  Sequence sequence = kNoSequence;
  std::size_t value_hash = 0;
};
using StoredRecords = std::unordered_map<Offset, StoredRecord>;

std::size_t hash_of(const OptionalBytes& value) {
  std::string text;
  if (value) {
    for (const std::byte byte : *value)
      text += static_cast<char>(byte);
  }
  return std::hash<std::string>{}(text);
}

std::size_t planned_hash(std::int32_t partition, ProducerId producer, Sequence sequence) {
  return std::hash<std::string>{}(planned_value(partition, producer, sequence));
}

Result<StoredRecords> read_records_of_log(Log& log, Isolation isolation) {
  StoredRecords out;
  FetchRequest request;
  request.offset = log.offsets().log_start;
  request.isolation = isolation;
  FetchBuffer buffer;
  while (true) {
    ONCELOG_TRY_ASSIGN(const FetchPage page, log.fetch(request, buffer));
    std::vector<Records> storage;
    ONCELOG_TRY_ASSIGN(const auto records,
                       visible_records(page, request.offset, isolation, storage));
    for (const VisibleRecord& visible : records)
      out[visible.record.offset] =
          StoredRecord{visible.batch->header().producer_id, visible.record.sequence,
                       hash_of(visible.record.value)};
    if (page.next_offset <= request.offset) return out;
    request.offset = page.next_offset;
  }
}

/// What the acknowledgements say about a transaction's end.
enum class Fate { kCommitted, kAborted, kUndecided };

Fate fate_of(const AckBook::Producer& producer, std::int64_t transaction) {
  if (transaction >= static_cast<std::int64_t>(producer.markers.size())) return Fate::kUndecided;
  return ends_by_abort(transaction) ? Fate::kAborted : Fate::kCommitted;
}

class PartitionCheck {
 public:
  PartitionCheck(Log& log, std::int32_t partition, const AckBook& book, CheckResult& result)
      : log_(log), partition_(partition), book_(book), result_(result) {}

  Status run() {
    ONCELOG_TRY_ASSIGN(stored_, read_records_of_log(log_, Isolation::kReadUncommitted));
    ONCELOG_TRY_ASSIGN(visible_, read_records_of_log(log_, Isolation::kReadCommitted));
    const std::int64_t found_before = result_.records_found;
    for (const auto& [key, producer] : book_.producers()) {
      if (key.first != partition_) continue;
      for (const Acknowledgement& batch : producer.batches)
        check_batch(producer, batch);
    }
    result_.records_unacknowledged +=
        static_cast<std::int64_t>(stored_.size()) - (result_.records_found - found_before);
    result_.visible += static_cast<std::int64_t>(visible_.size());
    check_nothing_strange();
    return {};
  }

 private:
  void broken(const std::string& what) {
    if (result_.broken.size() < kBrokenMax)
      result_.broken.push_back(text("partition {}: {}", partition_, what));
  }

  void check_batch(const AckBook::Producer& producer, const Acknowledgement& acknowledged) {
    const PlannedBatch planned = planned_batch(acknowledged.producer, acknowledged.number);
    if (acknowledged.last_offset - acknowledged.first_offset + 1 != planned.count)
      broken(text("batch {} of producer {} was given {} offsets for {} records", planned.number,
                  planned.producer, acknowledged.last_offset - acknowledged.first_offset + 1,
                  planned.count));
    for (std::int32_t i = 0; i < planned.count; ++i) {
      const Offset offset = acknowledged.first_offset + i;
      if (!given_.insert(offset).second) broken(text("offset {} was given twice", offset));
      check_record(offset, planned, static_cast<Sequence>(planned.first_sequence + i));
      check_visibility(producer, offset, planned);
    }
  }

  void check_record(Offset offset, const PlannedBatch& planned, Sequence sequence) {
    const auto stored = stored_.find(offset);
    if (stored == stored_.end()) {
      broken(text("the acknowledged record at offset {} is gone", offset));
    } else if (stored->second.producer != planned.producer ||
               stored->second.value_hash != planned_hash(partition_, planned.producer, sequence)) {
      broken(text("the record at offset {} is not the one that was acknowledged", offset));
    } else {
      ++result_.records_found;
    }
  }

  void check_visibility(const AckBook::Producer& producer, Offset offset,
                        const PlannedBatch& planned) {
    const bool visible = visible_.count(offset) != 0;
    const bool below_stable = offset < log_.offsets().last_stable;
    const Role role = role_of(planned.producer);
    const std::int64_t transaction = planned.number / kBatchesPerTransaction;
    const Fate fate = role == Role::kIdempotent      ? Fate::kCommitted
                      : role == Role::kTransactional ? fate_of(producer, transaction)
                                                     : Fate::kUndecided;
    switch (fate) {
      case Fate::kCommitted:
        if (below_stable && !visible) broken(text("the committed record {} is hidden", offset));
        break;
      case Fate::kAborted:
        if (visible) broken(text("the aborted record {} is visible", offset));
        ++result_.aborted_hidden;
        break;
      case Fate::kUndecided:
        // The marker in flight may have been stored: then the commit counts, an abort hides.
        if (visible && (role == Role::kHanging || ends_by_abort(transaction)))
          broken(text("the record {} of an open transaction is visible", offset));
        if (!visible) ++result_.open_hidden;
        break;
    }
  }

  /// Nothing is stored that nobody sent, and no aborted batch whose answer was lost is shown.
  void check_nothing_strange() {
    for (const auto& [offset, record] : stored_) {
      if (record.value_hash != planned_hash(partition_, record.producer, record.sequence))
        broken(text("nobody sent the record at offset {}", offset));
    }
    for (const auto& [offset, record] : visible_) {
      if (role_of(record.producer) == Role::kHanging)
        broken(text("the record {} of the hanging transaction is visible", offset));
      if (stored_.count(offset) == 0)
        broken(text("the record {} is visible only under read_committed", offset));
    }
  }

  Log& log_;
  std::int32_t partition_;
  const AckBook& book_;
  CheckResult& result_;
  StoredRecords stored_;
  StoredRecords visible_;
  std::set<Offset> given_;
};

}  // namespace

void AckBook::add(const Acknowledgement& acknowledgement) {
  Producer& producer = producers_[{acknowledgement.partition, acknowledgement.producer}];
  if (acknowledgement.marker) {
    producer.markers.push_back(acknowledgement);
    return;
  }
  producer.batches.push_back(acknowledgement);
  records_ += planned_batch(acknowledgement.producer, acknowledgement.number).count;
  ++batches_;
}

const AckBook::Producer* AckBook::find(std::int32_t partition, ProducerId producer) const {
  const auto found = producers_.find({partition, producer});
  return found == producers_.end() ? nullptr : &found->second;
}

Status check_partition(Log& log, std::int32_t partition, const AckBook& book, CheckResult& result) {
  return PartitionCheck(log, partition, book, result).run();
}

Status check_retries(Log& log, std::int32_t partition, const AckBook& book, CheckResult& result) {
  const auto broken = [&](const std::string& what) {
    if (result.broken.size() < kBrokenMax)
      result.broken.push_back(text("partition {}: {}", partition, what));
  };
  const bool full = log.recovery_report().duplicate_window_full;
  for (const auto& [key, producer] : book.producers()) {
    if (key.first != partition || producer.batches.empty()) continue;
    const std::size_t acknowledged = producer.batches.size();
    // One of the five places may be taken by the batch that was in flight.
    const std::size_t window = std::min(full ? kDuplicateWindow - 1 : 1, acknowledged);
    for (std::size_t i = acknowledged - window; i < acknowledged; ++i) {
      const Acknowledgement& original = producer.batches[i];
      const auto again =
          log.append(build_batch(partition, planned_batch(key.second, original.number)));
      if (again.ok() && again->duplicate && again->first_offset == original.first_offset &&
          again->last_offset == original.last_offset) {
        ++result.duplicates_answered;
      } else {
        broken(
            text("the retry of batch {} of producer {} is not answered as its duplicate: {}",
                 original.number, key.second,
                 again.ok() ? text("offset {}", again->first_offset) : to_string(again.error())));
      }
    }
    // The batch whose answer never came: stored once, whether before the kill or now.
    if (role_of(key.second) != Role::kIdempotent) continue;
    const std::int64_t next = producer.batches.back().number + 1;
    const auto retried = log.append(build_batch(partition, planned_batch(key.second, next)));
    if (!retried.ok()) {
      broken(text("the retry of the batch in flight of producer {} fails: {}", key.second,
                  to_string(retried.error())));
    } else {
      ++(retried->duplicate ? result.retries_in_flight_duplicates : result.retries_stored);
    }
  }
  return {};
}

}  // namespace oncelog::tools::demo
