// Log core: taking over a loaded log, publishing, waiting for quiet, failing.
#include "txn/log_core.h"

#include <algorithm>
#include <utility>

#include "storage/base/assert.h"
#include "storage/file_names.h"
#include "txn/segment_files.h"

namespace oncelog {
namespace {

/// Keeps what memory knew of a producer's older batches when the files (a snapshot holds one batch
/// per producer) brought back the same last batch.
void keep_cached_batches(const ProducerState& before, ProducerState& loaded) {
  std::vector<std::pair<ProducerId, ProducerEntry>> restored;
  for (const auto& [id, entry] : loaded.producers()) {
    const ProducerEntry* old = before.find(id);
    if (old == nullptr || old->epoch != entry.epoch || entry.batch_count == 0) continue;
    ProducerEntry merged = entry;
    merged.batch_count = 0;
    for (const ProducerBatch& batch : old->cached()) {
      if (batch.last_offset <= entry.cached().back().last_offset) merged.add(batch);
    }
    const bool same_end =
        merged.batch_count > entry.batch_count && merged.cached().back() == entry.cached().back();
    if (same_end) restored.emplace_back(id, merged);
  }
  for (const auto& [id, entry] : restored)
    loaded.replace_batches(id, entry);
}

}  // namespace

LogCore::LogCore(const LogEnvironment& env, TopicPartition name, std::string directory,
                 const LogOptions& options)
    : env_(env),
      name_(std::move(name)),
      directory_(std::move(directory)),
      options_(options),
      checkpoints_(
          env_, name_, directory_, [this] { return shared_from_this(); },
          [this] { check_idle(); }) {}

RecoverOptions recover_options_of(const LogOptions& options) {
  RecoverOptions recover;
  recover.on_damage = options.on_damage;
  recover.on_holed_tail = options.on_holed_tail;
  recover.index_interval_bytes = options.index_interval_bytes;
  recover.segment_index_bytes = options.segment_index_bytes;
  recover.producers = producer_options_of(options);
  return recover;
}

ProducerStateOptions producer_options_of(const LogOptions& options) {
  ProducerStateOptions producers;
  producers.expiration_ms = options.producer_expiration_ms;
  producers.producers_max = options.producers_max;
  producers.verification = options.txn_verification;
  return producers;
}

LogOptions LogCore::options() const {
  const std::lock_guard lock(shared_mutex_);
  return options_;
}

LeaderEpochCache LogCore::epochs() const {
  const std::lock_guard lock(shared_mutex_);
  return epochs_;
}

void LogCore::set_epochs(const LeaderEpochCache& epochs) {
  const std::lock_guard lock(shared_mutex_);
  epochs_ = epochs;
}

SegmentWriter::Options LogCore::writer_options() const {
  SegmentWriter::Options options;
  options.unsynced_bytes_max = options_.unsynced_bytes_max;
  options.group_bytes_max = std::min<std::int64_t>(1 << 20, options_.unsynced_bytes_max);
  options.sync_before_roll = options_.durability == Durability::kDurable;
  return options;
}

Status LogCore::install(LoadedLog loaded) {
  ONCELOG_ASSERT(!loaded.segments.empty());
  auto list = std::make_shared<SegmentList>();
  list->damaged = loaded.damaged;
  list->gaps = options_.cleanup_compact ? std::vector<GapFinding>{} : loaded.report.gaps;
  for (LoadedSegment& segment : loaded.segments) {
    const std::string stem = directory_ + '/' + file_stem(segment.facts.base_offset);
    list->segments.push_back(std::make_shared<LogSegment>(*env_.cache, stem, segment.facts,
                                                          options_.segment_index_bytes));
  }
  LoadedSegment& active = loaded.segments.back();
  auto indexes = std::make_shared<SegmentIndexes>();
  indexes->offset = std::move(active.offset_index);
  indexes->time = std::move(active.time_index);
  indexes->txn = std::move(active.txn_index);
  const std::shared_ptr<LogSegment>& segment = list->segments.back();
  const OpenMode mode = loaded.read_only ? OpenMode::kRead : OpenMode::kReadWrite;
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file,
                     env_.files->open(segment->path(".log"), mode));
  segment->pin(file, indexes);

  const auto submit = [this](IoRequest request, std::function<void(IoCompletion &&)> done) {
    env_.shard->submit(std::move(request), [self = shared_from_this(), done = std::move(done)](
                                               IoCompletion&& end) { done(std::move(end)); });
  };
  writer_ = std::make_unique<SegmentWriter>(*this, submit, writer_options(), file,
                                            active.facts.size, loaded.log_end);
  if (loaded_once_) keep_cached_batches(producers_, loaded.producers);
  checkpoints_.load(loaded);
  producers_ = std::move(loaded.producers);
  set_epochs(loaded.epochs);
  log_start_ = loaded.log_start;
  read_only_ = loaded.read_only;
  if (!loaded_once_) {
    report_ = std::move(loaded.report);
    topic_id_ = loaded.topic_id;
    embedder_moves_ = options_.effective_visibility() == Visibility::kEmbedder;
    high_watermark_ =
        embedder_moves_ ? env_.root->facts_of(name_).high_watermark.value_or(0) : loaded.log_end;
  } else if (!embedder_moves_) {
    high_watermark_ = loaded.log_end;
  }
  high_watermark_ = std::clamp(high_watermark_, log_start_, loaded.log_end);
  producers_.txns().on_high_watermark(high_watermark_);
  placer_ = AppendPlacer(active.facts, *indexes, env_.clock->wall_ms());
  accept_segment_ = segment;
  accept_indexes_ = indexes;
  acks_.restart(loaded.log_end);
  list_ = list;
  ++generation_;
  state_ = State::kOpen;
  loaded_once_ = true;
  sidecar_stale_ = true;
  sidecar_offset_ = loaded.log_end;
  view_.publish_segments(list_);
  publish();
  return {};
}

