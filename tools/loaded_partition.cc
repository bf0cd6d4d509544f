// Loading a partition read-only, and its state at the end or at an earlier offset.
#include "tools/loaded_partition.h"

#include <algorithm>
#include <utility>

#include "oncelog/control_record.h"

#include "index/derived_file.h"
#include "index/producer_snapshot.h"
#include "index/txn_index.h"
#include "storage/format/legacy_batch.h"
#include "storage/segment_scanner.h"
#include "tools/state_json.h"
#include "tools/text.h"

namespace oncelog::tools {
namespace {

constexpr std::int64_t kIndexFileBytesMax = 1LL << 31;

AbortedTxnInfo info_of(const AbortedTxn& txn) {
  return AbortedTxnInfo{txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset};
}

Result<ProducerInput> producer_input(const ScannedBatch& batch) {
  ProducerInput input{batch.header, std::nullopt};
  if (!batch.header.is_control() || batch.header.record_count == 0) return input;
  ONCELOG_TRY_ASSIGN(const Records records, read_records_of(batch.bytes));
  if (records.records.empty()) return input;
  ONCELOG_TRY_ASSIGN(input.marker, decode_end_txn_marker(records.records.front()));
  return input;
}

LogState without_producers(const LoadedPartition& loaded, Offset end) {
  LogState state;
  state.log_start = loaded.log.log_start;
  state.log_end = end;
  state.high_watermark = std::min(loaded.high_watermark, end);
  state.recovery_point = loaded.log.recovery_point;
  state.durable_end = loaded.log.recovery_point;
  for (const EpochEntry& epoch : loaded.log.epochs.entries()) {
    if (epoch.start_offset < end || end == loaded.log.log_end)
      state.leader_epochs.push_back(LeaderEpochInfo{epoch.epoch, epoch.start_offset});
  }
  for (const LoadedSegment& segment : loaded.log.segments)
    state.segments.push_back(SegmentInfo{segment.facts.base_offset, segment.facts.size,
                                         segment.facts.largest_timestamp});
  return state;
}

void add_producers(LogState& state, const ProducerState& producers) {
  OngoingTxns txns = producers.txns();
  txns.on_high_watermark(state.high_watermark);
  state.producers = producer_infos(producers);
  for (const OngoingTxn& txn : txns.open())
    state.open_txns.push_back(OpenTxnInfo{txn.producer_id, txn.first_offset});
  state.last_stable_offset = txns.last_stable(state.log_start, state.high_watermark);
  state.first_unstable_offset = txns.first_unstable(state.log_start).value_or(kNoOffset);
}

/// The newest good snapshot at or below `at` put into `producers`; where to replay from.
Offset restore_snapshot(FileSystem& files, const LoadedPartition& loaded, Offset at,
                        ProducerState& producers) {
  const auto& snapshots = loaded.log.snapshots;
  for (std::size_t i = snapshots.size(); i-- > 0;) {
    const Offset offset = snapshots[i];
    if (offset > at) continue;
    const auto bytes = read_whole_file(
        files, loaded.partition.directory + "/" + file_name(FileKind::kSnapshot, offset),
        kIndexFileBytesMax);
    if (!bytes.ok()) continue;
    const auto entries = decode_producer_snapshot(*bytes);
    if (!entries.ok()) continue;
    for (const auto& [producer_id, entry] : *entries)
      producers.restore(producer_id, entry);
    producers.set_map_end(offset);
    return offset;
  }
  return loaded.log.log_start;
}

/// Replays the batches of one segment from `from` to `at`.
Status replay_segment(FileSystem& files, const LoadedPartition& loaded,
                      const LoadedSegment& segment, Offset from, Offset at,
                      ProducerState& producers) {
  const std::string name = file_name(FileKind::kLog, segment.facts.base_offset);
  ONCELOG_TRY_ASSIGN(const auto file,
                     files.open(loaded.partition.directory + "/" + name, OpenMode::kRead));
  ScanOptions options;
  options.segment_base = segment.facts.base_offset;
  options.end = segment.facts.size;
  SegmentScanner scanner(*file, options);
  while (true) {
    ONCELOG_TRY_ASSIGN(const auto batch, scanner.next());
    if (!batch || batch->header.base_offset >= at) return {};
    if (batch->header.last_offset() < from) continue;
    ONCELOG_TRY_ASSIGN(const ProducerInput input, producer_input(*batch));
    producers.replay(input);
  }
}

}  // namespace

Result<LoadedPartition> load_partition(FileSystem& files, Partition partition,
                                       std::optional<Offset> high_watermark) {
  ONCELOG_TRY_ASSIGN(LoadedLog log,
                     load_read_only(files, partition.directory, partition.facts, RecoverOptions{}));
  LoadedPartition out{std::move(partition), std::move(log), 0, "log end"};
  out.high_watermark = out.log.log_end;
  if (high_watermark) {
    out.high_watermark = *high_watermark;
    out.high_watermark_source = "given";
  } else if (out.partition.facts.high_watermark) {
    out.high_watermark = *out.partition.facts.high_watermark;
    out.high_watermark_source = "checkpoint";
  }
  out.high_watermark = std::clamp(out.high_watermark, out.log.log_start,
                                  std::max(out.log.log_start, out.log.log_end));
  return out;
}

Result<std::vector<AbortedTxnInfo>> aborted_transactions(FileSystem& files,
                                                         const LoadedPartition& loaded) {
  std::vector<AbortedTxnInfo> out;
  for (const LoadedSegment& segment : loaded.log.segments) {
    std::unique_ptr<TxnIndex> decoded;
    const TxnIndex* index = segment.txn_index.get();
    if (index == nullptr) {
      const std::string path = loaded.partition.directory + "/" +
                               file_name(FileKind::kTxnIndex, segment.facts.base_offset);
      const auto bytes = read_whole_file(files, path, kIndexFileBytesMax);
      if (!bytes.ok() && bytes.error().code == ErrorCode::kNotFound) continue;
      if (!bytes.ok()) return bytes.error();
      auto read = TxnIndex::decode(*bytes, segment.facts.base_offset);
      if (!read.ok()) {
        Error error = std::move(read).error();
        error.path = path;
        return error;
      }
      decoded = std::move(read).value();
      index = decoded.get();
    }
    for (std::size_t i = 0; i < index->size(); ++i)
      out.push_back(info_of(index->entry(i)));
  }
  return out;
}

Result<LogState> state_of(FileSystem& files, const LoadedPartition& loaded) {
  LogState state = without_producers(loaded, loaded.log.log_end);
  add_producers(state, loaded.log.producers);
  ONCELOG_TRY_ASSIGN(state.aborted_txns, aborted_transactions(files, loaded));
  return state;
}

Result<LogState> state_at(FileSystem& files, const LoadedPartition& loaded, Offset at) {
  if (at < loaded.log.log_start || at > loaded.log.log_end)
    return make_error(ErrorCode::kOffsetOutOfRange, text("the log holds offsets {} to {}",
                                                         loaded.log.log_start, loaded.log.log_end))
        .with_offset(at);
  ProducerState producers;
  const Offset from = restore_snapshot(files, loaded, at, producers);
  for (std::size_t i = 0; i < loaded.log.segments.size(); ++i) {
    const LoadedSegment& segment = loaded.log.segments[i];
    if (segment.next_offset <= from || segment.facts.base_offset >= at) continue;
    ONCELOG_TRY(replay_segment(files, loaded, segment, from, at, producers));
  }
  LogState state = without_producers(loaded, at);
  add_producers(state, producers);
  ONCELOG_TRY_ASSIGN(state.aborted_txns, aborted_transactions(files, loaded));
  std::erase_if(state.aborted_txns,
                [&](const AbortedTxnInfo& txn) { return txn.last_offset >= at; });
  return state;
}

std::string describe_facts(const LoadedPartition& loaded) {
  return text("from the data directory: {}; high watermark: {}{}", loaded.partition.facts_used(),
              loaded.high_watermark_source, loaded.partition.in_use ? "; in use" : "");
}

Json facts_json(const LoadedPartition& loaded) {
  return Json::object({{"fromDataDirectory", loaded.partition.facts_json()},
                       {"highWatermarkSource", loaded.high_watermark_source},
                       {"inUse", loaded.partition.in_use}});
}

std::vector<std::string> damage_lines(const RecoveryReport& report) {
  std::vector<std::string> out;
  for (const DamageFinding& finding : report.damage) {
    out.push_back(text("{} at byte {}: {} (offsets from {})", finding.file, finding.position,
                       finding.what, finding.first_offset));
  }
  return out;
}

}  // namespace oncelog::tools
