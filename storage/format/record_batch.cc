// Reading record batches v2: the view, and the walk over its records.
#include "oncelog/record_batch.h"

#include <string>
#include <utility>

#include "storage/base/varint.h"
#include "storage/format/batch_header.h"
#include "storage/format/codec.h"
#include "storage/format/record.h"
#include "storage/format/sequence.h"

namespace oncelog {
namespace {

Error corrupt(std::string what, const BatchHeader& header) {
  return make_error(ErrorCode::kCorruptBatch, std::move(what)).with_offset(header.base_offset);
}

Error at_record(Error error, const BatchHeader& header, std::int32_t index) {
  error.message = "record " + std::to_string(index) + " of " + std::to_string(header.record_count) +
                  ": " + error.message;
  return std::move(error).with_offset(header.base_offset);
}

}  // namespace

Result<RecordBatchView> RecordBatchView::parse(std::span<const std::byte> bytes) {
  ONCELOG_TRY_ASSIGN(const BatchHeader header, decode_header(bytes));
  if (header.magic != 2) return corrupt("magic is " + std::to_string(header.magic), header);
  if (header.batch_length < kBatchLengthMin) {
    return corrupt("batch length " + std::to_string(header.batch_length) + " is too small", header);
  }
  if (static_cast<std::uint64_t>(header.size_bytes()) > bytes.size()) {
    return corrupt("batch of " + std::to_string(header.size_bytes()) + " bytes is cut short at " +
                       std::to_string(bytes.size()),
                   header);
  }
  return RecordBatchView(header, bytes.first(static_cast<std::size_t>(header.size_bytes())));
}

bool RecordBatchView::crc_matches() const {
  return batch_crc(bytes_) == header_.crc;
}

Result<RecordReader> RecordReader::open(const RecordBatchView& batch,
                                        const DecompressLimits& limits) {
  RecordReader out;
  out.header_ = batch.header();
  if (out.header_.record_count < 0) {
    return make_error(ErrorCode::kInvalidRecord,
                      "record count is " + std::to_string(out.header_.record_count))
        .with_offset(out.header_.base_offset);
  }
  out.rest_ = batch.payload();
  // A batch emptied by compaction has nothing to decompress, whatever its codec bits say.
  if (out.rest_.empty() || out.header_.codec_bits() == 0) return out;
  const auto codec = codec_from_bits(out.header_.codec_bits());
  if (!codec) {
    return corrupt("codec " + std::to_string(out.header_.codec_bits()) + " is unknown",
                   out.header_);
  }
  auto plain = decompress(*codec, out.rest_, {.bytes_max = limits.batch_bytes_max});
  if (!plain.ok()) return at_record(std::move(plain).error(), out.header_, 0);
  out.decompressed_ = std::move(plain).value();
  out.rest_ = out.decompressed_;
  return out;
}

Result<std::optional<RecordView>> RecordReader::next() {
  if (read_count_ == header_.record_count) {
    if (rest_.empty()) return std::optional<RecordView>{};
    return at_record(make_error(ErrorCode::kInvalidRecord,
                                std::to_string(rest_.size()) + " bytes follow the last record"),
                     header_, read_count_);
  }
  ByteCursor cursor(rest_);
  RecordView out;
  auto parsed = take_record(cursor, RecordRules::kAsStored, &out.headers);
  if (!parsed.ok()) return at_record(std::move(parsed).error(), header_, read_count_);
  rest_ = cursor.rest();
  ++read_count_;

  out.offset =
      static_cast<Offset>(static_cast<std::uint64_t>(header_.base_offset) +
                          static_cast<std::uint64_t>(std::int64_t{parsed.value().offset_delta}));
  out.timestamp = record_timestamp(header_, parsed.value().timestamp_delta);
  if (header_.base_sequence >= 0) {
    out.sequence = increment_sequence(header_.base_sequence, parsed.value().offset_delta);
  }
  out.key = parsed.value().key;
  out.value = parsed.value().value;
  return std::optional<RecordView>(std::move(out));
}

Result<Records> read_records(const RecordBatchView& batch, const DecompressLimits& limits) {
  ONCELOG_TRY_ASSIGN(RecordReader reader, RecordReader::open(batch, limits));
  Records out;
  while (true) {
    ONCELOG_TRY_ASSIGN(std::optional<RecordView> record, reader.next());
    if (!record) break;
    out.records.push_back(*std::move(record));
  }
  out.storage = std::move(reader).release_storage();
  return out;
}

}  // namespace oncelog
