// Reads a script: JSON lines, one operation each, checked strictly before anything runs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncelog/result.h"

#include "tools/json.h"

namespace oncelog::tools::script {

/// One line of a script.
struct Step {
  std::size_t line = 0;  ///< counted from 1
  std::string op;
  Json fields;  ///< an object with the operation's own fields
  Json expect;  ///< an object, or null
  /// Name to save under and path of the result's field, in the order given.
  std::vector<std::pair<std::string, std::string>> save;
};

/// All steps. kInvalidArgument "line N: ..." for bad JSON, an unknown operation, an unknown or
/// missing field, or a field of the wrong kind.
Result<std::vector<Step>> parse_script(std::string_view text);

/// Replaces every string "$name" inside `value` by what was saved under the name.
/// kInvalidArgument when nothing was.
Status substitute(Json& value, const Json& saved);

/// Checks the fields of an operation again after `substitute`, when no "$name" is left.
Status check_fields(const Step& step);

}  // namespace oncelog::tools::script
