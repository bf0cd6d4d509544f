// Closing a log: drain, sync, save everything, close the file.
#include <utility>

#include "index/derived_file.h"
#include "storage/file_names.h"
#include "txn/log_core.h"

namespace oncelog {

Status LogCore::close_and_wait() {
  Status closed;
  ONCELOG_TRY(shard().run_blocking([&](Shard::Waiter& waiter) {
    close([&](const Status& status) {
      closed = status;
      waiter.finish();
    });
  }));
  // No completion runs after this call has returned.
  const Status drained = shard().drain_callbacks();
  return closed.ok() ? drained : closed;
}

void LogCore::close(Done done) {
  if (closing_) {
    closers_.push_back(std::move(done));
    return;
  }
  if (state_ == State::kClosed) {
    done({});
    return;
  }
  if (state_ == State::kReloading) {
    deferred_.emplace_back([this, done = std::move(done)] { close(done); });
    return;
  }
  closing_ = true;
  if (state_ == State::kFailed || state_ == State::kFull || read_only_) {
    const Status why = read_only_ ? Status{} : Status(failure_);
    when_idle([this, why, done = std::move(done)] { finish_close(why, done); });
    return;
  }
  state_ = State::kClosing;
  const Error closing = make_error(ErrorCode::kNotOpen, "the log was closed").at(directory_);
  for (AppendOp& op : std::exchange(waiting_, {}))
    op.done(closing);
  writer_->request_sync();
  writer_->pump();
  when_idle([this, done = std::move(done)] {
    // Segments that were rolled away from come first. One try: what fails is the close's error.
    if (state_ == State::kClosing) checkpoints_.on_durable(writer_->marks().durable_end());
    when_idle([this, done] { write_final_files(done); });
  });
}

void LogCore::write_final_files(const Done& done) {
  if (state_ != State::kClosing) {  // failed or abandoned meanwhile
    finish_close(failure_, done);
    return;
  }
  if (checkpoints_.has_seals()) {
    finish_close(checkpoints_.last_error().value_or(
                     make_error(ErrorCode::kIo, "indexes could not be saved").at(directory_)),
                 done);
    return;
  }
  files_given_up_ = true;  // a reader that meets the closed file finds the log closed, too
  ++generation_;
  publish();
  const Offset end = data_end();
  const std::shared_ptr<LogSegment>& active = list_->segments.back();
  const std::shared_ptr<SegmentIndexes> indexes = active->pinned_indexes();
  indexes->time->maybe_append(active->facts().largest_timestamp,
                              active->facts().largest_timestamp_offset, true);
  producers_.set_map_end(end);
  std::optional<std::vector<std::byte>> snapshot;
  if (checkpoints_.wants_snapshot(end)) {
    snapshot = encode_producer_snapshot(producers_);
    checkpoints_.take_snapshot(end);
    checkpoints_.add_snapshot_file(end);
  }
  // Everything is synced. A page that outlives the log keeps its file, which then goes unasked.
  const std::shared_ptr<File> file = active->pinned_by_page() ? nullptr : writer_->file();
  checkpoints_.background(
      [&files = *env_.files, directory = directory_, base = active->base_offset(), indexes,
       snapshot, end, epochs = epochs_.encode(), sidecar = encode_sidecar(make_sidecar()),
       file]() -> Status {
        if (snapshot) {
          ONCELOG_TRY(replace_file(files, directory, file_name(FileKind::kSnapshot, end), *snapshot,
                                   false));
        }
        ONCELOG_TRY(replace_file(files, directory, std::string(kLeaderEpochFile),
                                 std::as_bytes(std::span(epochs)), false));
        ONCELOG_TRY(replace_file(files, directory, std::string(kSidecarFile), sidecar, false));
        ONCELOG_TRY(write_index_files(files, directory, base, *indexes));
        return file ? file->close() : Status{};
      },
      [this, done, end](const Status& status) {
        if (status.ok() && state_ == State::kClosing) {
          checkpoints_.advance_recovery_point(end);
          env_.root->set_recovery_point(name_, checkpoints_.recovery_point());  // 0 too, as Kafka
          const Offset first = list_->segments.front()->base_offset();
          env_.root->set_log_start(name_, log_start_ > first ? log_start_ : kNoOffset);
          env_.root->set_high_watermark(name_, embedder_moves_ ? high_watermark_ : kNoOffset);
          closed_clean_ = true;
        }
        finish_close(status, done);
      });
}

void LogCore::finish_close(const Status& status, const Done& done) {
  acks_.fail_polls(make_error(ErrorCode::kNotOpen, "the log was closed").at(directory_));
  state_ = State::kClosed;
  publish();
  for (const std::shared_ptr<LogSegment>& segment : list_->segments) {
    segment->unpin();
    env_.cache->forget(*segment);
  }
  const std::vector<std::string> left = deleted_.take_all();
  const Done finish = [this, status, done](const Status& removed) {
    checkpoints_.write_root([this, status, removed, done](const Status& saved) {
      if (!saved.ok()) closed_clean_ = false;
      end_close(!status.ok() ? status : !saved.ok() ? saved : removed, done);
    });
    run_deferred();
  };
  if (left.empty()) {
    finish({});
  } else {
    remove_files(left, finish);
  }
}

void LogCore::end_close(const Status& status, const Done& done) {
  closing_ = false;
  ended_ = true;
  const std::vector<Done> closers = std::exchange(closers_, {});
  done(status);
  for (const Done& closer : closers)
    closer(status);
}

}  // namespace oncelog
