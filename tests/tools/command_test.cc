// The program as its users meet it: exit codes, one-line errors, JSON summaries.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "tests/tools/run_program.h"
#include "tools/io_files.h"
#include "tools/json.h"

namespace oncelog::tools {
namespace {

namespace fs = std::filesystem;

/// One line that begins with the program's name.
bool is_one_error_line(const std::string& text) {
  return text.starts_with("oncelog: ") && std::count(text.begin(), text.end(), '\n') == 1;
}

Json last_line(const std::string& out) {
  const std::string text = out.substr(0, out.find_last_not_of('\n') + 1);
  const auto parsed = parse_json(std::string_view(text).substr(text.rfind('\n') + 1));
  EXPECT_TRUE(parsed.ok()) << out;
  return parsed.ok() ? *parsed : Json();
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

class Commands : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return root_.path() + "/" + name; }
  /// A data directory with 30 records in demo-0, 20 of them in an aborted transaction.
  std::string make_partition() const {
    EXPECT_EQ(run_program("produce " + at("demo-0") + " --batch-records 5 <" + lines(10)).exit_code,
              0);
    EXPECT_EQ(run_program("produce " + at("demo-0") +
                          " --transaction --abort --producer-id 7 --batch-records 5 <" + lines(20))
                  .exit_code,
              0);
    return at("demo-0");
  }
  std::string lines(int count) const {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += "k" + std::to_string(i) + ":line " + std::to_string(i) + "\n";
    write_file(at("lines.txt"), text);
    return at("lines.txt");
  }
  std::string first_log() const { return at("demo-0/00000000000000000000.log"); }
  void flip(const std::string& path, std::streamoff position) const {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(position);
    const int byte = file.get();
    file.seekp(position);
    file.put(static_cast<char>(byte ^ 1));
  }

  TemporaryDirectory root_ = TemporaryDirectory::make("oncelog-commands").value();
};

TEST_F(Commands, AnswerHelpAndVersion) {
  EXPECT_EQ(run_program("--version").out.substr(0, 8), "oncelog ");
  EXPECT_EQ(run_program("--help").exit_code, 0);
  for (const std::string command :
       {"verify", "dump", "state", "recover", "produce", "consume", "script", "demo"}) {
    const ProgramRun run = run_program(command + " --help");

    EXPECT_EQ(run.exit_code, 0) << command;
    EXPECT_NE(run.out.find("Example: "), std::string::npos) << command;
  }
}

TEST_F(Commands, RefuseWrongUsageWithOneLine) {
  for (const std::string arguments :
       {"", "fly", "verify", "dump", "dump a b", "verify --nothing x", "dump x --from -5",
        "dump x --from a", "recover x --on-damage maybe", "script", "demo --seconds 0",
        "produce x-0 --codec rar", "script x --sim 1 --dir y"}) {
    const ProgramRun run = run_program(arguments);

    EXPECT_EQ(run.exit_code, 2) << arguments;
    EXPECT_TRUE(is_one_error_line(run.errors)) << arguments << ": " << run.errors;
  }
}

TEST_F(Commands, NameThePathThatCannotBeRead) {
  write_file(at("file"), "x");
  write_file(at("empty"), "");
  fs::create_directory(at("nothing"));
  for (const std::string command : {"verify ", "dump ", "state ", "recover ", "consume "}) {
    for (const std::string& path : {at("missing"), at("file"), at("empty"), at("nothing")}) {
      const ProgramRun run = run_program(command + path);

      EXPECT_EQ(run.exit_code, 2) << command << path;
      EXPECT_TRUE(is_one_error_line(run.errors)) << run.errors;
      EXPECT_NE(run.errors.find(path), std::string::npos) << run.errors;
    }
  }
}

TEST_F(Commands, NameADirectoryThatIsCalledLikeASegment) {
  fs::create_directories(at("t-0/00000000000000000000.log"));

  const ProgramRun verify = run_program("verify " + at("t-0"));

  // A directory of that name is foreign: the partition has no segment, and that is no damage.
  EXPECT_EQ(verify.exit_code, 0) << verify.errors;
}

TEST_F(Commands, CallGarbageInASegmentATornTail) {
  fs::create_directory(at("t-0"));
  write_file(at("t-0/00000000000000000000.log"), std::string(1000, 'x'));

  const ProgramRun run = run_program("verify " + at("t-0"));

  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_NE(run.out.find("00000000000000000000.log at byte 0"), std::string::npos) << run.out;
}

TEST_F(Commands, VerifyFindsNothingInWhatProduceWrote) {
  const std::string partition = make_partition();

  const ProgramRun one = run_program("verify --deep --json " + partition);
  const ProgramRun all = run_program("verify --json " + root_.path());

  EXPECT_EQ(one.exit_code, 0) << one.errors;
  EXPECT_EQ(last_line(one.out)["partitions"].items().size(), 1U);
  EXPECT_EQ(last_line(one.out)["records"].as_integer(), 31);
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_TRUE(last_line(all.out)["ok"].as_bool());
}

TEST_F(Commands, VerifyNamesTheFileAndThePlaceOfDamage) {
  const std::string partition = make_partition();
  flip(first_log(), 100);

  const ProgramRun text = run_program("verify " + partition);
  const ProgramRun json = run_program("verify --json " + partition);

  EXPECT_EQ(text.exit_code, 1);
  EXPECT_NE(text.errors.find("00000000000000000000.log at byte 0"), std::string::npos)
      << text.errors;
  EXPECT_EQ(json.exit_code, 1);
  const Json summary = last_line(json.out);
  EXPECT_FALSE(summary["ok"].as_bool(true));
  EXPECT_GE(summary["errors"].as_integer(), 1);
}

TEST_F(Commands, DumpPrintsWhatIsReadableOfADamagedLog) {
  const std::string partition = make_partition();
  const auto size = static_cast<std::streamoff>(fs::file_size(first_log()));
  flip(first_log(), size - 90);

  const ProgramRun run = run_program("dump --json --records " + partition);

  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("00000000000000000000.log"), std::string::npos) << run.errors;
  const Json document = last_line(run.out);
  EXPECT_GE(document["batches"].items().size(), 4U);
  EXPECT_FALSE(document["findings"].items().empty());
}

