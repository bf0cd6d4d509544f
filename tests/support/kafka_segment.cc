// Segments of the model: lookups, next offset, recovery, leader epochs.
#include "tests/support/kafka_segment.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <sstream>

namespace oncelog::test::kafka {
namespace {

constexpr std::size_t kOffsetEntry = 8;
constexpr std::size_t kTimeEntry = 12;
constexpr std::size_t kAbortedEntry = 34;
constexpr std::size_t kWarmBytes = 8192;
const std::string kEpochFile = "leader-epoch-checkpoint";

std::int64_t number(const std::string& word) {
  char* end = nullptr;
  const std::int64_t value = std::strtoll(word.c_str(), &end, 10);
  if (word.empty() || *end != '\0') throw Refused("a checkpoint holds a word that is no number");
  return value;
}

}  // namespace

EpochCache::EpochCache(FileMap& files) : files_(&files) {
  std::istringstream text(text_of(files[kEpochFile]));
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    lines.emplace_back();
    for (std::string word; words >> word;)
      lines.back().push_back(word);
  }
  if (lines.empty()) return;
  if (lines.size() < 2 || lines[0].size() != 1 || number(lines[0][0]) != 0 ||
      lines[1].size() != 1 || number(lines[1][0]) != static_cast<std::int64_t>(lines.size()) - 2) {
    throw Refused("leader-epoch-checkpoint has a wrong version or count");
  }
  for (std::size_t i = 2; i < lines.size(); ++i) {
    if (lines[i].size() != 2) throw Refused("leader-epoch-checkpoint has a wrong line");
    entries_[static_cast<LeaderEpoch>(number(lines[i][0]))] = number(lines[i][1]);
  }
}

void EpochCache::persist() {
  std::string text = "0\n" + std::to_string(entries_.size()) + "\n";
  for (const auto& [epoch, start] : entries_) {
    text += std::to_string(epoch) + " " + std::to_string(start) + "\n";
  }
  (*files_)[kEpochFile] = bytes_of(text);
}

std::optional<LeaderEpoch> EpochCache::latest() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.rbegin()->first;
}

void EpochCache::assign(LeaderEpoch epoch, Offset start) {
  if (!entries_.empty() && entries_.rbegin()->first == epoch &&
      entries_.rbegin()->second <= start) {
    return;
  }
  while (!entries_.empty() &&
         (entries_.rbegin()->first >= epoch || entries_.rbegin()->second >= start)) {
    entries_.erase(std::prev(entries_.end()));
  }
  entries_[epoch] = start;
  persist();
}

void EpochCache::truncate_from_end(Offset end) {
  bool changed = false;
  while (!entries_.empty() && entries_.rbegin()->second >= end) {
    entries_.erase(std::prev(entries_.end()));
    changed = true;
  }
  if (changed) persist();
}

void EpochCache::truncate_from_start(Offset start) {
  std::optional<LeaderEpoch> newest;
  while (!entries_.empty() && entries_.begin()->second <= start) {
    newest = entries_.begin()->first;
    entries_.erase(entries_.begin());
  }
  if (!newest) return;
  entries_[*newest] = start;
  persist();
}

void EpochCache::clear() {
  entries_.clear();
  persist();
}

EntryFile::EntryFile(FileMap& files, std::string name, std::size_t entry_bytes,
                     std::int64_t bytes_max)
    : files_(&files), name_(std::move(name)), entry_bytes_(entry_bytes), bytes_max_(bytes_max) {}

void EntryFile::open() {
  if (is_open_) return;
  is_open_ = true;
  const auto found = files_->find(name_);
  if (found == files_->end()) {
    (*files_)[name_] = {};
    resize(bytes_max_);
  } else {
    count_ = found->second.size() / entry_bytes_;
  }
}

ByteSpan EntryFile::entry(std::size_t at) const {
  return ByteSpan(bytes()).subspan(at * entry_bytes_, entry_bytes_);
}

void EntryFile::append(std::int64_t first, std::size_t first_bytes, std::int64_t second) {
  Bytes slot;
  put(slot, first, first_bytes);
  put(slot, second, 4);
  std::copy(slot.begin(), slot.end(),
            bytes().begin() + static_cast<std::ptrdiff_t>(count_ * entry_bytes_));
  ++count_;
}

void EntryFile::resize(std::int64_t bytes_max) {
  const std::size_t rounded = static_cast<std::size_t>(bytes_max) / entry_bytes_ * entry_bytes_;
  if (rounded == bytes().size()) return;
  if (count_ * entry_bytes_ > rounded) throw Refused(name_ + " is larger than its limit");
  bytes().resize(rounded);
}

