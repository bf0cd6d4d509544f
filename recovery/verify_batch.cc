// Checks the header and the records of one batch.
#include "recovery/verify_batch.h"

#include <utility>

#include "recovery/replay.h"
#include "storage/format/legacy_batch.h"

namespace oncelog {
namespace {

constexpr int kCodecBitsMax = 4;

void check_header(const BatchHeader& header, std::vector<std::string>& out) {
  if (header.codec_bits() > kCodecBitsMax) {
    out.push_back("codec " + std::to_string(header.codec_bits()) + " does not exist");
  }
  if (header.record_count > std::int64_t{header.last_offset_delta} + 1) {
    out.push_back(std::to_string(header.record_count) + " records in a batch of " +
                  std::to_string(std::int64_t{header.last_offset_delta} + 1) + " offsets");
  }
  if (header.is_transactional() && !header.has_producer()) {
    out.emplace_back("transactional without a producer");
  }
  if (header.has_producer() && header.producer_epoch < 0) {
    out.emplace_back("a producer without an epoch");
  }
  if (header.has_producer() && !header.is_control() && header.base_sequence < 0) {
    out.emplace_back("a producer's data without a sequence");
  }
}

/// Each record whole, offsets rising within the batch, the area filled exactly.
Status check_records(const ScannedBatch& batch) {
  ONCELOG_TRY_ASSIGN(const RecordBatchView view, RecordBatchView::parse(batch.bytes));
  ONCELOG_TRY_ASSIGN(RecordReader reader, RecordReader::open(view));
  Offset before = batch.header.base_offset - 1;
  for (;;) {
    ONCELOG_TRY_ASSIGN(const auto record, reader.next());
    if (!record) return {};
    if (record->offset <= before || record->offset > batch.header.last_offset()) {
      return make_error(ErrorCode::kInvalidRecord,
                        "record offset " + std::to_string(record->offset) + " behind " +
                            std::to_string(before) + " in a batch that ends at " +
                            std::to_string(batch.header.last_offset()));
    }
    before = record->offset;
  }
}

}  // namespace

std::vector<std::string> check_batch(const ScannedBatch& batch, bool deep) {
  std::vector<std::string> out;
  const BatchHeader& header = batch.header;
  if (header.magic < 2) {
    if (deep || header.codec_bits() == 0) {
      const auto records = read_records_of(batch.bytes);
      if (!records.ok()) out.push_back(records.error().message);
    }
    return out;
  }
  check_header(header, out);
  if (!out.empty()) return out;
  if (deep || header.codec_bits() == 0) {
    const Status status = check_records(batch);
    if (!status.ok()) out.push_back(status.error().message);
  }
  // A broker fails to load the log over a marker that cannot be read.
  if (const auto marker = marker_of(batch); out.empty() && !marker.ok()) {
    out.push_back("control record cannot be read: " + marker.error().message);
  }
  return out;
}

}  // namespace oncelog