TEST_F(Commands, DumpFiltersByProducerAndOffset) {
  const std::string partition = make_partition();

  const Json producer = last_line(run_program("dump --json --producer-id 7 " + partition).out);
  const Json range =
      last_line(run_program("dump --json --records --from 7 --to 12 " + partition).out);

  EXPECT_EQ(producer["batches"].items().size(), 5U);
  ASSERT_EQ(range["records"].items().size(), 5U);
  EXPECT_EQ(range["records"].items()[0]["offset"].as_integer(), 7);
}

TEST_F(Commands, DumpStreamsJsonLinesThatEndInASummary) {
  const ProgramRun run = run_program("dump --jsonl --records " + make_partition());

  const Json summary = last_line(run.out);
  EXPECT_EQ(summary["kind"].as_string(), "summary");
  EXPECT_EQ(summary["logEndOffset"].as_integer(), 31);
  // Records, batches, time index entries; one each of aborted index entry, snapshot, aborted
  // transaction, producer, summary.
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 31 + 7 + 2 + 5);
}

TEST_F(Commands, ConsumeShowsWhatProduceTook) {
  const std::string partition = make_partition();

  const ProgramRun all = run_program("consume " + partition);
  const ProgramRun committed = run_program("consume --read-committed " + partition);
  const ProgramRun part = run_program("consume --from 3 --max 2 --offsets --keys " + partition);

  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 30);
  EXPECT_EQ(std::count(committed.out.begin(), committed.out.end(), '\n'), 10);
  EXPECT_EQ(part.out, "3\tnull\tk3:line 3\n4\tnull\tk4:line 4\n");
  EXPECT_EQ(run_program("consume --from 99 " + partition).exit_code, 2);
}

TEST_F(Commands, ProduceSplitsKeysAndCompresses) {
  EXPECT_EQ(
      run_program("produce " + at("c-0") + " --key-separator : --codec zstd --json <" + lines(3))
          .exit_code,
      0);

  EXPECT_EQ(run_program("consume --keys " + at("c-0")).out, "k0\tline 0\nk1\tline 1\nk2\tline 2\n");
}

