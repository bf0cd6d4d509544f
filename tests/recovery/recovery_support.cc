// Opens directories and compares loaded logs with what Kafka said.
#include "tests/recovery/recovery_support.h"

#include <sstream>

#include "index/derived_file.h"
#include "storage/file_names.h"

namespace oncelog::test {
namespace {

using nlohmann::json;

template <class A, class B>
void compare(std::vector<std::string>& out, const std::string& what, const A& ours,
             const B& theirs) {
  if (json(ours) == json(theirs)) return;
  out.push_back(what + ": " + json(ours).dump() + ", not " + json(theirs).dump());
}

std::vector<std::byte> file_bytes(FileSystem& files, const LoadedLog& log, FileKind kind,
                                  Offset base) {
  auto bytes = read_whole_file(files, log.directory + '/' + file_name(kind, base), 1 << 30);
  return bytes.ok() ? *bytes : std::vector<std::byte>();
}

json aborted_of(FileSystem& files, const LoadedLog& log, const LoadedSegment& segment) {
  const Offset base = segment.facts.base_offset;
  std::unique_ptr<TxnIndex> read;
  const TxnIndex* index = segment.txn_index.get();
  if (index == nullptr) {
    auto decoded = TxnIndex::decode(file_bytes(files, log, FileKind::kTxnIndex, base), base);
    if (!decoded.ok()) return "undecodable";
    read = std::move(decoded).value();
    index = read.get();
  }
  json out = json::array();
  for (std::size_t i = 0; i < index->size(); ++i) {
    const AbortedTxn txn = index->entry(i);
    out.push_back({{"segment", base},
                   {"producerId", txn.producer_id},
                   {"firstOffset", txn.first_offset},
                   {"lastOffset", txn.last_offset},
                   {"lastStableOffset", txn.last_stable_offset},
                   {"version", 0}});
  }
  return out;
}

void compare_segments(FileSystem& files, const LoadedLog& log, const json& expect,
                      std::vector<std::string>& out) {
  json ours = json::array();
  json theirs = json::array();
  json aborted = json::array();
  for (const LoadedSegment& segment : log.segments) {
    ours.push_back({segment.facts.base_offset, segment.facts.size, segment.next_offset,
                    segment.facts.largest_timestamp, segment.facts.aborted_count});
    for (const json& txn : aborted_of(files, log, segment))
      aborted.push_back(txn);
  }
  for (const json& segment : expect.at("segments")) {
    const json& largest = segment.at("largestRecordTimestamp");
    theirs.push_back({segment.at("baseOffset"), segment.at("size"), segment.at("nextOffset"),
                      largest.is_null() ? json(-1) : largest, segment.at("txnIndexEntries")});
  }
  compare(out, "segments", ours, theirs);
  compare(out, "txnIndex", aborted, expect.at("txnIndex"));
}

void compare_producers(const LoadedLog& log, const json& expect, std::vector<std::string>& out) {
  std::map<ProducerId, json> ours;
  std::map<ProducerId, json> theirs;
  for (const auto& [id, entry] : log.producers.producers()) {
    const bool any = entry.batch_count > 0;
    ours[id] = {entry.epoch,
                entry.coordinator_epoch,
                entry.last_timestamp,
                entry.txn_first_offset,
                entry.last_sequence(),
                any ? entry.cached().back().last_offset : -1,
                any ? entry.cached().back().offset_delta : 0};
  }
  for (const json& entry : expect.at("activeProducers")) {
    theirs[entry.at("producerId")] = {entry.at("producerEpoch"),  entry.at("coordinatorEpoch"),
                                      entry.at("lastTimestamp"),  entry.at("currentTxnFirstOffset"),
                                      entry.at("lastSeq"),        entry.at("lastDataOffset"),
                                      entry.at("lastOffsetDelta")};
  }
  compare(out, "activeProducers", ours, theirs);
}

}  // namespace

FileSystem& real_files() {
  static const std::shared_ptr<Io> io = *make_system_io({.backend = IoBackend::kPosix});
  return io->files();
}

GoldenCopy::GoldenCopy(const GoldenCase& golden)
    : root_directory(temp.string() + "/root"),
      directory(root_directory + "/" + golden.partition_directory) {
  copy_case(golden, root_directory);
  std::filesystem::create_directories(directory);
  const std::string& name = golden.partition_directory;
  const std::size_t dash = name.rfind('-');
  std::vector<std::string> notes;
  root = read_root_facts(real_files(), root_directory,
                         {name.substr(0, dash), std::stoi(name.substr(dash + 1))}, notes);
}

RecoverOptions options_of(const GoldenCase& golden) {
  RecoverOptions options;
  options.index_interval_bytes = std::stoll(golden.config("index.interval.bytes", "4096"));
  options.segment_index_bytes = std::stoll(golden.config("segment.index.bytes", "10485760"));
  options.producers.expiration_ms =
      std::stoll(golden.config("producer.id.expiration.ms", "86400000"));
  options.now_ms = golden.expect.at("nowMs");
  return options;
}

Result<LoadedLog> recover_directory(FileSystem& files, const std::string& directory,
                                    const RootFacts& root, const RecoverOptions& options) {
  ONCELOG_TRY_ASSIGN(RecoveryPlanPtr plan, analyse(files, directory, root, options));
  return apply(files, std::move(plan));
}

std::vector<std::string> differences(FileSystem& files, const LoadedLog& log, const json& expect) {
  std::vector<std::string> out;
  compare(out, "logStartOffset", log.log_start, expect.at("logStartOffset"));
  compare(out, "logEndOffset", log.log_end, expect.at("logEndOffset"));
  compare(out, "lastStableOffset", log.last_stable_floor, expect.at("lastStableOffset"));
  compare_segments(files, log, expect, out);
  compare_producers(log, expect, out);
  json epochs = json::array();
  for (const EpochEntry& entry : log.epochs.entries())
    epochs.push_back({{"epoch", entry.epoch}, {"startOffset", entry.start_offset}});
  compare(out, "leaderEpochs", epochs, expect.at("leaderEpochs"));
  return out;
}

}  // namespace oncelog::test
