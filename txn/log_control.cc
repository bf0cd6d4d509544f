// The log's smaller operations: high watermark, epochs, roll, flush, long polls, state, options.
#include <algorithm>
#include <utility>

#include "txn/log_core.h"

namespace oncelog {

void LogCore::when(Offset offset, Isolation isolation, Done ready) {
  if (const Status open = check_open(); !open.ok()) {
    ready(open);
    return;
  }
  acks_.add_poll(offset, isolation, std::move(ready));
  publish();
}

Result<Offset> LogCore::set_high_watermark(Offset offset) {
  ONCELOG_TRY(check_open());
  embedder_moves_ = true;
  // Never back: readers may have seen what lies below it.
  high_watermark_ = std::max(high_watermark_, std::min(offset, writer_->marks().written_end()));
  producers_.txns().on_high_watermark(high_watermark_);
  publish();
  return high_watermark_;
}

void LogCore::assign_leader_epoch(LeaderEpoch epoch, Done done) {
  Status open = check_open();
  if (open.ok() && state_ != State::kOpen) {
    defer([this, epoch, done = std::move(done)] { assign_leader_epoch(epoch, done); });
    return;
  }
  if (open.ok() && epoch < 0) {
    open = make_error(ErrorCode::kInvalidArgument, "a leader epoch is at least 0");
  }
  const std::optional<EpochEntry> latest = epochs_.latest();
  if (open.ok() && latest && epoch < latest->epoch) {
    open = make_error(ErrorCode::kFencedLeaderEpoch,
                      "the log's leader epoch is " + std::to_string(latest->epoch));
  }
  if (!open.ok()) {
    done(open);
    return;
  }
  LeaderEpochCache epochs = epochs_;
  if (!epochs.assign(epoch, writer_->marks().accepted_end())) {
    done({});
    return;
  }
  set_epochs(epochs);
  checkpoints_.save_epochs(epochs, std::move(done));
}

void LogCore::roll(std::function<void(Result<Offset>)> done) {
  if (const Status open = check_open(); !open.ok()) {
    done(open.error());
    return;
  }
  if (read_only_) {
    done(make_error(ErrorCode::kDamaged, "the log is open read-only").at(directory_));
    return;
  }
  if (state_ != State::kOpen) {
    defer([this, done = std::move(done)] { roll(done); });
    return;
  }
  if (placer_.empty()) {
    done(placer_.base_offset());
    return;
  }
  start_segment(writer_->marks().accepted_end());
  rolled_to_.back().done = std::move(done);
  writer_->pump();
}

void LogCore::flush(Done done) {
  if (const Status open = check_open(); !open.ok()) {
    done(open);
    return;
  }
  if (state_ != State::kOpen) {
    defer([this, done = std::move(done)] { flush(done); });
    return;
  }
  acks_.add_flush(writer_->marks().accepted_end(), std::move(done));
  writer_->request_sync();
  publish();
  writer_->pump();
}

Result<VerificationToken> LogCore::start_verification(ProducerId producer_id, ProducerEpoch epoch,
                                                      Sequence sequence, int transaction_version) {
  ONCELOG_TRY(check_open());
  return producers_.start_verification(producer_id, epoch, sequence, transaction_version,
                                       env_.clock->wall_ms());
}

Result<std::size_t> LogCore::expire_producers() {
  ONCELOG_TRY(check_open());
  return producers_.expire(env_.clock->wall_ms());
}

void LogCore::set_options(const LogOptions& options, Done done) {
  Status status = check_open();
  if (status.ok()) status = oncelog::validate(options);
  if (status.ok() && options.segment_index_bytes != options_.segment_index_bytes) {
    status = make_error(ErrorCode::kInvalidArgument,
                        "segment.index.bytes cannot change while the log is open");
  }
  if (!status.ok()) {
    done(status);
    return;
  }
  const auto take = [this, options] {
    {
      const std::lock_guard lock(shared_mutex_);
      options_ = options;
    }
    if (options_.effective_visibility() == Visibility::kEmbedder) embedder_moves_ = true;
    writer_->set_options(writer_options());
    producers_.set_options(producer_options_of(options_));
    update_high_watermark();
    publish();
  };
  const bool weaker = options_.durability == Durability::kDurable &&
                      (options.durability == Durability::kWritten ||
                       options.unsynced_bytes_max > options_.unsynced_bytes_max);
  if (!weaker) {
    take();
    done({});
    return;
  }
  // What a crash may leave behind is recorded before it can happen.
  const bool unlimited = options.durability == Durability::kWritten;
  unsynced_bytes_recorded_ = unlimited ? kUnsyncedUnlimited : options.unsynced_bytes_max;
  save_sidecar([self = shared_from_this(), take, done = std::move(done)](const Status& saved) {
    if (saved.ok()) take();
    done(saved);
  });
}

Result<LogState> LogCore::state() {
  ONCELOG_TRY(check_open());
  LogState state;
  for (const auto& [id, entry] : producers_.producers()) {
    ProducerInfo info;
    info.producer_id = id;
    info.epoch = entry.epoch;
    info.coordinator_epoch = entry.coordinator_epoch;
    info.last_timestamp = entry.last_timestamp;
    info.txn_first_offset = entry.txn_first_offset;
    for (const ProducerBatch& batch : entry.cached()) {
      info.batches.push_back({batch.first_sequence(), batch.last_sequence, batch.first_offset(),
                              batch.last_offset, batch.timestamp});
    }
    state.producers.push_back(std::move(info));
  }
  std::sort(
      state.producers.begin(), state.producers.end(),
      [](const ProducerInfo& a, const ProducerInfo& b) { return a.producer_id < b.producer_id; });
  for (const OngoingTxn& txn : producers_.txns().open()) {
    state.open_txns.push_back({txn.producer_id, txn.first_offset});
  }
  for (const std::shared_ptr<LogSegment>& segment : list_->segments) {
    state.segments.push_back(
        {segment->base_offset(), segment->size(), segment->largest_timestamp()});
    if (segment->aborted_count() == 0) continue;
    ONCELOG_TRY_ASSIGN(const std::shared_ptr<const SegmentIndexes> indexes, segment->indexes());
    for (std::size_t i = 0; i < indexes->txn->size(); ++i) {
      const AbortedTxn txn = indexes->txn->entry(i);
      state.aborted_txns.push_back(
          {txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset});
    }
  }
  for (const EpochEntry& entry : epochs_.entries()) {
    state.leader_epochs.push_back({entry.epoch, entry.start_offset});
  }
  const Marks marks = current_marks();
  state.log_start = marks.log_start;
  state.log_end = writer_->marks().written_end();
  state.high_watermark = marks.high_watermark;
  state.last_stable_offset = marks.last_stable;
  state.first_unstable_offset = producers_.txns().first_unstable(log_start_).value_or(kNoOffset);
  state.durable_end = marks.durable_end;
  state.recovery_point = checkpoints_.recovery_point();
  return state;
}

}  // namespace oncelog