Segment::Segment(FileMap& files, Offset base, const LoaderConfig& config, const std::string& suffix)
    : files_(&files),
      base_(base),
      config_(config),
      suffix_(suffix),
      offsets_(files, file_name(base, ".index") + suffix, kOffsetEntry, config.segment_index_bytes),
      times_(files, file_name(base, ".timeindex") + suffix, kTimeEntry,
             config.segment_index_bytes) {}

std::string Segment::name(const std::string& kind) const {
  return file_name(base_, kind) + suffix_;
}

std::vector<OffsetPosition> Segment::offset_entries() {
  offsets_.open();
  std::vector<OffsetPosition> out;
  for (std::size_t i = 0; i < offsets_.count(); ++i) {
    out.push_back({base_ + get32(offsets_.entry(i), 0), get32(offsets_.entry(i), 4)});
  }
  return out;
}

std::vector<TimestampOffset> Segment::time_entries() {
  times_.open();
  std::vector<TimestampOffset> out;
  for (std::size_t i = 0; i < times_.count(); ++i) {
    out.push_back({get64(times_.entry(i), 0), base_ + get32(times_.entry(i), 8)});
  }
  return out;
}

std::vector<AbortedTxn> Segment::aborted() const {
  std::vector<AbortedTxn> out;
  const auto file = files_->find(name(".txnindex"));
  if (file == files_->end()) return out;
  const ByteSpan bytes = file->second;
  for (std::size_t at = 0; at + kAbortedEntry <= bytes.size(); at += kAbortedEntry) {
    // Only the first byte of the version is looked at (SEEN.md 10).
    if (get8(bytes, at) > 0) throw Refused("an aborted transaction has a later version");
    out.push_back({get64(bytes, at + 2), get64(bytes, at + 10), get64(bytes, at + 18),
                   get64(bytes, at + 26)});
  }
  return out;
}

OffsetPosition Segment::last_offset_entry() {
  offsets_.open();
  if (offsets_.count() == 0) return {base_, 0};
  const ByteSpan last = offsets_.entry(offsets_.count() - 1);
  return {base_ + get32(last, 0), get32(last, 4)};
}

TimestampOffset Segment::last_time_entry() {
  times_.open();
  if (times_.count() == 0) return {kNoTimestamp, base_};
  const ByteSpan last = times_.entry(times_.count() - 1);
  return {get64(last, 0), base_ + get32(last, 8)};
}

/// Kafka's binary search over the warm end of the index first, whatever the slots hold.
OffsetPosition Segment::lookup(Offset target) {
  offsets_.open();
  const std::size_t count = offsets_.count();
  if (count == 0) return {base_, 0};
  const auto offset_at = [this](std::size_t at) { return base_ + get32(offsets_.entry(at), 0); };
  const std::size_t warm = kWarmBytes / kOffsetEntry;
  const std::size_t hot = count - 1 > warm ? count - 1 - warm : 0;
  std::size_t low = 0;
  std::size_t high = hot;
  if (offset_at(hot) < target) {
    low = hot;
    high = count - 1;
  } else if (offset_at(0) > target) {
    return {base_, 0};
  }
  while (low < high) {
    const std::size_t middle = (low + high + 1) / 2;
    const Offset found = offset_at(middle);
    if (found == target) {
      low = middle;
      break;
    }
    if (found > target) {
      high = middle - 1;
    } else {
      low = middle;
    }
  }
  return {offset_at(low), get32(offsets_.entry(low), 4)};
}

std::optional<FileBatch> Segment::translate(Offset target) {
  FileBatches batches(log(), lookup(target).position, size());
  while (std::optional<FileBatch> batch = batches.next()) {
    if (batch->last_offset >= target) return batch;
  }
  return std::nullopt;
}

Offset Segment::next_offset() {
  const std::optional<FileBatch> start = translate(last_offset_entry().offset);
  if (!start) return base_;
  Offset next = base_;
  FileBatches batches(log(), start->position, size());
  while (const std::optional<FileBatch> batch = batches.next())
    next = batch->last_offset + 1;
  return next;
}

void Segment::empty_time_index() {
  times_.open();
  times_.resize(0);
}

void Segment::append_time_entry(const TimestampOffset& entry, bool skip_full_check) {
  times_.open();
  if (!skip_full_check && times_.count() + 1 >= times_.capacity()) {
    throw Refused("the time index of segment " + std::to_string(base_) + " is full");
  }
  const TimestampOffset last = last_time_entry();
  if (times_.count() != 0 && entry.offset < last.offset) {
    throw InvalidOffset("a time index entry's offset falls");
  }
  if (times_.count() != 0 && entry.timestamp < last.timestamp) {
    throw Refused("a time index entry's timestamp falls");
  }
  if (entry.timestamp > last.timestamp) {
    times_.append(entry.timestamp, 8, entry.offset - base_);
  }
}

