// Command line parsing on top of CLI11.
#include "tools/cli.h"

#include <cstdio>
#include <exception>
#include <utility>

#include <CLI/CLI.hpp>

#include "tools/version.h"

namespace oncelog::tools {

struct Command::Impl {
  CLI::App* app = nullptr;
  std::function<int()> action;
};

struct Cli::Impl {
  CLI::App app{"Reads, writes, checks and explains Apache Kafka partition log directories."};
  std::vector<std::shared_ptr<Command::Impl>> commands;
};

namespace {

CLI::Range in_range(std::int64_t min, std::int64_t max) {
  std::string name = max == INT64_MAX ? ">= " + std::to_string(min)
                                      : std::to_string(min) + ".." + std::to_string(max);
  return {min, max, name};
}

/// CLI11 explains itself in several lines; scripts and people want the first.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

void print_error(std::string_view message) {
  std::string line = "oncelog: ";
  for (const char c : message)
    line += c == '\n' ? ' ' : c;
  line += '\n';
  std::fflush(stdout);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void print_error(const Error& error) {
  print_error(to_string(error));
}

int exit_code_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kDamaged:
    case ErrorCode::kCorruptBatch:
    case ErrorCode::kInvalidRecord:
    case ErrorCode::kOffsetGap:
    case ErrorCode::kOffsetsOutOfOrder:
      return kExitDamaged;
    case ErrorCode::kIo:
    case ErrorCode::kDiskFull:
    case ErrorCode::kInvalidTimestamp:
    case ErrorCode::kMessageTooLarge:
    case ErrorCode::kRecordListTooLarge:
    case ErrorCode::kUnsupportedFormat:
    case ErrorCode::kUnsupportedCompression:
    case ErrorCode::kOutOfOrderSequence:
    case ErrorCode::kInvalidProducerEpoch:
    case ErrorCode::kInvalidTxnState:
    case ErrorCode::kCoordinatorFenced:
    case ErrorCode::kOffsetOutOfRange:
    case ErrorCode::kFencedLeaderEpoch:
    case ErrorCode::kUnknownLeaderEpoch:
    case ErrorCode::kPolicyViolation:
    case ErrorCode::kLocked:
    case ErrorCode::kBusy:
    case ErrorCode::kNotOpen:
    case ErrorCode::kNotFound:
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported:
      return kExitTrouble;
  }
  return kExitTrouble;
}

int fail(const Error& error) {
  print_error(error);
  return exit_code_of(error);
}

Command& Command::path(std::string_view name, std::string& into, std::string_view help) {
  impl_->app->add_option(std::string(name), into, std::string(help))->required();
  return *this;
}

Command& Command::paths(std::string_view name, std::vector<std::string>& into,
                        std::string_view help) {
  impl_->app->add_option(std::string(name), into, std::string(help))->required();
  return *this;
}

Command& Command::flag(std::string_view names, bool& into, std::string_view help) {
  impl_->app->add_flag(std::string(names), into, std::string(help));
  return *this;
}

Command& Command::text(std::string_view names, std::string& into, std::string_view help) {
  impl_->app->add_option(std::string(names), into, std::string(help));
  return *this;
}

Command& Command::number(std::string_view names, std::int64_t& into, std::string_view help,
                         std::int64_t min, std::int64_t max) {
  impl_->app->add_option(std::string(names), into, std::string(help))
      ->check(in_range(min, max))
      ->capture_default_str();
  return *this;
}

Command& Command::number(std::string_view names, std::optional<std::int64_t>& into,
                         std::string_view help, std::int64_t min, std::int64_t max) {
  impl_->app->add_option(std::string(names), into, std::string(help))->check(in_range(min, max));
  return *this;
}

Command& Command::choice(std::string_view names, std::string& into,
                         const std::vector<std::string>& words, std::string_view help) {
  into = words.front();
  impl_->app->add_option(std::string(names), into, std::string(help))
      ->check(CLI::IsMember(words))
      ->capture_default_str();
  return *this;
}

void Command::action(std::function<int()> action) {
  impl_->action = std::move(action);
}

Cli::Cli() : impl_(std::make_unique<Impl>()) {
  impl_->app.set_version_flag("--version", "oncelog " + std::string(kVersion));
  impl_->app.require_subcommand(1);
  impl_->app.footer(
      "Exit codes: 0 fine, 1 the data is damaged or a check failed, 2 wrong usage or I/O error.\n"
      "Example: oncelog verify /var/lib/kafka/data");
}

Cli::~Cli() = default;

Command Cli::add(std::string_view name, std::string_view help, std::string_view example) {
  auto command = std::make_shared<Command::Impl>();
  command->app = impl_->app.add_subcommand(std::string(name), std::string(help));
  command->app->footer("Example: " + std::string(example));
  impl_->commands.push_back(command);
  return Command(command);
}

Command Cli::add_hidden(std::string_view name) {
  auto command = std::make_shared<Command::Impl>();
  command->app = impl_->app.add_subcommand(std::string(name), "")->group("");
  impl_->commands.push_back(command);
  return Command(command);
}

int Cli::run(int argc, const char* const* argv) {
  const std::string first = argc > 1 ? argv[1] : "-";
  const auto is_first = [&](const CLI::App* app) { return app->get_name() == first; };
  if (!first.starts_with('-') && impl_->app.get_subcommands(is_first).empty()) {
    print_error("no such command: " + first + " (see --help)");
    return kExitTrouble;
  }
  try {
    impl_->app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      impl_->app.exit(error);  // help or version
      return kExitFine;
    }
    print_error(first_line(error.what()) + " (see --help)");
    return kExitTrouble;
  }
  for (const auto& command : impl_->commands) {
    if (!command->app->parsed()) continue;
    const int code = command->action();
    // A full disk or a closed pipe under stdout must not look like success.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      print_error("cannot write to standard output");
      return kExitTrouble;
    }
    return code;
  }
  return kExitTrouble;
}

}  // namespace oncelog::tools
