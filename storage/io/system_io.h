// The Io of the real machine, and how it is chosen.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "oncelog/io.h"

#include "storage/io/posix_file_system.h"
#include "storage/io/system_clock.h"
#include "storage/io/thread_executor.h"

namespace oncelog {

/// THREADS  any thread.
class SystemIo final : public Io {
 public:
  /// What was asked for, after the environment was looked at.
  struct Choice {
    IoBackend backend = IoBackend::kAutomatic;
    std::uint32_t ring_entries = 0;
    bool by_environment = false;
  };

  SystemIo(const Choice& choice, std::unique_ptr<PosixFileSystem> files,
           std::unique_ptr<ThreadExecutor> executor)
      : choice_(choice), files_(std::move(files)), executor_(std::move(executor)) {}

  FileSystem& files() override { return *files_; }
  Executor& executor() override { return *executor_; }
  Clock& clock() override { return clock_; }
  /// With kAutomatic, a ring that is refused becomes a posix queue and `description` says why.
  Result<std::unique_ptr<IoQueue>> make_queue() override;
  std::string description() const override;
  bool has_threads() const noexcept override { return true; }

 private:
  const Choice choice_;
  const std::unique_ptr<PosixFileSystem> files_;
  const std::unique_ptr<ThreadExecutor> executor_;
  SystemClock clock_;
  mutable std::mutex mutex_;  // guards the rest
  std::uint32_t rings_made_ = 0;
  std::string refusal_;  // why the last ring was refused, empty when none was
};

}  // namespace oncelog
