// The error of a derived file whose bytes are wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "oncelog/result.h"

namespace oncelog {

/// kDamaged at a byte of the file; the caller that knows the path adds it.
inline Error damaged_at(std::size_t position, std::string what) {
  return make_error(ErrorCode::kDamaged, std::move(what))
      .at({}, static_cast<std::int64_t>(position));
}

}  // namespace oncelog
