// Script operations: the options of an `open`, and the state of a log.
#include <map>
#include <string>

#include "oncelog/log_state.h"

#include "tools/script/engine.h"
#include "tools/state_json.h"

namespace oncelog::tools::script {
namespace {

/// A configuration value as text: scripts may write numbers and booleans as they are.
std::string config_text(const Json& value) {
  return value.is_string() ? std::string(value.as_string()) : to_text(value);
}

}  // namespace

Result<LogOptions> options_of(const Json& fields) {
  LogOptions options;
  std::map<std::string, std::string> config;
  for (const auto& [name, value] : fields["config"].members())
    config[name] = config_text(value);
  ONCELOG_TRY(apply_config(options, config));
  if (const std::string_view word = fields["onDamage"].as_string(); !word.empty())
    options.on_damage = word == "cut"         ? OnDamage::kCut
                        : word == "read_only" ? OnDamage::kReadOnly
                                              : OnDamage::kFail;
  if (fields["onHoledTail"].as_string() == "fail") options.on_holed_tail = OnHoledTail::kFail;
  if (fields["durability"].as_string() == "written") options.durability = Durability::kWritten;
  if (const std::string_view word = fields["visibility"].as_string(); !word.empty())
    options.visibility = word == "embedder"  ? Visibility::kEmbedder
                         : word == "written" ? Visibility::kWritten
                                             : Visibility::kDurable;
  return options;
}

Result<Json> run_state(const LogOperation& operation) {
  ONCELOG_TRY_ASSIGN(const LogState state, operation.log.state());
  return state_json(state);
}

}  // namespace oncelog::tools::script
