// Power cuts at every operation of recovery, up to three in a row: the result is that of a recovery
// that was not interrupted, and recovering again changes nothing.
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "index/producer_snapshot.h"
#include "tests/recovery/log_image.h"

namespace oncelog::test {
namespace {

struct State {
  std::string name;
  LogImage image;
  RootFacts root;
  OnDamage on_damage = OnDamage::kFail;
};

RootFacts root_at(Offset recovery_point) {
  RootFacts root;
  root.recovery_point = recovery_point;
  return root;
}

std::vector<State> states() {
  std::vector<State> out;
  LogImage base;
  base.add({.producer_id = 7, .transactional = true});
  base.add_marker(7, 0, false);
  base.roll();
  base.add({.value_bytes = 300, .producer_id = 7, .sequence = 1});
  LogImage torn = base;
  const Placed last = torn.add({.value_bytes = 300});
  torn.log(2).resize(static_cast<std::size_t>(last.end - 5));
  out.push_back({"torn tail", torn, root_at(2)});
  LogImage zeros = base;
  zeros.log(2).resize(8192);
  out.push_back({"zero tail", zeros, root_at(2)});
  LogImage holed = base;
  const Placed hole = holed.add({.value_bytes = 200});
  holed.add();
  holed.roll();
  holed.add();
  holed.roll();
  holed.add();
  holed.log(2)[static_cast<std::size_t>(hole.end - 1)] ^= std::byte{1};
  out.push_back({"holed tail over segments", holed, root_at(2)});
  out.push_back({"damage that is cut", holed, root_at(6), OnDamage::kCut});
  LogImage known = base;
  known.checkpoint(4096);
  known.log(2)[70] ^= std::byte{1};
  known.log(2)[20] ^= std::byte{1};
  out.push_back({"damage that the sidecar knows", known, root_at(3), OnDamage::kCut});
  LogImage swap = base;
  LogImage compacted;
  compacted.skip_to(1);
  compacted.add_marker(7, 0, false);
  swap.file(log_name(0) + ".swap") = compacted.log(0);
  swap.file(file_name(FileKind::kOffsetIndex, 0) + ".swap");
  swap.file(file_name(FileKind::kTxnIndex, 0)).resize(33);
  swap.file(log_name(9) + ".deleted").resize(10);
  out.push_back({"unfinished replacement", swap, root_at(0)});
  LogImage start = base;
  RootFacts above = root_at(0);
  above.log_start = 100;
  out.push_back({"log start above the end", start, above});
  return out;
}

/// What must not depend on interruptions.
using Outcome = std::tuple<Offset, Offset, Offset, std::size_t, std::int64_t, std::string>;

Outcome outcome_of(const LoadedLog& log) {
  std::string producers;
  for (const auto& [id, entry] : list_producers(log.producers)) {
    producers += std::to_string(id) + ':' + std::to_string(entry.last_sequence()) + ':' +
                 std::to_string(entry.txn_first_offset) + ' ';
  }
  return {log.log_start,
          log.log_end,
          log.last_stable_floor,
          log.segments.size(),
          log.segments.back().facts.size,
          producers};
}

Result<LoadedLog> recover(SimIo& io, RootFacts& root, OnDamage on_damage) {
  RecoverOptions options = small_options();
  options.on_damage = on_damage;
  ONCELOG_TRY_ASSIGN(RecoveryPlanPtr plan,
                     analyse(io.files(), LogImage::kDirectory, root, options));
  return apply(io.files(), std::move(plan), {[&root](Offset to) {
                 root.recovery_point = to;
                 return Status{};
               }});
}

/// Recovers with a power cut before operation `index` of each of the first `depth` lives.
std::shared_ptr<SimDisk> interrupted(const State& state, RootFacts& root, std::uint64_t index,
                                     PowerCut cut, int depth) {
  std::shared_ptr<SimDisk> disk = state.image.disk();
  for (int life = 0; life < depth; ++life) {
    SimIo io(disk);
    io.crash_at(index / static_cast<std::uint64_t>(life + 1));
    static_cast<void>(recover(io, root, state.on_damage));
    disk->power_cut(cut, index * 31 + static_cast<std::uint64_t>(life));
  }
  return disk;
}

TEST(CrashInRecovery, AtEveryOperationGivesTheSameLog) {
  for (const State& state : states()) {
    RootFacts root = state.root;
    SimIo whole(state.image.disk());
    const auto expected = recover(whole, root, state.on_damage);
    ASSERT_TRUE(expected.ok()) << state.name << ": " << to_string(expected.error());
    EXPECT_EQ(whole.disk().unsynced_changes(), 0U) << state.name;
    const std::uint64_t operations = whole.operation_count();
    for (std::uint64_t index = 0; index <= operations; ++index) {
      for (const PowerCut cut :
           {PowerCut::kNoneKept, PowerCut::kAllKept, PowerCut::kSubset, PowerCut::kTorn}) {
        for (const int depth : {1, 3}) {
          RootFacts lowered = state.root;
          const std::shared_ptr<SimDisk> disk = interrupted(state, lowered, index, cut, depth);
          SimIo io(disk);

          const auto log = recover(io, lowered, state.on_damage);

          const std::string where = state.name + ", operation " + std::to_string(index) + ", " +
                                    std::string(to_string(cut)) + ", depth " +
                                    std::to_string(depth);
          ASSERT_TRUE(log.ok()) << where << ": " << to_string(log.error());
          ASSERT_EQ(outcome_of(*log), outcome_of(*expected)) << where;
        }
      }
    }
  }
}

TEST(CrashInRecovery, RecoveringAgainChangesNoByte) {
  for (const State& state : states()) {
    RootFacts root = state.root;
    const std::shared_ptr<SimDisk> disk = state.image.disk();
    SimIo first(disk);
    ASSERT_TRUE(recover(first, root, state.on_damage).ok()) << state.name;
    const std::uint64_t before = disk->digest();
    SimIo second(disk);

    const auto log = recover(second, root, state.on_damage);

    ASSERT_TRUE(log.ok()) << state.name;
    EXPECT_EQ(disk->digest(), before) << state.name;
    EXPECT_EQ(log->report.verdict, Verdict::kNone) << state.name;
  }
}

TEST(CrashInRecovery, KeptBytesAreThereWhateverIsInterrupted) {
  const std::vector<State> all = states();
  const State& state = all[2];  // a holed tail over three segments
  SimIo whole(state.image.disk());
  RootFacts root = state.root;
  const auto expected = recover(whole, root, state.on_damage);
  ASSERT_TRUE(expected.ok());
  ASSERT_GT(expected->report.kept_bytes, 0);
  for (std::uint64_t index = 0; index <= whole.operation_count(); ++index) {
    RootFacts lowered = state.root;
    const auto disk = interrupted(state, lowered, index, PowerCut::kSubset, 1);
    SimIo io(disk);
    ASSERT_TRUE(recover(io, lowered, state.on_damage).ok()) << index;
    std::int64_t kept = 0;
    for (const std::string& path : disk->paths()) {
      if (path.find("oncelog-damaged-") == std::string::npos) continue;
      kept += static_cast<std::int64_t>(disk->read_file(path)->size());
    }
    EXPECT_GE(kept, expected->report.kept_bytes) << index;
  }
}

}  // namespace
}  // namespace oncelog::test
