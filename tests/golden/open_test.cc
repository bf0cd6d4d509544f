// Directories that Kafka closed are opened and say what Kafka says of them.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "oncelog/fetch.h"
#include "oncelog/record_batch.h"

#include "tests/golden/replay.h"
#include "tests/support/golden.h"

namespace oncelog::test {
namespace {

using nlohmann::json;

/// Producers with the sequences and offsets of their last batch. Kafka keeps only that one over a
/// reload, and takes the producer's last timestamp, a marker's perhaps, for the batch's; we read
/// the earlier batches again.
json producers_of(const LogState& state) {
  json out = json::array();
  for (const ProducerInfo& producer : state.producers) {
    const ProducerInfo::Batch last =
        producer.batches.empty() ? ProducerInfo::Batch{} : producer.batches.back();
    out.push_back({{"producerId", producer.producer_id},
                   {"producerEpoch", producer.epoch},
                   {"coordinatorEpoch", producer.coordinator_epoch},
                   {"lastTimestamp", producer.last_timestamp},
                   {"currentTxnFirstOffset", producer.txn_first_offset},
                   {"firstSeq", last.first_sequence},
                   {"lastSeq", last.last_sequence},
                   {"lastDataOffset", last.last_offset}});
  }
  return out;
}

json expected_producers(const GoldenCase& golden) {
  json out = golden.expect.at("activeProducers");
  for (json& producer : out) {
    producer.erase("batches");
    producer.erase("lastOffsetDelta");
  }
  return out;
}

/// Kafka takes the file's modification time for the largest timestamp of a segment that compaction
/// emptied, looks there and gives up; we go on to the next segment.
bool has_emptied_segment(const GoldenCase& golden) {
  const json& segments = golden.expect.at("segments");
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    if (segments[i].at("size") == 0) return true;
  }
  return false;
}

json aborted_of(const LogState& state) {
  json out = json::array();
  for (const AbortedTxnInfo& txn : state.aborted_txns) {
    out.push_back({{"producerId", txn.producer_id},
                   {"firstOffset", txn.first_offset},
                   {"lastOffset", txn.last_offset},
                   {"lastStableOffset", txn.last_stable_offset},
                   {"version", 0}});
  }
  return out;
}

json epochs_of(const LogState& state) {
  json out = json::array();
  for (const LeaderEpochInfo& entry : state.leader_epochs) {
    out.push_back({{"epoch", entry.epoch}, {"startOffset", entry.start_offset}});
  }
  return out;
}

std::vector<Offset> read_all(const Log& log, Isolation isolation) {
  std::vector<Offset> out;
  FetchBuffer buffer;
  FetchRequest request;
  request.isolation = isolation;
  request.bytes_max = 4096;
  request.offset = log.offsets().log_start;
  while (true) {
    const Result<FetchPage> page = log.fetch(request, buffer);
    if (!page.ok()) {
      ADD_FAILURE() << to_string(page.error());
      return out;
    }
    if (page->batches().empty() && page->next_offset <= request.offset) return out;
    std::vector<Records> storage;
    const auto records = visible_records(*page, request.offset, isolation, storage);
    if (!records.ok()) {
      ADD_FAILURE() << to_string(records.error());
      return out;
    }
    for (const VisibleRecord& record : *records)
      out.push_back(record.record.offset);
    request.offset = page->next_offset;
  }
}

void expect_lookups(const GoldenCase& golden, const Log& log) {
  for (const json& lookup : golden.expect.at("timestampLookups")) {
    if (lookup.at("offset").is_null() && has_emptied_segment(golden)) continue;
    SCOPED_TRACE(lookup.dump());
    const Result<TimestampOffset> found = log.offset_for_timestamp(
        lookup.at("target").get<TimestampMs>(), Isolation::kReadUncommitted);
    ASSERT_TRUE(found.ok()) << to_string(found.error());
    EXPECT_EQ(lookup.at("offset").is_null() ? json(-1) : lookup.at("offset"), found->offset);
    if (lookup.at("offset").is_null()) continue;
    EXPECT_EQ(lookup.at("timestamp"), found->timestamp);
  }
  for (const json& lookup : golden.expect.at("endOffsetForEpoch")) {
    SCOPED_TRACE(lookup.dump());
    const Result<LeaderEpochEnd> found =
        log.end_offset_for_epoch(lookup.at("requestedEpoch").get<LeaderEpoch>());
    ASSERT_TRUE(found.ok()) << to_string(found.error());
    const bool none = lookup.at("epoch").is_null();
    EXPECT_EQ(none ? json(-1) : lookup.at("epoch"), found->epoch);
    EXPECT_EQ(none ? json(-1) : lookup.at("endOffset"), found->end_offset);
  }
}

void expect_like_kafka(const GoldenCase& golden, const Log& log) {
  const json& expect = golden.expect;
  const Result<LogState> state = log.state();
  ASSERT_TRUE(state.ok()) << to_string(state.error());
  EXPECT_EQ(expect.at("logStartOffset"), state->log_start);
  EXPECT_EQ(expect.at("logEndOffset"), state->log_end);
  EXPECT_EQ(expect.at("highWatermark"), state->high_watermark);
  EXPECT_EQ(expect.at("lastStableOffset"), state->last_stable_offset);
  EXPECT_EQ(expect.at("firstUnstableOffset"), state->first_unstable_offset);
  EXPECT_EQ(expect.at("leaderEpochs"), epochs_of(*state));
  EXPECT_EQ(expected_producers(golden), producers_of(*state));
  EXPECT_EQ(expect.at("abortedTxns"), aborted_of(*state));
  EXPECT_EQ(expect.at("readCommittedOffsets"), json(read_all(log, Isolation::kReadCommitted)));
  EXPECT_EQ(expect.at("readUncommittedOffsets"), json(read_all(log, Isolation::kReadUncommitted)));
  expect_lookups(golden, log);
}

TEST(GoldenOpen, SaysOfCleanlyClosedLogsWhatKafkaSays) {
  const std::vector<GoldenCase> cases = golden_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  for (const GoldenCase& golden : cases) {
    SCOPED_TRACE(golden.name);
    const TempDirectory directory;
    copy_case(golden, directory.path());
    Result<std::shared_ptr<Store>> store = open_store_at(golden, directory.string());
    ASSERT_TRUE(store.ok()) << to_string(store.error());

    const Result<std::shared_ptr<Log>> log =
        (*store)->open_log(partition_of(golden), options_of(golden));

    ASSERT_TRUE(log.ok()) << to_string(log.error());
    expect_like_kafka(golden, **log);
    EXPECT_TRUE((*store)->close().ok());
  }
}

TEST(GoldenOpen, LeavesTheDataOfCleanlyClosedLogsAsItWas) {
  const std::vector<GoldenCase> cases = golden_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  for (const GoldenCase& golden : cases) {
    SCOPED_TRACE(golden.name);
    const TempDirectory directory;
    copy_case(golden, directory.path());
    {
      Result<std::shared_ptr<Store>> store = open_store_at(golden, directory.string());
      ASSERT_TRUE(store.ok()) << to_string(store.error());
      ASSERT_TRUE((*store)->open_log(partition_of(golden), options_of(golden)).ok());
      ASSERT_TRUE((*store)->close().ok());
    }

    const DirectoryImage before = golden.image();
    const DirectoryImage after = read_image(directory.path(), golden.partition_directory);
    for (const auto& [name, bytes] : before.files) {
      if (name.find(".snapshot") != std::string::npos) continue;
      ASSERT_EQ(after.files.count(name), 1U) << name;
      // A leader epoch without data goes with a reload (SEEN.md 16).
      if (name == "leader-epoch-checkpoint") continue;
      EXPECT_TRUE(after.files.at(name) == bytes) << name;
    }
    EXPECT_EQ(after.root_files.count(".kafka_cleanshutdown"), 1U);
  }
}

}  // namespace
}  // namespace oncelog::test