Status LogCore::check_open() const {
  switch (state_) {
    case State::kOpen:
    case State::kReloading:
    case State::kFull:
      return {};
    case State::kFailed:
      return failure_;
    case State::kClosing:
    case State::kClosed:
      break;
  }
  return make_error(ErrorCode::kNotOpen, "the log is closed").at(directory_);
}

/// Behind the last batch in the files: below the log end after a cut inside a batch.
Offset LogCore::data_end() const {
  const SidecarSegment& active = list_->segments.back()->facts();
  return active.last_offset == kNoOffset ? active.base_offset : active.last_offset + 1;
}

Marks LogCore::current_marks() const {
  Marks marks;
  marks.log_start = log_start_;
  marks.high_watermark = high_watermark_;
  marks.last_stable = producers_.txns().last_stable(log_start_, high_watermark_);
  marks.durable_end = writer_->marks().durable_end();
  marks.written_end = writer_->marks().written_end();
  marks.generation = generation_;
  marks.open = state_ != State::kClosed && !files_given_up_;
  return marks;
}

void LogCore::publish() {
  const Marks marks = current_marks();
  view_.publish(marks);
  acks_.advance(writer_->marks(), marks);
}

void LogCore::update_high_watermark() {
  if (embedder_moves_) return;
  const Watermarks& marks = writer_->marks();
  const Offset end = options_.effective_visibility() == Visibility::kDurable ? marks.durable_end()
                                                                             : marks.written_end();
  if (end <= high_watermark_) return;
  high_watermark_ = end;
  producers_.txns().on_high_watermark(end);
}

void LogCore::on_progress() {
  if (state_ != State::kFailed && !writer_->failed()) {
    update_high_watermark();
    publish();
    checkpoints_.on_durable(writer_->marks().durable_end());
    resume();
  }
  check_idle();
}

void LogCore::resume() {
  while (!waiting_.empty() && state_ == State::kOpen &&
         writer_->queued_bytes() < options_.queue_bytes_max) {
    AppendOp op = std::move(waiting_.front());
    waiting_.pop_front();
    accept(std::move(op));
  }
}

bool LogCore::idle() const {
  const bool writer_idle = writer_->failed() ? writer_->quiet() : writer_->idle();
  return writer_idle && !checkpoints_.busy();
}

/// Runs `then` once nothing is queued, in flight or being saved.
void LogCore::when_idle(std::function<void()> then) {
  idle_waiters_.push_back(std::move(then));
  check_idle();
}

void LogCore::check_idle() {
  if (idle_waiters_.empty() || !idle()) return;
  // From the mailbox: we may be deep inside the writer, which the waiter may replace.
  for (std::function<void()>& waiter : std::exchange(idle_waiters_, {})) {
    env_.shard->post([self = shared_from_this(), waiter = std::move(waiter)] {
      if (self->idle()) {
        waiter();
      } else {
        self->when_idle(waiter);
      }
    });
  }
}

void LogCore::on_writer_failed(const Error& error) {
  if (state_ == State::kFailed || state_ == State::kClosed) return;
  Error reason = error;
  if (reason.path.empty()) reason.path = directory_;
  std::deque<UnwrittenAppend> unwritten = std::exchange(unwritten_, {});
  std::deque<AppendOp> waiting = std::exchange(waiting_, {});
  std::deque<RolledSegment> rolled = std::exchange(rolled_to_, {});
  checkpoints_.drop_seals();
  const bool full =
      error.code == ErrorCode::kDiskFull && (state_ == State::kOpen || state_ == State::kReloading);
  if (full) {
    state_ = State::kReloading;
    env_.notify(StoreEvent::Kind::kDiskFull, name_, to_string(reason));
  } else {
    state_ = State::kFailed;
    failure_ = reason;
    const bool on_purpose = reason.code == ErrorCode::kNotOpen;  // abandoned: no failure (H-090)
    if (!on_purpose) {
      if (failure_.code != ErrorCode::kDiskFull) failure_.code = ErrorCode::kIo;
      env_.notify(StoreEvent::Kind::kFailed, name_, to_string(reason));
    }
  }
  acks_.fail(reason);
  for (UnwrittenAppend& one : unwritten)
    one.ack.done(reason);
  for (AppendOp& op : waiting)
    op.done(reason);
  for (RolledSegment& one : rolled) {
    if (one.done) one.done(reason);
  }
  if (full) {
    when_idle([this] { recover_from_full(); });
  } else {
    acks_.fail_polls(reason);
    run_deferred();
  }
}

void LogCore::run_deferred() {
  for (std::function<void()>& message : std::exchange(deferred_, {}))
    message();
}

void LogCore::abandon(const Error& why) {
  if (state_ == State::kClosed) return;
  const std::shared_ptr<LogCore> self = shared_from_this();
  writer_->abandon(why);
  on_writer_failed(why);
  state_ = State::kClosed;
  ++generation_;
  publish();
  if (!closing_) ended_ = true;  // else `end_close` says so
}

}  // namespace oncelog
