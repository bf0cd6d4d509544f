// The model of Kafka's loader says of every golden directory what Kafka said of it.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/support/kafka_loader.h"

namespace oncelog::test {
namespace {

using nlohmann::json;

kafka::LoaderConfig config_of(const GoldenCase& golden) {
  kafka::LoaderConfig config;
  config.index_interval_bytes = std::stoll(golden.config("index.interval.bytes", "4096"));
  config.segment_index_bytes = std::stoll(golden.config("segment.index.bytes", "10485760"));
  config.now_ms = golden.expect.at("nowMs").get<std::int64_t>();
  return config;
}

json entries(const std::vector<kafka::SegmentEntry>& index, const char* first, const char* second) {
  json out = json::array();
  for (const kafka::SegmentEntry& entry : index) {
    out.push_back({{"segment", entry.segment}, {first, entry.first}, {second, entry.second}});
  }
  return out;
}

json producers(const kafka::Loaded& loaded) {
  json out = json::array();
  for (const auto& [id, entry] : loaded.producers) {
    const kafka::ProducerBatch last =
        entry.batches.empty() ? kafka::ProducerBatch{} : entry.batches.back();
    json batches = json::array();
    for (const kafka::ProducerBatch& batch : entry.batches) {
      batches.push_back({{"firstSeq", batch.first_sequence()},
                         {"lastSeq", batch.last_sequence},
                         {"firstOffset", batch.first_offset()},
                         {"lastOffset", batch.last_offset},
                         {"timestamp", batch.timestamp}});
    }
    out.push_back({{"producerId", id},
                   {"producerEpoch", entry.epoch},
                   {"coordinatorEpoch", entry.coordinator_epoch},
                   {"lastTimestamp", entry.last_timestamp},
                   {"currentTxnFirstOffset", entry.txn_first_offset.value_or(-1)},
                   {"firstSeq", last.first_sequence()},
                   {"lastSeq", last.last_sequence},
                   {"lastDataOffset", last.last_offset},
                   {"lastOffsetDelta", last.offset_delta},
                   {"batches", batches}});
  }
  return out;
}

json aborted(const kafka::Loaded& loaded) {
  json out = json::array();
  for (const kafka::AbortedTxn& txn : loaded.aborted) {
    out.push_back({{"producerId", txn.producer_id},
                   {"firstOffset", txn.first_offset},
                   {"lastOffset", txn.last_offset},
                   {"lastStableOffset", txn.last_stable_offset},
                   {"version", 0}});
  }
  return out;
}

json epochs(const kafka::Loaded& loaded) {
  json out = json::array();
  for (const auto& [epoch, start] : loaded.leader_epochs) {
    out.push_back({{"epoch", epoch}, {"startOffset", start}});
  }
  return out;
}

json fetches(const kafka::Loaded& loaded) {
  json out = json::array();
  for (const kafka::CommittedFetch& fetch : loaded.committed_fetches) {
    out.push_back({{"fetchOffset", fetch.offset},
                   {"sizeInBytes", fetch.bytes},
                   {"batches", fetch.batches},
                   {"lastOffset", fetch.last_offset},
                   {"abortedPidFirstOffset", fetch.aborted}});
  }
  return out;
}

/// Batches as expect.json lists them, by position.
json batches(const json& expected) {
  json out = json::array();
  for (const json& batch : expected) {
    out.push_back({batch.at("segment"), batch.at("position"), batch.at("sizeInBytes"),
                   batch.at("lastOffset"), batch.at("crc")});
  }
  return out;
}

json batches(const kafka::Loaded& loaded) {
  json out = json::array();
  for (const kafka::ServedBatch& batch : loaded.batches) {
    out.push_back({batch.segment, batch.position, batch.size, batch.last_offset, batch.crc});
  }
  return out;
}

bool has_legacy_wrapper(const GoldenCase& golden) {
  for (const json& batch : golden.expect.at("batches")) {
    if (batch.at("magic") != 2 && batch.at("codec") != "none") return true;
  }
  return false;
}

void expect_like_kafka(const GoldenCase& golden, const kafka::Loaded& loaded) {
  const json& expect = golden.expect;
  EXPECT_EQ(expect.at("logStartOffset"), loaded.log_start);
  EXPECT_EQ(expect.at("logEndOffset"), loaded.log_end);
  EXPECT_EQ(expect.at("lastStableOffset"), loaded.last_stable_offset);
  EXPECT_EQ(expect.at("firstUnstableOffset"), loaded.first_unstable_offset);
  EXPECT_EQ(expect.at("recoveryPoint"), loaded.recovery_point);
  EXPECT_EQ(expect.at("producerMapEndOffset"), loaded.producer_map_end);
  EXPECT_EQ(expect.at("leaderEpochs"), epochs(loaded));
  EXPECT_EQ(expect.at("activeProducers"), producers(loaded));
  EXPECT_EQ(expect.at("abortedTxns"), aborted(loaded));
  EXPECT_EQ(expect.at("offsetIndex"), entries(loaded.offset_index, "offset", "position"));
  EXPECT_EQ(expect.at("timeIndex"), entries(loaded.time_index, "timestamp", "offset"));
  EXPECT_EQ(batches(expect.at("batches")), batches(loaded));
  EXPECT_EQ(expect.at("readCommittedFetches4096"), fetches(loaded));
  if (!has_legacy_wrapper(golden)) {
    EXPECT_EQ(expect.at("readCommittedOffsets"), json(loaded.read_committed_offsets));
    EXPECT_EQ(expect.at("readUncommittedOffsets"), json(loaded.read_uncommitted_offsets));
  }
}

/// Files as Kafka left them; snapshots by content, their entries have no fixed order.
void expect_files_like_kafka(const FileMap& kafka_files, const FileMap& model) {
  for (const auto& [name, bytes] : kafka_files) {
    const auto found = model.find(name);
    if (found == model.end()) {
      ADD_FAILURE() << name << " is missing";
    } else if (kafka::ends_with(name, ".snapshot")) {
      EXPECT_EQ(kafka::decode_snapshot(bytes), kafka::decode_snapshot(found->second)) << name;
    } else {
      EXPECT_TRUE(bytes == found->second)
          << name << ": " << bytes.size() << " bytes, the model has " << found->second.size();
    }
  }
  for (const auto& [name, bytes] : model) {
    EXPECT_EQ(kafka_files.count(name), 1U) << name << " is only in the model";
  }
}

TEST(KafkaLoader, SaysOfCleanlyClosedLogsWhatKafkaSaid) {
  const std::vector<GoldenCase> cases = golden_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  for (const GoldenCase& golden : cases) {
    SCOPED_TRACE(golden.name);

    const kafka::Loaded loaded = kafka::load(golden.image(), config_of(golden));

    ASSERT_FALSE(loaded.refused) << loaded.reason;
    expect_like_kafka(golden, loaded);
    EXPECT_EQ(golden.expect.at("filesRemovedByLoad"), json(loaded.removed));
    EXPECT_EQ(golden.expect.at("filesCreatedByLoad"), json(loaded.created));
  }
}

TEST(KafkaLoader, SaysOfCrashedAndDamagedLogsWhatKafkaSaid) {
  const std::vector<GoldenCase> cases = golden_recovery_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  for (const GoldenCase& golden : cases) {
    if (golden.out.empty()) continue;
    SCOPED_TRACE(golden.name);

    const kafka::Loaded loaded = kafka::load(golden.image(), config_of(golden));

    ASSERT_FALSE(loaded.refused) << loaded.reason;
    expect_like_kafka(golden, loaded);
    EXPECT_EQ(golden.expect.at("filesRemovedByLoad"), json(loaded.removed));
    EXPECT_EQ(golden.expect.at("filesCreatedByLoad"), json(loaded.created));
    expect_files_like_kafka(read_files(golden.out / golden.partition_directory), loaded.files);
  }
}

TEST(KafkaLoader, RefusesWhatKafkaRefused) {
  const std::vector<GoldenCase> cases = golden_recovery_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  int refused = 0;
  for (const GoldenCase& golden : cases) {
    if (!golden.out.empty()) continue;
    SCOPED_TRACE(golden.name);
    ++refused;

    EXPECT_TRUE(kafka::load(golden.image(), config_of(golden)).refused);
  }
  EXPECT_GE(refused, 1);
}

TEST(KafkaLoader, FindsTheSameStateInTheLogFilesAlone) {
  const std::vector<GoldenCase> cases = golden_cases();
  if (cases.empty()) GTEST_SKIP() << kNoGoldenData;
  for (const GoldenCase& golden : cases) {
    if (golden.name.rfind("compacted", 0) == 0 || golden.name == "legacy-magic") continue;
    SCOPED_TRACE(golden.name);

    const kafka::Loaded trusting = kafka::load(golden.image(), config_of(golden));
    const kafka::Loaded replayed = kafka::load_from_logs(golden.image(), config_of(golden));

    ASSERT_FALSE(replayed.refused) << replayed.reason;
    EXPECT_EQ(replayed.log_end, trusting.log_end);
    EXPECT_EQ(replayed.last_stable_offset, trusting.last_stable_offset);
    EXPECT_EQ(replayed.aborted, trusting.aborted);
    EXPECT_EQ(replayed.offset_index, trusting.offset_index);
    EXPECT_EQ(replayed.time_index, trusting.time_index);
    EXPECT_EQ(replayed.read_committed_offsets, trusting.read_committed_offsets);
  }
}

}  // namespace
}  // namespace oncelog::test
