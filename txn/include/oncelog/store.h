// Data directories with many partition logs: where a caller starts.
//
//   auto store = oncelog::Store::open({.data_dirs = {"data"}});
//   auto log = (*store)->open_log({.topic = "orders", .partition = 0}, oncelog::LogOptions{});
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "oncelog/io.h"
#include "oncelog/log.h"
#include "oncelog/log_options.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

class StoreCore;

/// Who drives the shard. Blocking calls drive it themselves in either mode.
enum class Driver : std::uint8_t {
  kOwnThread,  ///< the store's thread
  kCaller,     ///< the caller's event loop, through `poll` and `native_handle`
};

/// Something that happened; delivered like a callback.
struct StoreEvent {
  enum class Kind : std::uint8_t { kRecovered, kRolled, kCut, kDamaged, kDiskFull, kFailed };
  Kind kind = Kind::kRecovered;
  TopicPartition log;
  std::string message;
};

struct StoreOptions {
  std::vector<std::string> data_dirs = {};  ///< created when missing; each is locked
  std::shared_ptr<Io> io = nullptr;         ///< null: make_system_io()
  Driver driver = Driver::kOwnThread;
  /// Checkpoints, flush.ms and idle syncs on a timer. False: only when asked for, as expiry and
  /// retention always are (`Log::expire_producers`, `Log::apply_retention`).
  bool background = true;
  std::size_t open_files_max = 1024;   ///< descriptors of sealed segments kept open, >= 8
  std::uint32_t recovery_threads = 2;  ///< logs opened at the same time by `open_logs`, 1..64
  std::int64_t broker_epoch = -1;      ///< written into the clean-shutdown marker
  std::string cluster_id = {};         ///< for a new meta.properties; empty: made up
  std::int32_t node_id = 0;            ///< for a new meta.properties
  std::function<void(const StoreEvent&)> listener = nullptr;
};

struct LogSummary {
  TopicPartition name;
  std::string directory;
  bool open = false;
};

struct OpenOutcome {
  TopicPartition name;
  Result<std::shared_ptr<Log>> log;
};

/// THREADS  every call from any thread, except that one thread at a time calls `poll`.
/// LIFETIME  outlives its logs' pages; the last reference closes it without the clean marker: logs
/// that are still open answer kNotOpen from then on, and queued callbacks run before it is gone
/// (Driver::kCaller: are dropped). Inside a callback that happens a little later, on another
/// thread.
class Store : public std::enable_shared_from_this<Store> {
 public:
  /// Locks the directories (kLocked), reads their files, removes the clean marker durably. Opens no
  /// log yet. Names that are no partition directory are left alone and reported in `notes`.
  static Result<std::shared_ptr<Store>> open(const StoreOptions& options);
  explicit Store(std::shared_ptr<StoreCore> core);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  /// Opens (recovers) the log, or creates it in the data directory with the fewest logs.
  /// kAlreadyExists when it is open; kDamaged, kIo when it does not open: other logs are not
  /// concerned.
  Result<std::shared_ptr<Log>> open_log(const TopicPartition& name, const LogOptions& options);
  /// Opens all logs present, several at a time.
  std::vector<OpenOutcome> open_logs(
      const std::function<LogOptions(const TopicPartition&)>& options_of);
  /// Every log present or open, by name.
  std::vector<LogSummary> logs() const;
  /// Closes and removes a log. Pages that hold its files keep them until they go.
  Status delete_log(const TopicPartition& name);

  /// Driver::kCaller: does what is ready and runs callbacks; returns how many completions and
  /// messages it handled. `timeout_ns`: as IoQueue::poll. `native_handle` is readable when there
  /// is something to do (-1 in the simulator).
  std::size_t poll(std::int64_t timeout_ns = 0);
  int native_handle() const;
  /// Writes the root checkpoints of all directories now; durable when it returns.
  Status checkpoint();

  const std::vector<std::string>& notes() const;
  std::string io_description() const;
  /// Closes all logs, writes the checkpoints and, when every log is clean, the clean marker.
  Status close();

 private:
  std::shared_ptr<StoreCore> core_;
};

}  // namespace oncelog
