// Asserts that stay on in release: they state what the library itself promised.
//
// Never assert on bytes read from disk or on a caller's arguments; those are returned errors.
#pragma once

namespace oncelog {

/// Prints "file:line: invariant broken: text" to stderr and aborts.
[[noreturn]] void assert_failed(const char* text, const char* file, int line) noexcept;

}  // namespace oncelog

#define ONCELOG_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::oncelog::assert_failed(#condition, __FILE__, __LINE__))
