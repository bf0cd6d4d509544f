// The Io of the real machine, and how it is chosen.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "oncelog/io.h"

#include "storage/io/posix_file_system.h"
#include "storage/io/system_clock.h"
#include "storage/io/thread_executor.h"

namespace oncelog {

/// THREADS  any thread.
class SystemIo final : public Io {
 public:
  struct Parts {
    std::unique_ptr<PosixFileSystem> files;
    std::unique_ptr<ThreadExecutor> executor;
    std::string description;
  };
  explicit SystemIo(Parts parts) : parts_(std::move(parts)) {}

  FileSystem& files() override { return *parts_.files; }
  Executor& executor() override { return *parts_.executor; }
  Clock& clock() override { return clock_; }
  Result<std::unique_ptr<IoQueue>> make_queue() override;
  std::string description() const override { return parts_.description; }
  bool has_threads() const noexcept override { return true; }

 private:
  const Parts parts_;
  SystemClock clock_;
};

}  // namespace oncelog
