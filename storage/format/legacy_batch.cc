// Batches of magic 0 and 1: parsing entries, opening wrappers.
#include "storage/format/legacy_batch.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <zlib.h>

#include "storage/base/endian.h"
#include "storage/base/varint.h"
#include "storage/format/batch_header.h"
#include "storage/format/codec.h"

namespace oncelog {
namespace {

constexpr Field kOffset{0, 8};
constexpr Field kSize{kOffset.end(), 4};  // counts the bytes after itself
constexpr Field kCrc{kSize.end(), 4};
constexpr Field kMagic{kCrc.end(), 1};  // the CRC covers from here on
constexpr Field kAttributes{kMagic.end(), 1};
constexpr Field kTimestamp{kAttributes.end(), 8};  // magic 1 only
static_assert(kMagic.offset == batch_field::kMagic.offset);
static_assert(kSize.end() + kLegacySizeMinV0 == kAttributes.end() + 8);
static_assert(kSize.end() + kLegacySizeMinV1 == kTimestamp.end() + 8);

constexpr int kTimestampTypeBit = 0x08;

Error corrupt(const std::string& what) {
  return make_error(ErrorCode::kCorruptBatch, "legacy batch: " + what);
}

Error invalid(const std::string& what, Offset offset) {
  return make_error(ErrorCode::kInvalidRecord, "legacy batch: " + what).with_offset(offset);
}

/// int32 length and its bytes; -1 is null, other negative lengths are nothing.
std::optional<OptionalBytes> take_nullable(ByteCursor& cursor) {
  const auto length_bytes = cursor.bytes(sizeof(std::int32_t));
  if (!length_bytes) return std::nullopt;
  const auto length = load_be<std::int32_t>(*length_bytes);
  if (length == -1) return std::optional<OptionalBytes>(std::in_place);
  const auto bytes = cursor.bytes(length);
  if (!bytes) return std::nullopt;
  return std::optional<OptionalBytes>(std::in_place, *bytes);
}

RecordView record_of(const LegacyBatchView& entry) {
  RecordView out;
  out.offset = entry.offset();
  out.timestamp = entry.timestamp();
  out.key = entry.key();
  out.value = entry.value();
  return out;
}

Result<std::vector<std::byte>> open_wrapper(const LegacyBatchView& wrapper,
                                            const DecompressLimits& limits) {
  const auto codec = codec_from_bits(wrapper.codec_bits());
  if (!codec || *codec == Codec::kZstd) {
    return corrupt("codec " + std::to_string(wrapper.codec_bits()) + " is unknown");
  }
  if (!wrapper.value()) return invalid("wrapper without a value", wrapper.offset());
  return decompress(
      *codec, *wrapper.value(),
      {.bytes_max = limits.batch_bytes_max, .ignore_lz4_header_checksum = wrapper.magic() == 0});
}

/// Turns the relative offsets of magic 1 into absolute ones (FORMAT.md 8).
void resolve_offsets(const LegacyBatchView& wrapper, std::vector<RecordView>& records) {
  const auto last_inner = static_cast<std::uint64_t>(records.back().offset);
  const std::uint64_t base =
      wrapper.offset() == 0 ? 0 : static_cast<std::uint64_t>(wrapper.offset()) - last_inner;
  for (RecordView& record : records) {
    record.offset = static_cast<Offset>(base + static_cast<std::uint64_t>(record.offset));
  }
}

}  // namespace

Result<LegacyBatchView> LegacyBatchView::parse(std::span<const std::byte> bytes) {
  if (bytes.size() < kAttributes.end()) return corrupt("cut short in its header");
  LegacyBatchView out;
  out.offset_ = load_be<Offset>(bytes, kOffset.offset);
  out.magic_ = load_be<std::int8_t>(bytes, kMagic.offset);
  if (out.magic_ != 0 && out.magic_ != 1) {
    return corrupt("magic is " + std::to_string(out.magic_));
  }
  const auto size = load_be<std::int32_t>(bytes, kSize.offset);
  if (size < (out.magic_ == 0 ? kLegacySizeMinV0 : kLegacySizeMinV1)) {
    return corrupt("size " + std::to_string(size) + " is too small");
  }
  const std::size_t total = kSize.end() + static_cast<std::size_t>(size);
  if (total > bytes.size()) return corrupt("cut short in its body");
  out.bytes_ = bytes.first(total);
  out.crc_ = load_be<std::uint32_t>(bytes, kCrc.offset);
  out.attributes_ = load_be<std::int8_t>(bytes, kAttributes.offset);
  if (out.magic_ == 1) out.timestamp_ = load_be<TimestampMs>(bytes, kTimestamp.offset);

  ByteCursor cursor(out.bytes_.subspan(out.magic_ == 0 ? kAttributes.end() : kTimestamp.end()));
  const auto key = take_nullable(cursor);
  if (!key) return invalid("key does not fit", out.offset_);
  const auto value = take_nullable(cursor);
  if (!value) return invalid("value does not fit", out.offset_);
  if (cursor.left() != 0) return invalid("bytes follow the value", out.offset_);
  out.key_ = *key;
  out.value_ = *value;
  return out;
}

bool LegacyBatchView::crc_matches() const {
  const auto covered = bytes_.subspan(kMagic.offset);
  // A batch has less than 2^31 bytes, so its length fits uInt.
  const auto* data = reinterpret_cast<const Bytef*>(covered.data());
  return crc32(0, data, static_cast<uInt>(covered.size())) == crc_;
}

TimestampType LegacyBatchView::timestamp_type() const {
  return magic_ == 1 && (attributes_ & kTimestampTypeBit) != 0 ? TimestampType::kLogAppendTime
                                                               : TimestampType::kCreateTime;
}

Result<Records> read_legacy_records(const LegacyBatchView& batch, const DecompressLimits& limits) {
  Records out;
  if (batch.codec_bits() == 0) {
    out.records.push_back(record_of(batch));
    return out;
  }
  ONCELOG_TRY_ASSIGN(out.storage, open_wrapper(batch, limits));
  std::span<const std::byte> rest = out.storage;
  while (!rest.empty()) {
    auto inner = LegacyBatchView::parse(rest);
    if (!inner.ok()) return invalid("inner entry: " + inner.error().message, batch.offset());
    if (inner->magic() != batch.magic() || inner->codec_bits() != 0) {
      return invalid("inner entry has another magic or is compressed", batch.offset());
    }
    out.records.push_back(record_of(*inner));
    if (batch.timestamp_type() == TimestampType::kLogAppendTime) {
      out.records.back().timestamp = batch.timestamp();
    }
    rest = rest.subspan(inner->bytes().size());
  }
  if (out.records.empty()) return invalid("wrapper without entries", batch.offset());
  if (batch.magic() == 1) resolve_offsets(batch, out.records);
  return out;
}

BatchHeader legacy_header(const LegacyBatchView& batch, const DecompressLimits& limits) {
  const int append_time = batch.timestamp_type() == TimestampType::kLogAppendTime
                              ? int{batch_attribute::kLogAppendTime}
                              : 0;
  BatchHeader out;
  out.base_offset = batch.offset();
  out.batch_length = static_cast<std::int32_t>(batch.bytes().size() - kBatchLogOverheadBytes);
  out.magic = static_cast<std::int8_t>(batch.magic());
  out.crc = batch.crc();
  out.attributes = static_cast<std::int16_t>(batch.codec_bits() | append_time);
  out.base_timestamp = batch.timestamp();
  out.max_timestamp = batch.timestamp();
  out.record_count = 1;
  if (batch.codec_bits() == 0) return out;
  const auto records = read_legacy_records(batch, limits);
  if (!records.ok()) return out;
  const auto& inner = records.value().records;
  const auto delta =
      static_cast<std::uint64_t>(batch.offset()) - static_cast<std::uint64_t>(inner.front().offset);
  // Inner offsets that make no sense leave the entry as one record at its own offset.
  if (inner.front().offset < 0 || delta > std::numeric_limits<std::int32_t>::max()) return out;
  out.base_offset = inner.front().offset;
  out.last_offset_delta = static_cast<std::int32_t>(delta);
  out.base_timestamp = inner.front().timestamp;
  out.record_count = static_cast<std::int32_t>(inner.size());
  return out;
}

Result<Records> read_records_of(std::span<const std::byte> batch, const DecompressLimits& limits) {
  const bool legacy =
      batch.size() > kMagic.offset && load_be<std::int8_t>(batch, kMagic.offset) < 2;
  if (!legacy) {
    ONCELOG_TRY_ASSIGN(const RecordBatchView view, RecordBatchView::parse(batch));
    return read_records(view, limits);
  }
  ONCELOG_TRY_ASSIGN(const LegacyBatchView view, LegacyBatchView::parse(batch));
  return read_legacy_records(view, limits);
}

}  // namespace oncelog
