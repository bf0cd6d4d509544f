// One segment of an open log: its file, its size as readers may see it, and its indexes.
//
// The active segment keeps file and indexes itself, a sealed one whose derived files are not yet on
// the disk its indexes; the rest comes on demand from a cache with a bound (H-098).
//
// THREADS  any thread reads; `grow` and `pin`/`unpin` by the shard's driver.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "oncelog/io.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

#include "index/offset_index.h"
#include "index/sidecar.h"
#include "index/time_index.h"
#include "index/txn_index.h"

namespace oncelog {

struct SegmentIndexes {
  std::unique_ptr<OffsetIndex> offset;
  std::unique_ptr<TimeIndex> time;
  std::unique_ptr<TxnIndex> txn;
};

class LogSegment;

/// Files and indexes of sealed segments, the least recently used ones closed first.
///
/// THREADS  any thread.
class SegmentCache {
 public:
  SegmentCache(FileSystem& files, std::size_t segments_max)
      : files_(files), segments_max_(segments_max) {}

  Result<std::shared_ptr<File>> file(const LogSegment& segment);
  Result<std::shared_ptr<const SegmentIndexes>> indexes(const LogSegment& segment);
  void forget(const LogSegment& segment);
  /// Segments with an open file here; for tests and metrics.
  std::size_t size() const;

 private:
  struct Entry {
    const LogSegment* segment = nullptr;
    std::shared_ptr<File> file;
    std::shared_ptr<const SegmentIndexes> indexes;
  };
  using Entries = std::list<Entry>;

  std::shared_ptr<File> find_file(const LogSegment& segment);
  void remember(const LogSegment& segment, std::shared_ptr<File> file,
                std::shared_ptr<const SegmentIndexes> indexes);

  FileSystem& files_;
  const std::size_t segments_max_;
  mutable std::mutex mutex_;
  Entries entries_;  // most recently used first; guarded by mutex_
  std::unordered_map<const LogSegment*, Entries::iterator> by_segment_;  // guarded by mutex_
};

class LogSegment {
 public:
  /// `stem`: path without extension ("dir/00000000000000000000").
  LogSegment(SegmentCache& cache, std::string stem, const SidecarSegment& facts,
             std::int64_t index_bytes);
  LogSegment(const LogSegment&) = delete;
  LogSegment& operator=(const LogSegment&) = delete;
  ~LogSegment();

  Offset base_offset() const { return base_offset_; }
  /// Path of one of its files: extension ".log", ".index", ".timeindex" or ".txnindex".
  std::string path(std::string_view extension) const;
  /// After the files were renamed: what they are called now ("" or ".deleted" behind the name).
  void set_suffix(std::string suffix);
  std::int64_t index_bytes() const { return index_bytes_; }

  /// Bytes that hold whole written batches.
  std::int64_t size() const { return size_.load(std::memory_order_acquire); }
  TimestampMs largest_timestamp() const {
    return largest_timestamp_.load(std::memory_order_acquire);
  }
  /// Offset after the last batch, base when empty.
  Offset next_offset() const { return next_offset_.load(std::memory_order_acquire); }
  /// Entries of its aborted-transaction index.
  std::uint32_t aborted_count() const { return aborted_count_.load(std::memory_order_acquire); }
  /// Driver only: a batch was written. The facts describe the segment including it.
  void grow(const SidecarSegment& facts);
  /// Driver only.
  const SidecarSegment& facts() const { return facts_; }

  Result<std::shared_ptr<File>> file() const;
  /// The file for a page that may live long: counted by `pinned_by_page`.
  Result<std::shared_ptr<File>> file_for_page() const;
  bool pinned_by_page() const { return page_token_.use_count() > 1; }
  Result<std::shared_ptr<const SegmentIndexes>> indexes() const;

  /// Keeps indexes, and unless it is null the file, here (active, or sealed and not yet saved).
  void pin(std::shared_ptr<File> file, std::shared_ptr<SegmentIndexes> indexes);
  /// Leaves them to the cache.
  void unpin();
  /// The pinned indexes, null when not pinned. Driver only.
  const std::shared_ptr<SegmentIndexes>& pinned_indexes() const { return pinned_indexes_; }

 private:
  SegmentCache& cache_;
  const Offset base_offset_;
  const std::string stem_;
  const std::int64_t index_bytes_;
  SidecarSegment facts_;
  std::atomic<std::int64_t> size_;
  std::atomic<TimestampMs> largest_timestamp_;
  std::atomic<Offset> next_offset_;
  std::atomic<std::uint32_t> aborted_count_;
  const std::shared_ptr<const char> page_token_ = std::make_shared<const char>('p');
  mutable std::mutex mutex_;
  std::string suffix_;                              // guarded by mutex_
  std::shared_ptr<File> pinned_file_;               // guarded by mutex_ for readers
  std::shared_ptr<SegmentIndexes> pinned_indexes_;  // guarded by mutex_ for readers
};

}  // namespace oncelog
