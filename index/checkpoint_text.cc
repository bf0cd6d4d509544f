// Splits checkpoint files into lines and fields.
#include "index/checkpoint_text.h"

#include <cstdint>
#include <vector>

namespace oncelog {
namespace {

constexpr std::string_view kBlanks = " \t\r";

// Splits at runs of blanks; what is beyond `fields_max` + 1 fields is not looked at.
void split_fields(std::string_view line, std::size_t fields_max,
                  std::vector<std::string_view>& into) {
  into.clear();
  while (into.size() <= fields_max) {
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return;
    line.remove_prefix(begin);
    const std::size_t length = line.find_first_of(kBlanks);
    into.push_back(line.substr(0, length));
    if (length == std::string_view::npos) return;
    line.remove_prefix(length);
  }
}

Status check_version(std::span<const std::string_view> fields) {
  if (fields.size() != 1 || parse_number<std::int32_t>(fields[0]) != 0) {
    return damaged_line(1, "version is not 0");
  }
  return {};
}

}  // namespace

Error damaged_line(std::size_t line, std::string_view what) {
  return make_error(ErrorCode::kDamaged, "line " + std::to_string(line) + ": " + std::string(what));
}

Status read_checkpoint(std::string_view text, std::size_t field_count,
                       const CheckpointEntryFunction& on_entry) {
  if (text.empty()) return {};
  std::vector<std::string_view> fields;
  std::optional<std::uint32_t> count;
  std::size_t line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t length = text.find('\n');
    if (length == std::string_view::npos) return damaged_line(line, "cut short, no newline");
    split_fields(text.substr(0, length), line <= 2 ? 1 : field_count, fields);
    text.remove_prefix(length + 1);
    if (line == 1) {
      ONCELOG_TRY(check_version(fields));
    } else if (line == 2) {
      if (fields.size() == 1) count = parse_number<std::uint32_t>(fields[0]);
      if (!count.has_value()) return damaged_line(line, "entry count is no number");
    } else {
      if (line - 2 > *count) return damaged_line(line, "more entries than counted");
      if (fields.size() != field_count) return damaged_line(line, "wrong number of fields");
      ONCELOG_TRY(on_entry(fields, line));
    }
  }
  if (!count.has_value()) return damaged_line(line + 1, "entry count is missing");
  if (line - 2 != *count) return damaged_line(line + 1, "fewer entries than counted");
  return {};
}

std::string checkpoint_head(std::size_t entry_count) {
  return "0\n" + std::to_string(entry_count) + '\n';
}

}  // namespace oncelog
