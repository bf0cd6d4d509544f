// The Io of the real machine.
#include "storage/io/system_io.h"

#include <utility>

#include "storage/io/posix_io_queue.h"

namespace oncelog {

Result<std::unique_ptr<IoQueue>> SystemIo::make_queue() {
  return PosixIoQueue::create();
}

Result<std::shared_ptr<Io>> make_system_io(const SystemIoOptions& options) {
  if (options.backend == IoBackend::kUring) {
    return make_error(ErrorCode::kUnsupported, "this build has no io_uring");
  }
  SystemIo::Parts parts;
  ONCELOG_TRY_ASSIGN(parts.files, PosixFileSystem::create());
  ONCELOG_TRY_ASSIGN(parts.executor, ThreadExecutor::create(options.executor_threads));
  parts.description = "posix";
  return std::shared_ptr<Io>(std::make_shared<SystemIo>(std::move(parts)));
}

}  // namespace oncelog
