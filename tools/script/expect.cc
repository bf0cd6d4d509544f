// Expectations: named fields, conditions, the first mismatch.
#include "tools/script/expect.h"

#include <algorithm>

namespace oncelog::tools::script {
namespace {

/// An object whose names begin with '$' is a condition on the value, not a value.
bool is_condition(const Json& wanted) {
  return wanted.is_object() && !wanted.members().empty() &&
         wanted.members().front().first.starts_with('$');
}

bool holds(const Json::Member& condition, const Json& got) {
  const auto& [name, operand] = condition;
  if (name == "$min") return got.is_integer() && got.as_integer() >= operand.as_integer();
  if (name == "$max") return got.is_integer() && got.as_integer() <= operand.as_integer();
  return std::any_of(operand.items().begin(), operand.items().end(),
                     [&](const Json& allowed) { return !compare(allowed, got); });
}

std::optional<Mismatch> compare_at(const std::string& where, const Json& wanted, const Json& got) {
  if (is_condition(wanted)) {
    const bool ok = std::all_of(wanted.members().begin(), wanted.members().end(),
                                [&](const Json::Member& one) { return holds(one, got); });
    return ok ? std::nullopt : std::optional(Mismatch{where, wanted, got});
  }
  if (wanted.is_object() && got.is_object()) {
    for (const auto& [name, value] : wanted.members()) {
      std::string inner = where;
      if (!inner.empty()) inner += '.';
      inner += name;
      if (got.find(name) == nullptr) return Mismatch{inner, value, Json()};
      if (auto mismatch = compare_at(inner, value, got[name])) return mismatch;
    }
    return std::nullopt;
  }
  if (wanted.is_array() && got.is_array() && wanted.items().size() == got.items().size()) {
    for (std::size_t i = 0; i < wanted.items().size(); ++i) {
      const std::string inner = where + "[" + std::to_string(i) + "]";
      if (auto mismatch = compare_at(inner, wanted.items()[i], got.items()[i])) return mismatch;
    }
    return std::nullopt;
  }
  return wanted == got ? std::nullopt : std::optional(Mismatch{where, wanted, got});
}

}  // namespace

std::optional<Mismatch> compare(const Json& wanted, const Json& got) {
  return compare_at("", wanted, got);
}

std::optional<std::string> find_invalid(const Json& wanted) {
  for (const Json& item : wanted.items()) {
    if (auto invalid = find_invalid(item)) return invalid;
  }
  for (const auto& [name, value] : wanted.members()) {
    if (!name.starts_with('$')) {
      if (is_condition(wanted)) return "\"" + name + "\" beside a condition";
      if (auto invalid = find_invalid(value)) return invalid;
      continue;
    }
    const bool number = name == "$min" || name == "$max";
    if (!number && name != "$in") return "no such condition: \"" + name + "\"";
    if (number ? !value.is_integer() : !value.is_array())
      return "\"" + name + (number ? "\" needs a number" : "\" needs an array");
  }
  return std::nullopt;
}

}  // namespace oncelog::tools::script
