// Recovery reports as JSON.
#pragma once

#include "oncelog/recovery_report.h"

#include "tools/json.h"

namespace oncelog::tools {

/// The fields that scripts compare, and those that people want beside them.
Json report_json(const RecoveryReport& report);

}  // namespace oncelog::tools
