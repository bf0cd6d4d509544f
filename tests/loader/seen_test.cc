// Weaknesses of Kafka's loader that the golden cases do not hold, as SEEN.md describes them.
//
// Each test damages the golden case "txn-open": segments 0, 11 and 16, log end 20, last stable
// offset 2, transactions open from 2 and from 16.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/support/kafka_loader.h"

namespace oncelog::test {
namespace {

class SeenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<GoldenCase> cases = golden_cases();
    const auto found = std::find_if(cases.begin(), cases.end(),
                                    [](const GoldenCase& c) { return c.name == "txn-open"; });
    if (found == cases.end()) GTEST_SKIP() << kNoGoldenData;
    image_ = found->image();
    config_.segment_index_bytes = 4096;
    config_.now_ms = found->expect.at("nowMs").get<std::int64_t>();
  }

  void remove_clean_marker() { image_.root_files.erase(".kafka_cleanshutdown"); }
  void set_checkpoint(const std::string& file, Offset offset) {
    image_.root_files[file] = bytes_of("0\n1\ntopic 0 " + std::to_string(offset) + "\n");
  }
  void set_recovery_point(Offset offset) {
    set_checkpoint("recovery-point-offset-checkpoint", offset);
  }
  std::vector<std::byte>& file(Offset base, const std::string& suffix) {
    return image_.files[kafka::file_name(base, suffix)];
  }
  void remove_snapshots() {
    for (auto it = image_.files.begin(); it != image_.files.end();) {
      it = kafka::ends_with(it->first, ".snapshot") ? image_.files.erase(it) : std::next(it);
    }
  }
  kafka::Loaded load() const { return kafka::load(image_, config_); }

  DirectoryImage image_;
  kafka::LoaderConfig config_;
};

TEST_F(SeenTest, ALastIndexEntryBehindATornEndMakesTheLogEndFallBackToTheBase) {  // SEEN 18
  file(16, ".log").resize(file(16, ".log").size() - 17);
  kafka::put(file(16, ".index"), 3, 4);
  kafka::put(file(16, ".index"), 100000, 4);

  EXPECT_EQ(load().log_end, 16);
}

TEST_F(SeenTest, CleanWithoutSnapshotsMeansNoProducersAndNoOpenTransaction) {  // SEEN 19
  remove_snapshots();

  const kafka::Loaded loaded = load();

  EXPECT_TRUE(loaded.producers.empty());
  EXPECT_EQ(loaded.last_stable_offset, 20);
}

TEST_F(SeenTest, AMissingTxnIndexBelowTheRecoveryPointIsNotNoticed) {  // SEEN 20
  remove_clean_marker();
  image_.files.erase(kafka::file_name(0, ".txnindex"));

  EXPECT_EQ(load().aborted.size(), 1U);

  set_recovery_point(0);
  EXPECT_EQ(load().aborted.size(), 2U);
}

TEST_F(SeenTest, NamesThatDoNotBeginWithADigitAreLeftAlone) {  // SEEN 28
  image_.files["oncelog.sidecar"] = bytes_of("x");
  image_.files["oncelog-damaged-00000000000000000000-7.log"] = bytes_of("y");

  const kafka::Loaded loaded = load();

  EXPECT_FALSE(loaded.refused) << loaded.reason;
  EXPECT_EQ(loaded.log_end, 20);
  EXPECT_TRUE(loaded.removed.empty());
}

TEST_F(SeenTest, ASwapDeletesEveryFileOfItsNumbers) {  // SEEN 22, 28
  remove_clean_marker();
  image_.files["00000000000000000000.log.swap"] = file(0, ".log");
  image_.files["00000000000000000000.index.swap"] = file(0, ".index");
  image_.files["00000000000000000000.timeindex.swap"] = file(0, ".timeindex");
  image_.files["00000000000000000000.log.x"] = bytes_of("x");
  image_.files["x.log.x"] = bytes_of("x");

  const kafka::Loaded loaded = load();

  EXPECT_EQ(loaded.files.count("00000000000000000000.log.x"), 0U);
  EXPECT_EQ(loaded.files.count("x.log.x"), 1U);
  EXPECT_EQ(loaded.aborted.size(), 1U) << "the .txnindex without swap file goes with its number";
  EXPECT_EQ(loaded.log_end, 20);
}

