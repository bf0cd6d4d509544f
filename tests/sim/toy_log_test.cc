// The model finds seeded mistakes and accuses a right log of none: a test of the simulator itself.
//
// ONCELOG_SEED=N runs one episode of each test, with that seed.
#include "tests/sim/toy_log.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "oncelog/fault_io.h"
#include "oncelog/sim.h"

#include "storage/sim/random.h"

namespace oncelog {
namespace {

constexpr int kLives = 6;
constexpr std::uint64_t kEpisodes = 300;

/// What the harness knows: everything given to the log, and how much of it was promised.
struct Oracle {
  std::vector<std::string> given;  // by offset
  std::size_t promised = 0;        // acknowledged or shown
  std::int64_t snapshot_given = 0;
  std::int64_t snapshot_promised = 0;
};

/// What is wrong with a recovered log, or nothing. What it shows is promised from now on.
std::optional<std::string> verdict(const ToyLog& log, Oracle& oracle) {
  if (log.records().size() < oracle.promised) {
    return "lost: " + std::to_string(oracle.promised) + " promised, " +
           std::to_string(log.records().size()) + " there";
  }
  if (log.records().size() > oracle.given.size()) return "more records than were ever given";
  for (std::size_t offset = 0; offset < log.records().size(); ++offset) {
    if (log.records()[offset] != oracle.given[offset])
      return "wrong content at " + std::to_string(offset);
  }
  if (log.snapshot() < oracle.snapshot_promised) return "snapshot lost or broken";
  if (log.snapshot() > oracle.snapshot_given) return "a snapshot that was never given";
  oracle.given.resize(log.records().size());
  oracle.promised = log.records().size();
  oracle.snapshot_promised = log.snapshot();
  return std::nullopt;
}

class Episode {
 public:
  Episode(std::uint64_t seed, MetadataMode metadata, Mistake mistake)
      : random_(seed), mistake_(mistake), disk_(std::make_shared<SimDisk>(metadata)) {
    EXPECT_TRUE(disk_->write_file("log/exists", {}).ok());
  }

