// Record batches, format v2 (magic 2): zero-copy view, records, and the builder.
//
// FORMAT  FORMAT.md 1-7: a 61-byte header, then records, plain or as one compressed stream. All
// integers are big-endian; -1 is "none". The CRC-32C covers everything from the attributes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncelog/batch_header.h"
#include "oncelog/buffer.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

/// A record's bytes: null (absent) and empty are different.
using OptionalBytes = std::optional<std::span<const std::byte>>;

struct RecordHeaderView {
  std::string_view key;  ///< UTF-8 by contract, not checked
  OptionalBytes value;
};

/// One record. Keys, values and headers point into the batch (or into the RecordReader).
struct RecordView {
  Offset offset = 0;
  TimestampMs timestamp = kNoTimestamp;  ///< the batch's maximum when it has LogAppendTime
  Sequence sequence = kNoSequence;
  OptionalBytes key;
  OptionalBytes value;
  std::vector<RecordHeaderView> headers;
};

/// Limits of decompression: nothing is allocated beyond them whatever a batch claims.
struct DecompressLimits {
  std::int64_t batch_bytes_max = 128LL << 20;  ///< decompressed records of one batch
};

/// A batch in memory that belongs to someone else. Reads nothing beyond its own bytes.
///
/// LIFETIME  borrows the bytes. THREADS  immutable.
class RecordBatchView {
 public:
  /// The batch at the front of `bytes`, which may hold more behind it. Checks size and magic
  /// only, not the CRC. kCorruptBatch when the header is cut short, the length is below 49,
  /// reaches beyond `bytes`, or the magic is not 2 (legacy batches: `legacy_batch.h`).
  static Result<RecordBatchView> parse(std::span<const std::byte> bytes);

  const BatchHeader& header() const { return header_; }
  /// Exactly this batch.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// The records area, possibly compressed.
  std::span<const std::byte> payload() const { return bytes_.subspan(kBatchHeaderBytes); }
  /// Whether the stored CRC-32C is that of the bytes.
  bool crc_matches() const;

 private:
  RecordBatchView(const BatchHeader& header, std::span<const std::byte> bytes)
      : header_(header), bytes_(bytes) {}
  BatchHeader header_;
  std::span<const std::byte> bytes_;
};

/// Walks the records of one batch, decompressing into its own memory first where needed.
/// Structure errors (FORMAT.md 4, "Parse errors") are kInvalidRecord, bad compression is
/// kCorruptBatch; both name the record's index.
///
/// LIFETIME  borrows the batch; a RecordView is valid until the reader goes. Move-only.
class RecordReader {
 public:
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;
  RecordReader(RecordReader&&) = default;
  RecordReader& operator=(RecordReader&&) = default;
  ~RecordReader() = default;
  static Result<RecordReader> open(const RecordBatchView& batch,
                                   const DecompressLimits& limits = {});
  /// The next record, or nothing after the last one. At the end it has checked that exactly
  /// `record_count` records fill the area.
  Result<std::optional<RecordView>> next();
  /// The decompressed bytes that the views point into; keeps them alive without the reader.
  std::vector<std::byte> release_storage() && { return std::move(decompressed_); }

 private:
  RecordReader() = default;
  BatchHeader header_;
  std::vector<std::byte> decompressed_;
  std::span<const std::byte> rest_;
  std::int32_t read_count_ = 0;
};

/// All records of a batch at once. See RecordReader for errors. Move-only: a copy's views would
/// point into the original.
struct Records {
  Records() = default;
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  Records(Records&&) = default;
  Records& operator=(Records&&) = default;
  ~Records() = default;
  std::vector<std::byte> storage;  ///< decompressed bytes that the views may point into
  std::vector<RecordView> records;
};
Result<Records> read_records(const RecordBatchView& batch, const DecompressLimits& limits = {});

struct ProducerIdentity {
  ProducerId id = kNoProducerId;
  ProducerEpoch epoch = kNoProducerEpoch;
  friend bool operator==(const ProducerIdentity&, const ProducerIdentity&) = default;
};

struct RecordHeaderInput {
  std::string_view key;
  std::optional<std::string_view> value = std::nullopt;
};

/// One record to be added to a batch.
struct RecordInput {
  TimestampMs timestamp_ms = kNoTimestamp;
  std::optional<std::string_view> key = std::nullopt;
  std::optional<std::string_view> value = std::nullopt;
  std::vector<RecordHeaderInput> headers = {};
};

struct RecordBatchOptions {
  ProducerIdentity producer = {};
  Sequence base_sequence = kNoSequence;
  bool transactional = false;
  Codec codec = Codec::kNone;
  int compression_level = 0;  ///< 0: the codec's default
  Offset base_offset = 0;     ///< 0 for client appends; the log assigns
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  TimestampType timestamp_type = TimestampType::kCreateTime;
  TimestampMs log_append_time = kNoTimestamp;  ///< with kLogAppendTime: max timestamp
};

/// Builds one batch. Records get consecutive offsets; the base timestamp is the first record's.
///
///   RecordBatchBuilder batch({.producer = {.id = 4000, .epoch = 3}, .base_sequence = 0});
///   batch.add({.timestamp_ms = now, .key = "k", .value = "v"});
///   Buffer bytes = std::move(batch).finish();
class RecordBatchBuilder {
 public:
  explicit RecordBatchBuilder(const RecordBatchOptions& options = {});
  /// Appends a record; its bytes are copied.
  void add(const RecordInput& record);
  /// Appends a record with its own offset delta; deltas must rise. For rebuilding batches.
  void add_at(std::int32_t offset_delta, const RecordInput& record);
  std::int32_t record_count() const { return record_count_; }
  /// Size of the batch if it were finished now, uncompressed, in bytes.
  std::size_t size_bytes() const { return kBatchHeaderBytes + records_.size(); }
  /// Encodes header and CRC. REQUIRES: at least one record, fields that `RecordBatchOptions`
  /// allows. The builder is empty afterwards.
  Buffer finish() &&;

 private:
  RecordBatchOptions options_;
  std::vector<std::byte> records_;
  std::int32_t record_count_ = 0;
  std::int32_t last_offset_delta_ = -1;
  TimestampMs base_timestamp_ = kNoTimestamp;
  TimestampMs max_timestamp_ = kNoTimestamp;
};

}  // namespace oncelog
