// `oncelog dump`: what stands in a partition directory, field by field.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/commands.h"
#include "tools/document.h"
#include "tools/dump_batches.h"
#include "tools/dump_derived.h"
#include "tools/loaded_partition.h"
#include "tools/state_json.h"
#include "tools/system_files.h"
#include "tools/text.h"

namespace oncelog::tools {
namespace {

struct Options {
  std::string path;
  bool records = false;
  bool json = false;
  bool json_lines = false;
  DumpFilter filter;
  std::optional<std::int64_t> high_watermark;
};

/// The parts of one dump, in the order in which they go out.
class Dump {
 public:
  Dump(FileSystem& files, const Options& options, Partition partition)
      : files_(files),
        options_(options),
        partition_(std::move(partition)),
        batches_(files, partition_.directory, options.filter),
        derived_(files, partition_.directory),
        writer_(options.json         ? OutputForm::kJson
                : options.json_lines ? OutputForm::kJsonLines
                                     : OutputForm::kText,
                stdout) {}

  int run() {
    auto loaded = load_partition(files_, partition_, options_.high_watermark);
    if (loaded.ok()) {
      loaded_.emplace(std::move(loaded).value());
    } else if (exit_code_of(loaded.error()) != kExitDamaged) {
      return fail(loaded.error());
    } else {
      findings_.push_back(to_string(loaded.error()));
    }
    const Status status = write();
    if (!status.ok()) return fail(status.error());
    for (const std::string& finding : findings_)
      print_error(partition_.directory + ": " + finding);
    return findings_.empty() ? kExitFine : kExitDamaged;
  }

 private:
  Status write() {
    ONCELOG_TRY(write_batches());
    ONCELOG_TRY(write_derived());
    write_state();
    collect_findings();
    writer_.member("segments", segments_json());
    writer_.member("findings", Json::array_of(findings_));
    writer_.member("notes", Json::array_of(notes_));
    writer_.finish();
    return {};
  }

  BatchDump::Visit list_items() {
    return [this](const Json& item) { writer_.item(item); };
  }

  Status write_batches() {
    if (options_.json) {
      writer_.begin_list("batches", "batch");
      ONCELOG_TRY(batches_.walk(list_items(), nullptr));
      if (!options_.records) return {};
      // A second walk: a document has its lists one after the other, and nothing is kept.
      writer_.begin_list("records", "record");
      return batches_.walk(nullptr, list_items());
    }
    const auto print = [this](const char* kind) {
      return [this, kind](const Json& item) {
        writer_.begin_list("batches", kind);
        writer_.item(item);
      };
    };
    return batches_.walk(print("batch"),
                         options_.records ? BatchDump::Visit(print("record")) : BatchDump::Visit());
  }

  Status write_derived() {
    writer_.begin_list("offsetIndex", "offsetIndexEntry");
    ONCELOG_TRY(derived_.offset_index(list_items()));
    writer_.begin_list("timeIndex", "timeIndexEntry");
    ONCELOG_TRY(derived_.time_index(list_items()));
    writer_.begin_list("txnIndex", "txnIndexEntry");
    ONCELOG_TRY(derived_.txn_index(list_items()));
    writer_.begin_list("snapshots", "snapshot");
    const Offset start = loaded_ ? loaded_->log.log_start : kNoOffset;
    const Offset end = loaded_ ? loaded_->log.log_end : INT64_MAX;
    ONCELOG_TRY(derived_.snapshots(start, end, list_items()));
    writer_.begin_list("abortedTxns", "abortedTxn");
    ONCELOG_TRY(derived_.txn_index([this](Json entry) {
      entry.erase("segment");
      writer_.item(entry);
    }));
    return {};
  }

  void write_state() {
    if (!loaded_) {
      notes_.emplace_back("the log does not load: log ends, producers and epochs are not known");
      return;
    }
    writer_.member("directory", partition_.directory);
    const LogState state = [&] {
      auto whole = state_of(files_, *loaded_);
      if (whole.ok()) return std::move(whole).value();
      findings_.push_back(to_string(whole.error()));
      return LogState{};
    }();
    writer_.begin_list("activeProducers", "activeProducer");
    for (const ProducerInfo& producer : state.producers) {
      const auto& wanted = options_.filter.producer_id;
      if (!wanted || *wanted == producer.producer_id) writer_.item(producer_json(producer));
    }
    writer_.begin_list("leaderEpochs", "leaderEpoch");
    const Json epochs = leader_epochs_json(state.leader_epochs);
    for (const Json& epoch : epochs.items())
      writer_.item(epoch);
    writer_.member("logStartOffset", state.log_start);
    writer_.member("logEndOffset", state.log_end);
    writer_.member("highWatermark", state.high_watermark);
    writer_.member("lastStableOffset", state.last_stable_offset);
    writer_.member("firstUnstableOffset", state.first_unstable_offset);
    writer_.member("recoveryPoint", state.recovery_point);
    writer_.member("producerMapEndOffset", state.log_end);
    writer_.member("facts", facts_json(*loaded_));
  }

