// Script operations that read.
#include <algorithm>
#include <string_view>

#include "oncelog/fetch.h"

#include "tools/script/engine.h"

namespace oncelog::tools::script {
namespace {

constexpr std::int64_t kPageBytes = 1 << 20;

std::string_view name_of(BatchVerdict verdict) {
  switch (verdict) {
    case BatchVerdict::kNonTransactional:
      return "non-transactional";
    case BatchVerdict::kCommitted:
      return "committed";
    case BatchVerdict::kAborted:
      return "aborted";
    case BatchVerdict::kOpen:
      return "open";
    case BatchVerdict::kControl:
      return "control";
  }
  return "";
}

Json text_or_null(const OptionalBytes& bytes) {
  if (!bytes) return {};
  std::string out;
  out.reserve(bytes->size());
  for (const std::byte byte : *bytes)
    out += static_cast<char>(byte);
  return out;
}

Json batches_json(const FetchPage& page) {
  Json::Array out;
  for (std::size_t i = 0; i < page.batches().size(); ++i) {
    const BatchHeader& header = page.batches()[i].header();
    Json batch = Json::object({{"baseOffset", header.base_offset},
                               {"lastOffset", header.last_offset()},
                               {"producerId", header.producer_id},
                               {"transactional", header.is_transactional()},
                               {"control", header.is_control()}});
    if (i < page.verdicts().size()) batch.set("verdict", name_of(page.verdicts()[i]));
    out.push_back(std::move(batch));
  }
  return out;
}

Json aborted_json(const FetchPage& page) {
  Json::Array out;
  for (const AbortedRange& range : page.aborted())
    out.push_back(Json::array({range.producer_id, range.first_offset}));
  return out;
}

Json records_json(const std::vector<VisibleRecord>& records) {
  Json::Array out;
  for (const VisibleRecord& visible : records) {
    out.push_back(Json::object({{"offset", visible.record.offset},
                                {"timestamp", visible.record.timestamp},
                                {"key", text_or_null(visible.record.key)},
                                {"value", text_or_null(visible.record.value)}}));
  }
  return out;
}

}  // namespace

Result<Json> run_fetch(const LogOperation& operation) {
  FetchRequest request;
  request.offset = operation.fields["offset"].as_integer();
  request.bytes_max = operation.fields["maxBytes"].as_integer(kPageBytes);
  request.isolation = isolation_of(operation.fields);
  request.verdicts = true;
  FetchBuffer buffer;
  ONCELOG_TRY_ASSIGN(const FetchPage page, operation.log.fetch(request, buffer));
  std::vector<Records> storage;
  ONCELOG_TRY_ASSIGN(const auto records,
                     visible_records(page, request.offset, request.isolation, storage));
  return Json::object({{"batches", batches_json(page)},
                       {"records", records_json(records)},
                       {"abortedTransactions", aborted_json(page)},
                       {"nextOffset", page.next_offset},
                       {"highWatermark", page.high_watermark},
                       {"lastStableOffset", page.last_stable_offset},
                       {"logStartOffset", page.log_start}});
}

Result<Json> run_read_all(const LogOperation& operation) {
  FetchRequest request;
  request.offset = operation.fields["from"].as_integer(operation.log.offsets().log_start);
  request.bytes_max = kPageBytes;
  request.isolation = isolation_of(operation.fields);
  Json::Array offsets;
  Json::Array values;
  FetchBuffer buffer;
  while (true) {
    ONCELOG_TRY_ASSIGN(const FetchPage page, operation.log.fetch(request, buffer));
    std::vector<Records> storage;
    ONCELOG_TRY_ASSIGN(const auto records,
                       visible_records(page, request.offset, request.isolation, storage));
    for (const VisibleRecord& visible : records) {
      offsets.emplace_back(visible.record.offset);
      values.push_back(text_or_null(visible.record.value));
    }
    if (page.next_offset <= request.offset) break;
    request.offset = page.next_offset;
  }
  return Json::object({{"offsets", std::move(offsets)}, {"values", std::move(values)}});
}

Result<Json> run_list_offsets(const LogOperation& operation) {
  ONCELOG_TRY_ASSIGN(const TimestampOffset found,
                     operation.log.offset_for_timestamp(operation.fields["timestamp"].as_integer(),
                                                        isolation_of(operation.fields)));
  return Json::object({{"offset", found.offset},
                       {"timestamp", found.timestamp},
                       {"leaderEpoch", found.leader_epoch}});
}

Result<Json> run_end_offset_for_epoch(const LogOperation& operation) {
  const std::int64_t epoch = operation.fields["epoch"].as_integer();
  if (epoch < -1 || epoch > INT32_MAX)
    return make_error(ErrorCode::kInvalidArgument, "\"epoch\" is out of range");
  ONCELOG_TRY_ASSIGN(const LeaderEpochEnd end,
                     operation.log.end_offset_for_epoch(static_cast<LeaderEpoch>(epoch)));
  return Json::object({{"epoch", end.epoch}, {"endOffset", end.end_offset}});
}

}  // namespace oncelog::tools::script
