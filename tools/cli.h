// The command line: sub-commands, options, help texts; the only user of CLI11 is cli.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncelog/result.h"

namespace oncelog::tools {

/// Exit codes of the program.
enum ExitCode : int {
  kExitFine = 0,     ///< fine; notes allowed
  kExitDamaged = 1,  ///< the data is damaged or a check failed
  kExitTrouble = 2,  ///< wrong usage or an I/O error
};

/// Prints "oncelog: <error>" as one line to stderr.
void print_error(const Error& error);
void print_error(std::string_view message);
/// Prints the error and returns its exit code: kExitDamaged when it is about bytes on disk that
/// are wrong, else kExitTrouble.
int fail(const Error& error);
int exit_code_of(const Error& error);

/// One sub-command while it is declared. The variables named here must live until `Cli::run`
/// has returned.
class Command {
 public:
  struct Impl;
  explicit Command(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  Command& path(std::string_view name, std::string& into, std::string_view help);
  Command& paths(std::string_view name, std::vector<std::string>& into, std::string_view help);
  Command& flag(std::string_view names, bool& into, std::string_view help);
  Command& text(std::string_view names, std::string& into, std::string_view help);
  Command& number(std::string_view names, std::int64_t& into, std::string_view help,
                  std::int64_t min, std::int64_t max = INT64_MAX);
  Command& number(std::string_view names, std::optional<std::int64_t>& into, std::string_view help,
                  std::int64_t min, std::int64_t max = INT64_MAX);
  /// One of a few words; the first is the default and is put into `into`.
  Command& choice(std::string_view names, std::string& into, const std::vector<std::string>& words,
                  std::string_view help);
  /// What the sub-command does; returns the exit code.
  void action(std::function<int()> action);

 private:
  std::shared_ptr<Impl> impl_;
};

class Cli {
 public:
  struct Impl;
  Cli();
  Cli(const Cli&) = delete;
  Cli& operator=(const Cli&) = delete;
  ~Cli();

  /// `example` is shown at the end of the help; `help` is its first line.
  Command add(std::string_view name, std::string_view help, std::string_view example);
  /// A command that is not listed: one process of this program talking to another.
  Command add_hidden(std::string_view name);
  /// Parses and runs; returns the exit code. Wrong usage is one line on stderr.
  int run(int argc, const char* const* argv);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace oncelog::tools