TEST_F(Commands, StateGoesBackToAnEarlierOffset) {
  const std::string partition = make_partition();

  const Json now = last_line(run_program("state --json " + partition).out);
  const Json before = last_line(run_program("state --json --at 20 " + partition).out);

  EXPECT_EQ(now["lastStableOffset"].as_integer(), 31);
  EXPECT_EQ(now["abortedTransactions"].items().size(), 1U);
  EXPECT_EQ(before["logEndOffset"].as_integer(), 20);
  EXPECT_EQ(before["lastStableOffset"].as_integer(), 10);
  ASSERT_EQ(before["openTransactions"].items().size(), 1U);
  EXPECT_EQ(before["openTransactions"].items()[0]["producerId"].as_integer(), 7);
  EXPECT_EQ(before["producers"].items()[0]["lastSeq"].as_integer(), 9);
  EXPECT_TRUE(before["abortedTransactions"].items().empty());
  EXPECT_EQ(run_program("state --at 99 " + partition).exit_code, 2);
}

TEST_F(Commands, RecoverCutsDamageOnlyWhenTold) {
  const std::string partition = make_partition();
  const auto size = static_cast<std::streamoff>(fs::file_size(first_log()));
  flip(first_log(), size - 90);
  // Without them opening reads every batch above the last snapshot, and finds it.
  fs::remove(at(".kafka_cleanshutdown"));
  fs::remove(at("demo-0/oncelog.sidecar"));

  const ProgramRun refused = run_program("recover --json " + partition);
  const ProgramRun cut = run_program("recover --json --on-damage cut " + partition);
  const ProgramRun verified = run_program("verify " + partition);

  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.errors.find("00000000000000000000.log"), std::string::npos) << refused.errors;
  EXPECT_EQ(cut.exit_code, 0) << cut.errors;
  const Json report = last_line(cut.out)["logs"].items()[0]["report"];
  EXPECT_EQ(report["verdict"].as_string(), "damage");
  EXPECT_GT(report["keptBytes"].as_integer(), 0);
  EXPECT_EQ(verified.exit_code, 0) << verified.errors;
}

TEST_F(Commands, ScriptsTellWhyTheyCannotRun) {
  write_file(at("bad.jsonl"), "{\"op\":\"open\"}\n{\"op\":\"fly\"}\n");
  write_file(at("cut.jsonl"), "{\"op\":\"power_cut\",\"mode\":\"torn\"}\n");
  write_file(at("wrong.jsonl"), "{\"op\":\"open\",\"expect\":{\"logEndOffset\":7}}\n");

  const ProgramRun bad = run_program("script " + at("bad.jsonl"));
  const ProgramRun cut = run_program("script " + at("cut.jsonl"));
  const ProgramRun wrong = run_program("script " + at("wrong.jsonl"));

  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_EQ(bad.out, "");
  EXPECT_NE(bad.errors.find("line 2"), std::string::npos);
  EXPECT_EQ(cut.exit_code, 2);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_EQ(wrong.errors, "line 1: logEndOffset: wanted 7, got 0\n");
  EXPECT_EQ(run_program("script " + at("missing.jsonl")).exit_code, 2);
}

TEST_F(Commands, ScriptsOnADirectoryLeaveItBehind) {
  write_file(at("s.jsonl"), "{\"op\":\"open\"}\n{\"op\":\"append\",\"count\":3}\n");

  EXPECT_EQ(run_program("script --dir " + at("data") + " " + at("s.jsonl")).exit_code, 0);

  const ProgramRun consumed = run_program("consume " + at("data/t-0"));
  EXPECT_EQ(consumed.out, "v0\nv1\nv2\n");
}

TEST_F(Commands, DemoKeepsItsPromises) {
  const ProgramRun run = run_program("demo --seconds 1 --json");

  EXPECT_EQ(run.exit_code, 0) << run.errors;
  const Json report = last_line(run.out);
  EXPECT_GT(report["acknowledgedRecords"].as_integer(), 0);
  EXPECT_EQ(report["acknowledgedRecords"].as_integer(), report["foundRecords"].as_integer());
  EXPECT_TRUE(report["broken"].items().empty());
}

}  // namespace
}  // namespace oncelog::tools
