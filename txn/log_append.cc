// The append path: from bytes on the calling thread to an accepted, queued batch, and what happens
// when its write has ended.
//
//   1 validate   caller's thread   shape, CRC, records, recompression     LogCore::validate
//   2 place      shard             offsets, leader epoch                  place_offsets
//   3 check      shard             epochs, sequences, transactions        ProducerState::check
//   4 enqueue    shard             bytes move into the writer; a roll     store_accepted
//   5 apply      shard             the next append must see this one      ProducerState::apply
//   6 index      shard, written    offset and time index, header chain    on_write_done
//
// Indexes come after the write, so that an index never points past written bytes (I4). State comes
// before it, with no way back: a failed write latches the log or has it loaded anew.
#include <algorithm>
#include <array>
#include <utility>

#include "storage/base/assert.h"
#include "storage/file_names.h"
#include "storage/format/batch_header.h"
#include "txn/log_core.h"
#include "txn/segment_files.h"

namespace oncelog {
namespace {

Error not_next(Offset first, Offset log_end) {
  return make_error(ErrorCode::kOffsetsOutOfOrder,
                    "batch begins below the log end " + std::to_string(log_end))
      .with_offset(first);
}

}  // namespace

Result<ValidatedAppend> LogCore::validate(Buffer bytes, const AppendOptions& append) const {
  const LogOptions log = options();
  ValidationRules rules;
  rules.origin = append.origin;
  rules.message_bytes_max = log.message_bytes_max;
  rules.segment_bytes_max = log.segment_bytes;
  rules.compacted = log.cleanup_compact;
  rules.target_codec = log.compression;
  rules.compression_level = log.compression_level;
  rules.timestamp_type = log.timestamp_type;
  rules.now_ms = env_.clock->wall_ms();
  rules.timestamp_before_max_ms = log.timestamp_before_max_ms;
  rules.timestamp_after_max_ms = log.timestamp_after_max_ms;
  rules.limits.batch_bytes_max = log.decompressed_bytes_max;
  return validate_append(std::move(bytes), rules);
}

void LogCore::append(AppendOp op) {
  if (const Status open = check_open(); !open.ok()) {
    op.done(open.error());
    return;
  }
  if (read_only_) {
    op.done(make_error(ErrorCode::kDamaged, "the log is open read-only because of damage")
                .at(directory_));
    return;
  }
  if (state_ == State::kReloading || state_ == State::kFull) {
    const auto shared = std::make_shared<AppendOp>(std::move(op));
    defer([this, shared] { append(std::move(*shared)); });
    return;
  }
  const auto bytes = static_cast<std::int64_t>(op.input.bytes.size());
  const std::int64_t queued = writer_->queued_bytes();
  if (queued > 0 && queued + bytes > options_.queue_bytes_max) {
    if (op.may_wait) {
      waiting_.push_back(std::move(op));
    } else {
      op.done(make_error(ErrorCode::kBusy, "the append queue is full").at(directory_));
    }
    return;
  }
  if (!waiting_.empty() && op.may_wait) {
    waiting_.push_back(std::move(op));  // behind those that wait already
    return;
  }
  accept(std::move(op));
}

Result<PlacedAppend> LogCore::place_offsets(const AppendOp& op) const {
  PlacedAppend placed;
  const Offset log_end = writer_->marks().accepted_end();
  const std::optional<EpochEntry> latest = epochs_.latest();
  const LeaderEpoch current = latest ? latest->epoch : kNoLeaderEpoch;
  const bool numbered = op.options.origin == AppendOrigin::kReplica;
  if (!numbered && op.options.leader_epoch && *op.options.leader_epoch != current) {
    const bool older = *op.options.leader_epoch < current;
    return make_error(older ? ErrorCode::kFencedLeaderEpoch : ErrorCode::kUnknownLeaderEpoch,
                      "the log's leader epoch is " + std::to_string(current));
  }
  if (numbered && !op.input.batches.empty() &&
      op.input.batches.back().last_offset() - op.input.batches.front().base_offset >
          kRelativeOffsetMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "the batches of one append span more offsets than a segment can hold")
        .with_offset(op.input.batches.front().base_offset);
  }
  Offset next = log_end;
  for (std::size_t i = 0; i < op.input.batches.size(); ++i) {
    BatchHeader header = op.input.batches[i];
    if (numbered) {
      // A replica takes nothing from a leader it has not heard of (SEEN.md 15).
      if (op.options.leader_epoch && header.leader_epoch > *op.options.leader_epoch) {
        placed.dropped = op.input.batches.size() - i;
        break;
      }
      if (header.base_offset < next) return not_next(header.base_offset, next);
    } else {
      header.base_offset = next;
      header.leader_epoch = current;
    }
    next = header.next_offset();
    placed.bytes += header.size_bytes();
    placed.batches.push_back({header, op.input.markers[i]});
  }
  return placed;
}

