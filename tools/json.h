// JSON values: what tools print, and what scripts are made of.
//
// The only user of nlohmann-json is json.cc. Objects keep the order of their members.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "oncelog/result.h"

namespace oncelog::tools {

/// A JSON value. Integers are 64 bits; -1 and null are different things.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  // NOLINTBEGIN(google-explicit-constructor): documents are written as braced values.
  Json(std::nullptr_t) {}
  template <std::same_as<bool> T>
  Json(T value) : value_(value) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T value) : value_(static_cast<std::int64_t>(value)) {}
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}
  // NOLINTEND(google-explicit-constructor)
  static Json object(std::initializer_list<Member> members = {}) { return Object(members); }
  static Json array(std::initializer_list<Json> items = {}) { return Array(items); }
  template <class Range>
  static Json array_of(const Range& range) {
    Array out;
    for (const auto& item : range)
      out.emplace_back(item);
    return out;
  }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  /// The value, or `otherwise` when it is of another kind.
  bool as_bool(bool otherwise = false) const;
  std::int64_t as_integer(std::int64_t otherwise = 0) const;
  /// Empty when it is no string. Borrows this value.
  std::string_view as_string() const;
  /// Empty when it is no array (no object).
  const Array& items() const;
  const Object& members() const;
  Array* mutable_items() { return std::get_if<Array>(&value_); }
  Object* mutable_members() { return std::get_if<Object>(&value_); }

  /// The member of that name, or null when there is none or this is no object.
  const Json* find(std::string_view name) const;
  /// The same for a member that may be left out: a null value when it is absent.
  const Json& operator[](std::string_view name) const;
  /// Sets or adds a member; a null value becomes an object first. REQUIRES: object or null.
  void set(std::string_view name, Json value);
  void erase(std::string_view name);
  /// Adds an item; a null value becomes an array first. REQUIRES: array or null.
  void push(Json value);

  /// Calls `visitor` with the value as monostate, bool, int64_t, double, string, Array or Object.
  template <class Visitor>
  decltype(auto) visit(const Visitor& visitor) const {
    return std::visit(visitor, value_);
  }

  friend bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

/// One line, no spaces. Bytes that are no UTF-8 become U+FFFD.
std::string to_text(const Json& value);
void append_text(const Json& value, std::string& out);
/// `text` as a JSON string with its quotes.
void append_quoted(std::string_view text, std::string& out);

/// kInvalidArgument with the byte at which the text stops being JSON. Integers beyond 64 bits
/// and names used twice in one object are refused.
Result<Json> parse_json(std::string_view text);

}  // namespace oncelog::tools
