// Script operations that append.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "oncelog/control_record.h"
#include "oncelog/record_batch.h"

#include "storage/format/batch_header.h"
#include "tools/base64.h"
#include "tools/script/engine.h"

namespace oncelog::tools::script {
namespace {

constexpr std::int64_t kRecordsMax = 1'000'000;
constexpr std::int64_t kValueBytesMax = 64 << 20;

Codec codec_of(std::string_view name) {
  for (const Codec codec : {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    if (to_string(codec) == name) return codec;
  }
  return Codec::kNone;
}

AppendOrigin origin_of(const Json& fields) {
  const std::string_view name = fields["origin"].as_string();
  if (name == "coordinator") return AppendOrigin::kCoordinator;
  return name == "replica" ? AppendOrigin::kReplica : AppendOrigin::kClient;
}

AppendOptions append_options(const Json& fields) {
  AppendOptions options;
  options.origin = origin_of(fields);
  if (const Json& durability = fields["durability"]; durability.is_string())
    options.durability =
        durability.as_string() == "durable" ? Durability::kDurable : Durability::kWritten;
  if (const Json& epoch = fields["leaderEpoch"]; epoch.is_integer())
    options.leader_epoch = static_cast<LeaderEpoch>(epoch.as_integer());
  options.guard = fields["guard"].as_integer();
  return options;
}

Result<Json> answer(Result<AppendResult> result) {
  if (!result.ok()) return std::move(result).error();
  return Json::object({{"firstOffset", result->first_offset},
                       {"lastOffset", result->last_offset},
                       {"duplicate", result->duplicate},
                       {"durable", result->durable}});
}

/// The i-th item as text; nothing for null and beyond the end.
std::optional<std::string_view> text_at(const Json& array, std::size_t i) {
  if (i >= array.items().size() || array.items()[i].is_null()) return std::nullopt;
  return array.items()[i].as_string();
}

/// Values are those given; the runner has filled in the others, but for `valueBytes`.
std::string generated_value(const Json& fields, std::size_t i) {
  std::string value = "v" + std::to_string(fields["valueNumber"].as_integer() + std::int64_t(i));
  const auto bytes = static_cast<std::size_t>(fields["valueBytes"].as_integer());
  value.resize(bytes, 'x');
  return value;
}

/// The producer's fields are written into the finished header: the builder makes only batches
/// that the format allows, and scripts ask for others too.
Buffer with_producer_fields(Buffer batch, const Json& fields) {
  auto decoded = decode_header(batch.bytes());
  if (!decoded.ok()) return batch;
  BatchHeader header = *decoded;
  header.producer_id = fields["producerId"].as_integer(-1);
  header.producer_epoch = static_cast<ProducerEpoch>(fields["producerEpoch"].as_integer(-1));
  header.base_sequence = static_cast<Sequence>(fields["baseSequence"].as_integer(-1));
  if (fields["transactional"].as_bool())
    header.attributes =
        static_cast<std::int16_t>(header.attributes | batch_attribute::kTransactional);
  encode_header(header, batch.mutable_bytes());
  header.crc = batch_crc(batch.bytes());
  encode_header(header, batch.mutable_bytes());
  return batch;
}

Status check_ranges(const Json& fields) {
  struct Range {
    const char* name;
    std::int64_t min, max;
  };
  constexpr std::array kRanges{
      Range{"producerEpoch", INT16_MIN, INT16_MAX}, Range{"baseSequence", INT32_MIN, INT32_MAX},
      Range{"leaderEpoch", INT32_MIN, INT32_MAX},   Range{"coordinatorEpoch", INT32_MIN, INT32_MAX},
      Range{"transactionVersion", 0, INT16_MAX},    Range{"count", 1, kRecordsMax},
      Range{"valueBytes", 0, kValueBytesMax}};
  for (const Range& range : kRanges) {
    const Json& value = fields[range.name];
    if (value.is_integer() && (value.as_integer() < range.min || value.as_integer() > range.max))
      return make_error(ErrorCode::kInvalidArgument,
                        std::string("\"") + range.name + "\" is out of range");
  }
  return {};
}

}  // namespace

Result<Json> run_append(const LogOperation& operation) {
  const Json& fields = operation.fields;
  ONCELOG_TRY(check_ranges(fields));
  const AppendOptions given = append_options(fields);
  AppendOptions options = given;
  RecordBatchOptions shape;
  shape.codec = codec_of(fields["codec"].as_string());
  if (given.origin == AppendOrigin::kReplica) {
    // A replica's epochs stand in its batches; the option is the epoch of the fetch.
    shape.base_offset = fields["baseOffset"].as_integer(operation.log.offsets().log_end);
    shape.leader_epoch = given.leader_epoch.value_or(operation.log.leader_epoch());
    options.leader_epoch.reset();
  }
  const TimestampMs timestamp = fields["timestampMs"].as_integer(operation.now_ms);
  const auto count = static_cast<std::size_t>(fields["count"].as_integer(1));
  const bool generated = fields["valueBytes"].is_integer();
  RecordBatchBuilder builder(shape);
  for (std::size_t i = 0; i < count; ++i) {
    const Json::Array& timestamps = fields["timestamps"].items();
    const std::string value = generated ? generated_value(fields, i) : std::string();
    RecordInput record;
    record.timestamp_ms = i < timestamps.size() ? timestamps[i].as_integer() : timestamp;
    record.key = text_at(fields["keys"], i);
    record.value =
        generated ? std::optional<std::string_view>(value) : text_at(fields["values"], i);
    builder.add(record);
  }
  Buffer batch = with_producer_fields(std::move(builder).finish(), fields);
  return answer(operation.log.append(std::move(batch), options));
}

Result<Json> run_append_raw(const LogOperation& operation) {
  auto bytes = decode_base64(operation.fields["base64"].as_string());
  if (!bytes) return make_error(ErrorCode::kInvalidArgument, "\"base64\" is no base64");
  ONCELOG_TRY(check_ranges(operation.fields));
  return answer(operation.log.append(Buffer(*std::move(bytes)), append_options(operation.fields)));
}

Result<Json> run_marker(const LogOperation& operation) {
  const Json& fields = operation.fields;
  ONCELOG_TRY(check_ranges(fields));
  const ProducerIdentity producer{fields["producerId"].as_integer(),
                                  static_cast<ProducerEpoch>(fields["producerEpoch"].as_integer())};
  EndTxnMarker marker;
  marker.type = fields["type"].as_string() == "commit" ? ControlType::kCommit : ControlType::kAbort;
  marker.coordinator_epoch =
      static_cast<CoordinatorEpoch>(fields["coordinatorEpoch"].as_integer(0));
  AppendOptions options;
  options.origin = AppendOrigin::kCoordinator;
  options.transaction_version = static_cast<int>(fields["transactionVersion"].as_integer(1));
  return answer(operation.log.append(
      make_end_txn_marker(producer, marker, fields["timestampMs"].as_integer(operation.now_ms)),
      options));
}

Result<Json> run_verify_start(const LogOperation& operation) {
  const Json& fields = operation.fields;
  ONCELOG_TRY(check_ranges(fields));
  ONCELOG_TRY_ASSIGN(const VerificationToken guard,
                     operation.log.start_verification(
                         fields["producerId"].as_integer(),
                         static_cast<ProducerEpoch>(fields["producerEpoch"].as_integer()),
                         static_cast<Sequence>(fields["baseSequence"].as_integer()),
                         static_cast<int>(fields["transactionVersion"].as_integer(1))));
  return Json::object({{"guard", guard}});
}

}  // namespace oncelog::tools::script
