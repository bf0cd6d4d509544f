// Directories that Kafka wrote, opened by us: the same state, or a difference that loses less.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/recovery/recovery_support.h"

namespace oncelog::test {
namespace {

/// A golden case that we open otherwise than Kafka.
struct Deviation {
  std::set<std::string> fields;  ///< that differ
  const char* kafka;
  const char* ours;
};

const std::map<std::string, Deviation>& deviations() {
  static const std::map<std::string, Deviation> table{
      {"corrupt-timeindex",
       {{"segments"},
        "keeps a time index that ends with a timestamp of 0: retention takes it for the segment's",
        "the index is built again, the segment's greatest timestamp is right"}},
      {"corrupt-txnindex-undetected",
       {{"txnIndex"},
        "an aborted transaction that ends at offset 0: its records become visible",
        "the entry is derived from the log again"}},
      {"crc-old-below-recovery-point",
       {{"logEndOffset", "lastStableOffset", "segments", "txnIndex", "activeProducers",
         "leaderEpochs"},
        "does not notice and serves bytes that do not check",
        "damage: refused by default; with on_damage=cut everything that goes is kept"}},
      {"epoch-missing-partial",
       {{"leaderEpochs"},
        "knows only the epochs of segments that it recovers",
        "derives all epochs from the batches"}},
      {"missing-timeindex",
       {{"segments"},
        "goes on with an empty time index: lookups by time miss the segment",
        "the index is built again"}},
  };
  return table;
}

std::set<std::string> fields_of(const std::vector<std::string>& differences) {
  std::set<std::string> out;
  for (const std::string& text : differences)
    out.insert(text.substr(0, text.find(':')));
  return out;
}

/// Cases whose durable bytes are bad or missing, with the first offset that is lost.
const std::map<std::string, Offset>& damaged_cases() {
  static const std::map<std::string, Offset> table{{"crc-active", 58},
                                                   {"crc-old-below-recovery-point", 20},
                                                   {"empty-active", 55},
                                                   {"torn-tail", 61}};
  return table;
}

TEST(GoldenRecovery, WithOnDamageCutTheStateIsKafkasOrLosesLess) {
  const auto cases = golden_recovery_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  for (const GoldenCase& golden : cases) {
    const GoldenCopy copy(golden);
    RecoverOptions options = options_of(golden);
    options.on_damage = OnDamage::kCut;

    const auto log = recover_directory(real_files(), copy.directory, copy.root, options);

    ASSERT_TRUE(log.ok()) << golden.name << ": " << to_string(log.error());
    if (!golden.expect.contains("logEndOffset")) {
      EXPECT_EQ(golden.name, "epoch-corrupt");  // Kafka refuses it: one checkpoint line is wrong
      EXPECT_EQ(log->log_end, 63);
      EXPECT_EQ(log->epochs.entries().size(), 3U);
      continue;
    }
    const std::vector<std::string> found = differences(real_files(), *log, golden.expect);
    const auto known = deviations().find(golden.name);
    EXPECT_EQ(fields_of(found),
              known == deviations().end() ? std::set<std::string>() : known->second.fields)
        << golden.name << (found.empty() ? "" : ": " + found.front());
  }
}

TEST(GoldenRecovery, ByDefaultDamageIsRefusedAndNothingIsChanged) {
  const auto cases = golden_recovery_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  for (const GoldenCase& golden : cases) {
    const GoldenCopy copy(golden);
    const FileMap before = read_files(copy.directory);

    const auto log = recover_directory(real_files(), copy.directory, copy.root, options_of(golden));

    const auto damaged = damaged_cases().find(golden.name);
    EXPECT_EQ(log.ok(), damaged == damaged_cases().end()) << golden.name;
    if (log.ok()) continue;
    EXPECT_EQ(log.error().code, ErrorCode::kDamaged) << golden.name;
    EXPECT_EQ(log.error().offset, damaged->second) << golden.name;
    EXPECT_EQ(read_files(copy.directory), before) << golden.name;
  }
}

TEST(GoldenRecovery, ACutKeepsTheRemovedBytes) {
  for (const GoldenCase& golden : golden_recovery_cases()) {
    if (golden.name != "crc-active") continue;
    const GoldenCopy copy(golden);
    const FileMap before = read_files(copy.directory);
    const std::vector<std::byte>& log_bytes = before.at("00000000000000000055.log");
    RecoverOptions options = options_of(golden);
    options.on_damage = OnDamage::kCut;
    Offset lowered_to = -1;
    auto plan = analyse(real_files(), copy.directory, copy.root, options);
    ASSERT_TRUE(plan.ok());

    const auto log = apply(real_files(), std::move(plan).value(), {[&](Offset to) {
                             lowered_to = to;
                             return Status{};
                           }});

    ASSERT_TRUE(log.ok());
    EXPECT_EQ(lowered_to, 58);
    EXPECT_EQ(log->report.truncated_bytes, 819 - 335);
    EXPECT_EQ(log->report.kept_bytes, 819 - 335);
    const FileMap after = read_files(copy.directory);
    EXPECT_EQ(after.at("00000000000000000055.log").size(), 335U);
    EXPECT_EQ(after.at("oncelog-damaged-55-335.log"),
              std::vector<std::byte>(log_bytes.begin() + 335, log_bytes.end()));
    return;
  }
  GTEST_SKIP() << kNoGoldenData;
}

TEST(GoldenRecovery, ReadOnlyServesWhatStandsBehindTheDamage) {
  for (const GoldenCase& golden : golden_recovery_cases()) {
    if (golden.name != "crc-old-below-recovery-point") continue;
    const GoldenCopy copy(golden);
    const FileMap before = read_files(copy.directory);
    RecoverOptions options = options_of(golden);
    options.on_damage = OnDamage::kReadOnly;

    const auto log = recover_directory(real_files(), copy.directory, copy.root, options);

    ASSERT_TRUE(log.ok());
    EXPECT_TRUE(log->read_only);
    EXPECT_EQ(log->log_end, 63);
    ASSERT_EQ(log->damaged.size(), 1U);
    EXPECT_EQ(log->damaged[0].first_offset, 20);
    EXPECT_EQ(log->damaged[0].last_offset, 21);
    ASSERT_NE(log->segments[1].offset_index, nullptr);
    EXPECT_EQ(log->segments[1].next_offset, 28);
    EXPECT_EQ(read_files(copy.directory), before);
    return;
  }
  GTEST_SKIP() << kNoGoldenData;
}

TEST(GoldenRecovery, OpeningAgainFindsNothingLeftToDo) {
  const auto cases = golden_recovery_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  for (const GoldenCase& golden : cases) {
    const GoldenCopy copy(golden);
    RecoverOptions options = options_of(golden);
    options.on_damage = OnDamage::kCut;
    const auto first = recover_directory(real_files(), copy.directory, copy.root, options);
    ASSERT_TRUE(first.ok()) << golden.name;
    const FileMap after = read_files(copy.directory);
    RootFacts root = copy.root;
    root.clean = false;
    root.recovery_point = std::min(root.recovery_point.value_or(0), first->log_end);

    const auto plan = analyse(real_files(), copy.directory, root, options);

    ASSERT_TRUE(plan.ok()) << golden.name;
    EXPECT_EQ(actions_of(**plan), std::vector<std::string>()) << golden.name;
    EXPECT_EQ(report_of(**plan).verdict, Verdict::kNone) << golden.name;
    const auto second = recover_directory(real_files(), copy.directory, root, options);
    ASSERT_TRUE(second.ok()) << golden.name;
    EXPECT_EQ(second->log_end, first->log_end) << golden.name;
    EXPECT_EQ(read_files(copy.directory), after) << golden.name;
  }
}

TEST(GoldenLogs, ThatWereClosedCleanlyOpenAsKafkaOpensThem) {
  const auto cases = golden_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  for (const GoldenCase& golden : cases) {
    const GoldenCopy copy(golden);

    const auto log = recover_directory(real_files(), copy.directory, copy.root, options_of(golden));

    ASSERT_TRUE(log.ok()) << golden.name << ": " << to_string(log.error());
    const std::vector<std::string> found = differences(real_files(), *log, golden.expect);
    EXPECT_TRUE(found.empty()) << golden.name << ": " << found.front();
    EXPECT_EQ(log->report.verdict, Verdict::kNone) << golden.name;
    EXPECT_TRUE(log->report.rebuilt.empty()) << golden.name << ": " << log->report.rebuilt.front();
    EXPECT_TRUE(log->report.gaps.empty()) << golden.name;
    EXPECT_EQ(log->recovery_point, log->log_end) << golden.name;
  }
}

TEST(GoldenLogs, ReadOnlyLoadingChangesNoByte) {
  auto cases = golden_cases();
  const auto damaged = golden_recovery_cases();
  cases.insert(cases.end(), damaged.begin(), damaged.end());
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  for (const GoldenCase& golden : cases) {
    const GoldenCopy copy(golden);
    const FileMap before = read_files(copy.directory);

    const auto log = load_read_only(real_files(), copy.directory, copy.root, options_of(golden));

    ASSERT_TRUE(log.ok()) << golden.name << ": " << to_string(log.error());
    EXPECT_EQ(read_files(copy.directory), before) << golden.name;
  }
}

}  // namespace
}  // namespace oncelog::test
