// Faults on demand around any implementation of the seam: the real disk or the simulated one.
//
// A FaultPlan holds rules; every FaultIo made with it obeys them, so rules outlive a reopen and a
// crash. What a rule does is handled as the real implementations handle it: EINTR, EAGAIN and short
// transfers are repeated inside (up to their bound of retries) and seen by nobody, everything else
// is an error to the caller.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncelog/io.h"
#include "oncelog/result.h"

namespace oncelog {

/// The operations that rules can hit.
enum class FaultPoint : std::uint8_t {
  kWrite,     ///< write_at and queued writes
  kFsync,     ///< File::sync, queued syncs, sync_file_system
  kRead,      ///< read_at and queued reads
  kCreate,    ///< open that makes a new file; make_directory
  kRename,    ///< matched by either name
  kTruncate,  ///< File::truncate
  kUnlink,    ///< unlink, remove_directory
  kFsyncDir,  ///< sync_directory
};

/// "write", "fsync", "read", "create", "rename", "truncate", "unlink", "fsync_dir".
std::string_view to_string(FaultPoint point) noexcept;
std::optional<FaultPoint> fault_point_of(std::string_view name) noexcept;
/// EIO, ENOSPC, EROFS, EINTR, EAGAIN, ECANCELED by name.
std::optional<int> fault_errno_of(std::string_view name) noexcept;

/// Hits operations number `nth`, ..., `nth + times - 1` of those that match, counted from the
/// moment it is added. Exactly one of the three effects; the error when neither other is set.
struct FaultRule {
  FaultPoint on = FaultPoint::kWrite;
  std::string file = "*";         ///< glob (* and ?) on the base name
  std::int64_t nth = 1;           ///< from 1
  std::int64_t times = 1;         ///< -1: for good
  int sys_errno = EIO;            ///< of a write with ENOSPC half the bytes are written before
  std::int64_t short_bytes = -1;  ///< >= 0, kWrite and kRead (>= 1): the OS takes so many at first
  bool lie = false;               ///< kFsync and kFsyncDir: says yes and does nothing
};

/// The rules. Each counts for itself; of several that hit at once the first added has its effect.
/// A repeated call (EINTR, the rest of a short write) is matched again, as a call of its own.
///
/// THREADS  any thread.
class FaultPlan {
 public:
  /// kInvalidArgument for a rule that makes no sense.
  Status add(FaultRule rule);
  void clear();
  /// The rules that may still hit, as if they were added now: to carry them to another process.
  std::vector<FaultRule> remaining() const;
  /// How often any rule had its effect.
  std::int64_t hits() const;

  /// For FaultIo: counts one operation, returns the rule that hits it. `second_path` is the other
  /// name of a rename, else empty.
  std::optional<FaultRule> next(FaultPoint point, std::string_view path,
                                std::string_view second_path = {});
  /// Whether any rule is on that kind of operation.
  bool watches(FaultPoint point) const;

 private:
  struct Armed {
    FaultRule rule;
    std::int64_t matched = 0;
  };
  mutable std::mutex mutex_;
  std::vector<Armed> rules_;
  std::int64_t hits_ = 0;
};

/// Wraps `inner`. A failed fsync is not passed on; over the simulator the pages are then clean and
/// lost (sim_disk.h), over a real disk a later fsync still writes them.
///
/// THREADS  as `inner`. Files, queues and this share `inner` and `plan`.
class FaultIo final : public Io {
 public:
  FaultIo(std::shared_ptr<Io> inner, std::shared_ptr<FaultPlan> plan);
  ~FaultIo() override;
  FaultIo(const FaultIo&) = delete;
  FaultIo& operator=(const FaultIo&) = delete;

  FileSystem& files() override { return *files_; }
  Executor& executor() override { return inner_->executor(); }
  Clock& clock() override { return inner_->clock(); }
  Result<std::unique_ptr<IoQueue>> make_queue() override;
  std::string description() const override { return inner_->description() + ", with faults"; }
  bool has_threads() const noexcept override { return inner_->has_threads(); }

 private:
  std::shared_ptr<Io> inner_;
  std::shared_ptr<FaultPlan> plan_;
  std::unique_ptr<FileSystem> files_;
};

}  // namespace oncelog
