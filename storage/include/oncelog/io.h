// The seam to the operating system: files, asynchronous I/O, background work and time.
//
// Nothing else in the library touches the OS for these. Three implementations: io_uring and posix
// (`make_system_io`), and the simulated disk of the target oncelog_sim.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "oncelog/file_system.h"
#include "oncelog/io_queue.h"
#include "oncelog/result.h"

namespace oncelog {

/// Runs background work that blocks. Tasks may run at the same time, in any order.
///
/// THREADS  `run` from any thread. The destructor finishes what was accepted.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;
  virtual void run(std::function<void()> task) = 0;
  /// Without threads (`Io::has_threads`) runs one accepted task on the calling thread and says
  /// whether it did; with threads does nothing and says false.
  virtual bool run_one() { return false; }
};

class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;
  /// Wall clock, milliseconds since the Unix epoch; may jump.
  virtual std::int64_t wall_ms() = 0;
  /// Nanoseconds since some fixed point; never goes back.
  virtual std::int64_t monotonic_ns() = 0;
};

/// The four together; what a Store runs on. Shared by everything that was opened with it.
///
/// THREADS  any thread.
class Io {
 public:
  Io() = default;
  Io(const Io&) = delete;
  Io& operator=(const Io&) = delete;
  virtual ~Io() = default;
  virtual FileSystem& files() = 0;
  virtual Executor& executor() = 0;
  virtual Clock& clock() = 0;
  virtual Result<std::unique_ptr<IoQueue>> make_queue() = 0;
  /// "io_uring", "posix (io_uring refused: ...)" or "simulated": for reports.
  virtual std::string description() const = 0;
  /// False in the simulator: no thread of the library may run, the caller drives everything.
  virtual bool has_threads() const noexcept = 0;
};

enum class IoBackend : std::uint8_t {
  kAutomatic,  ///< io_uring, else posix with the reason in `description()`
  kUring,      ///< io_uring or an error
  kPosix,      ///< blocking calls on a few threads
};

struct SystemIoOptions {
  IoBackend backend = IoBackend::kAutomatic;
  std::uint32_t ring_entries = 256;    ///< submission ring size per queue, 1..4096
  std::uint32_t executor_threads = 2;  ///< background threads, 1..64
};

/// The real machine. kAutomatic honours the environment variable ONCELOG_IO ("posix", "uring").
Result<std::shared_ptr<Io>> make_system_io(const SystemIoOptions& options = {});

}  // namespace oncelog
