// Log checkpoints: seals, epoch file, sidecar, root.
#include "txn/log_checkpoints.h"

#include <algorithm>
#include <utility>

#include "index/derived_file.h"
#include "storage/base/assert.h"
#include "storage/file_names.h"

namespace oncelog {

Status write_index_files(FileSystem& files, const std::string& directory, Offset base_offset,
                         const SegmentIndexes& indexes) {
  constexpr bool kSyncLater = false;
  ONCELOG_TRY(replace_file(files, directory, file_name(FileKind::kOffsetIndex, base_offset),
                           indexes.offset->encode(), kSyncLater));
  ONCELOG_TRY(replace_file(files, directory, file_name(FileKind::kTimeIndex, base_offset),
                           indexes.time->encode(), kSyncLater));
  const std::string txn_name = file_name(FileKind::kTxnIndex, base_offset);
  if (indexes.txn->empty()) {
    ONCELOG_TRY(remove_if_exists(files, directory + '/' + txn_name));
  } else {
    ONCELOG_TRY(replace_file(files, directory, txn_name, indexes.txn->encode(), kSyncLater));
  }
  return files.sync_directory(directory);
}

LogCheckpoints::LogCheckpoints(const LogEnvironment& env, const TopicPartition& name,
                               std::string directory, std::function<std::shared_ptr<void>()> owner,
                               std::function<void()> on_idle)
    : env_(env),
      name_(name),
      directory_(std::move(directory)),
      owner_(std::move(owner)),
      on_idle_(std::move(on_idle)) {}

void LogCheckpoints::load(const LoadedLog& loaded) {
  ONCELOG_ASSERT(!busy());
  seals_.clear();
  snapshots_ = loaded.snapshots;
  last_snapshot_ = snapshots_.empty() ? loaded.log_start : snapshots_.back();
  recovery_point_ = loaded.recovery_point;
  durable_end_ = loaded.log_end;
  const SidecarSegment& active = loaded.segments.back().facts;
  loaded_data_end_ = active.last_offset == kNoOffset ? active.base_offset : active.last_offset + 1;
  loaded_end_ = loaded.log_end;
  last_error_.reset();
}

void LogCheckpoints::background(std::function<Status()> work, Done done) {
  ++running_;
  auto status = std::make_shared<Status>();
  env_.shard->background([status, work = std::move(work)] { *status = work(); },
                         [this, owner = owner_(), status, done = std::move(done)] {
                           --running_;
                           if (!status->ok()) last_error_ = status->error();
                           done(std::move(*status));
                           if (running_ == 0) on_idle_();
                         });
}

void LogCheckpoints::add_seal(Seal seal) {
  seals_.push_back(std::move(seal));
}

void LogCheckpoints::on_durable(Offset durable_end) {
  durable_end_ = durable_end;
  start_seal();
}

void LogCheckpoints::start_seal() {
  if (sealing_ || seals_.empty() || seals_.front().end > durable_end_) return;
  sealing_ = true;
  const Seal& seal = seals_.front();
  background(
      [&files = *env_.files, directory = directory_, segment = seal.segment, indexes = seal.indexes,
       end = seal.end, snapshot = seal.snapshot]() -> Status {
        if (snapshot) {
          ONCELOG_TRY(replace_file(files, directory, file_name(FileKind::kSnapshot, end), *snapshot,
                                   false));
        }
        return write_index_files(files, directory, segment->base_offset(), *indexes);
      },
      [this](const Status& status) { finish_seal(status); });
}

void LogCheckpoints::finish_seal(const Status& status) {
  sealing_ = false;
  if (seals_.empty()) return;  // dropped meanwhile
  if (!status.ok()) {
    env_.notify(StoreEvent::Kind::kFailed, name_,
                "cannot save indexes: " + to_string(status.error()));
    return;  // tried again when the log next gets durable, and on close
  }
  const Seal seal = std::move(seals_.front());
  seals_.pop_front();
  if (seal.snapshot) snapshots_.push_back(seal.end);
  seal.segment->unpin();
  if (advance_recovery_point(seal.end)) write_root();
  start_seal();
}

bool LogCheckpoints::advance_recovery_point(Offset durable_end) {
  const Offset bound = seals_.empty() ? durable_end : seals_.front().segment->base_offset();
  Offset point = std::min(durable_end, bound);
  if (point <= loaded_end_) point = std::min(point, loaded_data_end_);
  if (point <= recovery_point_) return false;
  recovery_point_ = point;
  env_.root->set_recovery_point(name_, point);
  return true;
}

void LogCheckpoints::run_repeated(Repeated& repeated,
                                  const std::function<std::function<Status()>()>& make_work) {
  repeated.wanted = true;
  if (repeated.running) return;
  repeated.running = true;
  repeated.wanted = false;
  std::vector<Done> waiting = std::exchange(repeated.waiting, {});
  background(make_work(),
             [this, &repeated, make_work, waiting = std::move(waiting)](const Status& status) {
               repeated.running = false;
               if (repeated.wanted) run_repeated(repeated, make_work);
               for (const Done& one : waiting)
                 one(status);
             });
}

void LogCheckpoints::write_root(Done done) {
  if (done) root_.waiting.push_back(std::move(done));
  run_repeated(root_, [root = env_.root] {
    return std::function<Status()>([root] { return root->write(); });
  });
}

void LogCheckpoints::save_epochs(const LeaderEpochCache& epochs, Done done) {
  epochs_text_ = epochs.encode();
  if (done) epochs_.waiting.push_back(std::move(done));
  run_repeated(epochs_, [this] {
    return std::function<Status()>(
        [&files = *env_.files, directory = directory_, text = epochs_text_] {
          return replace_file(files, directory, std::string(kLeaderEpochFile),
                              std::as_bytes(std::span(text)));
        });
  });
}

void LogCheckpoints::save_sidecar(const Sidecar& sidecar, Done done) {
  sidecar_bytes_ = encode_sidecar(sidecar);
  sidecar_.waiting.push_back(std::move(done));
  run_repeated(sidecar_, [this] {
    return std::function<Status()>(
        [&files = *env_.files, directory = directory_, bytes = std::exchange(sidecar_bytes_, {})] {
          return replace_file(files, directory, std::string(kSidecarFile), bytes);
        });
  });
}

}  // namespace oncelog
