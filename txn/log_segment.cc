// Segments of an open log and the cache of sealed ones.
#include "txn/log_segment.h"

#include <utility>
#include <vector>

#include "index/derived_file.h"
#include "storage/segment_scanner.h"

namespace oncelog {
namespace {

Offset next_offset_of(const SidecarSegment& facts) {
  return facts.last_offset == kNoOffset ? facts.base_offset : facts.last_offset + 1;
}

/// Offset and time index from the log itself: what a missing or wrong file is replaced by.
Status rebuild_from_log(const LogSegment& segment, File& file, SegmentIndexes& indexes) {
  constexpr std::int64_t kIntervalBytes = 4096;
  ScanOptions options;
  options.end = segment.size();
  options.segment_base = segment.base_offset();
  options.headers_only = true;
  SegmentScanner scanner(file, options);
  std::int64_t since_entry = 0;
  TimestampMs largest = kNoTimestamp;
  Offset largest_offset = segment.base_offset();
  while (true) {
    ONCELOG_TRY_ASSIGN(const std::optional<ScannedBatch> batch, scanner.next());
    if (!batch) break;
    const BatchHeader& header = batch->header;
    if (header.max_timestamp > largest) {
      largest = header.max_timestamp;
      largest_offset = header.last_offset();
    }
    if (since_entry > kIntervalBytes && !indexes.offset->is_full()) {
      indexes.offset->append(header.last_offset(), batch->position);
      indexes.time->maybe_append(largest, largest_offset);
      since_entry = 0;
    }
    since_entry += header.size_bytes();
  }
  indexes.time->maybe_append(largest, largest_offset, true);
  return {};
}

Result<std::shared_ptr<const SegmentIndexes>> load_indexes(FileSystem& files,
                                                           const LogSegment& segment,
                                                           File& log_file) {
  auto indexes = std::make_shared<SegmentIndexes>();
  const std::int64_t bytes_max = std::max<std::int64_t>(segment.index_bytes(), 1 << 20) + 64;
  const Offset base = segment.base_offset();
  const auto offset_bytes = read_whole_file(files, segment.path(".index"), bytes_max);
  const auto time_bytes = read_whole_file(files, segment.path(".timeindex"), bytes_max);
  bool good = offset_bytes.ok() && time_bytes.ok();
  if (good) {
    auto offset = OffsetIndex::decode(*offset_bytes, base, segment.index_bytes(), segment.size());
    auto time = TimeIndex::decode(*time_bytes, base, segment.index_bytes(), segment.next_offset());
    good = offset.ok() && time.ok();
    if (good) {
      indexes->offset = std::move(offset).value();
      indexes->time = std::move(time).value();
    }
  }
  if (!good) {  // never trusted over the log: H-050, H-052
    indexes->offset = std::make_unique<OffsetIndex>(base, segment.index_bytes());
    indexes->time = std::make_unique<TimeIndex>(base, segment.index_bytes());
    ONCELOG_TRY(rebuild_from_log(segment, log_file, *indexes));
  }
  // Without aborted transactions there is no file; a lost one cannot be told from one segment.
  indexes->txn = std::make_unique<TxnIndex>(base);
  if (segment.aborted_count() == 0) return std::shared_ptr<const SegmentIndexes>(indexes);
  ONCELOG_TRY_ASSIGN(
      const std::vector<std::byte> txn_bytes,
      read_whole_file(files, segment.path(".txnindex"),
                      std::int64_t{segment.aborted_count()} * std::int64_t{kTxnIndexEntryBytes}));
  auto txn = TxnIndex::decode(txn_bytes, base);
  if (!txn.ok()) return std::move(txn).error().at(segment.path(".txnindex"));
  indexes->txn = std::move(txn).value();
  if (indexes->txn->size() != segment.aborted_count()) {
    return make_error(ErrorCode::kDamaged, "aborted-transaction index lost entries; reopen the log")
        .at(segment.path(".txnindex"));
  }
  return std::shared_ptr<const SegmentIndexes>(indexes);
}

}  // namespace

std::size_t SegmentCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

std::shared_ptr<File> SegmentCache::find_file(const LogSegment& segment) {
  const std::lock_guard lock(mutex_);
  const auto found = by_segment_.find(&segment);
  if (found == by_segment_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->file;
}

void SegmentCache::remember(const LogSegment& segment, std::shared_ptr<File> file,
                            std::shared_ptr<const SegmentIndexes> indexes) {
  Entries closed;  // destroyed after the lock: closing a file may take its time
  const std::lock_guard lock(mutex_);
  const auto found = by_segment_.find(&segment);
  if (found != by_segment_.end()) {
    if (indexes) found->second->indexes = std::move(indexes);
    return;
  }
  entries_.push_front({&segment, std::move(file), std::move(indexes)});
  by_segment_.emplace(&segment, entries_.begin());
  while (entries_.size() > segments_max_) {
    by_segment_.erase(entries_.back().segment);
    closed.splice(closed.end(), entries_, std::prev(entries_.end()));
  }
}

Result<std::shared_ptr<File>> SegmentCache::file(const LogSegment& segment) {
  if (std::shared_ptr<File> open = find_file(segment)) return open;
  ONCELOG_TRY_ASSIGN(std::shared_ptr<File> file,
                     files_.open(segment.path(".log"), OpenMode::kRead));
  remember(segment, file, nullptr);
  return file;
}

Result<std::shared_ptr<const SegmentIndexes>> SegmentCache::indexes(const LogSegment& segment) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_segment_.find(&segment);
    if (found != by_segment_.end() && found->second->indexes) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->indexes;
    }
  }
  // Two readers may load at the same time; both get equal values and one is kept (H-110).
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> log_file, file(segment));
  ONCELOG_TRY_ASSIGN(std::shared_ptr<const SegmentIndexes> indexes,
                     load_indexes(files_, segment, *log_file));
  remember(segment, log_file, indexes);
  return indexes;
}

