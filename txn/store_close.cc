// Deleting logs, writing checkpoints, closing the store, and its end without a close.
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

Status StoreCore::refuse_if_in_callback() const {
  if (!Shard::in_callback()) return {};
  return make_error(ErrorCode::kInvalidArgument, "a blocking call inside a completion callback");
}

Status StoreCore::abandon_log(const std::shared_ptr<LogCore>& core) {
  const Error why = make_error(ErrorCode::kNotOpen, "the log was deleted, or its store has ended")
                        .at(core->directory());
  return shard_.run_blocking([&](Shard::Waiter& waiter) {
    core->abandon(why);
    core->when_abandoned([&waiter] { waiter.finish(); });
  });
}

Status StoreCore::delete_log(const TopicPartition& name) {
  ONCELOG_TRY(refuse_if_in_callback());
  const Call call(*this);
  ONCELOG_TRY(call.status());
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
  Status status;
  if (entry.core) status = abandon_log(entry.core);
  FileSystem& files = io_->files();
  DataDir& root = *entry.place.root;
  const Uuid id =
      make_uuid(entry.place.directory, io_->clock().wall_ms(), io_->clock().monotonic_ns());
  const std::string renamed =
      root.path() + '/' + marked_directory_name(name, DirectoryState::kDeleting, hex_of(id));
  if (status.ok()) status = files.rename(entry.place.directory, renamed);
  const bool gone = status.ok();
  if (gone) {
    status = files.sync_directory(root.path());
    // Before a new log of that name can be made: its offsets start anew (H-017).
    Status forgotten = root.forget(name);
    if (status.ok()) status = std::move(forgotten);
  }
  {
    const std::lock_guard lock(mutex_);
    if (gone) {
      logs_.erase(name);
    } else {
      logs_[name].opening = false;
      logs_[name].unclean = true;
    }
  }
  ONCELOG_TRY(status);
  // The renamed path is what is removed: a new log of the same name has a directory of its own.
  ONCELOG_TRY(remove_directory_tree(renamed));
  return shard_.drain_callbacks();
}

Status StoreCore::checkpoint() {
  const Call call(*this);
  ONCELOG_TRY(call.status());
  Status first;
  for (const std::unique_ptr<DataDir>& root : roots_) {
    Status written = root->write();
    if (first.ok() && !written.ok()) first = std::move(written);
  }
  return first;
}

Status StoreCore::close() {
  ONCELOG_TRY(refuse_if_in_callback());
  {
    std::unique_lock lock(mutex_);
    if (closed_) {  // once; who comes later waits for the end
      calls_changed_.wait(lock, [this] { return close_ended_; });
      return {};
    }
    closed_ = true;
    calls_changed_.wait(lock, [this] { return calls_ == 0; });
  }
  Status first;
  for (const std::shared_ptr<LogCore>& core : open_cores()) {
    Status closed = core->close_and_wait();
    if (first.ok() && !closed.ok()) first = std::move(closed);
  }
  Status directories = close_directories();
  if (first.ok() && !directories.ok()) first = std::move(directories);
  const std::lock_guard lock(mutex_);
  close_ended_ = true;
  calls_changed_.notify_all();
  return first;
}

Status StoreCore::close_directories() {
  std::set<const DataDir*> unclean;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : logs_) {
      // A log that was not touched is as clean as the directory was.
      const bool log_clean =
          entry.core ? entry.core->closed_clean() : !entry.unclean && entry.place.root->was_clean();
      if (!log_clean) unclean.insert(entry.place.root);
    }
  }
  Status first;
  for (const std::unique_ptr<DataDir>& root : roots_) {
    Status written = root->write();
    if (written.ok() && !unclean.contains(root.get())) written = root->write_clean_marker();
    const Status unlocked = root->unlock();
    if (first.ok() && !written.ok()) first = std::move(written);
    if (first.ok() && !unlocked.ok()) first = unlocked;
  }
  return first;
}

void StoreCore::shut_down() {
  bool unlock = false;
  {
    std::unique_lock lock(mutex_);
    unlock = !closed_;
    closed_ = true;
    calls_changed_.wait(lock, [this] { return calls_ == 0; });
  }
  // Like a crash of the process: the next open recovers what was not closed. Errors have nobody to
  // go to.
  for (const std::shared_ptr<LogCore>& core : open_cores())
    static_cast<void>(abandon_log(core));
  if (options_.driver == Driver::kOwnThread) static_cast<void>(shard_.drain_callbacks());
  shard_.drop_callbacks();
  if (unlock) {
    for (const std::unique_ptr<DataDir>& root : roots_)
      static_cast<void>(root->unlock());
  }
  std::map<TopicPartition, Entry> ended;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  ended.swap(logs_);
  close_ended_ = true;
  calls_changed_.notify_all();
}

}  // namespace oncelog
