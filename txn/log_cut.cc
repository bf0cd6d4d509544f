// Taking a log back: truncate, delete_records, and recovery in place when the disk was full.
//
// A cut is made on the files, then the log is loaded anew by the code that opens logs, beside the
// old state, and swapped in: there is no second way to rebuild state. Appends that come meanwhile
// wait. Before the cut the recovery point is lowered durably and the sidecar goes, so that a crash
// at any step finds a directory that claims no more than it holds.
#include <algorithm>
#include <utility>

#include "index/derived_file.h"
#include "txn/log_core.h"
#include "txn/segment_files.h"

namespace oncelog {
namespace {

RecoverOptions recover_options(const LogOptions& options, TimestampMs now_ms) {
  RecoverOptions recover = recover_options_of(options);
  recover.now_ms = now_ms;
  recover.on_damage = OnDamage::kFail;
  return recover;
}

Result<LoadedLog> load_again(FileSystem& files, const std::string& directory, const RootFacts& root,
                             const RecoverOptions& options) {
  ONCELOG_TRY_ASSIGN(RecoveryPlanPtr plan, analyse(files, directory, root, options));
  return apply(files, std::move(plan));
}

Status forget_sidecar(FileSystem& files, const std::string& directory) {
  ONCELOG_TRY(remove_if_exists(files, directory + '/' + std::string(kSidecarFile)));
  return files.sync_directory(directory);
}

}  // namespace

void LogCore::delete_records(Offset offset, std::function<void(Result<Offset>)> done) {
  if (const Status open = check_open(); !open.ok()) {
    done(open.error());
    return;
  }
  if (state_ != State::kOpen) {
    defer([this, offset, done = std::move(done)] { delete_records(offset, done); });
    return;
  }
  const Offset start = offset == -1 ? high_watermark_ : offset;
  if (start < 0 || start > high_watermark_) {
    done(make_error(ErrorCode::kOffsetOutOfRange,
                    "the high watermark is " + std::to_string(high_watermark_))
             .at(directory_)
             .with_offset(start));
    return;
  }
  if (start <= log_start_) {
    done(log_start_);
    return;
  }
  log_start_ = start;
  producers_.txns().on_log_start(start);
  LeaderEpochCache epochs = epochs_;
  if (epochs.truncate_from_start(start)) {
    set_epochs(epochs);
    checkpoints_.save_epochs(epochs);
  }
  env_.root->set_log_start(name_, start);
  sidecar_stale_ = true;
  publish();
  checkpoints_.write_root([self = shared_from_this(), start, done = std::move(done)](Status saved) {
    if (saved.ok()) {
      done(start);
    } else {
      done(std::move(saved).error());
    }
  });
}

void LogCore::truncate(Offset offset, bool fully, Done done) {
  if (const Status open = check_open(); !open.ok()) {
    done(open);
    return;
  }
  if (read_only_) {
    done(make_error(ErrorCode::kDamaged, "the log is open read-only").at(directory_));
    return;
  }
  if (offset < 0) {
    done(make_error(ErrorCode::kOffsetOutOfRange, "a negative offset").with_offset(offset));
    return;
  }
  if (state_ != State::kOpen) {
    defer([this, offset, fully, done = std::move(done)] { truncate(offset, fully, done); });
    return;
  }
  if (!fully && offset >= writer_->marks().accepted_end()) {
    LeaderEpochCache epochs = epochs_;
    if (!epochs.truncate_from_end(writer_->marks().accepted_end())) {
      done({});
      return;
    }
    set_epochs(epochs);
    checkpoints_.save_epochs(epochs, std::move(done));
    return;
  }
  state_ = State::kReloading;
  when_idle([this, offset, fully, done = std::move(done)] { cut_and_reload(offset, fully, done); });
}

void LogCore::cut_and_reload(Offset offset, bool fully, const Done& done) {
  if (state_ != State::kReloading) {
    done(state_ == State::kFailed ? Status(failure_) : check_open());
    return;
  }
  if (writer_->failed()) {  // the disk got full meanwhile: first back to the acknowledged end
    defer([this, offset, fully, done] { truncate(offset, fully, done); });
    return;
  }
  const bool restart = fully || offset < list_->segments.front()->base_offset();
  checkpoints_.drop_seals();
  high_watermark_ = std::min(high_watermark_, restart ? log_start_ : std::max(offset, log_start_));
  ++generation_;
  publish();

  RootFacts root;
  // A batch that reaches over the cut goes whole, so nothing between the segment's base and the
  // cut is sure to stay.
  root.recovery_point = restart ? offset
                                : std::min(checkpoints_.recovery_point(),
                                           list_->segments[list_->floor(offset)]->base_offset());
  root.log_start = restart ? offset : std::min(log_start_, offset);
  env_.root->set_recovery_point(name_, *root.recovery_point);
  env_.root->set_log_start(name_, *root.log_start);
  CutOptions cut;
  cut.offset = offset;
  for (const std::shared_ptr<LogSegment>& segment : list_->segments) {
    if (segment->pinned_by_page()) cut.copy_always = true;
  }
  const RecoverOptions recover = recover_options(options_, env_.clock->wall_ms());
  reload(
      [&files = *env_.files, root_dir = env_.root, directory = directory_, cut, restart, root,
       recover]() -> Result<LoadedLog> {
        ONCELOG_TRY(root_dir->write());
        ONCELOG_TRY(forget_sidecar(files, directory));
        if (restart) {
          const std::string no_epochs = LeaderEpochCache().encode();
          ONCELOG_TRY(replace_file(files, directory, std::string(kLeaderEpochFile),
                                   std::as_bytes(std::span(no_epochs))));
          ONCELOG_TRY(restart_segment_files(files, directory, cut.offset));
        } else {
          ONCELOG_TRY(cut_segment_files(files, directory, cut));
        }
        return load_again(files, directory, root, recover);
      },
      offset, done);
}

void LogCore::reload(std::function<Result<LoadedLog>()> load, Offset log_end, const Done& done) {
  // The cache may hold files and indexes of what is cut.
  for (const std::shared_ptr<LogSegment>& segment : list_->segments)
    env_.cache->forget(*segment);
  auto loaded = std::make_shared<std::optional<Result<LoadedLog>>>();
  checkpoints_.background(
      [load = std::move(load), loaded]() -> Status {
        *loaded = load();
        return {};
      },
      [this, loaded, log_end, done](const Status&) {
        // `background` still counts this task; the log is swapped in the next message.
        env_.shard->post([this, self = shared_from_this(), loaded, log_end, done] {
          finish_reload(std::move(**loaded), log_end, done);
        });
      });
}

void LogCore::finish_reload(Result<LoadedLog> loaded, Offset log_end, const Done& done) {
  if (state_ == State::kClosed) {
    done(check_open());
    return;
  }
  Status status = loaded.status();
  if (loaded.ok()) {
    // A batch that reached over the cut went whole: the next offset is the one asked for all the
    // same, as in Kafka (RECOVERY.md 7).
    const bool inside_batch = loaded->log_end < log_end && !loaded->read_only;
    if (inside_batch) {
      loaded->log_end = log_end;
      loaded->epochs = epochs_;
      loaded->epochs.truncate_from_end(log_end);
    }
    status = install(std::move(loaded).value());
    if (status.ok() && inside_batch) checkpoints_.save_epochs(epochs_);
  }
  if (status.ok()) {
    run_deferred();
    resume();
    done({});
    return;
  }
  state_ = State::kFailed;
  failure_ = status.error();
  for (AppendOp& op : std::exchange(waiting_, {}))
    op.done(failure_);
  run_deferred();
  if (failure_.code == ErrorCode::kDiskFull) {
    state_ = State::kFull;  // what waited was refused; the next append tries again
  } else {
    acks_.fail_polls(failure_);
    env_.notify(StoreEvent::Kind::kFailed, name_, to_string(failure_));
  }
  done(status);
}

/// Keeps a call until the log is loaded anew; a log that is full is given another try.
void LogCore::defer(std::function<void()> call) {
  deferred_.push_back(std::move(call));
  if (state_ == State::kFull) recover_from_full();
}

void LogCore::recover_from_full() {
  if (state_ == State::kClosed || state_ == State::kFailed) return;
  state_ = State::kReloading;
  // The acknowledged end: what was answered with success or what readers could see, never lower.
  const Offset end = std::max({acks_.acked_end(), high_watermark_, writer_->marks().durable_end()});
  ++generation_;
  publish();
  RootFacts root;
  root.recovery_point = checkpoints_.recovery_point();
  root.log_start = log_start_;
  CutOptions cut;
  cut.offset = end;
  for (const std::shared_ptr<LogSegment>& segment : list_->segments) {
    if (segment->pinned_by_page()) cut.copy_always = true;
  }
  const RecoverOptions recover = recover_options(options_, env_.clock->wall_ms());
  reload(
      [&files = *env_.files, directory = directory_, cut, root, recover]() -> Result<LoadedLog> {
        ONCELOG_TRY(cut_segment_files(files, directory, cut));
        return load_again(files, directory, root, recover);
      },
      end, [](const Status&) {});
}

}  // namespace oncelog
