// Script operations that change a log without appending records.
#include "tools/script/engine.h"

namespace oncelog::tools::script {
namespace {

Json ends_of(const Log& log) {
  const LogOffsets offsets = log.offsets();
  return Json::object({{"logStartOffset", offsets.log_start},
                       {"logEndOffset", offsets.log_end},
                       {"lastStableOffset", offsets.last_stable}});
}

}  // namespace

Result<Json> run_roll(const LogOperation& operation) {
  ONCELOG_TRY_ASSIGN(const Offset base, operation.log.roll());
  return Json::object({{"baseOffset", base}});
}

Result<Json> run_flush(const LogOperation& operation) {
  ONCELOG_TRY(operation.log.flush());
  return Json::object();
}

Result<Json> run_expire_producers(const LogOperation& operation) {
  ONCELOG_TRY_ASSIGN(const std::size_t count, operation.log.expire_producers());
  return Json::object({{"producers", count}});
}

Result<Json> run_retention(const LogOperation& operation) {
  ONCELOG_TRY_ASSIGN(const std::size_t segments, operation.log.apply_retention());
  return Json::object({{"segments", segments}});
}

Result<Json> run_high_watermark(const LogOperation& operation) {
  ONCELOG_TRY_ASSIGN(const Offset high_watermark,
                     operation.log.set_high_watermark(operation.fields["offset"].as_integer()));
  return Json::object({{"highWatermark", high_watermark},
                       {"lastStableOffset", operation.log.offsets().last_stable}});
}

Result<Json> run_leader_epoch(const LogOperation& operation) {
  const std::int64_t epoch = operation.fields["epoch"].as_integer();
  if (epoch < 0 || epoch > INT32_MAX)
    return make_error(ErrorCode::kInvalidArgument, "\"epoch\" is out of range");
  ONCELOG_TRY(operation.log.assign_leader_epoch(static_cast<LeaderEpoch>(epoch)));
  return Json::object();
}

Result<Json> run_delete_records(const LogOperation& operation) {
  ONCELOG_TRY(operation.log.delete_records(operation.fields["offset"].as_integer()).status());
  return ends_of(operation.log);
}

Result<Json> run_truncate(const LogOperation& operation) {
  ONCELOG_TRY(operation.log.truncate(operation.fields["offset"].as_integer()));
  return ends_of(operation.log);
}

Result<Json> run_truncate_fully(const LogOperation& operation) {
  ONCELOG_TRY(operation.log.truncate_fully(operation.fields["offset"].as_integer()));
  return ends_of(operation.log);
}

}  // namespace oncelog::tools::script
