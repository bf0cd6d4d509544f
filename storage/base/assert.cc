// Asserts: the failure path.
#include "storage/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace oncelog {

void assert_failed(const char* text, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: invariant broken: %s\n", file, line, text);
  std::abort();
}

}  // namespace oncelog
