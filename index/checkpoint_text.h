// The line grammar that all checkpoint files share: version, count, entries (FORMAT.md 15).
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "oncelog/result.h"

namespace oncelog {

/// The whole of `text` as a decimal number that fits; nothing otherwise.
template <std::integral T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return value;
}

/// "line N: what", as kDamaged.
Error damaged_line(std::size_t line, std::string_view what);

/// Takes the fields of one entry; `line` counts from 1.
using CheckpointEntryFunction =
    std::function<Status(std::span<const std::string_view> fields, std::size_t line)>;

/// Calls `on_entry` for each entry in order. An empty text has none. kDamaged names the line when
/// the version is not 0, the count is not that of the entries, an entry has not `field_count`
/// fields, or the last line has no newline: then it was cut, and a shorter number would pass.
Status read_checkpoint(std::string_view text, std::size_t field_count,
                       const CheckpointEntryFunction& on_entry);

/// The two lines before the entries.
std::string checkpoint_head(std::size_t entry_count);

}  // namespace oncelog