TEST_F(SeenTest, SwapFilesBesideCleanedOnesAreAnUnfinishedReplacement) {
  remove_clean_marker();
  image_.files["00000000000000000000.log.swap"] = {};
  image_.files["00000000000000000000.log.cleaned"] = {};

  const kafka::Loaded loaded = load();

  EXPECT_EQ(loaded.log_end, 20);
  EXPECT_EQ(loaded.batches.size(), load().batches.size());
  EXPECT_EQ(loaded.files.count("00000000000000000000.log.swap"), 0U);
  EXPECT_FALSE(loaded.batches.empty());
}

TEST_F(SeenTest, ZerosBehindTheLastBatchAreCutWithoutTheMarkerAndRefusedWithIt) {  // SEEN 29, 31
  std::vector<std::byte>& log = file(16, ".log");
  const std::size_t size = log.size();
  log.resize(size + 500);

  EXPECT_TRUE(load().refused);

  remove_clean_marker();
  const kafka::Loaded loaded = load();
  EXPECT_FALSE(loaded.refused);
  EXPECT_EQ(loaded.log_end, 20);
  EXPECT_EQ(loaded.bytes_cut, 500);
  EXPECT_TRUE(loaded.segments_dropped.empty());
}

TEST_F(SeenTest, ZerosBehindAnEarlierSegmentDropAllLaterSegments) {  // SEEN 30
  remove_clean_marker();
  set_recovery_point(5);
  file(0, ".log").resize(file(0, ".log").size() + 100);

  const kafka::Loaded loaded = load();

  EXPECT_EQ(loaded.log_end, 11);
  EXPECT_EQ(loaded.segments_dropped, (std::vector<Offset>{11, 16}));
}

TEST_F(SeenTest, AnUnreadableMarkerInTheRecoveredPartMakesEveryLoadThrow) {  // SEEN 32
  remove_clean_marker();
  set_recovery_point(0);
  remove_snapshots();
  // The first control batch of segment 0: its key's version becomes negative, the CRC good again.
  std::vector<std::byte>& log = file(0, ".log");
  kafka::FileBatches batches(log, 0, static_cast<std::int64_t>(log.size()));
  std::optional<kafka::FileBatch> batch = batches.next();
  while (batch && !batch->is_control())
    batch = batches.next();
  ASSERT_TRUE(batch);
  const std::size_t at = static_cast<std::size_t>(batch->position);
  const std::size_t size = static_cast<std::size_t>(batch->size);
  log[at + 61 + 5] = std::byte{0x80};
  kafka::Bytes crc;
  kafka::put(crc, kafka::crc32c_of(kafka::ByteSpan(log).subspan(at + 21, size - 21)), 4);
  std::copy(crc.begin(), crc.end(), log.begin() + static_cast<std::ptrdiff_t>(at) + 17);

  const kafka::Loaded loaded = load();

  EXPECT_TRUE(loaded.refused);
}

TEST_F(SeenTest, ALogStartBeyondTheLogEndEmptiesTheLog) {
  remove_clean_marker();
  set_checkpoint("log-start-offset-checkpoint", 50);

  const kafka::Loaded loaded = load();

  EXPECT_EQ(loaded.log_start, 50);
  EXPECT_EQ(loaded.log_end, 50);
  EXPECT_EQ(loaded.segments_dropped, (std::vector<Offset>{0, 11, 16}));
  EXPECT_TRUE(loaded.producers.empty());
}

TEST_F(SeenTest, PlainDataInsideATransactionMakesTheLoadFail) {
  remove_clean_marker();
  set_recovery_point(0);
  remove_snapshots();
  std::vector<std::byte>& log = file(16, ".log");
  kafka::FileBatches batches(log, 0, static_cast<std::int64_t>(log.size()));
  std::optional<kafka::FileBatch> batch = batches.next();
  while (batch && (!batch->is_transactional() || batch->is_control()))
    batch = batches.next();
  ASSERT_TRUE(batch);
  const std::int64_t last = static_cast<std::int64_t>(log.size());
  const kafka::Bytes again(batch->bytes.begin(), batch->bytes.end());
  log.insert(log.end(), again.begin(), again.end());
  kafka::Bytes offset;
  kafka::put(offset, 20, 8);
  std::copy(offset.begin(), offset.end(), log.begin() + last);
  const std::size_t at = static_cast<std::size_t>(last);
  log[at + 22] &= std::byte{0xef};
  kafka::Bytes crc;
  kafka::put(crc, kafka::crc32c_of(kafka::ByteSpan(log).subspan(at + 21)), 4);
  std::copy(crc.begin(), crc.end(), log.begin() + last + 17);

  const kafka::Loaded loaded = load();

  EXPECT_TRUE(loaded.refused) << loaded.log_end;
}

}  // namespace
}  // namespace oncelog::test
