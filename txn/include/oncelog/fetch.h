// Reading a log: requests, pages, and the buffer that a reader keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "oncelog/file_system.h"
#include "oncelog/record_batch.h"
#include "oncelog/types.h"

namespace oncelog {

struct FetchRequest {
  Offset offset = 0;                 ///< first offset wanted
  std::int64_t bytes_max = 1 << 20;  ///< whole batches up to this many bytes
  bool at_least_one = true;          ///< return one batch even when it is larger
  Isolation isolation = Isolation::kReadUncommitted;
  bool verdicts = false;          ///< compute each batch's transaction verdict
  bool file_ranges_only = false;  ///< leave the bytes in the files (sendfile)
};

/// What became of the transaction that a batch belongs to, as far as the log knows now.
enum class BatchVerdict : std::uint8_t {
  kNonTransactional,
  kCommitted,
  kAborted,
  kOpen,     ///< no marker yet
  kControl,  ///< a marker or another control batch: never shown to applications
};

/// An aborted transaction that overlaps a page: skip transactional batches of the producer from
/// `first_offset` to its abort marker (FETCH.md 4).
struct AbortedRange {
  ProducerId producer_id = kNoProducerId;
  Offset first_offset = 0;
  Offset last_offset = 0;  ///< of the abort marker
};

/// Consecutive bytes of one segment file.
struct FileRange {
  std::shared_ptr<File> file;  ///< keeps the file open
  std::int64_t position = 0;
  std::int64_t bytes = 0;
};

/// Memory that a reader keeps between fetches; its capacity is reused.
///
/// THREADS  one fetch at a time. A page borrows it: the next fetch into it ends the page.
class FetchBuffer {
 public:
  FetchBuffer() = default;
  FetchBuffer(const FetchBuffer&) = delete;
  FetchBuffer& operator=(const FetchBuffer&) = delete;
  FetchBuffer(FetchBuffer&&) noexcept = default;
  FetchBuffer& operator=(FetchBuffer&&) noexcept = default;
  ~FetchBuffer() = default;

 private:
  friend class FetchPageBuilder;
  std::vector<std::byte> bytes_;
};

/// What a fetch returned. Whole batches only; the first may begin below the offset asked for.
/// Legacy batches (magic 0/1) are given as v2 batches with the same offsets and records.
///
/// LIFETIME  batches borrow the FetchBuffer; file ranges pin their segments. May outlive the log,
/// not the store.
class FetchPage {
 public:
  std::span<const RecordBatchView> batches() const { return batches_; }
  /// One per batch when `verdicts` was asked for, else empty.
  std::span<const BatchVerdict> verdicts() const { return verdicts_; }
  /// kReadCommitted: transactions aborted within the page's range, by first offset; else empty.
  std::span<const AbortedRange> aborted() const { return aborted_; }
  /// Where the batches lie, in order. Empty pages have none.
  std::span<const FileRange> file_ranges() const { return file_ranges_; }

  Offset next_offset = 0;  ///< fetch here next; moves on even when nothing is to be delivered
  Offset log_start = 0;
  Offset high_watermark = 0;
  Offset last_stable_offset = 0;
  Offset log_end = 0;
  std::int64_t bytes = 0;         ///< sum of the batches' sizes as stored
  std::int64_t bytes_needed = 0;  ///< without `at_least_one`: size of a first batch too large

 private:
  friend class FetchPageBuilder;
  std::vector<RecordBatchView> batches_;
  std::vector<BatchVerdict> verdicts_;
  std::vector<AbortedRange> aborted_;
  std::vector<FileRange> file_ranges_;
};

/// A record that an application may see.
struct VisibleRecord {
  const RecordBatchView* batch = nullptr;
  RecordView record;
};

/// Decodes a page for an application (FETCH.md 4): control records, records below `from` and,
/// under kReadCommitted, aborted ones are left out. The records borrow the page and `storage`,
/// which is replaced. Errors: as RecordReader, naming the batch's offset.
Result<std::vector<VisibleRecord>> visible_records(const FetchPage& page, Offset from,
                                                   Isolation isolation,
                                                   std::vector<Records>& storage,
                                                   const DecompressLimits& limits = {});

}  // namespace oncelog
