// Power is lost at every I/O operation of a transactional workload: nothing acknowledged may be
// missing and nothing aborted visible, to oncelog and to a broker that opens the directory.
//
// ONCELOG_SEED picks another workload. A violation names seed, operation and cut; the same three
// give it again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "oncelog/fault_io.h"
#include "oncelog/sim.h"

#include "tests/sweep/crash_check.h"
#include "tests/sweep/workload.h"

namespace oncelog::test {
namespace {

std::uint64_t seed_of_run() {
  const char* const text = std::getenv("ONCELOG_SEED");
  return text == nullptr ? 20250503 : std::strtoull(text, nullptr, 10);
}

/// In every so many states power is lost during and after recovery too.
constexpr std::uint64_t kRecoveryCrashEvery = 5;

bool changes_the_disk(SimOperationKind kind) {
  using Kind = SimOperationKind;
  return kind != Kind::kOpen && kind != Kind::kRead && kind != Kind::kStat && kind != Kind::kList &&
         kind != Kind::kFreeBytes && kind != Kind::kClose && kind != Kind::kLock;
}

struct SweepResult {
  std::uint64_t states = 0;
  std::uint64_t violated = 0;         ///< states with a violation
  std::vector<std::string> examples;  ///< of the first few
  Status end;                         ///< of the workload itself
};

/// Runs the workload once and checks a clone of the disk at each operation, cut in `modes`.
class Sweep {
 public:
  Sweep(std::uint64_t seed, int steps, std::vector<PowerCut> modes, MetadataMode metadata)
      : seed_(seed),
        steps_(steps),
        modes_(std::move(modes)),
        disk_(std::make_shared<SimDisk>(metadata)) {}

  SweepResult run(const std::shared_ptr<FaultPlan>& faults) {
    SimOptions options;
    options.seed = seed_;
    const auto sim = std::make_shared<SimIo>(disk_, options);
    std::shared_ptr<Io> io = sim;
    if (faults) io = std::make_shared<FaultIo>(sim, faults);
    Workload workload(sim, io, seed_);
    sim->on_operation([&](const SimOperation& operation) {
      // What the operation before changed is what a cut here may lose. Checked later: this is
      // within the engine.
      if (changed_) moments_.push_back({operation.index, disk_->clone(), workload.history()});
      changed_ = changes_the_disk(operation.kind);
    });
    result_.end = workload.open();
    check_moments();
    for (int i = 0; i < steps_ && result_.end.ok(); ++i) {
      result_.end = workload.step();
      check_moments();
    }
    if (result_.end.ok()) result_.end = workload.close();
    check_moments();
    return result_;
  }

 private:
  struct Moment {
    std::uint64_t index = 0;
    std::shared_ptr<SimDisk> disk;
    History history;
  };

  void check_moments() {
    for (const Moment& moment : moments_)
      check(*moment.disk, moment.history, moment.index);
    moments_.clear();
  }

  void check(const SimDisk& disk, const History& history, std::uint64_t index) {
    for (const PowerCut mode : modes_) {
      const std::shared_ptr<SimDisk> clone = disk.clone();
      clone->power_cut(mode, seed_ * 1'000'003 + index);
      const std::uint64_t state = result_.states++;
      const std::vector<std::string> violations =
          state % kRecoveryCrashEvery == 0
              ? check_crashes_of_recovery(clone, history, seed_ + index)
              : check_after_crash(clone, history);
      if (violations.empty()) continue;
      ++result_.violated;
      for (const std::string& what : violations) {
        if (result_.examples.size() >= 20) break;
        result_.examples.push_back("seed " + std::to_string(seed_) + ", operation " +
                                   std::to_string(index) + ", " + std::string(to_string(mode)) +
                                   ": " + what);
      }
    }
  }