void LogCore::accept(AppendOp op) {
  Result<PlacedAppend> placed = place_offsets(op);
  if (!placed.ok()) {
    op.done(placed.error());
    return;
  }
  if (placed->batches.empty()) {  // nothing to store: an empty set, or all of it too new
    AppendResult nothing;
    nothing.log_start = log_start_;
    op.done(nothing);
    return;
  }
  CheckContext context;
  context.origin = op.options.origin;
  context.guard = op.options.guard;
  context.transaction_version = op.options.transaction_version;
  Result<ProducerDecision> decision = producers_.check(placed->batches, context);
  if (!decision.ok()) {
    op.done(decision.error());
    return;
  }
  if (const auto* duplicate = std::get_if<DuplicateBatch>(&*decision)) {
    answer_duplicate(op, *duplicate);
    return;
  }
  producers_.consume_guards(placed->batches);
  store_accepted(std::move(op), std::move(placed).value(), std::get<ProducerUpdate>(*decision));
  writer_->pump();
}

void LogCore::answer_duplicate(const AppendOp& op, const DuplicateBatch& duplicate) {
  AckQueue::Append ack;
  ack.end = duplicate.last_offset + 1;
  ack.durable =
      options_.durability == Durability::kDurable || op.options.durability == Durability::kDurable;
  ack.result.first_offset = duplicate.first_offset;
  ack.result.last_offset = duplicate.last_offset;
  ack.result.duplicate = true;
  if (options_.timestamp_type == TimestampType::kLogAppendTime) {
    ack.result.log_append_time = duplicate.timestamp;
  }
  ack.done = op.done;
  acks_.add_duplicate(std::move(ack));
  if (op.options.durability == Durability::kDurable) writer_->request_sync();
  publish();
  writer_->pump();
}

void LogCore::store_accepted(AppendOp op, PlacedAppend placed, const ProducerUpdate& update) {
  const BatchHeader& last = placed.batches.back().header;
  AppendPlacer::Incoming incoming;
  incoming.bytes = placed.bytes;
  incoming.last_offset = last.last_offset();
  incoming.max_timestamp = op.input.max_timestamp;
  const Offset first = placed.batches.front().header.base_offset;
  const Offset new_base = std::max(first, writer_->marks().accepted_end());
  // An empty active segment is left behind only when its base cannot hold the offset (H-053).
  const bool is_there = placer_.empty() && placer_.base_offset() == new_base;
  if (!is_there && placer_.roll_needed(incoming, options_, env_.clock->wall_ms())) {
    start_segment(new_base);
  }

  op.input.bytes.shrink(static_cast<std::size_t>(placed.bytes));
  UnwrittenAppend unwritten;
  LeaderEpochCache epochs = epochs_;
  bool epochs_changed = false;
  std::size_t position = 0;
  for (const ProducerInput& batch : placed.batches) {
    const auto size = static_cast<std::size_t>(batch.header.size_bytes());
    const std::span<std::byte> bytes = op.input.bytes.mutable_bytes().subspan(position, size);
    set_base_offset(bytes, batch.header.base_offset);
    set_leader_epoch(bytes, batch.header.leader_epoch);
    position += size;
    if (batch.header.leader_epoch >= 0 &&
        epochs.assign(batch.header.leader_epoch, batch.header.base_offset)) {
      epochs_changed = true;
    }
    unwritten.indexed.push_back(placer_.place(batch.header, options_.index_interval_bytes));
    unwritten.batches.push_back(batch.header);
  }
  if (epochs_changed) {
    set_epochs(epochs);
    checkpoints_.save_epochs(epochs);
  }
  unwritten.segment = accept_segment_;
  unwritten.indexes = accept_indexes_;
  unwritten.ack.end = last.next_offset();
  unwritten.ack.durable =
      options_.durability == Durability::kDurable || op.options.durability == Durability::kDurable;
  unwritten.ack.result.first_offset = first;
  unwritten.ack.result.last_offset = last.last_offset();
  unwritten.ack.result.log_append_time = op.input.log_append_time;
  unwritten.ack.done = std::move(op.done);

  for (const ProducerState::Applied::Aborted& aborted : producers_.apply(update).aborted) {
    // In place before the stable offset can uncover it: readers take the offset first.
    accept_indexes_->txn->append({aborted.txn.producer_id, aborted.txn.first_offset,
                                  aborted.txn.last_offset, aborted.last_stable_offset});
    ++unwritten.aborted;
  }
  const bool flush = last.next_offset() - writer_->marks().durable_end() >= options_.flush_messages;
  const bool durable = unwritten.ack.durable;
  writer_->enqueue_write(std::move(op.input.bytes), last.next_offset(), durable || flush);
  unwritten_.push_back(std::move(unwritten));
  last_append_ns_ = env_.clock->monotonic_ns();
}

