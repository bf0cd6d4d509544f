// The store behind `Store`: data directories, the shard, and which logs are open.
//
// THREADS  any thread; the map of logs has a lock that is never held across I/O of a log.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "oncelog/store.h"

#include "txn/data_dir.h"
#include "txn/log_core.h"
#include "txn/log_environment.h"
#include "txn/log_segment.h"
#include "txn/shard.h"

namespace oncelog {

class StoreCore : public std::enable_shared_from_this<StoreCore> {
 public:
  static Result<std::shared_ptr<StoreCore>> open(const StoreOptions& options);
  StoreCore(StoreOptions options, std::shared_ptr<Io> io, std::unique_ptr<IoQueue> queue);
  StoreCore(const StoreCore&) = delete;
  StoreCore& operator=(const StoreCore&) = delete;
  ~StoreCore() = default;
  /// The store goes away: logs that are open are latched as they are, callbacks run or are dropped,
  /// the directories are given back. Logs that someone still holds answer kNotOpen afterwards.
  void shut_down();
  /// Runs `task` on a thread of its own, or here when the system has none to give.
  static void elsewhere(const std::function<void()>& task);

  Result<std::shared_ptr<Log>> open_log(const TopicPartition& name, const LogOptions& options);
  std::vector<OpenOutcome> open_logs(
      const std::function<LogOptions(const TopicPartition&)>& options_of);
  std::vector<LogSummary> logs() const;
  Status delete_log(const TopicPartition& name);
  std::size_t poll(std::int64_t timeout_ns) { return shard_.poll(timeout_ns); }
  int native_handle() const { return shard_.native_handle(); }
  Status checkpoint();
  const std::vector<std::string>& notes() const { return notes_; }
  std::string io_description() const { return io_->description(); }
  Status close();

 private:
  struct Place {
    DataDir* root = nullptr;
    std::string directory;
  };
  /// A log as the store knows it: on disk, being opened, or open.
  struct Entry {
    Place place;
    std::shared_ptr<LogCore> core;  // null: not open
    bool opening = false;
    bool unclean = false;  // opened and not closed cleanly: no clean marker
    bool touched = false;  // this run has changed its files: the clean marker says nothing more
  };
  /// A call that uses the directories; `close` lets those that run end and refuses new ones.
  class Call;

  Status open_directories();
  Status scan(DataDir& root, std::vector<std::string>& leftovers);
  Status check_cluster() const;
  Status refuse_if_in_callback() const;
  Status abandon_log(const std::shared_ptr<LogCore>& core);
  Status close_directories();
  Status remove_directory_tree(const std::string& directory);
  Result<Place> create_log(const TopicPartition& name);
  Result<std::shared_ptr<LogCore>> load(const TopicPartition& name, const Place& place,
                                        const LogOptions& options, bool touched);
  Status record_sidecar(LogCore& core, const LogOptions& options, bool covered,
                        std::int64_t recorded);
  LogEnvironment environment(DataDir& root);
  void notify(StoreEvent::Kind kind, const TopicPartition& name, std::string message);
  void tick();
  std::vector<std::shared_ptr<LogCore>> open_cores() const;

  const StoreOptions options_;
  const std::shared_ptr<Io> io_;
  std::vector<std::unique_ptr<DataDir>> roots_;
  std::vector<std::string> notes_;
  SegmentCache cache_;
  mutable std::mutex mutex_;
  std::map<TopicPartition, Entry> logs_;  // guarded by mutex_
  bool closed_ = false;                   // guarded by mutex_
  std::size_t calls_ = 0;                 // guarded by mutex_
  bool close_ended_ = false;              // guarded by mutex_
  std::condition_variable calls_changed_;
  Shard shard_;  // last: it ends first, and what it runs uses the rest
};

class StoreCore::Call {
 public:
  explicit Call(StoreCore& core) : core_(core) {
    const std::lock_guard lock(core_.mutex_);
    ++core_.calls_;
    open_ = !core_.closed_;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    const std::lock_guard lock(core_.mutex_);
    --core_.calls_;
    core_.calls_changed_.notify_all();
  }
  /// kNotOpen once the store is being closed.
  Status status() const {
    if (open_) return {};
    return make_error(ErrorCode::kNotOpen, "the store is closed");
  }

 private:
  StoreCore& core_;
  bool open_ = false;
};

}  // namespace oncelog
