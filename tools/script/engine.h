// Carries out script operations on the library, in this process: one store on one directory.
//
// THREADS  one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "oncelog/io.h"
#include "oncelog/log.h"
#include "oncelog/result.h"
#include "oncelog/store.h"

#include "tools/json.h"

namespace oncelog::tools::script {

class Engine {
 public:
  /// Does, or waits for, the background work handed out so far; false when there was none.
  using Background = std::function<bool()>;
  /// `root` is the data directory; created by the first `open`.
  Engine(std::shared_ptr<Io> io, std::string root, Background background);

  /// The result of one operation: {"ok": true, ...} or {"error": NAME, "message": ...}.
  Json execute(std::string_view op, const Json& fields);

 private:
  Result<Json> dispatch(std::string_view op, const Json& fields);
  Result<Json> open(const Json& fields);
  Result<Json> close(const Json& fields);
  /// Lets background work end, so that the next operation finds the same state everywhere.
  void settle();

  std::shared_ptr<Io> io_;
  std::string root_;
  Background background_;
  std::shared_ptr<Store> store_;
  std::map<std::string, std::shared_ptr<Log>> logs_;
};

/// What an operation on an open log may use.
struct LogOperation {
  Log& log;
  const Json& fields;
  TimestampMs now_ms = 0;
};

// ops_append.cc
Result<Json> run_append(const LogOperation& operation);
Result<Json> run_append_raw(const LogOperation& operation);
Result<Json> run_marker(const LogOperation& operation);
Result<Json> run_verify_start(const LogOperation& operation);
// ops_read.cc
Result<Json> run_fetch(const LogOperation& operation);
Result<Json> run_read_all(const LogOperation& operation);
Result<Json> run_list_offsets(const LogOperation& operation);
Result<Json> run_end_offset_for_epoch(const LogOperation& operation);
// ops_change.cc
Result<Json> run_roll(const LogOperation& operation);
Result<Json> run_flush(const LogOperation& operation);
Result<Json> run_expire_producers(const LogOperation& operation);
Result<Json> run_retention(const LogOperation& operation);
Result<Json> run_high_watermark(const LogOperation& operation);
Result<Json> run_leader_epoch(const LogOperation& operation);
Result<Json> run_delete_records(const LogOperation& operation);
Result<Json> run_truncate(const LogOperation& operation);
Result<Json> run_truncate_fully(const LogOperation& operation);
// ops_state.cc
Result<Json> run_state(const LogOperation& operation);
/// LogOptions of an `open`; kInvalidArgument for unknown or bad configuration.
Result<LogOptions> options_of(const Json& fields);

Isolation isolation_of(const Json& fields);

}  // namespace oncelog::tools::script
