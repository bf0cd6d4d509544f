// Parsing batches, and what little of records the model needs.
#include "tests/support/kafka_batch.h"

#include <algorithm>
#include <string>

#include "oncelog/record_batch.h"

namespace oncelog::test::kafka {
namespace {

constexpr std::int64_t kHeaderUpToMagic = 17;
constexpr std::int64_t kLegacySizeMin = 14;
constexpr std::int64_t kHeaderV2 = 61;

FileBatch parse(ByteSpan bytes, std::int64_t position) {
  FileBatch batch;
  batch.position = position;
  batch.size = static_cast<std::int64_t>(bytes.size());
  batch.bytes = bytes;
  batch.base_offset = get64(bytes, 0);
  batch.magic = get8(bytes, 16);
  if (batch.magic < 2) {
    batch.last_offset = batch.base_offset;
    batch.crc = static_cast<std::uint32_t>(get32(bytes, 12));
    batch.max_timestamp = batch.magic == 1 ? get64(bytes, 18) : kNoTimestamp;
    batch.attributes = static_cast<std::int16_t>(get8(bytes, 17) & 0x0f);
    return batch;
  }
  batch.leader_epoch = get32(bytes, 12);
  batch.crc = static_cast<std::uint32_t>(get32(bytes, 17));
  batch.attributes = get16(bytes, 21);
  batch.last_offset = batch.base_offset + get32(bytes, 23);
  batch.base_timestamp = get64(bytes, 27);
  batch.max_timestamp = get64(bytes, 35);
  batch.producer_id = get64(bytes, 43);
  batch.producer_epoch = get16(bytes, 51);
  batch.base_sequence = get32(bytes, 53);
  batch.record_count = get32(bytes, 57);
  return batch;
}

/// A cursor over a record's varints; reading beyond the end throws InvalidRecord.
struct Cursor {
  ByteSpan bytes;
  std::size_t at = 0;

  std::int64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint64_t byte = std::to_integer<std::uint64_t>(take(1)[0]);
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  ByteSpan take(std::int64_t count) {
    if (count < 0) return {};
    if (static_cast<std::uint64_t>(count) > bytes.size() - at) {
      throw InvalidRecord("a record is cut short");
    }
    const ByteSpan out = bytes.subspan(at, static_cast<std::size_t>(count));
    at += static_cast<std::size_t>(count);
    return out;
  }
};

struct PlainRecord {
  TimestampMs timestamp_delta = 0;
  std::int64_t offset_delta = 0;
  ByteSpan key;
  ByteSpan value;
};

PlainRecord read_record(Cursor& area) {
  Cursor record{area.take(area.varint()), 0};
  PlainRecord out;
  record.take(1);
  out.timestamp_delta = record.varint();
  out.offset_delta = record.varint();
  out.key = record.take(record.varint());
  out.value = record.take(record.varint());
  return out;
}

/// The records area of a batch, decompressed into `storage` where needed.
std::optional<PlainRecord> first_record(const FileBatch& batch) {
  if (batch.record_count <= 0) return std::nullopt;
  Cursor area{batch.bytes.subspan(kHeaderV2), 0};
  return read_record(area);
}

}  // namespace

Sequence FileBatch::last_sequence() const {
  if (base_sequence == kNoSequence) return kNoSequence;
  const std::int64_t sum = std::int64_t{base_sequence} + (last_offset - base_offset);
  return static_cast<Sequence>(sum % (std::int64_t{1} << 31));
}

void FileBatch::ensure_valid() const {
  if (magic < 2) {
    if (size < 12 + (magic == 0 ? 14 : 22)) throw CorruptRecord("a legacy entry is too small");
    if (crc32_of(bytes.subspan(16)) != crc) throw CorruptRecord("a legacy CRC does not match");
    return;
  }
  if (size < kHeaderV2) throw CorruptRecord("a batch is smaller than its header");
  if (crc32c_of(bytes.subspan(21)) != crc) throw CorruptRecord("a batch's CRC does not match");
}

FileBatches::FileBatches(ByteSpan file, std::int64_t start, std::int64_t end)
    : file_(file), position_(start), end_(std::min(end, static_cast<std::int64_t>(file.size()))) {}

std::optional<FileBatch> FileBatches::next() {
  if (position_ < 0 || position_ >= end_ - kHeaderUpToMagic) return std::nullopt;
  const std::int64_t size = get32(file_, static_cast<std::size_t>(position_) + 8);
  if (size < kLegacySizeMin) throw CorruptRecord("a batch has size " + std::to_string(size));
  if (position_ > end_ - 12 - size) return std::nullopt;
  const std::int64_t at = position_;
  position_ += 12 + size;
  return parse(file_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(12 + size)),
               at);
}

std::optional<Marker> marker_of(const FileBatch& batch) {
  const std::optional<PlainRecord> record = first_record(batch);
  if (!record) return std::nullopt;
  if (record->key.size() < 4) throw InvalidRecord("a control key is too short");
  if (get16(record->key, 0) < 0) throw InvalidRecord("a control key has a negative version");
  const int type = get16(record->key, 2);
  if (type != 0 && type != 1) throw Refused("a producer's control record is no marker");
  if (record->value.size() < 6) throw InvalidRecord("a marker is too short");
  if (get16(record->value, 0) < 0) throw InvalidRecord("a marker has a negative version");
  const bool append_time = (batch.attributes & 0x08) != 0;
  return Marker{type == 0, get32(record->value, 2),
                append_time ? batch.max_timestamp : batch.base_timestamp + record->timestamp_delta};
}

int control_type_of(const FileBatch& batch) {
  try {
    const std::optional<PlainRecord> record = first_record(batch);
    if (!record || record->key.size() < 4 || get16(record->key, 0) < 0) return -1;
    return get16(record->key, 2);
  } catch (const InvalidRecord&) {
    return -1;
  }
}

std::vector<Offset> record_offsets(const FileBatch& batch) {
  std::vector<Offset> out;
  if (batch.magic < 2) return {batch.last_offset};
  if ((batch.attributes & 0x07) != 0) {
    const Result<RecordBatchView> view = RecordBatchView::parse(batch.bytes);
    if (!view.ok()) return out;
    const Result<Records> records = read_records(*view);
    if (!records.ok()) return out;
    for (const RecordView& record : records->records)
      out.push_back(record.offset);
    return out;
  }
  Cursor area{batch.bytes.subspan(kHeaderV2), 0};
  for (std::int32_t i = 0; i < batch.record_count; ++i) {
    out.push_back(batch.base_offset + read_record(area).offset_delta);
  }
  return out;
}

}  // namespace oncelog::test::kafka
