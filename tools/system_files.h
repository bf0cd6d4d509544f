// The machine that the tools run on.
#pragma once

#include <memory>

#include "oncelog/io.h"
#include "oncelog/result.h"

namespace oncelog::tools {

/// For reading and for single-threaded tools: blocking calls, no ring.
inline Result<std::shared_ptr<Io>> system_io() {
  SystemIoOptions options;
  options.backend = IoBackend::kPosix;
  options.executor_threads = 1;
  return make_system_io(options);
}

}  // namespace oncelog::tools
