// Control records: building end-of-transaction markers, decoding keys and values.
#include "oncelog/control_record.h"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "storage/base/assert.h"
#include "storage/base/endian.h"
#include "storage/format/batch_header.h"
#include "storage/format/record.h"

namespace oncelog {
namespace {

constexpr Field kKeyVersion{0, 2};
constexpr Field kKeyType{kKeyVersion.end(), 2};
constexpr std::size_t kKeyBytes = kKeyType.end();
constexpr Field kValueVersion{0, 2};
constexpr Field kCoordinatorEpoch{kValueVersion.end(), 4};
constexpr std::size_t kValueBytes = kCoordinatorEpoch.end();
static_assert(kKeyBytes == 4 && kValueBytes == 6);
constexpr std::size_t kMarkerBatchBytes = 78;

}  // namespace

Buffer make_end_txn_marker(const ProducerIdentity& producer, const EndTxnMarker& marker,
                           TimestampMs timestamp) {
  ONCELOG_ASSERT(marker.type == ControlType::kAbort || marker.type == ControlType::kCommit);
  std::array<std::byte, kKeyBytes> key{};
  store_be(std::span<std::byte>(key), kKeyType.offset, static_cast<std::int16_t>(marker.type));
  std::array<std::byte, kValueBytes> value{};
  store_be(std::span<std::byte>(value), kCoordinatorEpoch.offset, marker.coordinator_epoch);
  std::vector<std::byte> records;
  append_record(records, {.key = key, .value = value}, {});

  BatchHeader header;
  header.attributes = batch_attribute::kTransactional | batch_attribute::kControl;
  header.base_timestamp = timestamp;
  header.max_timestamp = timestamp;
  header.producer_id = producer.id;
  header.producer_epoch = producer.epoch;
  header.record_count = 1;
  Buffer out = assemble_batch(header, records);
  ONCELOG_ASSERT(out.size() == kMarkerBatchBytes);
  return out;
}

Result<ControlType> decode_control_type(OptionalBytes key) {
  if (!key || key->size() < kKeyBytes) {
    return make_error(ErrorCode::kInvalidRecord, "control record key is shorter than 4 bytes");
  }
  const auto version = load_be<std::int16_t>(*key, kKeyVersion.offset);
  if (version < 0) {
    return make_error(ErrorCode::kInvalidRecord,
                      "control record key has version " + std::to_string(version));
  }
  const auto type = load_be<std::int16_t>(*key, kKeyType.offset);
  if (type < 0 || type > static_cast<std::int16_t>(ControlType::kKraftVoters)) {
    return ControlType::kUnknown;
  }
  return static_cast<ControlType>(type);
}

Result<std::optional<EndTxnMarker>> decode_end_txn_marker(const RecordView& record) {
  ONCELOG_TRY_ASSIGN(const ControlType type, decode_control_type(record.key));
  if (type != ControlType::kAbort && type != ControlType::kCommit) {
    return std::optional<EndTxnMarker>{};
  }
  if (!record.value || record.value->size() < kValueBytes) {
    return make_error(ErrorCode::kInvalidRecord, "marker value is shorter than 6 bytes")
        .with_offset(record.offset);
  }
  const auto version = load_be<std::int16_t>(*record.value, kValueVersion.offset);
  if (version < 0) {
    return make_error(ErrorCode::kInvalidRecord,
                      "marker value has version " + std::to_string(version))
        .with_offset(record.offset);
  }
  return std::optional<EndTxnMarker>(
      {.type = type,
       .coordinator_epoch = load_be<CoordinatorEpoch>(*record.value, kCoordinatorEpoch.offset)});
}

}  // namespace oncelog