  std::uint64_t seed_;
  int steps_;
  std::vector<PowerCut> modes_;
  std::shared_ptr<SimDisk> disk_;
  bool changed_ = true;
  std::vector<Moment> moments_;
  SweepResult result_;
};

std::string lines(const std::vector<std::string>& examples) {
  std::string out;
  for (const std::string& line : examples)
    out += line + "\n";
  return out;
}

class CrashSweep : public ::testing::TestWithParam<PowerCut> {};

TEST_P(CrashSweep, LosesNothingAcknowledgedAndShowsNothingAborted) {
  const std::uint64_t seed = seed_of_run();
  // A prefix of all changes is what a journalling file system leaves.
  const MetadataMode metadata =
      GetParam() == PowerCut::kPrefix ? MetadataMode::kJournalled : MetadataMode::kStrict;
  Sweep sweep(seed, 100, {GetParam()}, metadata);

  const SweepResult result = sweep.run(nullptr);

  std::printf("seed %llu: %llu crash states\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(result.states));
  EXPECT_TRUE(result.end.ok()) << to_string(result.end.error());
  EXPECT_GT(result.states, 500U);
  EXPECT_EQ(result.violated, 0U) << lines(result.examples);
}

INSTANTIATE_TEST_SUITE_P(Cuts, CrashSweep,
                         ::testing::Values(PowerCut::kNoneKept, PowerCut::kPrefix,
                                           PowerCut::kSubset, PowerCut::kTorn),
                         [](const ::testing::TestParamInfo<PowerCut>& mode) {
                           return std::string(to_string(mode.param));
                         });

// A crash while the log was closed left the sidecar, which vouches for the active segment, without
// the .txnindex written beside it: aborted records became visible. Now every derived file may be
// missing behind the sidecar.
TEST(CrashSweep, FindsItsStateWithoutAnyOneOfTheDerivedFiles) {
  const auto disk = std::make_shared<SimDisk>();
  const auto sim = std::make_shared<SimIo>(disk);
  Workload workload(sim, sim, seed_of_run());
  ASSERT_TRUE(workload.open().ok());
  for (int i = 0; i < 40; ++i)
    ASSERT_TRUE(workload.step().ok());
  const std::shared_ptr<SimDisk> open_disk = disk->clone();
  ASSERT_TRUE(workload.close().ok());
  ASSERT_TRUE(disk->remove_file(kSweepRoot + "/.kafka_cleanshutdown").ok());
  // The root as it was before the close.
  const std::string recovery_point = kSweepRoot + "/recovery-point-offset-checkpoint";
  const Result<std::vector<std::byte>> before = open_disk->read_file(recovery_point);
  ASSERT_TRUE(before.ok());
  ASSERT_TRUE(disk->write_file(recovery_point, *before).ok());

  const std::string partition = kSweepRoot + "/" + to_string(kSweepLog) + "/";
  int removed = 0;
  for (const std::string& path : disk->paths()) {
    const bool is_log = path.size() > 4 && path.compare(path.size() - 4, 4, ".log") == 0;
    if (path.rfind(partition, 0) != 0 || path == partition || is_log) continue;
    SCOPED_TRACE(path);
    const std::shared_ptr<SimDisk> clone = disk->clone();
    ASSERT_TRUE(clone->remove_file(path).ok());
    ++removed;

    EXPECT_EQ(lines(check_recovery(clone, workload.history())), "");
  }
  EXPECT_GT(removed, 10);
}

TEST(CrashSweepControl, FindsThatADiskWithLyingSyncsLosesWhatWasAcknowledged) {
  const auto faults = std::make_shared<FaultPlan>();
  FaultRule lie;
  lie.on = FaultPoint::kFsync;
  lie.file = "*.log";
  lie.times = -1;
  lie.lie = true;
  ASSERT_TRUE(faults->add(lie).ok());
  Sweep sweep(seed_of_run(), 20, {PowerCut::kNoneKept}, MetadataMode::kStrict);

  const SweepResult result = sweep.run(faults);

  EXPECT_GT(faults->hits(), 0);
  EXPECT_GT(result.violated, 0U) << "the checks do not notice lost acknowledged batches";
}

}  // namespace
}  // namespace oncelog::test
