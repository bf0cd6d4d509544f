// meta.properties: a Java properties file with a handful of keys (FORMAT.md 15).
//
// FORMAT  "key=value" lines; '=' ':' or blanks end a key, '#' and '!' begin a comment, a backslash
// escapes the next character, writes \t \n \r \f \uXXXX, or at the end of a line joins the next.
#include <map>

#include "index/checkpoint_text.h"
#include "index/text_files.h"

namespace oncelog {
namespace {

constexpr std::string_view kBlanks = " \t\f";

// Appends a code unit of \uXXXX as UTF-8. Surrogates stay as they are: no id of ours holds any.
void append_utf8(std::uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0U | (code >> 6));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  } else {
    out += static_cast<char>(0xE0U | (code >> 12));
    out += static_cast<char>(0x80U | ((code >> 6) & 0x3FU));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  }
}

// Resolves the escape behind a backslash at `i`; moves `i` to its last character.
bool append_escape(std::string_view text, std::size_t& i, std::string& out) {
  ++i;
  if (i >= text.size()) return true;  // a lone backslash at the very end means nothing
  switch (text[i]) {
    case 't':
      out += '\t';
      return true;
    case 'n':
      out += '\n';
      return true;
    case 'r':
      out += '\r';
      return true;
    case 'f':
      out += '\f';
      return true;
    case 'u': {
      const std::string_view digits = text.substr(i + 1, 4);
      std::uint32_t code = 0;
      const char* const end = digits.data() + digits.size();
      const auto [stop, error] = std::from_chars(digits.data(), end, code, 16);
      if (digits.size() != 4 || error != std::errc{} || stop != end) return false;
      append_utf8(code, out);
      i += 4;
      return true;
    }
    default:
      out += text[i];
      return true;
  }
}

// Reads an unescaped key or value up to one of `stops`; moves `i` there.
bool read_token(std::string_view line, std::string_view stops, std::size_t& i, std::string& out) {
  for (; i < line.size() && stops.find(line[i]) == std::string_view::npos; ++i) {
    if (line[i] != '\\') {
      out += line[i];
    } else if (!append_escape(line, i, out)) {
      return false;
    }
  }
  return true;
}

bool ends_in_continuation(std::string_view line) {
  std::size_t backslashes = 0;
  while (backslashes < line.size() && line[line.size() - 1 - backslashes] == '\\')
    ++backslashes;
  return backslashes % 2 == 1;
}

std::string_view without_leading_blanks(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? std::string_view{} : line.substr(begin);
}

// The next logical line, continuations joined; counts natural lines in `number`.
std::string next_logical_line(std::string_view& text, std::size_t& number) {
  std::string out;
  bool first = true;
  while (!text.empty()) {
    const std::size_t length = text.find_first_of("\r\n");
    const std::string_view line = without_leading_blanks(text.substr(0, length));
    const bool crlf = length != std::string_view::npos && text.substr(length).starts_with("\r\n");
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + (crlf ? 2 : 1));
    ++number;
    out += line;
    const bool is_comment = first && !line.empty() && (line[0] == '#' || line[0] == '!');
    if (is_comment || !ends_in_continuation(line)) break;
    out.pop_back();
    first = false;
  }
  return out;
}

Result<std::map<std::string, std::string>> read_properties(std::string_view text) {
  std::map<std::string, std::string> out;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::string line = next_logical_line(text, number);
    if (line.empty() || line[0] == '#' || line[0] == '!') continue;
    std::string key;
    std::string value;
    std::size_t i = 0;
    if (!read_token(line, "=: \t\f", i, key)) return damaged_line(number, "bad escape");
    while (i < line.size() && kBlanks.find(line[i]) != std::string_view::npos)
      ++i;
    if (i < line.size() && (line[i] == '=' || line[i] == ':')) ++i;
    while (i < line.size() && kBlanks.find(line[i]) != std::string_view::npos)
      ++i;
    if (!read_token(line, "", i, value)) return damaged_line(number, "bad escape");
    out.insert_or_assign(std::move(key), std::move(value));
  }
  return out;
}

std::string escaped(std::string_view value) {
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\f') {
      out += "\\f";
    } else {
      const bool special = std::string_view("\\=:#!").find(c) != std::string_view::npos;
      if (special || (c == ' ' && i == 0)) out += '\\';
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string encode_meta_properties(const MetaProperties& properties) {
  std::string out = "#\n# oncelog\n";
  const std::string_view node_key = properties.version == 0 ? "broker.id" : "node.id";
  if (properties.node_id.has_value()) {
    out += std::string(node_key) + '=' + std::to_string(*properties.node_id) + '\n';
  }
  if (properties.directory_id.has_value()) {
    out += "directory.id=" + escaped(*properties.directory_id) + '\n';
  }
  out += "version=" + std::to_string(properties.version) + '\n';
  if (!properties.cluster_id.empty()) {
    out += "cluster.id=" + escaped(properties.cluster_id) + '\n';
  }
  return out;
}

Result<MetaProperties> decode_meta_properties(std::string_view text) {
  ONCELOG_TRY_ASSIGN(auto values, read_properties(text));
  const auto damaged = [](const std::string& what) {
    return make_error(ErrorCode::kDamaged, what);
  };
  MetaProperties out;
  // A file without a version is one of the oldest brokers.
  const auto version = values.find("version");
  const auto number =
      version == values.end() ? std::optional<int>(0) : parse_number<std::int32_t>(version->second);
  if (!number.has_value() || *number < 0 || *number > 1) return damaged("version is not 0 or 1");
  out.version = *number;
  if (const auto id = values.find("cluster.id"); id != values.end()) out.cluster_id = id->second;
  if (out.version == 1 && out.cluster_id.empty()) return damaged("cluster.id is missing");
  const std::string node_key = out.version == 0 ? "broker.id" : "node.id";
  if (const auto node = values.find(node_key); node != values.end()) {
    out.node_id = parse_number<std::int32_t>(node->second);
    if (!out.node_id.has_value()) return damaged(node_key + " is no number");
  } else if (out.version == 1) {
    return damaged("node.id is missing");
  }
  if (const auto id = values.find("directory.id"); id != values.end()) {
    out.directory_id = id->second;
  }
  return out;
}

}  // namespace oncelog