  /// Several processes, each ended by a crash; the last one only recovers.
  std::optional<std::string> run() {
    for (life_ = 0; life_ < kLives; ++life_) {
      auto wrong = live(life_ + 1 < kLives);
      if (wrong) return "life " + std::to_string(life_) + ": " + *wrong;
      crash();
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string> live(bool disturbed) {
    SimOptions options;
    options.seed = random_.next();
    const auto sim = std::make_shared<SimIo>(disk_, options);
    const auto plan = std::make_shared<FaultPlan>();
    if (disturbed) sim->crash_at(random_.below(120));
    if (disturbed && random_.percent(30)) {
      FaultRule rule;
      rule.on = FaultPoint::kFsync;
      rule.nth = static_cast<std::int64_t>(random_.below(6)) + 1;
      EXPECT_TRUE(plan->add(rule).ok());
    }
    FaultIo io(sim, plan);
    ToyLog log(io, mistake_);
    if (!log.open().ok()) return std::nullopt;  // crashed on the way
    if (auto wrong = verdict(log, oracle_)) return wrong;
    if (disturbed) work(log);
    return std::nullopt;
  }

  void work(ToyLog& log) {
    for (int round = 0; round < 12; ++round) {
      std::vector<std::string> group;
      for (std::uint64_t i = random_.below(4) + 1; i > 0; --i)
        group.push_back(payload());
      oracle_.given.insert(oracle_.given.end(), group.begin(), group.end());
      if (!log.append(group).ok()) return;
      oracle_.promised = oracle_.given.size();
      if (!random_.percent(20)) continue;
      oracle_.snapshot_given += static_cast<std::int64_t>(random_.below(1000)) + 1;
      if (!log.save_snapshot(oracle_.snapshot_given).ok()) return;
      oracle_.snapshot_promised = oracle_.snapshot_given;
    }
  }

  /// Never the same twice, so that old bytes cannot pass for new ones.
  std::string payload() {
    std::string text;
    const std::uint64_t size = random_.percent(70) ? random_.below(300) : random_.below(6000);
    while (text.size() < size)
      text += std::to_string(random_.next()) + ";";
    return text;
  }

  void crash() {
    if (random_.percent(25)) {
      disk_->kill(random_.next());
    } else {
      disk_->power_cut(static_cast<PowerCut>(random_.below(5)), random_.next());
    }
  }

  sim::Random random_;
  Mistake mistake_;
  std::shared_ptr<SimDisk> disk_;
  Oracle oracle_;
  int life_ = 0;
};

/// The episodes of that many that found something wrong; prints the first.
std::size_t accusations(MetadataMode metadata, Mistake mistake) {
  const char* given = std::getenv("ONCELOG_SEED");  // NOLINT(concurrency-mt-unsafe)
  const std::uint64_t first = given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
  const std::uint64_t end = given == nullptr ? first + kEpisodes : first + 1;
  std::size_t count = 0;
  for (std::uint64_t seed = first; seed < end; ++seed) {
    const auto wrong = Episode(seed, metadata, mistake).run();
    if (wrong && count++ == 0) std::cout << "ONCELOG_SEED=" << seed << ": " << *wrong << '\n';
  }
  return count;
}

TEST(ToyLog, ARightLogIsNeverAccused) {
  EXPECT_EQ(accusations(MetadataMode::kStrict, Mistake::kNone), 0U);
  EXPECT_EQ(accusations(MetadataMode::kJournalled, Mistake::kNone), 0U);
}

TEST(ToyLog, AcknowledgingBeforeSyncIsFound) {
  EXPECT_GT(accusations(MetadataMode::kStrict, Mistake::kAcknowledgeBeforeSync), 0U);
  EXPECT_GT(accusations(MetadataMode::kJournalled, Mistake::kAcknowledgeBeforeSync), 0U);
}

// A journalling file system hides this one; that is what strict mode is for.
TEST(ToyLog, AMissingDirectorySyncIsFoundInStrictMode) {
  EXPECT_GT(accusations(MetadataMode::kStrict, Mistake::kNoDirectorySync), 0U);
}

TEST(ToyLog, ARenameWithoutSyncIsFound) {
  EXPECT_GT(accusations(MetadataMode::kStrict, Mistake::kRenameWithoutSync), 0U);
  EXPECT_GT(accusations(MetadataMode::kJournalled, Mistake::kRenameWithoutSync), 0U);
}

// H077
TEST(ToyLog, ARetriedSyncIsFound) {
  EXPECT_GT(accusations(MetadataMode::kStrict, Mistake::kRetryFailedSync), 0U);
  EXPECT_GT(accusations(MetadataMode::kJournalled, Mistake::kRetryFailedSync), 0U);
}

TEST(ToyLog, AMissingChecksumIsFound) {
  EXPECT_GT(accusations(MetadataMode::kStrict, Mistake::kNoChecksum), 0U);
  EXPECT_GT(accusations(MetadataMode::kJournalled, Mistake::kNoChecksum), 0U);
}

TEST(ToyLog, ServingAnUnsyncedTailIsFound) {
  EXPECT_GT(accusations(MetadataMode::kStrict, Mistake::kServeUnsyncedTail), 0U);
  EXPECT_GT(accusations(MetadataMode::kJournalled, Mistake::kServeUnsyncedTail), 0U);
}

TEST(ToyLog, RollingBeforeSyncIsFound) {
  EXPECT_GT(accusations(MetadataMode::kStrict, Mistake::kRollBeforeSync), 0U);
  EXPECT_GT(accusations(MetadataMode::kJournalled, Mistake::kRollBeforeSync), 0U);
}

/// Crashes a copy of the disk before every operation of one run and recovers each copy.
TEST(ToyLog, SurvivesACutBeforeEachOperationOfARun) {
  const auto disk = std::make_shared<SimDisk>();
  ASSERT_TRUE(disk->write_file("log/exists", {}).ok());
  SimIo io(disk);
  Oracle oracle;
  std::size_t states = 0;
  io.on_operation([&](const SimOperation& operation) {
    for (const PowerCut mode : {PowerCut::kPrefix, PowerCut::kSubset, PowerCut::kTorn}) {
      const auto copy = disk->clone();
      copy->power_cut(mode, operation.index);
      SimIo next(copy);
      ToyLog recovered(next, Mistake::kNone);
      Oracle seen = oracle;
      ASSERT_TRUE(recovered.open().ok());
      ASSERT_EQ(verdict(recovered, seen), std::nullopt) << operation.index;
      const std::uint64_t after_one = copy->digest();
      SimIo again(copy);
      ToyLog twice(again, Mistake::kNone);
      ASSERT_TRUE(twice.open().ok());
      ASSERT_EQ(copy->digest(), after_one) << "recovery is idempotent";
      ++states;
    }
  });
  ToyLog log(io, Mistake::kNone);
  ASSERT_TRUE(log.open().ok());

  for (int round = 0; round < 20; ++round) {
    const std::vector<std::string> group{std::string(700, static_cast<char>('a' + round)), "short"};
    oracle.given.insert(oracle.given.end(), group.begin(), group.end());
    ASSERT_TRUE(log.append(group).ok());
    oracle.promised = oracle.given.size();
  }

  EXPECT_GT(states, 200U);
}

}  // namespace
}  // namespace oncelog
