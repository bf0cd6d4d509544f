// `dump` against directories that Apache Kafka's own storage code wrote, and what it says is in
// them.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/tools/run_program.h"
#include "tools/io_files.h"
#include "tools/json.h"
#include "tools/script/expect.h"

namespace oncelog::tools {
namespace {

namespace fs = std::filesystem;

fs::path cases_directory() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): tests have one thread here
  const char* shared = std::getenv("ONCELOG_SHARED_DIR");
  return fs::path(shared != nullptr ? shared : ONCELOG_SOURCE_DIR "/../shared") / "golden/cases";
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(cases_directory(), missing))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  if (names.empty()) names.emplace_back("none");
  return names;
}

/// After a reload Kafka knows each producer's last batch only, with the time of a later marker as
/// its own; a replay knows more.
Json with_last_batch_only(const Json& producers) {
  Json::Array out;
  for (Json producer : producers.items()) {
    const Json::Array batches = producer["batches"].items();
    Json last = batches.empty() ? Json() : batches.back();
    last.erase("timestamp");
    producer.set("firstSeq", batches.empty() ? Json(-1) : last["firstSeq"]);
    producer.set("batches", last);
    out.push_back(std::move(producer));
  }
  return out;
}

/// Kafka writes a snapshot's producers in the order of a hash table.
Json with_sorted_producers(const Json& snapshots) {
  Json::Array out;
  for (const Json& snapshot : snapshots.items()) {
    Json::Array entries = snapshot["entriesInFileOrder"].items();
    std::sort(entries.begin(), entries.end(), [](const Json& a, const Json& b) {
      return a["producerId"].as_integer() < b["producerId"].as_integer();
    });
    Json sorted = snapshot;
    sorted.set("entriesInFileOrder", std::move(entries));
    out.push_back(std::move(sorted));
  }
  return out;
}

class DumpGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(DumpGolden, AgreesWithKafkaInEveryField) {
  const fs::path directory = cases_directory() / GetParam();
  if (!fs::exists(directory)) GTEST_SKIP() << "the golden data is not there";
  const auto text = read_text_file((directory / "expect.json").string());
  ASSERT_TRUE(text.ok());
  const auto expected = parse_json(*text);
  ASSERT_TRUE(expected.ok());

  const ProgramRun run =
      run_program("dump --json --records " +
                  (directory / std::string((*expected)["dir"].as_string())).string());

  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const auto document = parse_json(run.out);
  ASSERT_TRUE(document.ok());
  for (const char* field :
       {"logStartOffset", "logEndOffset", "highWatermark", "lastStableOffset",
        "firstUnstableOffset", "recoveryPoint", "segments", "batches", "records", "offsetIndex",
        "timeIndex", "txnIndex", "snapshots", "leaderEpochs", "abortedTxns", "activeProducers",
        "producerMapEndOffset"}) {
    Json wanted = (*expected)[field];
    Json got = (*document)[field];
    if (std::string(field) == "snapshots") {
      wanted = with_sorted_producers(wanted);
      got = with_sorted_producers(got);
    }
    if (std::string(field) == "activeProducers") {
      wanted = with_last_batch_only(wanted);
      got = with_last_batch_only(got);
    }
    const auto mismatch = script::compare(wanted, got);
    EXPECT_FALSE(mismatch.has_value())
        << field << mismatch->where << ": wanted " << to_text(mismatch->wanted) << ", got "
        << to_text(mismatch->got);
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, DumpGolden, ::testing::ValuesIn(case_names()), test_name);

}  // namespace
}  // namespace oncelog::tools
