// Verification: golden logs have no error, any flipped bit of a log file that something on the disk
// contradicts is found, and each kind of wrong derived file is named.
#include "recovery/verify.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "storage/base/endian.h"
#include "storage/file_names.h"
#include "tests/recovery/recovery_support.h"

namespace oncelog::test {
namespace {

std::string all(const VerifyReport& report) {
  std::string out;
  for (const VerifyFinding& finding : report.findings)
    out += std::string(to_string(finding.severity)) + ' ' + to_string(finding) + '\n';
  return out;
}

std::set<std::string> files_with_errors(const VerifyReport& report) {
  std::set<std::string> out;
  for (const VerifyFinding& finding : report.findings) {
    if (finding.severity == Severity::kError) out.insert(finding.file);
  }
  return out;
}

Result<VerifyReport> verify_copy(const GoldenCopy& copy, bool deep = false) {
  VerifyOptions options;
  options.deep = deep;
  return verify_partition(real_files(), copy.directory, copy.root, options);
}

TEST(Verify, FindsNothingWrongWithLogsThatKafkaClosed) {
  const auto cases = golden_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  for (const GoldenCase& golden : cases) {
    for (const bool deep : {false, true}) {
      const GoldenCopy copy(golden);

      const auto report = verify_copy(copy, deep);

      ASSERT_TRUE(report.ok()) << golden.name << ": " << to_string(report.error());
      EXPECT_FALSE(report->has_errors()) << golden.name << '\n' << all(*report);
      EXPECT_EQ(report->batches, static_cast<std::int64_t>(golden.expect.at("batches").size()));
      EXPECT_EQ(report->log_end, golden.expect.at("logEndOffset")) << golden.name;
    }
  }
}

/// Golden crash cases with errors, and the files that are named; the others have none.
const std::map<std::string, std::set<std::string>>& cases_with_errors() {
  static const std::map<std::string, std::set<std::string>> table{
      {"clean-corrupt-index", {"00000000000000000014.index"}},
      {"corrupt-index-size", {"00000000000000000014.index"}},
      {"corrupt-snapshot", {"00000000000000000055.snapshot"}},
      {"corrupt-timeindex", {"00000000000000000014.timeindex"}},
      {"corrupt-txnindex", {"00000000000000000014.txnindex"}},
      {"corrupt-txnindex-size", {"00000000000000000000.txnindex"}},
      {"corrupt-txnindex-undetected", {"00000000000000000000.txnindex"}},
      {"crc-active", {"00000000000000000055.log"}},
      {"crc-old-below-recovery-point", {"00000000000000000014.log"}},
      {"empty-active", {"00000000000000000055.log"}},
      {"epoch-corrupt", {"leader-epoch-checkpoint"}},
      {"missing-index", {"00000000000000000014.index"}},
      {"missing-timeindex", {"00000000000000000014.timeindex"}},
      {"torn-tail", {"00000000000000000055.log"}},
  };
  return table;
}

TEST(Verify, NamesTheFileOfEachDamagedGoldenCase) {
  const auto cases = golden_recovery_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  for (const GoldenCase& golden : cases) {
    const GoldenCopy copy(golden);
    const FileMap before = read_files(copy.directory);

    const auto report = verify_copy(copy);

    ASSERT_TRUE(report.ok()) << golden.name << ": " << to_string(report.error());
    const auto known = cases_with_errors().find(golden.name);
    EXPECT_EQ(files_with_errors(*report),
              known == cases_with_errors().end() ? std::set<std::string>() : known->second)
        << golden.name << '\n'
        << all(*report);
    EXPECT_EQ(read_files(copy.directory), before) << golden.name;
  }
}

/// True when a flip changed only what no other byte on the disk contradicts: a base offset that
/// moved within a gap, or a leader epoch below the history file's first entry.
bool is_uncontradicted(const GoldenCase& golden, Offset base, std::int64_t position, int bit) {
  std::vector<nlohmann::json> here;
  for (const auto& batch : golden.expect.at("batches")) {
    if (batch.at("segment") == base) here.push_back(batch);
  }
  for (std::size_t i = 0; i < here.size(); ++i) {
    const std::int64_t begin = here[i].at("position");
    if (position < begin || position >= begin + here[i].at("sizeInBytes").get<int>()) continue;
    const std::int64_t field = position - begin;
    const Offset offset = here[i].at("baseOffset");
    if (field >= 12 && field < 16) {
      const auto& epochs = golden.expect.at("leaderEpochs");
      return epochs.empty() || offset < epochs.front().at("startOffset").get<Offset>();
    }
    if (field >= 8) return false;
    const Offset moved = offset ^ static_cast<Offset>(std::uint64_t{1} << ((7 - field) * 8 + bit));
    const Offset before = i == 0 ? base - 1 : here[i - 1].at("lastOffset").get<Offset>();
    Offset later = -1;
    for (const auto& batch : golden.expect.at("batches")) {
      const Offset other = batch.at("baseOffset");
      if (other > offset && (later < 0 || other < later)) later = other;
    }
    const Offset delta = here[i].at("lastOffsetDelta").get<Offset>();
    return later >= 0 && before < moved && moved + delta < later;
  }
  return false;
}

TEST(Verify, FindsAnyFlippedBitThatSomethingContradicts) {
  auto cases = golden_cases();
  std::erase_if(cases, [](const GoldenCase& golden) { return golden.name == "legacy-magic"; });
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  const char* const given = std::getenv("ONCELOG_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::cout << "ONCELOG_SEED=" << seed << '\n';
  std::mt19937_64 random(seed);
  int uncontradicted = 0;
  for (const GoldenCase& golden : cases) {
    const GoldenCopy copy(golden);
    const FileMap files = read_files(copy.directory);
    for (const auto& [name, content] : files) {
      if (!name.ends_with(".log") || content.empty()) continue;
      const std::string path = copy.directory + "/" + name;
      const auto file = *real_files().open(path, OpenMode::kReadWrite);
      for (int n = 0; n < 12; ++n) {
        // Half of the flips hit a header: there are the bytes that no CRC covers.
        std::size_t position = random() % content.size();
        if (n % 2 == 0) {
          const auto& batches = golden.expect.at("batches");
          const auto& batch = batches[random() % batches.size()];
          if (batch.at("segment") != parse_file_name(name)->base_offset) continue;
          position = batch.at("position").get<std::size_t>() + random() % 17;
        }
        const int bit = static_cast<int>(random() % 8);
        const std::byte flipped = content[position] ^ static_cast<std::byte>(1 << bit);
        ASSERT_TRUE(file->write_at(static_cast<std::int64_t>(position), {&flipped, 1}).ok());

        const auto report = verify_copy(copy);

        const std::string where = golden.name + ' ' + name + " byte " + std::to_string(position) +
                                  " bit " + std::to_string(bit);
        ASSERT_TRUE(report.ok()) << where << to_string(report.error());
        if (report->has_errors()) {
          EXPECT_NE(all(*report).find(name), std::string::npos) << where << '\n' << all(*report);
        } else {
          ++uncontradicted;
          EXPECT_TRUE(is_uncontradicted(golden, parse_file_name(name)->base_offset,
                                        static_cast<std::int64_t>(position), bit))
              << where << '\n'
              << all(*report);
        }
        ASSERT_TRUE(
            file->write_at(static_cast<std::int64_t>(position), {&content[position], 1}).ok());
      }
    }
  }
  std::cout << uncontradicted << " flips that nothing contradicts\n";
}

}  // namespace
}  // namespace oncelog::test
