// Json: access, printing, and parsing through nlohmann-json's event interface.
#include "tools/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "storage/base/assert.h"

namespace oncelog::tools {
namespace {

/// Length of the UTF-8 sequence at the front of `text`; 0 when there is none.
std::size_t utf8_sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Over-long forms, surrogates and values above U+10FFFF.
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) > 0x9f) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

void append_escaped(unsigned char c, std::string& out) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "\\u%04x", static_cast<unsigned>(c));
  out += text.data();
}

template <class Number>
void append_number(Number number, std::string& out) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number);
  out.append(text.data(), end.ptr);
}

struct Printer {
  std::string& out;
  void operator()(std::monostate) const { out += "null"; }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(std::int64_t value) const { append_number(value, out); }
  void operator()(double value) const { append_number(value, out); }
  void operator()(const std::string& value) const { append_quoted(value, out); }
  void operator()(const Json::Array& items) const {
    out += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i != 0) out += ',';
      append_text(items[i], out);
    }
    out += ']';
  }
  void operator()(const Json::Object& members) const {
    out += '{';
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i != 0) out += ',';
      append_quoted(members[i].first, out);
      out += ':';
      append_text(members[i].second, out);
    }
    out += '}';
  }
};

/// Builds a Json from the parser's events. Depth is bounded, because values are printed and
/// compared by recursion.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(std::int64_t value) override { return add(Json(value)); }
  bool number_unsigned(std::uint64_t value) override {
    if (value > INT64_MAX) return fail("a number does not fit 64 bits");
    return add(Json(value));
  }
  bool number_float(double value, const std::string& text) override {
    if (text.find_first_of(".eE") == std::string::npos) return fail("a number is too large");
    return add(Json(value));
  }
  bool string(std::string& value) override { return add(Json(std::move(value))); }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return fail("no JSON value"); }
  bool start_object(std::size_t /*count*/) override { return open(Json(Json::Object{})); }
  bool start_array(std::size_t /*count*/) override { return open(Json(Json::Array{})); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (open_.back().value.find(name) != nullptr) return fail("the name " + name + " comes twice");
    open_.back().name = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return fail("no valid JSON at byte " + std::to_string(position));
  }

  Json take() { return std::move(root_); }
  const std::string& message() const { return message_; }

 private:
  static constexpr std::size_t kDepthMax = 64;
  struct Open {
    Json value;
    std::string name;  ///< of the member that comes next
  };

  bool fail(std::string message) {
    if (message_.empty()) message_ = std::move(message);
    return false;
  }
  bool open(Json value) {
    if (open_.size() == kDepthMax) return fail("nested too deeply");
    open_.push_back(Open{std::move(value), {}});
    return true;
  }
  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }
  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Json& parent = open_.back().value; parent.is_object()) {
      parent.mutable_members()->emplace_back(open_.back().name, std::move(value));
    } else {
      parent.mutable_items()->push_back(std::move(value));
    }
    return true;
  }

  Json root_;
  std::vector<Open> open_;
  std::string message_;
};

}  // namespace

bool Json::as_bool(bool otherwise) const {
  const bool* value = std::get_if<bool>(&value_);
  return value == nullptr ? otherwise : *value;
}

std::int64_t Json::as_integer(std::int64_t otherwise) const {
  const std::int64_t* value = std::get_if<std::int64_t>(&value_);
  return value == nullptr ? otherwise : *value;
}

std::string_view Json::as_string() const {
  const std::string* value = std::get_if<std::string>(&value_);
  return value == nullptr ? std::string_view{} : std::string_view{*value};
}

const Json::Array& Json::items() const {
  static const Array none;
  const Array* value = std::get_if<Array>(&value_);
  return value == nullptr ? none : *value;
}

const Json::Object& Json::members() const {
  static const Object none;
  const Object* value = std::get_if<Object>(&value_);
  return value == nullptr ? none : *value;
}

const Json* Json::find(std::string_view name) const {
  for (const Member& member : members()) {
    if (member.first == name) return &member.second;
  }
  return nullptr;
}

const Json& Json::operator[](std::string_view name) const {
  static const Json null;
  const Json* value = find(name);
  return value == nullptr ? null : *value;
}

void Json::set(std::string_view name, Json value) {
  if (is_null()) value_ = Object{};
  Object* object = mutable_members();
  ONCELOG_ASSERT(object != nullptr);
  for (Member& member : *object) {
    if (member.first == name) {
      member.second = std::move(value);
      return;
    }
  }
  object->emplace_back(std::string(name), std::move(value));
}

void Json::erase(std::string_view name) {
  if (Object* object = mutable_members(); object != nullptr)
    std::erase_if(*object, [&](const Member& member) { return member.first == name; });
}

void Json::push(Json value) {
  if (is_null()) value_ = Array{};
  Array* array = mutable_items();
  ONCELOG_ASSERT(array != nullptr);
  array->push_back(std::move(value));
}

void append_quoted(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (length == 1 && (first < 0x20 || first == '"' || first == '\\' || first == 0x7f)) {
      append_escaped(first, out);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

void append_text(const Json& value, std::string& out) {
  value.visit(Printer{out});
}

std::string to_text(const Json& value) {
  std::string out;
  append_text(value, out);
  return out;
}

Result<Json> parse_json(std::string_view text) {
  Builder builder;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder))
    return make_error(ErrorCode::kInvalidArgument,
                      builder.message().empty() ? "no valid JSON" : builder.message());
  return builder.take();
}

}  // namespace oncelog::tools
