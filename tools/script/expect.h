// Compares what a script expects of a result with what came out.
#pragma once

#include <optional>
#include <string>

#include "tools/json.h"

namespace oncelog::tools::script {

/// Where a result differs from what was expected.
struct Mismatch {
  std::string where;  ///< path of the field, e.g. "report.damage[0].kind"
  Json wanted;
  Json got;  ///< null when the field is not there
};

/// Each named field must be equal: objects by their named fields, recursively; arrays in length
/// and order. Instead of a value: {"$in": [..]}, {"$min": n}, {"$max": n} (both: a range).
std::optional<Mismatch> compare(const Json& wanted, const Json& got);

/// Why an expectation cannot be evaluated (an unknown "$..." condition), or nothing.
std::optional<std::string> find_invalid(const Json& wanted);

}  // namespace oncelog::tools::script