void SegmentCache::forget(const LogSegment& segment) {
  Entries closed;
  const std::lock_guard lock(mutex_);
  const auto found = by_segment_.find(&segment);
  if (found == by_segment_.end()) return;
  closed.splice(closed.end(), entries_, found->second);
  by_segment_.erase(found);
}

LogSegment::LogSegment(SegmentCache& cache, std::string stem, const SidecarSegment& facts,
                       std::int64_t index_bytes)
    : cache_(cache),
      base_offset_(facts.base_offset),
      stem_(std::move(stem)),
      index_bytes_(index_bytes),
      facts_(facts),
      size_(facts.size),
      largest_timestamp_(facts.largest_timestamp),
      next_offset_(next_offset_of(facts)),
      aborted_count_(facts.aborted_count) {}

LogSegment::~LogSegment() {
  cache_.forget(*this);
}

std::string LogSegment::path(std::string_view extension) const {
  const std::lock_guard lock(mutex_);
  return stem_ + std::string(extension) + suffix_;
}

void LogSegment::set_suffix(std::string suffix) {
  const std::lock_guard lock(mutex_);
  suffix_ = std::move(suffix);
}

void LogSegment::grow(const SidecarSegment& facts) {
  facts_ = facts;
  largest_timestamp_.store(facts.largest_timestamp, std::memory_order_release);
  next_offset_.store(next_offset_of(facts), std::memory_order_release);
  aborted_count_.store(facts.aborted_count, std::memory_order_release);
  size_.store(facts.size, std::memory_order_release);
}

Result<std::shared_ptr<File>> LogSegment::file() const {
  {
    const std::lock_guard lock(mutex_);
    if (pinned_file_) return pinned_file_;
  }
  return cache_.file(*this);
}

Result<std::shared_ptr<File>> LogSegment::file_for_page() const {
  struct Pin {
    std::shared_ptr<File> file;
    std::shared_ptr<const char> token;
  };
  ONCELOG_TRY_ASSIGN(std::shared_ptr<File> open, file());
  File* raw = open.get();
  const auto pin = std::make_shared<Pin>(Pin{std::move(open), page_token_});
  return std::shared_ptr<File>(pin, raw);
}

Result<std::shared_ptr<const SegmentIndexes>> LogSegment::indexes() const {
  {
    const std::lock_guard lock(mutex_);
    if (pinned_indexes_) return std::shared_ptr<const SegmentIndexes>(pinned_indexes_);
  }
  return cache_.indexes(*this);
}

void LogSegment::pin(std::shared_ptr<File> file, std::shared_ptr<SegmentIndexes> indexes) {
  const std::lock_guard lock(mutex_);
  pinned_file_ = std::move(file);
  pinned_indexes_ = std::move(indexes);
}

void LogSegment::unpin() {
  std::shared_ptr<File> file;
  std::shared_ptr<SegmentIndexes> indexes;
  const std::lock_guard lock(mutex_);
  file.swap(pinned_file_);
  indexes.swap(pinned_indexes_);
}

}  // namespace oncelog
