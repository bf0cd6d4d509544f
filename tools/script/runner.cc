// The loop over a script's steps.
#include "tools/script/runner.h"

#include <algorithm>
#include <optional>

#include "tools/script/expect.h"
#include "tools/script/operations.h"

namespace oncelog::tools::script {
namespace {

Json not_open(const std::string& log) {
  return error_result(make_error(ErrorCode::kNotOpen, "log " + log + " is not open"));
}

Json fine() {
  return Json::object({{"ok", true}});
}

bool needs_simulation(const Step& step) {
  return step.op == "power_cut" || step.op == "disk_capacity";
}

void print_line(std::FILE* file, const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), file);
  std::fputc('\n', file);
}

/// The value at a path of member names, e.g. "report.clean"; null when there is none.
const Json& at_path(const Json& value, std::string_view path) {
  const std::size_t dot = path.find('.');
  const Json& member = value[path.substr(0, dot)];
  return dot == std::string_view::npos ? member : at_path(member, path.substr(dot + 1));
}

}  // namespace

Json error_result(const Error& error) {
  return Json::object({{"error", to_string(error.code)}, {"message", to_string(error)}});
}

int Runner::run(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    if (!needs_simulation(step) || host_.simulated()) continue;
    print_line(errors_,
               "oncelog: line " + std::to_string(step.line) + ": \"" + step.op + "\" needs --sim");
    return 2;
  }
  host_.set_clock(clock_ms_);
  for (const Step& step : steps) {
    const auto result = run_step(step);
    if (result.ok()) continue;
    print_line(errors_, "oncelog: " + to_string(result.error()));
    // An engine that ends by itself broke its promise; the rest is the script's fault.
    return result.error().code == ErrorCode::kInvalidArgument ? 2 : 1;
  }
  host_.kill();
  return failed_ == 0 ? 0 : 1;
}

Result<Json> Runner::run_step(Step step) {
  const auto cannot = [&](const Error& error) {
    return make_error(error.code, error.message.starts_with("line ")
                                      ? error.message
                                      : "line " + std::to_string(step.line) + ": " + error.message);
  };
  for (Json* part : {&step.fields, &step.expect}) {
    const Status status = substitute(*part, saved_);
    if (!status.ok()) return cannot(status.error());
  }
  const Status checked = check_fields(step);
  if (!checked.ok()) return cannot(checked.error());
  const Place place = find_operation(step.op)->place;
  auto result = place == Place::kRunner  ? run_beside_engine(step)
                : place == Place::kStore ? run_open(step)
                                         : run_on_log(step);
  if (!result.ok()) return cannot(result.error());
  print_line(out_, to_text(*result));
  std::fflush(out_);
  for (const auto& [name, field] : step.save)
    saved_.set(name, at_path(*result, field));
  if (!step.expect.is_null()) check(step, step.expect, *result);
  return result;
}

void Runner::check(const Step& step, const Json& expect, const Json& result) {
  const auto mismatch = compare(expect, result);
  if (!mismatch) {
    ++held_;
    return;
  }
  ++failed_;
  std::string line = "line " + std::to_string(step.line) + ": " + mismatch->where + ": wanted " +
                     to_text(mismatch->wanted) + ", got " + to_text(mismatch->got);
  if (const Json* message = result.find("message"); message != nullptr)
    line += " (" + std::string(message->as_string()) + ")";
  print_line(errors_, line);
}

Result<Json> Runner::run_beside_engine(const Step& step) {
  const Json& fields = step.fields;
  if (step.op == "clock" || step.op == "advance") {
    clock_ms_ = fields["ms"].as_integer() + (step.op == "advance" ? clock_ms_ : 0);
    host_.set_clock(clock_ms_);
    return fine();
  }
  if (step.op == "kill" || step.op == "power_cut") {
    if (step.op == "kill") {
      host_.kill();
    } else {
      host_.power_cut(std::string(fields["mode"].as_string()),
                      static_cast<std::uint64_t>(fields["seed"].as_integer()));
    }
    engine_gone();
    return fine();
  }
  if (step.op == "fault") return add_fault(step);
  if (step.op == "fault_clear") {
    host_.clear_faults();
    return fine();
  }
  if (step.op == "disk_capacity") {
    host_.set_capacity(fields["bytes"].as_integer());
    return fine();
  }
  const std::string log =
      fields["log"].is_string() ? std::string(fields["log"].as_string()) : last_log_;
  const bool open = std::find(open_logs_.begin(), open_logs_.end(), log) != open_logs_.end();
  return run_file_operation(step, host_.disk(), log, open);
}

Json Runner::add_fault(const Step& step) {
  auto rule = parse_fault(step.fields);
  if (!rule.ok()) return error_result(rule.error());
  host_.add_fault(*rule);
  return fine();
}

Result<Json> Runner::run_open(const Step& step) {
  Json fields = step.fields;
  if (!fields["log"].is_string()) fields.set("log", "t-0");
  const std::string log(fields["log"].as_string());
  last_log_ = log;
  ONCELOG_TRY_ASSIGN(Json result, host_.execute(step.op, fields));
  if (result["ok"].as_bool()) open_logs_.push_back(log);
  return result;
}

Result<Json> Runner::run_on_log(const Step& step) {
  Json fields = step.fields;
  if (!fields["log"].is_string())
    fields.set("log", open_logs_.empty() ? last_log_ : open_logs_.back());
  const std::string log(fields["log"].as_string());
  const auto open = std::find(open_logs_.begin(), open_logs_.end(), log);
  if (step.op == "append") fill_append(fields);
  if (open == open_logs_.end()) return not_open(log);
  ONCELOG_TRY_ASSIGN(Json result, host_.execute(step.op, fields));
  // A log that could not be closed cleanly is closed all the same.
  if (step.op == "close") open_logs_.erase(open);
  return result;
}

/// Values that the script does not give are made up here, so that they stay new over a kill.
void Runner::fill_append(Json& fields) {
  std::size_t count = 1;
  for (const char* name : {"values", "keys", "timestamps"})
    count = std::max(count, fields[name].items().size());
  if (const Json& given = fields["count"]; given.is_integer() && given.as_integer() > 0)
    count = static_cast<std::size_t>(std::min<std::int64_t>(given.as_integer(), 1'000'000));
  if (!fields["count"].is_integer()) fields.set("count", count);
  if (fields["valueBytes"].is_integer()) {
    fields.set("valueNumber", next_value_);
    next_value_ += static_cast<std::int64_t>(count);
    return;
  }
  Json::Array values = fields["values"].items();
  while (values.size() < count)
    values.emplace_back("v" + std::to_string(next_value_++));
  fields.set("values", std::move(values));
}

}  // namespace oncelog::tools::script
