// Formatted text for tools; the only file that includes fmt.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace oncelog::tools {

/// fmt's format strings: text("{} of {}", a, b).
template <class... Arguments>
std::string text(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return fmt::format(format, std::forward<Arguments>(arguments)...);
}

/// Prints one line to stdout.
template <class... Arguments>
void print_line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::print(stdout, format, std::forward<Arguments>(arguments)...);
  std::fputc('\n', stdout);
}

}  // namespace oncelog::tools
