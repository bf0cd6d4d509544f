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
#include <vector>

#include "oncelog/buffer.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

inline constexpr std::size_t kBatchHeaderBytes = 61;
/// Bytes before those that `batchLength` counts: base offset and the length itself.
inline constexpr std::size_t kBatchLogOverheadBytes = 12;

/// Every field of a batch header, decoded. A plain value.
struct BatchHeader {
  Offset base_offset = 0;
  std::int32_t batch_length = 0;  ///< bytes after this field: size - 12
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  std::int8_t magic = 2;
  std::uint32_t crc = 0;
  std::int16_t attributes = 0;
  std::int32_t last_offset_delta = 0;
  TimestampMs base_timestamp = kNoTimestamp;  ///< or the delete horizon
  TimestampMs max_timestamp = kNoTimestamp;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = kNoProducerEpoch;
  Sequence base_sequence = kNoSequence;
  std::int32_t record_count = 0;

  std::int64_t size_bytes() const { return std::int64_t{batch_length} + 12; }
  Offset last_offset() const { return base_offset + last_offset_delta; }
  Offset next_offset() const { return last_offset() + 1; }
  bool has_producer() const { return producer_id > kNoProducerId; }
  /// Sequence of the last record, wrapped at 2^31; -1 when there is none.
  Sequence last_sequence() const;
  int codec_bits() const { return attributes & 0x07; }  ///< 5..7 are no codec
  TimestampType timestamp_type() const {
    return (attributes & 0x08) != 0 ? TimestampType::kLogAppendTime : TimestampType::kCreateTime;
  }
  bool is_transactional() const { return (attributes & 0x10) != 0; }
  bool is_control() const { return (attributes & 0x20) != 0; }
  bool has_delete_horizon() const { return (attributes & 0x40) != 0; }
  friend bool operator==(const BatchHeader&, const BatchHeader&) = default;
};

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
/// LIFETIME  borrows the batch; a RecordView is valid until the reader goes.
class RecordReader {
 public:
  static Result<RecordReader> open(const RecordBatchView& batch,
                                   const DecompressLimits& limits = {});
  /// The next record, or nothing after the last one. At the end it has checked that exactly
  /// `record_count` records fill the area.
  Result<std::optional<RecordView>> next();

 private:
  RecordReader() = default;
  BatchHeader header_;
  std::vector<std::byte> decompressed_;
  std::span<const std::byte> rest_;
  std::int32_t read_count_ = 0;
};

/// All records of a batch at once. See RecordReader for errors.
struct Records {
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
  std::optional<std::string_view> value;
};

/// One record to be added to a batch.
struct RecordInput {
  TimestampMs timestamp_ms = kNoTimestamp;
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;
  std::vector<RecordHeaderInput> headers;
};

struct RecordBatchOptions {
  ProducerIdentity producer;
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
