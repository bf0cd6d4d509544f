// The steps of the model's load, in Kafka's order.
#include "tests/support/kafka_loader.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "tests/support/kafka_fetch.h"

namespace oncelog::test::kafka {
namespace {

bool is_index(const std::string& name) {
  return ends_with(name, ".index") || ends_with(name, ".timeindex") || ends_with(name, ".txnindex");
}

class Loader {
 public:
  Loader(const DirectoryImage& image, const LoaderConfig& config)
      : config_(config),
        files_(image.files),
        clean_(image.root_files.count(".kafka_cleanshutdown") != 0),
        recovery_point_(checkpoint_entry(image, "recovery-point-offset-checkpoint").value_or(0)),
        start_checkpoint_(checkpoint_entry(image, "log-start-offset-checkpoint").value_or(0)),
        epochs_(files_),
        producers_(files_, config.now_ms, config.producer_expiration_ms) {}

  void run(Loaded& out) {
    remove_temporary_files();
    finish_swaps();
    load_segments();
    recover_log(out);
    segments_.back()->grow_indexes();
    epochs_.truncate_from_end(next_offset_);
    const Offset log_start = std::max(start_checkpoint_, segments_.front()->base());
    epochs_.truncate_from_start(start_checkpoint_);
    producers_.remove_stray_snapshots(bases());
    rebuild(producers_, log_start, next_offset_, clean_);
    out.log_start = log_start;
    out.log_end = next_offset_;
    out.recovery_point = recovery_point_;
    report(out);
  }

 private:
  std::vector<Offset> bases() const {
    std::vector<Offset> out;
    for (const auto& segment : segments_)
      out.push_back(segment->base());
    return out;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [name, bytes] : files_)
      out.push_back(name);
    return out;
  }

  void remove_temporary_files();
  void finish_swaps();
  void load_segments();
  void recover_log(Loaded& out);
  void recover_unflushed(Loaded& out);
  void drop_segments_from(std::size_t index, Loaded& out);
  std::int64_t recover_segment(Segment& segment);
  void rebuild(ProducerStates& producers, Offset log_start, Offset end, bool clean_reload);
  void replay(ProducerStates& producers, Offset log_start, Offset end,
              const std::set<Offset>& snapshot_at);
  void report(Loaded& out);
  std::size_t floor_index(Offset offset) const;

  LoaderConfig config_;
  FileMap files_;
  bool clean_;
  Offset recovery_point_;
  Offset start_checkpoint_;
  Offset next_offset_ = 0;
  EpochCache epochs_;
  ProducerStates producers_;
  std::vector<std::unique_ptr<Segment>> segments_;
};

void Loader::remove_temporary_files() {
  Offset cleaned_min = std::numeric_limits<Offset>::max();
  std::vector<std::string> cleaned;
  for (const std::string& name : names()) {
    if (ends_with(name, ".deleted") && !ends_with(name, ".checkpoint.deleted")) files_.erase(name);
    if (!ends_with(name, ".cleaned") || !offset_of(name)) continue;
    cleaned_min = std::min(cleaned_min, *offset_of(name));
    cleaned.push_back(name);
  }
  for (const std::string& name : names()) {
    if (ends_with(name, ".swap") && offset_of(name).value_or(-1) >= cleaned_min) files_.erase(name);
  }
  for (const std::string& name : cleaned)
    files_.erase(name);
}

void Loader::finish_swaps() {
  Offset first = std::numeric_limits<Offset>::max();
  Offset end = std::numeric_limits<Offset>::min();
  for (const std::string& name : names()) {
    const std::optional<Offset> offset = offset_of(name);
    if (!offset || !ends_with(name, ".log.swap")) continue;
    Segment segment(files_, *offset, config_, ".swap");
    first = std::min(first, segment.base());
    end = std::max(end, segment.next_offset());
  }
  for (const std::string& name : names()) {
    const std::optional<Offset> offset = offset_of(name);
    if (offset && !ends_with(name, ".swap") && *offset >= first && *offset < end) {
      files_.erase(name);
    }
  }
  for (const std::string& name : names()) {
    if (!ends_with(name, ".swap")) continue;
    auto node = files_.extract(name);
    const std::string target = name.substr(0, name.size() - std::string(".swap").size());
    files_[target] = std::move(node.mapped());
  }
}

void Loader::load_segments() {
  for (const std::string& name : names()) {
    const std::optional<Offset> offset = offset_of(name);
    if (!offset) continue;  // names that do not begin with a digit are left alone (SEEN.md 28)
    if (is_index(name)) {
      if (files_.count(file_name(*offset, ".log")) == 0) files_.erase(name);
      continue;
    }
    if (!ends_with(name, ".log")) continue;
    const bool no_time_index = files_.count(file_name(*offset, ".timeindex")) == 0;
    auto segment = std::make_unique<Segment>(files_, *offset, config_);
    bool bad = files_.count(file_name(*offset, ".index")) == 0;
    if (!bad) {
      if (no_time_index) segment->empty_time_index();
      for (const AbortedTxn& txn : segment->aborted())
        bad = bad || txn.last_offset < *offset;
    }
    if (bad) recover_segment(*segment);
    segments_.push_back(std::move(segment));
  }
}

std::int64_t Loader::recover_segment(Segment& segment) {
  ProducerStates producers(files_, config_.now_ms, config_.producer_expiration_ms);
  rebuild(producers, start_checkpoint_, segment.base(), false);
  const std::int64_t cut = segment.recover(producers, epochs_);
  producers.take_snapshot();
  return cut;
}

/// Index of the segment with the greatest base not above `offset`; 0 when there is none.
std::size_t Loader::floor_index(Offset offset) const {
  std::size_t index = 0;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i]->base() <= offset) index = i;
  }
  return index;
}

