// Walking segments and describing their batches and records.
#include "tools/dump_batches.h"

#include <algorithm>
#include <string_view>

#include "oncelog/control_record.h"

#include "storage/format/codec.h"
#include "storage/format/legacy_batch.h"
#include "tools/base64.h"

namespace oncelog::tools {
namespace {

std::string_view control_name(ControlType type) {
  switch (type) {
    case ControlType::kAbort:
      return "ABORT";
    case ControlType::kCommit:
      return "COMMIT";
    case ControlType::kLeaderChange:
      return "LEADER_CHANGE";
    case ControlType::kSnapshotHeader:
      return "SNAPSHOT_HEADER";
    case ControlType::kSnapshotFooter:
      return "SNAPSHOT_FOOTER";
    case ControlType::kKraftVersion:
      return "KRAFT_VERSION";
    case ControlType::kKraftVoters:
      return "KRAFT_VOTERS";
    case ControlType::kUnknown:
      break;
  }
  return "UNKNOWN";
}

Json bytes_json(const OptionalBytes& bytes) {
  return bytes ? Json(encode_base64(*bytes)) : Json();
}

std::string codec_name(const BatchHeader& header) {
  const auto codec = codec_from_bits(header.codec_bits());
  return codec ? std::string(to_string(*codec)) : "unknown";
}

std::string_view timestamp_type_name(const BatchHeader& header) {
  if (header.magic == 0) return "NoTimestampType";
  return header.timestamp_type() == TimestampType::kLogAppendTime ? "LogAppendTime" : "CreateTime";
}

/// What every magic has.
Json common_fields(Offset segment, const ScannedBatch& batch) {
  const BatchHeader& header = batch.header;
  return Json::object({{"segment", segment},
                       {"position", batch.position},
                       {"sizeInBytes", header.size_bytes()},
                       {"magic", header.magic},
                       {"baseOffset", header.base_offset},
                       {"lastOffset", header.last_offset()},
                       {"count", header.record_count},
                       {"crc", header.crc},
                       {"codec", codec_name(header)},
                       {"timestampType", timestamp_type_name(header)}});
}

/// Type and coordinator epoch of a control batch; null where the batch has none.
struct ControlFields {
  Json type;
  Json coordinator_epoch;
};

ControlFields control_fields(const BatchHeader& header, const Result<Records>& records) {
  ControlFields out;
  if (!header.is_control() || !records.ok() || records->records.empty()) return out;
  const RecordView& first = records->records.front();
  const auto type = decode_control_type(first.key);
  if (!type.ok()) return out;
  out.type = control_name(*type);
  const auto marker = decode_end_txn_marker(first);
  if (marker.ok() && *marker) out.coordinator_epoch = (*marker)->coordinator_epoch;
  return out;
}

Json batch_json(Offset segment, const ScannedBatch& batch, const Result<Records>& records) {
  const BatchHeader& header = batch.header;
  Json out = common_fields(segment, batch);
  if (header.magic < 2) {
    out.set("maxTimestamp", header.max_timestamp);
    return out;
  }
  ControlFields control = control_fields(header, records);
  out.set("attributes", header.attributes & 0xff);
  out.set("lastOffsetDelta", header.last_offset_delta);
  out.set("baseTimestamp", header.base_timestamp);
  out.set("maxTimestamp", header.max_timestamp);
  out.set("partitionLeaderEpoch", header.leader_epoch);
  out.set("producerId", header.producer_id);
  out.set("producerEpoch", header.producer_epoch);
  out.set("baseSequence", header.base_sequence);
  out.set("lastSequence", header.last_sequence());
  out.set("isTransactional", header.is_transactional());
  out.set("isControl", header.is_control());
  out.set("controlType", std::move(control.type));
  out.set("coordinatorEpoch", std::move(control.coordinator_epoch));
  out.set("deleteHorizonMs", header.has_delete_horizon() ? Json(header.base_timestamp) : Json());
  return out;
}

Json record_json(const BatchHeader& header, const RecordView& record) {
  Json::Array headers;
  for (const RecordHeaderView& one : record.headers)
    headers.push_back(Json::array({one.key, bytes_json(one.value)}));
  return Json::object({{"offset", record.offset},
                       {"timestamp", record.timestamp},
                       {"sequence", record.sequence},
                       {"key", bytes_json(record.key)},
                       {"value", bytes_json(record.value)},
                       {"headers", std::move(headers)},
                       {"batchBaseOffset", header.base_offset}});
}

}  // namespace

bool DumpFilter::takes_batch(const BatchHeader& header) const {
  if (producer_id && header.producer_id != *producer_id) return false;
  if (from && header.last_offset() < *from) return false;
  if (to && header.base_offset >= *to) return false;
  // The batch's maximum bounds its records from above; nothing in the header does from below.
  return !from_time || header.max_timestamp >= *from_time;
}

bool DumpFilter::takes_record(const BatchHeader& header, const RecordView& record) const {
  if (producer_id && header.producer_id != *producer_id) return false;
  if (from && record.offset < *from) return false;
  if (to && record.offset >= *to) return false;
  if (from_time && record.timestamp < *from_time) return false;
  return !to_time || record.timestamp < *to_time;
}

Status BatchDump::walk(const Visit& on_batch, const Visit& on_record) {
  segments_.clear();
  unreadable_.clear();
  ONCELOG_TRY_ASSIGN(const auto logs, live_files(files_, directory_, FileKind::kLog));
  for (const BaseFile& log : logs)
    ONCELOG_TRY(walk_segment(log, on_batch, on_record));
  return {};
}

Status BatchDump::walk_segment(const BaseFile& log, const Visit& on_batch, const Visit& on_record) {
  ONCELOG_TRY_ASSIGN(const auto file, files_.open(directory_ + "/" + log.name, OpenMode::kRead));
  SegmentSummary summary{log.base_offset, log.size, 0, log.base_offset, kNoTimestamp};
  ScanOptions options;
  options.segment_base = log.base_offset;
  SegmentScanner scanner(*file, options);
  while (true) {
    ONCELOG_TRY_ASSIGN(const auto batch, scanner.next());
    if (!batch) break;
    ++summary.batches;
    summary.next_offset = batch->header.next_offset();
    summary.largest_timestamp = std::max(summary.largest_timestamp, batch->header.max_timestamp);
    if (filter_.takes_batch(batch->header)) visit_batch(log, *batch, on_batch, on_record);
  }
  segments_.push_back(summary);
  if (const auto& bad = scanner.bad_spot())
    unreadable_.push_back(
        UnreadablePlace{log.name, bad->position, bad->what, bad->expected_offset});
  return {};
}

void BatchDump::visit_batch(const BaseFile& log, const ScannedBatch& batch, const Visit& on_batch,
                            const Visit& on_record) {
  const BatchHeader& header = batch.header;
  const bool records_wanted = on_record != nullptr || header.is_control();
  Result<Records> records = Records{};
  if (records_wanted) records = read_records_of(batch.bytes);
  if (!records.ok())
    unreadable_.push_back(
        UnreadablePlace{log.name, batch.position, records.error().message, header.base_offset});
  if (on_batch) on_batch(batch_json(log.base_offset, batch, records));
  if (!on_record || !records.ok()) return;
  for (const RecordView& record : records->records) {
    if (filter_.takes_record(header, record)) on_record(record_json(header, record));
  }
}

}  // namespace oncelog::tools
