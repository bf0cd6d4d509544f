// Runs the steps of a script one after the other on a host and prints a result line for each.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "oncelog/result.h"

#include "tools/json.h"
#include "tools/script/host.h"
#include "tools/script/parser.h"

namespace oncelog::tools::script {

class Runner {
 public:
  /// Result lines go to `out`, mismatches to `errors`. The host must outlive the runner.
  Runner(Host& host, std::FILE* out, std::FILE* errors) : host_(host), out_(out), errors_(errors) {}

  /// The exit code: 0 all expectations held, 1 one did not, 2 the script cannot be run.
  int run(const std::vector<Step>& steps);
  int expectations_held() const { return held_; }
  int expectations_failed() const { return failed_; }

 private:
  /// An error means that the script cannot be run.
  Result<Json> run_step(Step step);
  Result<Json> run_beside_engine(const Step& step);
  Result<Json> run_open(const Step& step);
  Result<Json> run_on_log(const Step& step);
  Json add_fault(const Step& step);
  void check(const Step& step, const Json& expect, const Json& result);
  void fill_append(Json& fields);
  void engine_gone() { open_logs_.clear(); }

  Host& host_;
  std::FILE* out_;
  std::FILE* errors_;
  std::int64_t clock_ms_ = kClockStartMs;
  std::int64_t next_value_ = 0;
  std::string last_log_ = "t-0";        ///< opened last, still open or not
  std::vector<std::string> open_logs_;  ///< in the order of opening
  Json saved_ = Json::object();
  int held_ = 0;
  int failed_ = 0;
};

/// {"error": NAME, "message": ...}
Json error_result(const Error& error);

// file_ops.cc
/// `files` and the `file_*` operations; `directory` is the log's, `open` says whether it is open.
Json run_file_operation(const Step& step, Disk& disk, const std::string& directory, bool open);
/// Whether a name fits a pattern of '*', '?' and plain characters.
bool matches_glob(std::string_view pattern, std::string_view name);

}  // namespace oncelog::tools::script