void Loader::drop_segments_from(std::size_t index, Loaded& out) {
  for (std::size_t i = index; i < segments_.size(); ++i) {
    out.segments_dropped.push_back(segments_[i]->base());
    for (const char* const kind : {".log", ".index", ".timeindex", ".txnindex"}) {
      files_.erase(segments_[i]->name(kind));
    }
    producers_.remove_snapshot(segments_[i]->base());
  }
  segments_.resize(index);
}

void Loader::recover_unflushed(Loaded& out) {
  for (std::size_t i = floor_index(recovery_point_); i < segments_.size(); ++i) {
    std::int64_t cut = 0;
    try {
      cut = recover_segment(*segments_[i]);
    } catch (const InvalidOffset&) {
      cut = segments_[i]->truncate_to_base();
    }
    if (cut == 0) continue;
    out.bytes_cut = cut;
    drop_segments_from(i + 1, out);
    return;
  }
}

void Loader::recover_log(Loaded& out) {
  if (!clean_) recover_unflushed(out);
  bool is_kept = !segments_.empty();
  if (is_kept && segments_.back()->next_offset() < start_checkpoint_) {
    is_kept = false;
    drop_segments_from(0, out);
    epochs_.clear();
    producers_.truncate_fully(start_checkpoint_);
  }
  if (segments_.empty()) {
    files_[file_name(start_checkpoint_, ".log")] = {};
    segments_.push_back(std::make_unique<Segment>(files_, start_checkpoint_, config_));
  }
  next_offset_ = segments_.back()->next_offset();
  recovery_point_ = clean_ && is_kept ? next_offset_ : std::min(recovery_point_, next_offset_);
}

void Loader::rebuild(ProducerStates& producers, Offset log_start, Offset end, bool clean_reload) {
  std::set<Offset> snapshot_at;
  const std::vector<Offset> all = bases();
  for (std::size_t i = all.size() > 2 ? all.size() - 2 : 0; i < all.size(); ++i) {
    snapshot_at.insert(all[i]);
  }
  if (!producers.has_snapshot() && clean_reload) {
    snapshot_at.insert(end);
    for (const Offset offset : snapshot_at) {
      producers.set_map_end(offset);
      producers.take_snapshot();
    }
    return;
  }
  const bool was_empty = producers.empty() && producers.map_end() >= end;
  producers.truncate_and_reload(log_start, end);
  if (end > producers.map_end() && !was_empty) replay(producers, log_start, end, snapshot_at);
  producers.set_map_end(end);
  producers.take_snapshot();
}

void Loader::replay(ProducerStates& producers, Offset log_start, Offset end,
                    const std::set<Offset>& snapshot_at) {
  const std::size_t last = segments_.empty() ? 0 : floor_index(end);
  for (std::size_t i = floor_index(producers.map_end()); i < segments_.size(); ++i) {
    Segment& segment = *segments_[i];
    if (segment.base() >= end) break;
    const Offset start = std::max({segment.base(), producers.map_end(), log_start});
    producers.set_map_end(start);
    if (snapshot_at.count(segment.base()) != 0) producers.take_snapshot();
    std::int64_t position_max = segment.size();
    if (i == last) {
      if (const std::optional<FileBatch> stop = segment.translate(end))
        position_max = stop->position;
    }
    const std::optional<FileBatch> first = segment.translate(start);
    if (!first) continue;
    // Everything of one read is validated first, then merged, then completed (PRODUCER_STATE 11).
    std::map<ProducerId, AppendInfo> work;
    std::vector<CompletedTxn> done;
    FileBatches batches(segment.log(), first->position, position_max);
    while (const std::optional<FileBatch> batch = batches.next()) {
      if (!batch->has_producer()) continue;
      const auto info = work.try_emplace(batch->producer_id, producers.prepare(batch->producer_id));
      if (const auto txn = info.first->second.append(*batch)) done.push_back(*txn);
    }
    for (const auto& [id, info] : work)
      producers.update(info);
    for (const CompletedTxn& txn : done)
      producers.complete(txn);
  }
}