  void collect_findings() {
    if (loaded_) {
      for (std::string& line : damage_lines(loaded_->log.report))
        findings_.push_back(std::move(line));
    }
    // Below the log end something is missing; behind it lies what opening would cut.
    const Offset end = loaded_ ? loaded_->log.log_end : 0;
    for (const UnreadablePlace& place : batches_.unreadable()) {
      std::string line = text("{} at byte {}: {}", place.file, place.position, place.what);
      if (!is_reported(place)) (place.offset < end ? findings_ : notes_).push_back(std::move(line));
    }
    for (const UnreadablePlace& place : derived_.unreadable())
      findings_.push_back(text("{} at byte {}: {}", place.file, place.position, place.what));
    if (partition_.in_use) notes_.emplace_back("in use by another process");
    for (const std::string& note : partition_.notes)
      notes_.push_back(note);
  }

  /// Whether the load named this place already.
  bool is_reported(const UnreadablePlace& place) const {
    if (!loaded_) return false;
    const auto& damage = loaded_->log.report.damage;
    return std::any_of(damage.begin(), damage.end(), [&](const DamageFinding& finding) {
      return finding.file == place.file && finding.position == place.position;
    });
  }

  Json segments_json() const {
    Json::Array out;
    for (const SegmentSummary& segment : batches_.segments()) {
      out.push_back(Json::object({{"baseOffset", segment.base_offset},
                                  {"size", segment.size},
                                  {"batches", segment.batches},
                                  {"nextOffset", segment.next_offset},
                                  {"largestRecordTimestamp",
                                   segment.batches == 0 ? Json() : Json(segment.largest_timestamp)},
                                  {"offsetIndexEntries", entries(FileKind::kOffsetIndex, segment)},
                                  {"timeIndexEntries", entries(FileKind::kTimeIndex, segment)},
                                  {"txnIndexEntries", entries(FileKind::kTxnIndex, segment)}}));
    }
    return out;
  }

  std::int64_t entries(FileKind kind, const SegmentSummary& segment) const {
    return derived_.entry_count(kind, segment.base_offset);
  }

  FileSystem& files_;
  const Options& options_;
  Partition partition_;
  std::optional<LoadedPartition> loaded_;
  BatchDump batches_;
  DerivedDump derived_;
  DocumentWriter writer_;
  std::vector<std::string> findings_;
  std::vector<std::string> notes_;
};

int run(const Options& options) {
  if (options.json && options.json_lines) {
    print_error("--json and --jsonl exclude each other");
    return kExitTrouble;
  }
  const auto io = system_io();
  if (!io.ok()) return fail(io.error());
  FileSystem& files = (*io)->files();
  auto partition = find_partition(files, options.path);
  if (!partition.ok()) return fail(partition.error());
  return Dump(files, options, std::move(partition).value()).run();
}

}  // namespace

void add_dump(Cli& cli) {
  const auto options = std::make_shared<Options>();
  cli.add("dump",
          "Print what stands in a partition directory: batches, records, indexes, snapshots,\n"
          "producers, transactions. Read-only; keys and values are base64 in JSON and text.\n"
          "Exit code 1 when something does not read: what does is printed all the same.",
          "oncelog dump /var/lib/kafka/data/orders-0 --records --json")
      .path("PATH", options->path, "partition directory")
      .flag("--records", options->records, "print records too")
      .flag("--json", options->json, "one JSON document")
      .flag("--jsonl", options->json_lines, "JSON lines, the summary last")
      .number("--producer-id", options->filter.producer_id, "only this producer's batches", 0)
      .number("--from", options->filter.from, "only offsets from here", 0)
      .number("--to", options->filter.to, "only offsets below this", 0)
      .number("--from-time", options->filter.from_time,
              "only records with this timestamp or later, ms since 1970", -1)
      .number("--to-time", options->filter.to_time, "only records before this timestamp", -1)
      .number("--high-watermark", options->high_watermark, "in place of the data directory's", 0)
      .action([options] { return run(*options); });
}

}  // namespace oncelog::tools