void Segment::index_batch(const FileBatch& batch, std::int64_t position) {
  if (offsets_.count() >= offsets_.capacity()) {
    throw Refused("the offset index of segment " + std::to_string(base_) + " is full");
  }
  if (offsets_.count() != 0 && batch.last_offset <= last_offset_entry().offset) {
    throw InvalidOffset("an offset index entry does not rise");
  }
  offsets_.append(batch.last_offset - base_, 4, position);
  append_time_entry(*max_timestamp_, false);
}

void Segment::append_aborted(const CompletedTxn& txn, Offset last_stable) {
  if (last_aborted_ && *last_aborted_ >= txn.last_offset) {
    throw Refused("an aborted transaction's last offset does not rise");
  }
  last_aborted_ = txn.last_offset;
  Bytes& out = (*files_)[name(".txnindex")];
  put(out, 0, 2);
  put(out, txn.producer_id, 8);
  put(out, txn.first_offset, 8);
  put(out, txn.last_offset, 8);
  put(out, last_stable, 8);
}

void Segment::apply_producer(const FileBatch& batch, ProducerStates& producers) {
  if (batch.has_producer()) {
    AppendInfo info = producers.prepare(batch.producer_id);
    const std::optional<CompletedTxn> done = info.append(batch);
    producers.update(info);
    if (done) {
      const Offset last_stable = producers.last_stable_offset(*done);
      if (done->aborted) append_aborted(*done, last_stable);
      producers.complete(*done);
    }
  }
  producers.set_map_end(batch.last_offset + 1);
}

std::int64_t Segment::recover(ProducerStates& producers, EpochCache& epochs) {
  offsets_.open();
  times_.open();
  for (EntryFile* const index : {&offsets_, &times_}) {
    index->set_count(0);
    index->resize(config_.segment_index_bytes);
  }
  if (const auto file = files_->find(name(".txnindex")); file != files_->end()) {
    file->second.clear();
  }
  last_aborted_.reset();
  max_timestamp_ = TimestampOffset{kNoTimestamp, -1};
  std::int64_t valid = 0;
  std::int64_t last_indexed = 0;
  try {
    FileBatches batches(log(), 0, size());
    while (const std::optional<FileBatch> batch = batches.next()) {
      batch->ensure_valid();
      const Offset relative = batch->last_offset - base_;
      if (relative < 0 || relative > kRelativeOffsetMax) {
        throw Overflow("segment " + std::to_string(base_) + " overflows its offsets");
      }
      if (batch->max_timestamp > max_timestamp_->timestamp) {
        max_timestamp_ = TimestampOffset{batch->max_timestamp, batch->last_offset};
      }
      if (valid - last_indexed > config_.index_interval_bytes) {
        index_batch(*batch, valid);
        last_indexed = valid;
      }
      valid += batch->size;
      if (batch->magic < 2) continue;
      if (batch->leader_epoch >= 0 &&
          (!epochs.latest() || batch->leader_epoch > *epochs.latest())) {
        epochs.assign(batch->leader_epoch, batch->base_offset);
      }
      apply_producer(*batch, producers);
    }
  } catch (const CorruptRecord&) {
    // The rest of the segment is cut below.
  } catch (const InvalidRecord&) {
    // Likewise, but the batch with the bad marker stays.
  }
  const std::int64_t cut = size() - valid;
  files_->at(name(".log")).resize(static_cast<std::size_t>(valid));
  offsets_.trim();
  append_time_entry(*max_timestamp_, true);
  times_.trim();
  return cut;
}

std::int64_t Segment::truncate_to_base() {
  const std::int64_t cut = size();
  files_->at(name(".log")).clear();
  offsets_.set_count(0);
  times_.set_count(0);
  if (const auto file = files_->find(name(".txnindex")); file != files_->end()) {
    file->second.clear();
  }
  max_timestamp_.reset();
  grow_indexes();
  return cut;
}

void Segment::grow_indexes() {
  offsets_.open();
  offsets_.resize(config_.segment_index_bytes);
  times_.open();
  times_.resize(config_.segment_index_bytes);
}

void Segment::close() {
  offsets_.open();
  times_.open();
  if (max_timestamp_) append_time_entry(*max_timestamp_, true);
  offsets_.trim();
  times_.trim();
}

}  // namespace oncelog::test::kafka
