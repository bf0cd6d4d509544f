// The model's segment: a .log file with its three indexes, read and recovered as Kafka does.
//
// Index entries are trusted: a lookup believes whatever the slots hold (FORMAT.md 11-13,
// RECOVERY.md 4 and 6).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "oncelog/types.h"

#include "tests/support/directory_image.h"
#include "tests/support/kafka_batch.h"
#include "tests/support/kafka_producer_state.h"

namespace oncelog::test::kafka {

struct LoaderConfig {
  std::int64_t index_interval_bytes = 4096;
  std::int64_t segment_index_bytes = 10485760;
  TimestampMs now_ms = 0;
  std::int64_t producer_expiration_ms = 86400000;
};

/// Leader epochs: epoch to start offset.
class EpochCache {
 public:
  /// Throws Refused when the file cannot be read; creates an empty one when it is missing.
  explicit EpochCache(FileMap& files);
  void assign(LeaderEpoch epoch, Offset start);
  std::optional<LeaderEpoch> latest() const;
  void truncate_from_end(Offset end);
  void truncate_from_start(Offset start);
  void clear();
  const std::map<LeaderEpoch, Offset>& entries() const { return entries_; }

 private:
  void persist();
  FileMap* files_;
  std::map<LeaderEpoch, Offset> entries_;
};

struct AbortedTxn {
  ProducerId producer_id = kNoProducerId;
  Offset first_offset = 0;
  Offset last_offset = 0;
  Offset last_stable_offset = 0;
  friend bool operator==(const AbortedTxn&, const AbortedTxn&) = default;
};

struct OffsetPosition {
  Offset offset = 0;
  std::int64_t position = 0;
};
struct TimestampOffset {
  TimestampMs timestamp = kNoTimestamp;
  Offset offset = 0;
};

/// Entries of .index or .timeindex in a memory-mapped file: `count` of them are in use.
class EntryFile {
 public:
  EntryFile(FileMap& files, std::string name, std::size_t entry_bytes, std::int64_t bytes_max);
  /// Opens it if it was not: a missing file is created at its full size, zero-filled and empty;
  /// of an existing one every slot counts.
  void open();
  std::size_t count() const { return count_; }
  std::size_t capacity() const { return bytes().size() / entry_bytes_; }
  ByteSpan entry(std::size_t at) const;
  void append(std::int64_t first, std::size_t first_bytes, std::int64_t second);
  void set_count(std::size_t count) { count_ = count; }
  void resize(std::int64_t bytes_max);
  void trim() { bytes().resize(count_ * entry_bytes_); }

 private:
  Bytes& bytes() const { return files_->at(name_); }
  FileMap* files_;
  std::string name_;
  std::size_t entry_bytes_;
  std::int64_t bytes_max_;
  bool is_open_ = false;
  std::size_t count_ = 0;
};

class Segment {
 public:
  /// `suffix` is "" or ".swap". `files` must outlive it; the .log must exist.
  Segment(FileMap& files, Offset base, const LoaderConfig& config, const std::string& suffix = "");

  Offset base() const { return base_; }
  ByteSpan log() const { return files_->at(name(".log")); }
  std::int64_t size() const { return static_cast<std::int64_t>(log().size()); }
  std::string name(const std::string& suffix) const;

  std::vector<OffsetPosition> offset_entries();
  std::vector<TimestampOffset> time_entries();
  /// Throws Refused on an entry of a later version. A partial one at the end is ignored.
  std::vector<AbortedTxn> aborted() const;
  OffsetPosition last_offset_entry();
  OffsetPosition lookup(Offset target);

  /// The first batch, from where the index says, whose last offset is not below `target`.
  std::optional<FileBatch> translate(Offset target);
  Offset next_offset();
  void empty_time_index();
  /// Rebuilds the indexes and cuts behind the last good batch; returns the bytes cut.
  std::int64_t recover(ProducerStates& producers, EpochCache& epochs);
  /// After a failed recovery: nothing of the segment stays.
  std::int64_t truncate_to_base();
  void grow_indexes();
  /// The effect of a clean close on its files.
  void close();

 private:
  TimestampOffset last_time_entry();
  void index_batch(const FileBatch& batch, std::int64_t position);
  void append_time_entry(const TimestampOffset& entry, bool skip_full_check);
  void apply_producer(const FileBatch& batch, ProducerStates& producers);
  void append_aborted(const CompletedTxn& txn, Offset last_stable);

  FileMap* files_;
  Offset base_;
  LoaderConfig config_;
  std::string suffix_;
  EntryFile offsets_;
  EntryFile times_;
  std::optional<TimestampOffset> max_timestamp_;  ///< nothing: never computed
  std::optional<Offset> last_aborted_;
};

}  // namespace oncelog::test::kafka
