// Builds partition directories for tests.
#include "tests/recovery/log_image.h"

#include <stdexcept>

#include "oncelog/control_record.h"
#include "oncelog/record_batch.h"

#include "index/producer_snapshot.h"
#include "storage/base/endian.h"

namespace oncelog::test {

std::string log_name(Offset base) {
  return file_name(FileKind::kLog, base);
}

Placed LogImage::put(std::vector<std::byte> bytes, int records, LeaderEpoch leader_epoch) {
  store_be<std::int64_t>(bytes, 0, next_offset_);
  store_be<std::int32_t>(bytes, 12, leader_epoch);
  auto& [base, log] = *segments_.rbegin();
  Placed placed;
  placed.segment = base;
  placed.position = static_cast<std::int64_t>(log.size());
  placed.first_offset = next_offset_;
  placed.last_offset = next_offset_ + records - 1;
  log.insert(log.end(), bytes.begin(), bytes.end());
  placed.end = static_cast<std::int64_t>(log.size());
  next_offset_ += records;
  return placed;
}

Placed LogImage::add(const BatchSpec& spec) {
  RecordBatchOptions options;
  options.producer = {spec.producer_id,
                      spec.producer_id < 0 ? kNoProducerEpoch : spec.producer_epoch};
  options.base_sequence = spec.producer_id < 0 ? kNoSequence : spec.sequence;
  options.transactional = spec.transactional;
  RecordBatchBuilder builder(options);
  // Content depends on the offset, so that old bytes are never taken for new ones.
  std::string value(spec.value_bytes, static_cast<char>('a' + next_offset_ % 26));
  for (int i = 0; i < spec.records; ++i) {
    RecordInput record;
    record.timestamp_ms = spec.timestamp;
    record.value = value;
    builder.add(record);
  }
  const Buffer batch = std::move(builder).finish();
  return put({batch.bytes().begin(), batch.bytes().end()}, spec.records, spec.leader_epoch);
}

Placed LogImage::add_marker(ProducerId producer_id, ProducerEpoch epoch, bool commit) {
  const EndTxnMarker marker{commit ? ControlType::kCommit : ControlType::kAbort, 0};
  const Buffer batch = make_end_txn_marker({producer_id, epoch}, marker, 1000);
  return put({batch.bytes().begin(), batch.bytes().end()}, 1, 0);
}

std::shared_ptr<SimDisk> LogImage::disk() const {
  auto disk = std::make_shared<SimDisk>();
  const std::string directory = std::string(kDirectory) + '/';
  for (const auto& [base, log] : segments_) {
    if (!disk->write_file(directory + log_name(base), log).ok()) throw std::runtime_error("disk");
  }
  for (const auto& [name, bytes] : files_) {
    if (!disk->write_file(directory + name, bytes).ok()) throw std::runtime_error("disk");
  }
  return disk;
}

Sidecar LogImage::sidecar(std::int64_t window_bytes, Offset recovery_point) const {
  SimIo io(disk());
  const Result<LoadedLog> log =
      load_read_only(io.files(), kDirectory, RootFacts{}, small_options());
  if (!log.ok()) throw std::runtime_error(to_string(log.error()));
  Sidecar out;
  for (const LoadedSegment& segment : log->segments)
    out.sealed.push_back(segment.facts);
  out.active.segment = out.sealed.back();
  out.sealed.pop_back();
  out.active.offset = log->log_end;
  out.active.last_stable_offset = log->last_stable_floor;
  out.active.unsynced_bytes_max = window_bytes;
  out.active.recovery_point = recovery_point;
  out.producers = list_producers(log->producers);
  out.snapshots = log->snapshots;
  return out;
}

void LogImage::checkpoint(std::int64_t window_bytes, Offset recovery_point) {
  // A log of ours has the index files of its sealed segments then.
  write_indexes();
  file(std::string(kSidecarFile)) = encode_sidecar(sidecar(window_bytes, recovery_point));
}

void LogImage::write_indexes() {
  const std::shared_ptr<SimDisk> built = disk();
  SimIo io(built);
  auto plan = analyse(io.files(), kDirectory, RootFacts{}, small_options());
  if (!plan.ok() || !apply(io.files(), std::move(plan).value()).ok()) {
    throw std::runtime_error("an image must open to get its indexes");
  }
  for (const std::string& path : built->paths()) {
    const std::string name = path.substr(path.rfind('/') + 1);
    const auto parsed = parse_file_name(name);
    const bool derived = parsed ? parsed->kind != FileKind::kLog : name == kLeaderEpochFile;
    if (!derived) continue;
    file(name) = *built->read_file(path);
  }
}

RecoverOptions small_options() {
  RecoverOptions options;
  options.index_interval_bytes = 200;
  options.segment_index_bytes = 4096;
  return options;
}

Result<LoadedLog> recover_on(SimDisk& disk, RootFacts& root, const RecoverOptions& options) {
  SimIo io(disk.clone());
  ONCELOG_TRY_ASSIGN(RecoveryPlanPtr plan,
                     analyse(io.files(), LogImage::kDirectory, root, options));
  return apply(io.files(), std::move(plan), {[&root](Offset to) {
                 root.recovery_point = to;
                 return Status{};
               }});
}

Result<LoadedLog> recover_on(const LogImage& image, RootFacts root, const RecoverOptions& options) {
  return recover_on(*image.disk(), root, options);
}

}  // namespace oncelog::test
