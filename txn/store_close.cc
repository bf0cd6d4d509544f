// Deleting logs, writing checkpoints, closing the store.
#include <utility>

#include "storage/file_names.h"
#include "txn/store_core.h"

namespace oncelog {
namespace {

constexpr std::size_t kUniqueIdDigits = 32;

std::string hex_of(const Uuid& id) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(kUniqueIdDigits);
  for (const std::uint8_t byte : id.bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 0x0f]);
  }
  return text;
}

}  // namespace

Status StoreCore::delete_log(const TopicPartition& name) {
  Entry entry;
  {
    const std::lock_guard lock(mutex_);
    const auto found = logs_.find(name);
    if (found == logs_.end()) {
      return make_error(ErrorCode::kNotFound, "no such log").at(to_string(name));
    }
    if (found->second.opening) {
      return make_error(ErrorCode::kBusy, "the log is being opened").at(to_string(name));
    }
    found->second.opening = true;  // nobody opens it meanwhile
    entry = found->second;
  }
  if (entry.core) {
    ONCELOG_TRY(shard_.run_blocking([&](Shard::Waiter& waiter) {
      entry.core->abandon(
          make_error(ErrorCode::kNotOpen, "the log was deleted").at(entry.place.directory));
      entry.core->when_abandoned([&waiter] { waiter.finish(); });
    }));
  }
  FileSystem& files = io_->files();
  const std::string& root = entry.place.root->path();
  const Uuid id =
      make_uuid(entry.place.directory, io_->clock().wall_ms(), io_->clock().monotonic_ns());
  const std::string renamed =
      root + '/' + marked_directory_name(name, DirectoryState::kDeleting, hex_of(id));
  Status status = files.rename(entry.place.directory, renamed);
  if (status.ok()) status = files.sync_directory(root);
  {
    const std::lock_guard lock(mutex_);
    if (status.ok()) {
      logs_.erase(name);
    } else {
      logs_[name].opening = false;
      logs_[name].unclean = true;
    }
  }
  ONCELOG_TRY(status);
  entry.place.root->remove(name);
  ONCELOG_TRY(entry.place.root->write());
  // The renamed path is what is removed: a new log of the same name has a directory of its own.
  return remove_directory_tree(renamed);
}

Status StoreCore::checkpoint() {
  Status first;
  for (const std::unique_ptr<DataDir>& root : roots_) {
    Status written = root->write();
    if (first.ok() && !written.ok()) first = std::move(written);
  }
  return first;
}

Status StoreCore::close() {
  if (Shard::in_callback()) {
    return make_error(ErrorCode::kInvalidArgument, "a blocking call inside a completion callback");
  }
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return {};
    closed_ = true;
  }
  Status first;
  std::map<const DataDir*, bool> clean;
  for (const std::unique_ptr<DataDir>& root : roots_)
    clean[root.get()] = true;
  for (const std::shared_ptr<LogCore>& core : open_cores()) {
    Status closed = Log(core).close();
    if (first.ok() && !closed.ok()) first = std::move(closed);
  }
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, entry] : logs_) {
      // A log that was not touched is as clean as the directory was.
      const bool log_clean =
          entry.core ? entry.core->closed_clean() : !entry.unclean && entry.place.root->was_clean();
      if (!log_clean) clean[entry.place.root] = false;
    }
  }
  for (const std::unique_ptr<DataDir>& root : roots_) {
    Status written = root->write();
    if (written.ok() && clean[root.get()]) written = root->write_clean_marker();
    const Status unlocked = root->unlock();
    if (first.ok() && !written.ok()) first = std::move(written);
    if (first.ok() && !unlocked.ok()) first = unlocked;
  }
  return first;
}

}  // namespace oncelog
