// `oncelog script`: runs a scenario from a file; the language is described in SCRIPT.md.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "tools/commands.h"
#include "tools/io_files.h"
#include "tools/json.h"
#include "tools/script/host.h"
#include "tools/script/parser.h"
#include "tools/script/runner.h"

namespace oncelog::tools {
namespace {

struct Options {
  std::string file;
  std::string directory;
  std::optional<std::int64_t> seed;
  bool json = false;
};

int run_on(script::Host& host, const std::vector<script::Step>& steps, bool json) {
  script::Runner runner(host, stdout, stderr);
  const int code = runner.run(steps);
  if (json) {
    const std::string summary = to_text(Json::object({{"ok", code == kExitFine},
                                                      {"operations", steps.size()},
                                                      {"held", runner.expectations_held()},
                                                      {"failed", runner.expectations_failed()}}));
    std::fwrite(summary.data(), 1, summary.size(), stdout);
    std::fputc('\n', stdout);
  }
  return code;
}

int run(const Options& options) {
  if (options.seed && !options.directory.empty()) {
    print_error("--dir and --sim exclude each other");
    return kExitTrouble;
  }
  const auto text = read_text_file(options.file);
  if (!text.ok()) return fail(text.error());
  const auto steps = script::parse_script(*text);
  if (!steps.ok()) {
    print_error(options.file + ": " + steps.error().message);
    return kExitTrouble;
  }
  if (options.seed) {
    const auto host = script::make_simulated_host(static_cast<std::uint64_t>(*options.seed));
    return run_on(*host, *steps, options.json);
  }
  std::optional<TemporaryDirectory> temporary;
  std::string directory = options.directory;
  if (directory.empty()) {
    auto made = TemporaryDirectory::make("oncelog-script");
    if (!made.ok()) return fail(made.error());
    temporary.emplace(std::move(made).value());
    directory = temporary->path();
  }
  const auto host = script::make_directory_host(directory);
  if (!host.ok()) return fail(host.error());
  return run_on(**host, *steps, options.json);
}

}  // namespace

void add_script(Cli& cli) {
  const auto options = std::make_shared<Options>();
  cli.add("script",
          "Run a scenario: JSON lines of operations and expectations, on a real directory (a\n"
          "temporary one by default) or on a simulated disk. Prints one JSON line per operation.\n"
          "Exit code 1 when an expectation does not hold.",
          "oncelog script lost-ack.jsonl --sim 7")
      .path("FILE", options->file, "the script")
      .text("--dir", options->directory, "data directory to run on, created when missing; kept")
      .number("--sim", options->seed, "run on the simulated disk with this seed", 0)
      .flag("--json", options->json, "end with a JSON summary line")
      .action([options] { return run(*options); });

  const auto worker_directory = std::make_shared<std::string>();
  cli.add_hidden("script-worker")
      .path("DIR", *worker_directory, "data directory")
      .action([worker_directory] { return script::run_worker(3, *worker_directory); });
}

}  // namespace oncelog::tools