void LogCore::start_segment(Offset base) {
  SidecarSegment facts;
  facts.base_offset = base;
  RolledSegment rolled;
  rolled.segment = std::make_shared<LogSegment>(*env_.cache, directory_ + '/' + file_stem(base),
                                                facts, options_.segment_index_bytes);
  rolled.indexes = std::make_shared<SegmentIndexes>();
  rolled.indexes->offset = std::make_unique<OffsetIndex>(base, options_.segment_index_bytes);
  rolled.indexes->time = std::make_unique<TimeIndex>(base, options_.segment_index_bytes);
  rolled.indexes->txn = std::make_unique<TxnIndex>(base);
  producers_.set_map_end(base);
  if (checkpoints_.wants_snapshot(base)) {
    rolled.snapshot = encode_producer_snapshot(producers_);
    checkpoints_.take_snapshot(base);
  }
  placer_ = AppendPlacer(facts, *rolled.indexes, env_.clock->wall_ms());
  accept_segment_ = rolled.segment;
  accept_indexes_ = rolled.indexes;
  rolled_to_.push_back(std::move(rolled));
  writer_->enqueue_roll(base);
  // A segment that begins just where the sidecar ends must be listed in it: else the next opening
  // takes it for another writer's.
  if (base == sidecar_offset_) save_sidecar({});
}

void LogCore::on_write_done() {
  ONCELOG_ASSERT(!unwritten_.empty());
  UnwrittenAppend done = std::move(unwritten_.front());
  unwritten_.pop_front();
  SidecarSegment facts = done.segment->facts();
  for (std::size_t i = 0; i < done.batches.size(); ++i) {
    const BatchHeader& header = done.batches[i];
    if (facts.size == 0) facts.first_batch_timestamp = header.max_timestamp;
    if (header.max_timestamp > facts.largest_timestamp) {
      facts.largest_timestamp = header.max_timestamp;
      facts.largest_timestamp_offset = header.last_offset();
    }
    if (done.indexed[i]) {
      done.indexes->offset->append(header.last_offset(), facts.size);
      done.indexes->time->maybe_append(facts.largest_timestamp, facts.largest_timestamp_offset);
    }
    encode_header(header, facts.last_batch_header);
    facts.headers_hash = chain_header(facts.headers_hash, facts.last_batch_header);
    facts.last_batch_position = facts.size;
    facts.last_offset = header.last_offset();
    facts.size += header.size_bytes();
    bytes_since_sidecar_ += header.size_bytes();
  }
  facts.aborted_count += done.aborted;
  done.segment->grow(facts);
  acks_.add_append(std::move(done.ack));
}

void LogCore::on_roll_needed(Offset base) {
  ONCELOG_ASSERT(!rolled_to_.empty() && rolled_to_.front().segment->base_offset() == base);
  auto file = std::make_shared<Result<std::shared_ptr<File>>>(std::shared_ptr<File>());
  env_.shard->background(
      [&files = *env_.files, directory = directory_, base, file] {
        *file = create_segment_file(files, directory, base);
      },
      [this, self = shared_from_this(), file] { finish_roll(std::move(*file)); });
}

void LogCore::finish_roll(Result<std::shared_ptr<File>> file) {
  if (!file.ok() || writer_->failed()) {
    writer_->roll_done(std::move(file));
    return;
  }
  RolledSegment rolled = std::move(rolled_to_.front());
  rolled_to_.pop_front();
  const std::shared_ptr<LogSegment>& old = list_->segments.back();
  const SidecarSegment& facts = old->facts();
  LogCheckpoints::Seal seal;
  seal.segment = old;
  seal.indexes = old->pinned_indexes();
  seal.indexes->time->maybe_append(facts.largest_timestamp, facts.largest_timestamp_offset, true);
  seal.end = rolled.segment->base_offset();
  seal.snapshot = std::move(rolled.snapshot);
  checkpoints_.add_seal(std::move(seal));
  old->pin(nullptr, old->pinned_indexes());  // the file goes to the cache: few stay open (H-098)

  rolled.segment->pin(*file, rolled.indexes);
  auto list = std::make_shared<SegmentList>(*list_);
  list->segments.push_back(rolled.segment);
  list_ = list;
  view_.publish_segments(list_);
  env_.notify(StoreEvent::Kind::kRolled, name_,
              "segment " + std::to_string(rolled.segment->base_offset()));
  writer_->roll_done(std::move(file));
  if (rolled.done) rolled.done(list_->segments.back()->base_offset());
}

}  // namespace oncelog
