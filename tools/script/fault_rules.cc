// Fault rules to and from JSON.
#include "tools/script/fault_rules.h"

#include <array>
#include <string>

namespace oncelog::tools::script {
namespace {

constexpr std::array<const char*, 6> kErrors{"EIO",   "ENOSPC", "EROFS",
                                             "EINTR", "EAGAIN", "ECANCELED"};

}  // namespace

Result<FaultRule> parse_fault(const Json& fields) {
  FaultRule rule;
  const auto point = fault_point_of(fields["on"].as_string());
  if (!point) return make_error(ErrorCode::kInvalidArgument, "no such operation to fail");
  rule.on = *point;
  rule.nth = fields["nth"].as_integer(1);
  rule.times = fields["times"].as_integer(1);
  if (fields["file"].is_string()) rule.file = fields["file"].as_string();
  rule.lie = fields["lie"].as_bool();
  rule.short_bytes = fields["short"].as_integer(-1);
  if (fields["error"].is_string()) {
    if (rule.lie || rule.short_bytes >= 0)
      return make_error(ErrorCode::kInvalidArgument, "a fault has one effect");
    rule.sys_errno = fault_errno_of(fields["error"].as_string()).value_or(EIO);
  }
  FaultPlan plan;
  ONCELOG_TRY(plan.add(rule));
  return rule;
}

Json fault_fields(const FaultRule& rule) {
  Json fields = Json::object(
      {{"on", to_string(rule.on)}, {"nth", rule.nth}, {"times", rule.times}, {"file", rule.file}});
  if (rule.lie) {
    fields.set("lie", true);
  } else if (rule.short_bytes >= 0) {
    fields.set("short", rule.short_bytes);
  } else {
    for (const char* name : kErrors) {
      if (fault_errno_of(name) == rule.sys_errno) fields.set("error", name);
    }
  }
  return fields;
}

}  // namespace oncelog::tools::script
