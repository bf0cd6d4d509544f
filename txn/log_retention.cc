// Retention: whole segments go by age, size or log start, oldest first (RETENTION_COMPACTION.md).
//
// INVARIANTS  Nothing at or above the high watermark or the durable end goes (H-046). The log start
// is durable before the first file is renamed, so that it cannot go back.
#include <algorithm>
#include <utility>

#include "index/derived_file.h"
#include "storage/file_names.h"
#include "txn/log_core.h"

namespace oncelog {

bool LogCore::is_expired(const LogSegment& segment, TimestampMs now_ms) const {
  if (!options_.cleanup_delete || options_.retention_ms < 0) return false;
  TimestampMs newest = segment.largest_timestamp();
  if (newest < 0 || newest > now_ms) {
    // No timestamp, or one in the future: the time of the last append decides (H-054).
    const Result<FileStat> stat = env_.files->stat(segment.path(".log"));
    if (!stat.ok()) return false;
    newest = stat->modified_ms;
  }
  return now_ms - newest > options_.retention_ms;
}

std::size_t LogCore::deletable_segments() const {
  const std::vector<std::shared_ptr<LogSegment>>& segments = list_->segments;
  const TimestampMs now_ms = env_.clock->wall_ms();
  const Offset safe = std::min(high_watermark_, checkpoints_.recovery_point());
  std::int64_t total = 0;
  for (const std::shared_ptr<LogSegment>& segment : segments)
    total += segment->size();
  std::size_t count = 0;
  while (count + 1 < segments.size()) {
    const LogSegment& segment = *segments[count];
    const Offset next_base = segments[count + 1]->base_offset();
    if (next_base > safe) break;
    const bool below_start = next_base <= log_start_;
    const bool too_much = options_.cleanup_delete && options_.retention_bytes >= 0 &&
                          total - segment.size() >= options_.retention_bytes;
    if (!below_start && !too_much && !is_expired(segment, now_ms)) break;
    total -= segment.size();
    ++count;
  }
  return count;
}

void LogCore::apply_retention(std::function<void(Result<std::size_t>)> done) {
  if (const Status open = check_open(); !open.ok()) {
    done(open.error());
    return;
  }
  if (state_ != State::kOpen || read_only_) {
    done(std::size_t{0});
    return;
  }
  const std::vector<std::string> due = deleted_.take_due(env_.clock->wall_ms());
  if (!due.empty()) {
    remove_files(due, [this, self = shared_from_this(), done](const Status& removed) {
      if (removed.ok()) {
        apply_retention(done);
      } else {
        done(Error(removed.error()));
      }
    });
    return;
  }
  // Old enough as a whole: the active segment is rolled away from first, so that it can go too.
  const LogSegment& active = *list_->segments.back();
  const bool all_old = deletable_segments() + 1 == list_->segments.size() && active.size() > 0 &&
                       writer_->idle() && active.next_offset() <= high_watermark_ &&
                       is_expired(active, env_.clock->wall_ms());
  if (!all_old) {
    drop_segments(deletable_segments(), std::move(done));
    return;
  }
  roll([this, self = shared_from_this(), done](Result<Offset> rolled) {
    if (!rolled.ok()) {
      done(rolled.error());
      return;
    }
    // Its derived files are saved first; the recovery point passes it then.
    when_idle([this, self, done] {
      const bool open = state_ == State::kOpen;  // not closed or being cut meanwhile
      drop_segments(open ? deletable_segments() : 0, done);
    });
  });
}

void LogCore::drop_segments(std::size_t count, std::function<void(Result<std::size_t>)> done) {
  if (count == 0) {
    done(std::size_t{0});
    return;
  }
  auto list = std::make_shared<SegmentList>(*list_);
  const auto first = list->segments.begin();
  std::vector<std::shared_ptr<LogSegment>> gone(first, first + static_cast<std::ptrdiff_t>(count));
  list->segments.erase(first, first + static_cast<std::ptrdiff_t>(count));
  const Offset start = std::max(log_start_, list->segments.front()->base_offset());
  LeaderEpochCache epochs = epochs_;
  if (epochs.truncate_from_start(start)) {
    set_epochs(epochs);
    checkpoints_.save_epochs(epochs);
  }
  log_start_ = start;
  producers_.txns().on_log_start(start);
  env_.root->set_log_start(name_, start);
  sidecar_stale_ = true;
  ++generation_;  // before the list is replaced and after
  publish();
  list_ = list;
  view_.publish_segments(list_);
  ++generation_;
  publish();
  const std::int64_t due_ms = env_.clock->wall_ms() + options_.file_delete_delay_ms;
  auto renamed = std::make_shared<std::vector<std::string>>();
  checkpoints_.background(
      [&files = *env_.files, root = env_.root, directory = directory_, gone, renamed]() -> Status {
        ONCELOG_TRY(root->write());
        for (const std::shared_ptr<LogSegment>& segment : gone) {
          segment->set_suffix(std::string(suffix_of(FileStage::kDeleted)));
          for (const FileKind kind : {FileKind::kLog, FileKind::kOffsetIndex, FileKind::kTimeIndex,
                                      FileKind::kTxnIndex, FileKind::kSnapshot}) {
            const Offset base = segment->base_offset();
            const std::string to = directory + '/' + file_name(kind, base, FileStage::kDeleted);
            const Status moved = files.rename(directory + '/' + file_name(kind, base), to);
            if (moved.ok()) {
              renamed->push_back(to);
            } else if (moved.error().code != ErrorCode::kNotFound) {
              return moved;
            }
          }
        }
        return files.sync_directory(directory);
      },
      [this, gone, renamed, due_ms, count, done = std::move(done)](const Status& status) {
        for (std::string& path : *renamed)
          deleted_.add(std::move(path), due_ms);
        for (const std::shared_ptr<LogSegment>& segment : gone) {
          checkpoints_.forget_snapshot_file(segment->base_offset());
        }
        if (status.ok()) {
          done(count);
        } else {
          done(Error(status.error()));
        }
      });
}

void LogCore::remove_files(std::vector<std::string> paths, Done done) {
  checkpoints_.background(
      [&files = *env_.files, paths = std::move(paths)]() -> Status {
        for (const std::string& path : paths)
          ONCELOG_TRY(remove_if_exists(files, path));
        return {};
      },
      std::move(done));
}

}  // namespace oncelog
