// `oncelog recover`: opens logs as a writer would, reports what recovery did, closes them cleanly.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "oncelog/recovery_report.h"

#include "tools/commands.h"
#include "tools/partition.h"
#include "tools/partition_writer.h"
#include "tools/report_json.h"
#include "tools/system_files.h"
#include "tools/text.h"

namespace oncelog::tools {
namespace {

struct Options {
  std::string path;
  std::string on_damage;
  std::string on_holed_tail;
  bool json = false;
};

LogOptions log_options(const Options& options) {
  LogOptions out;
  if (options.on_damage == "cut") out.on_damage = OnDamage::kCut;
  if (options.on_damage == "read_only") out.on_damage = OnDamage::kReadOnly;
  if (options.on_holed_tail == "fail") out.on_holed_tail = OnHoledTail::kFail;
  return out;
}

/// Opens one log and describes it.
Result<Json> recover_one(Store& store, const Partition& partition, const Options& options) {
  ONCELOG_TRY_ASSIGN(const auto log, store.open_log(*partition.name, log_options(options)));
  const RecoveryReport& report = log->recovery_report();
  const LogOffsets offsets = log->offsets();
  if (!options.json) {
    print_line("{}: offsets {} to {}", partition.directory, offsets.log_start, offsets.log_end);
    print_line("{}", to_string(report));
  }
  ONCELOG_TRY(log->close());
  return Json::object({{"directory", partition.directory},
                       {"logStartOffset", offsets.log_start},
                       {"logEndOffset", offsets.log_end},
                       {"highWatermark", offsets.high_watermark},
                       {"lastStableOffset", offsets.last_stable},
                       {"report", report_json(report)}});
}

int recover_all(Store& store, const std::vector<Partition>& partitions, const Options& options) {
  int code = kExitFine;
  Json::Array logs;
  for (const Partition& partition : partitions) {
    if (!partition.name) continue;
    auto recovered = recover_one(store, partition, options);
    if (recovered.ok()) {
      logs.push_back(std::move(recovered).value());
      continue;
    }
    code = std::max(code, fail(recovered.error()));
    logs.push_back(Json::object({{"directory", partition.directory},
                                 {"error", to_string(recovered.error().code)},
                                 {"message", to_string(recovered.error())}}));
  }
  if (options.json)
    print_line("{}", to_text(Json::object({{"ok", code == kExitFine}, {"logs", std::move(logs)}})));
  return code;
}

int run(const Options& options) {
  const auto io = system_io();
  if (!io.ok()) return fail(io.error());
  const auto partitions = find_partitions((*io)->files(), options.path);
  if (!partitions.ok()) return fail(partitions.error());
  if (partitions->empty()) {
    print_error(options.path + ": no partitions");
    return kExitFine;
  }
  if (!partitions->front().name) {
    print_error(partitions->front().directory +
                ": a partition directory is called <topic>-<partition>");
    return kExitTrouble;
  }
  const auto store = open_store(partitions->front().root);
  if (!store.ok()) return fail(store.error());
  const int code = recover_all(**store, *partitions, options);
  // With one log that did not open the store must not be called clean: it is let go instead.
  if (code != kExitFine) return code;
  const Status closed = (*store)->close();
  return closed.ok() ? kExitFine : fail(closed.error());
}

}  // namespace

void add_recover(Cli& cli) {
  const auto options = std::make_shared<Options>();
  cli.add("recover",
          "Open a partition (or all partitions of a data directory) as a writer would: recover it\n"
          "after a crash, print the report, close it cleanly. Writes; refuses while another\n"
          "process holds the lock. Damage is not touched unless --on-damage says so.",
          "oncelog recover /var/lib/kafka/data/orders-0 --on-damage cut")
      .path("PATH", options->path, "partition directory or data directory")
      .choice("--on-damage", options->on_damage, {"fail", "read_only", "cut"},
              "durable bytes that are bad: refuse, leave them in place, or cut and keep a copy")
      .choice("--on-holed-tail", options->on_holed_tail, {"cut", "fail"},
              "a tail never acknowledged with a hole in it: cut and keep a copy, or refuse")
      .flag("--json", options->json, "print a JSON object")
      .action([options] { return run(*options); });
}

}  // namespace oncelog::tools
