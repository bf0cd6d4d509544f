// Parsing of script lines and checking of their fields.
#include "tools/script/parser.h"

#include <algorithm>

#include "tools/script/expect.h"
#include "tools/script/operations.h"

namespace oncelog::tools::script {
namespace {

Error line_error(std::size_t line, const std::string& what) {
  return make_error(ErrorCode::kInvalidArgument, "line " + std::to_string(line) + ": " + what);
}

bool is_reference(const Json& value) {
  return value.is_string() && value.as_string().size() > 1 && value.as_string().front() == '$';
}

bool is_one_of(std::string_view word, std::string_view words) {
  while (!words.empty()) {
    const std::size_t bar = std::min(words.find('|'), words.size());
    if (words.substr(0, bar) == word) return true;
    words.remove_prefix(std::min(bar + 1, words.size()));
  }
  return false;
}

bool all_items(const Json& value, bool (*test)(const Json&)) {
  return value.is_array() && std::all_of(value.items().begin(), value.items().end(), test);
}

bool is_integer_item(const Json& item) {
  return item.is_integer() || is_reference(item);
}
bool is_text_item(const Json& item) {
  return item.is_string() || item.is_null();
}

bool has_kind(const Json& value, const FieldRule& rule) {
  if (is_reference(value)) return true;
  switch (rule.kind) {
    case FieldKind::kInteger:
      return value.is_integer();
    case FieldKind::kBoolean:
      return value.is_bool();
    case FieldKind::kString:
      return value.is_string();
    case FieldKind::kWord:
      return value.is_string() && is_one_of(value.as_string(), rule.words);
    case FieldKind::kObject:
      return value.is_object();
    case FieldKind::kIntegers:
      return all_items(value, is_integer_item);
    case FieldKind::kStringsOrNull:
      return all_items(value, is_text_item);
  }
  return false;
}

/// {"g": "guard"} becomes (g, guard).
Status parse_save(const Json& save, Step& step) {
  if (!save.is_object()) return line_error(step.line, "\"save\" is no object");
  for (const auto& [name, field] : save.members()) {
    if (!field.is_string())
      return line_error(step.line, "\"save\" needs the name of a field for \"" + name + "\"");
    step.save.emplace_back(name, std::string(field.as_string()));
  }
  return {};
}

Result<Step> parse_line(std::size_t line, std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed.ok()) return line_error(line, parsed.error().message);
  if (!parsed->is_object()) return line_error(line, "an operation is a JSON object");
  Step step;
  step.line = line;
  step.fields = std::move(parsed).value();
  step.op = step.fields["op"].as_string();
  if (step.op.empty()) return line_error(line, "\"op\" is missing");
  step.expect = step.fields["expect"];
  if (!step.expect.is_null() && !step.expect.is_object())
    return line_error(line, "\"expect\" is no object");
  if (auto invalid = find_invalid(step.expect)) return line_error(line, *invalid);
  if (const Json* save = step.fields.find("save")) ONCELOG_TRY(parse_save(*save, step));
  for (const char* name : {"op", "expect", "save"})
    step.fields.erase(name);
  ONCELOG_TRY(check_fields(step));
  return step;
}

}  // namespace

Status check_fields(const Step& step) {
  const OperationRule* rule = find_operation(step.op);
  if (rule == nullptr) return line_error(step.line, "unknown operation \"" + step.op + "\"");
  for (const Json::Member& member : step.fields.members()) {
    const std::string& name = member.first;
    const Json& value = member.second;
    const auto field = std::find_if(rule->fields.begin(), rule->fields.end(),
                                    [&](const FieldRule& one) { return one.name == name; });
    if (field == rule->fields.end())
      return line_error(step.line, "\"" + step.op + "\" has no field \"" + name + "\"");
    if (!has_kind(value, *field))
      return line_error(step.line, "\"" + name + "\" cannot be " + to_text(value));
  }
  for (const FieldRule& field : rule->fields) {
    if (field.required && step.fields.find(field.name) == nullptr)
      return line_error(step.line, "\"" + step.op + "\" needs \"" + std::string(field.name) + "\"");
  }
  return {};
}

Result<std::vector<Step>> parse_script(std::string_view text) {
  std::vector<Step> steps;
  std::size_t line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    while (!one.empty() && (one.back() == '\r' || one.back() == ' ' || one.back() == '\t'))
      one.remove_suffix(1);
    if (one.empty() || one.front() == '#') continue;
    ONCELOG_TRY_ASSIGN(Step step, parse_line(line, one));
    steps.push_back(std::move(step));
  }
  return steps;
}

Status substitute(Json& value, const Json& saved) {
  if (is_reference(value)) {
    const std::string name(value.as_string().substr(1));
    const Json* replacement = saved.find(name);
    if (replacement == nullptr)
      return make_error(ErrorCode::kInvalidArgument, "nothing was saved as \"" + name + "\"");
    value = Json(*replacement);
    return {};
  }
  if (Json::Array* items = value.mutable_items(); items != nullptr) {
    for (Json& item : *items)
      ONCELOG_TRY(substitute(item, saved));
  }
  if (Json::Object* members = value.mutable_members(); members != nullptr) {
    for (Json::Member& member : *members)
      ONCELOG_TRY(substitute(member.second, saved));
  }
  return {};
}

}  // namespace oncelog::tools::script
