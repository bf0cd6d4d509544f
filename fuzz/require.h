// What a fuzz target demands of the code under it.
#pragma once

#include <cstdlib>

namespace oncelog {

/// Ends the run: libFuzzer keeps the input.
inline void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace oncelog
