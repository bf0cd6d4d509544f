// Fault rules as script fields and as messages between the runner and the engine's process.
#pragma once

#include <span>
#include <vector>

#include "oncelog/fault_io.h"
#include "oncelog/result.h"

#include "tools/json.h"

namespace oncelog::tools::script {

/// The rule of a `fault` operation; kInvalidArgument when its effects contradict each other.
Result<FaultRule> parse_fault(const Json& fields);
/// The same rule as fields: parse_fault(fault_fields(rule)) == rule.
Json fault_fields(const FaultRule& rule);

}  // namespace oncelog::tools::script
