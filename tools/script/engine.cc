// Opening, closing and dispatching of script operations.
#include "tools/script/engine.h"

#include <array>
#include <utility>

#include "tools/partition.h"
#include "tools/report_json.h"

namespace oncelog::tools::script {
namespace {

constexpr std::string_view kDefaultLog = "t-0";

struct Operation {
  std::string_view name;
  Result<Json> (*run)(const LogOperation&);
};

constexpr std::array kOperations{Operation{"append", run_append},
                                 Operation{"append_raw", run_append_raw},
                                 Operation{"marker", run_marker},
                                 Operation{"verify_start", run_verify_start},
                                 Operation{"fetch", run_fetch},
                                 Operation{"read_all", run_read_all},
                                 Operation{"list_offsets", run_list_offsets},
                                 Operation{"end_offset_for_epoch", run_end_offset_for_epoch},
                                 Operation{"roll", run_roll},
                                 Operation{"flush", run_flush},
                                 Operation{"expire_producers", run_expire_producers},
                                 Operation{"retention", run_retention},
                                 Operation{"high_watermark", run_high_watermark},
                                 Operation{"leader_epoch", run_leader_epoch},
                                 Operation{"delete_records", run_delete_records},
                                 Operation{"truncate", run_truncate},
                                 Operation{"truncate_fully", run_truncate_fully},
                                 Operation{"state", run_state}};

Json to_result(const Result<Json>& outcome) {
  if (!outcome.ok())
    return Json::object(
        {{"error", to_string(outcome.error().code)}, {"message", to_string(outcome.error())}});
  Json result = Json::object({{"ok", true}});
  for (const auto& [name, value] : outcome->members())
    result.set(name, value);
  return result;
}

std::string log_name(const Json& fields) {
  const std::string_view name = fields["log"].as_string();
  return std::string(name.empty() ? kDefaultLog : name);
}

}  // namespace

Engine::Engine(std::shared_ptr<Io> io, std::string root, Background background)
    : io_(std::move(io)), root_(std::move(root)), background_(std::move(background)) {}

Json Engine::execute(std::string_view op, const Json& fields) {
  Json result = to_result(dispatch(op, fields));
  settle();
  return result;
}

Result<Json> Engine::dispatch(std::string_view op, const Json& fields) {
  if (op == "open") return open(fields);
  if (op == "close") return close(fields);
  const auto found = logs_.find(log_name(fields));
  if (found == logs_.end()) return make_error(ErrorCode::kNotOpen, "the log is not open");
  for (const Operation& operation : kOperations) {
    if (operation.name == op)
      return operation.run(LogOperation{*found->second, fields, io_->clock().wall_ms()});
  }
  return make_error(ErrorCode::kInvalidArgument, "no such operation");
}

Result<Json> Engine::open(const Json& fields) {
  const std::string name = log_name(fields);
  const auto parsed = parse_partition_name(name);
  if (!parsed)
    return make_error(ErrorCode::kInvalidArgument, "\"" + name + "\" is no <topic>-<partition>");
  ONCELOG_TRY_ASSIGN(const LogOptions options, options_of(fields));
  if (store_ == nullptr) {
    StoreOptions store;
    store.data_dirs = {root_};
    store.io = io_;
    store.driver = Driver::kCaller;
    store.background = false;
    ONCELOG_TRY_ASSIGN(store_, Store::open(store));
  }
  auto opened = store_->open_log(*parsed, options);
  if (!opened.ok()) {
    // Let go without closing: what could not be opened must not be called clean.
    if (logs_.empty()) store_ = nullptr;
    return std::move(opened).error();
  }
  logs_[name] = std::move(opened).value();
  Log& log = *logs_[name];
  const LogOffsets offsets = log.offsets();
  return Json::object({{"logStartOffset", offsets.log_start},
                       {"logEndOffset", offsets.log_end},
                       {"highWatermark", offsets.high_watermark},
                       {"lastStableOffset", offsets.last_stable},
                       {"report", report_json(log.recovery_report())}});
}

Result<Json> Engine::close(const Json& fields) {
  const auto found = logs_.find(log_name(fields));
  if (found == logs_.end()) return make_error(ErrorCode::kNotOpen, "the log is not open");
  const Status closed = found->second->close();
  logs_.erase(found);
  Status store_closed;
  if (logs_.empty()) {
    store_closed = store_->close();
    store_ = nullptr;
  }
  ONCELOG_TRY(closed);
  ONCELOG_TRY(store_closed);
  return Json::object();
}

void Engine::settle() {
  constexpr int kRoundsMax = 1000;
  bool busy = true;
  for (int round = 0; busy && round < kRoundsMax; ++round) {
    busy = background_();
    if (store_ != nullptr && store_->poll(0) > 0) busy = true;
  }
}

Isolation isolation_of(const Json& fields) {
  return fields["isolation"].as_string() == "read_committed" ? Isolation::kReadCommitted
                                                             : Isolation::kReadUncommitted;
}

}  // namespace oncelog::tools::script
