// Faults on calls that take paths, and the wrapper that joins everything.
#include "oncelog/fault_io.h"

#include <utility>

#include "storage/sim/fault_file.h"
#include "storage/sim/fault_io_queue.h"

namespace oncelog {
namespace {

class FaultFileSystem final : public FileSystem {
 public:
  FaultFileSystem(std::shared_ptr<Io> inner, std::shared_ptr<FaultPlan> plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}

  Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode) override {
    if (creates(path, mode)) {
      ONCELOG_TRY(sim::fault_on(*plan_, FaultPoint::kCreate, path).status);
    }
    ONCELOG_TRY_ASSIGN(std::shared_ptr<File> file, files().open(path, mode));
    return std::shared_ptr<File>(std::make_shared<sim::FaultFile>(std::move(file), plan_));
  }
  Result<std::vector<DirEntry>> list(const std::string& directory) override {
    return files().list(directory);
  }
  Result<FileStat> stat(const std::string& path) override { return files().stat(path); }
  Result<std::int64_t> free_bytes(const std::string& path) override {
    return files().free_bytes(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    ONCELOG_TRY(sim::fault_on(*plan_, FaultPoint::kRename, from, to).status);
    return files().rename(from, to);
  }
  Status unlink(const std::string& path) override {
    ONCELOG_TRY(sim::fault_on(*plan_, FaultPoint::kUnlink, path).status);
    return files().unlink(path);
  }
  Status link(const std::string& existing, const std::string& name) override {
    return files().link(existing, name);
  }
  Status make_directory(const std::string& path) override {
    ONCELOG_TRY(sim::fault_on(*plan_, FaultPoint::kCreate, path).status);
    return files().make_directory(path);
  }
  Status remove_directory(const std::string& path) override {
    ONCELOG_TRY(sim::fault_on(*plan_, FaultPoint::kUnlink, path).status);
    return files().remove_directory(path);
  }
  Status sync_directory(const std::string& path) override {
    sim::FaultOutcome outcome = sim::fault_on(*plan_, FaultPoint::kFsyncDir, path);
    if (!outcome.status.ok() || outcome.skipped) return std::move(outcome.status);
    return files().sync_directory(path);
  }
  Status sync_file_system(const std::string& path) override {
    sim::FaultOutcome outcome = sim::fault_on(*plan_, FaultPoint::kFsync, path);
    if (!outcome.status.ok() || outcome.skipped) return std::move(outcome.status);
    return files().sync_file_system(path);
  }

 private:
  FileSystem& files() { return inner_->files(); }
  /// Looks only when a rule is there to be hit: the look is an operation of its own.
  bool creates(const std::string& path, OpenMode mode) {
    const bool may_create = mode == OpenMode::kCreate || mode == OpenMode::kCreateExclusive;
    if (!may_create || !plan_->watches(FaultPoint::kCreate)) return false;
    return !files().stat(path).ok();
  }

  std::shared_ptr<Io> inner_;
  std::shared_ptr<FaultPlan> plan_;
};

}  // namespace

FaultIo::FaultIo(std::shared_ptr<Io> inner, std::shared_ptr<FaultPlan> plan)
    : inner_(std::move(inner)),
      plan_(std::move(plan)),
      files_(std::make_unique<FaultFileSystem>(inner_, plan_)) {}

FaultIo::~FaultIo() = default;

Result<std::unique_ptr<IoQueue>> FaultIo::make_queue() {
  ONCELOG_TRY_ASSIGN(std::unique_ptr<IoQueue> queue, inner_->make_queue());
  return std::unique_ptr<IoQueue>(std::make_unique<sim::FaultIoQueue>(std::move(queue), plan_));
}

}  // namespace oncelog
