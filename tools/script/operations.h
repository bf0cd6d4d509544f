// Which operations a script may name, and which fields each takes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace oncelog::tools::script {

enum class FieldKind : std::uint8_t {
  kInteger,
  kBoolean,
  kString,
  kWord,           ///< one of `words`
  kObject,         ///< any values
  kIntegers,       ///< array of integers
  kStringsOrNull,  ///< array of strings and nulls
};

struct FieldRule {
  std::string_view name;
  FieldKind kind = FieldKind::kInteger;
  bool required = false;
  std::string_view words = {};  ///< kWord: separated by '|'
};

/// Who carries an operation out.
enum class Place : std::uint8_t {
  kRunner,  ///< beside the engine: clock, faults, kill, files
  kStore,   ///< the engine, no log needed
  kLog,     ///< the engine, on an open log
};

struct OperationRule {
  std::string_view name;
  Place place = Place::kLog;
  std::span<const FieldRule> fields;
};

/// The rule, or null for an unknown operation.
const OperationRule* find_operation(std::string_view name);

}  // namespace oncelog::tools::script