void Loader::report(Loaded& out) {
  out.producers = producers_.producers();
  out.producer_map_end = producers_.map_end();
  out.leader_epochs = epochs_.entries();
  out.segment_bases = bases();
  for (const auto& segment : segments_) {
    const Offset base = segment->base();
    for (const AbortedTxn& txn : segment->aborted())
      out.aborted.push_back(txn);
    for (const OffsetPosition& entry : segment->offset_entries()) {
      out.offset_index.push_back({base, entry.offset, entry.position});
    }
    for (const TimestampOffset& entry : segment->time_entries()) {
      out.time_index.push_back({base, entry.timestamp, entry.offset});
    }
    FileBatches batches(segment->log(), 0, segment->size());
    while (const std::optional<FileBatch> batch = batches.next()) {
      out.batches.push_back(
          {base, batch->position, batch->size, batch->base_offset, batch->last_offset, batch->crc});
    }
  }
  std::vector<Segment*> segments;
  for (const auto& segment : segments_)
    segments.push_back(segment.get());
  FetchModel fetch(segments, out.log_start, out.log_end);
  if (!producers_.ongoing().empty()) {
    out.first_unstable_offset =
        fetch.batch_start(std::max(producers_.ongoing().begin()->first, out.log_start));
  }
  out.last_stable_offset = out.first_unstable_offset >= 0
                               ? std::min(out.first_unstable_offset, out.log_end)
                               : out.log_end;
  fetch.consume(out);
  out.files_running = files_;
  for (const auto& segment : segments_)
    segment->close();
  out.files = files_;
}

}  // namespace

std::optional<Offset> checkpoint_entry(const DirectoryImage& image, const std::string& file) {
  const auto found = image.root_files.find(file);
  const std::size_t dash = image.partition_directory.rfind('-');
  if (found == image.root_files.end() || dash == std::string::npos) return std::nullopt;
  std::istringstream text(text_of(found->second));
  std::int64_t version = -1;
  std::int64_t count = -1;
  text >> version >> count;
  std::optional<Offset> out;
  std::string topic;
  std::string partition;
  Offset offset = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!(text >> topic >> partition >> offset)) return std::nullopt;
    if (topic == image.partition_directory.substr(0, dash) &&
        partition == image.partition_directory.substr(dash + 1)) {
      out = offset;
    }
  }
  return version == 0 && !(text >> topic) ? out : std::nullopt;
}

Loaded load(const DirectoryImage& image, const LoaderConfig& config) {
  Loaded out;
  try {
    Loader(image, config).run(out);
  } catch (const std::runtime_error& error) {
    Loaded refused;
    refused.refused = true;
    refused.reason = error.what();
    refused.overflow = dynamic_cast<const Overflow*>(&error) != nullptr;
    return refused;
  }
  const Offset checkpoint = checkpoint_entry(image, "replication-offset-checkpoint").value_or(0);
  out.high_watermark_checkpoint = std::clamp(checkpoint, out.log_start, out.log_end);
  for (const auto& [name, bytes] : image.files) {
    if (out.files.count(name) == 0) out.removed.push_back(name);
  }
  for (const auto& [name, bytes] : out.files) {
    if (image.files.count(name) == 0) out.created.push_back(name);
  }
  return out;
}

Loaded load_from_logs(const DirectoryImage& image, const LoaderConfig& config) {
  DirectoryImage logs = image;
  logs.root_files.erase(".kafka_cleanshutdown");
  logs.root_files.erase("recovery-point-offset-checkpoint");
  for (auto it = logs.files.begin(); it != logs.files.end();) {
    const bool derived = is_index(it->first) || ends_with(it->first, ".snapshot");
    it = derived ? logs.files.erase(it) : std::next(it);
  }
  return load(logs, config);
}

}  // namespace oncelog::test::kafka
