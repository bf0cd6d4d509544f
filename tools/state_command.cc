// `oncelog state`: producers and transactions of a partition at its end or at an earlier offset.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tools/commands.h"
#include "tools/document.h"
#include "tools/loaded_partition.h"
#include "tools/state_json.h"
#include "tools/system_files.h"
#include "tools/text.h"

namespace oncelog::tools {
namespace {

struct Options {
  std::string directory;
  std::optional<std::int64_t> at;
  std::optional<std::int64_t> high_watermark;
  bool json = false;
};

void print_list(const char* title, const char* kind, const Json& list) {
  print_line("{}: {}", title, list.items().size());
  for (const Json& item : list.items()) {
    Json shown = item;
    shown.erase("batches");
    print_line("  {} {}", kind, plain_text(shown));
  }
}

void print_text(const LoadedPartition& loaded, const LogState& state) {
  const Json json = state_json(state);
  print_line("{}", loaded.partition.directory);
  print_line("offsets {} to {}, high watermark {}, last stable offset {}", state.log_start,
             state.log_end, state.high_watermark, state.last_stable_offset);
  print_list("producers", "producer", json["producers"]);
  print_list("open transactions", "open", json["openTransactions"]);
  print_list("aborted transactions", "aborted", json["abortedTransactions"]);
  print_list("leader epochs", "epoch", json["leaderEpochs"]);
  print_line("{}", describe_facts(loaded));
}

int run(const Options& options) {
  const auto io = system_io();
  if (!io.ok()) return fail(io.error());
  FileSystem& files = (*io)->files();
  auto partition = find_partition(files, options.directory);
  if (!partition.ok()) return fail(partition.error());
  const auto loaded = load_partition(files, std::move(partition).value(), options.high_watermark);
  if (!loaded.ok()) return fail(loaded.error());
  const auto state = options.at ? state_at(files, *loaded, *options.at) : state_of(files, *loaded);
  if (!state.ok()) return fail(state.error());
  const auto damage = damage_lines(loaded->log.report);
  if (options.json) {
    Json out = state_json(*state);
    out.set("directory", loaded->partition.directory);
    out.set("facts", facts_json(*loaded));
    out.set("damage", Json::array_of(damage));
    print_line("{}", to_text(out));
  } else {
    print_text(*loaded, *state);
  }
  for (const std::string& line : damage)
    print_error(loaded->partition.directory + ": " + line);
  return damage.empty() ? kExitFine : kExitDamaged;
}

}  // namespace

void add_state(Cli& cli) {
  const auto options = std::make_shared<Options>();
  cli.add("state",
          "Print the producers, open and aborted transactions and the last stable offset of a\n"
          "partition, at its end or as they were when another offset was its end. Read-only.",
          "oncelog state /var/lib/kafka/data/orders-0 --at 1200")
      .path("DIR", options->directory, "partition directory")
      .number("--at", options->at, "as if the log ended before this offset", 0)
      .number("--high-watermark", options->high_watermark, "in place of the data directory's", 0)
      .flag("--json", options->json, "print a JSON object")
      .action([options] { return run(*options); });
}

}  // namespace oncelog::tools
