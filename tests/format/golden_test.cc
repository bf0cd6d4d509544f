// Every batch and record of the logs that Apache Kafka wrote, against what Kafka says is in them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "oncelog/control_record.h"
#include "oncelog/record_batch.h"

#include "storage/format/legacy_batch.h"
#include "storage/segment_scanner.h"
#include "tests/format/hex.h"
#include "tests/format/memory_file.h"

namespace oncelog {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path shared_directory() {
  const char* given = std::getenv("ONCELOG_SHARED_DIR");  // NOLINT(concurrency-mt-unsafe)
  return given != nullptr ? fs::path(given) : fs::path(ONCELOG_SOURCE_DIR) / ".." / "shared";
}

std::vector<fs::path> golden_cases() {
  std::vector<fs::path> out;
  const fs::path directory = shared_directory() / "golden" / "cases";
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(directory, missing)) {
    if (fs::exists(entry.path() / "expect.json")) out.push_back(entry.path());
  }
  return out;
}

std::vector<std::byte> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = test::bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group =
          group << 8 | (at + i < bytes.size() ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const bool padding = at + i > bytes.size();
      out.push_back(padding ? '=' : kDigits[group >> (18 - 6 * i) & 63]);
    }
  }
  return out;
}

json json_of(const OptionalBytes& bytes) {
  return bytes ? json(base64(*bytes)) : json(nullptr);
}

json record_json(const RecordView& record, Offset batch_base) {
  json headers = json::array();
  for (const RecordHeaderView& header : record.headers) {
    headers.push_back(json::array({std::string(header.key), json_of(header.value)}));
  }
  return {{"offset", record.offset},        {"timestamp", record.timestamp},
          {"sequence", record.sequence},    {"key", json_of(record.key)},
          {"value", json_of(record.value)}, {"headers", headers},
          {"batchBaseOffset", batch_base}};
}

/// What every magic has in common.
json batch_json(const ScannedBatch& batch, Offset segment) {
  const BatchHeader& header = batch.header;
  const char* type =
      header.timestamp_type() == TimestampType::kLogAppendTime ? "LogAppendTime" : "CreateTime";
  return {{"segment", segment},
          {"position", batch.position},
          {"sizeInBytes", header.size_bytes()},
          {"magic", header.magic},
          {"baseOffset", header.base_offset},
          {"lastOffset", header.last_offset()},
          {"count", header.record_count},
          {"crc", header.crc},
          {"codec", std::string(to_string(static_cast<Codec>(header.codec_bits())))},
          {"timestampType", header.magic == 0 ? "NoTimestampType" : type},
          {"maxTimestamp", header.max_timestamp}};
}

void add_v2_fields(json& out, const BatchHeader& header, const Records& records) {
  out["attributes"] = header.attributes;
  out["lastOffsetDelta"] = header.last_offset_delta;
  out["baseTimestamp"] = header.base_timestamp;
  out["partitionLeaderEpoch"] = header.leader_epoch;
  out["producerId"] = header.producer_id;
  out["producerEpoch"] = header.producer_epoch;
  out["baseSequence"] = header.base_sequence;
  out["lastSequence"] = header.last_sequence();
  out["isTransactional"] = header.is_transactional();
  out["isControl"] = header.is_control();
  out["controlType"] = nullptr;
  out["coordinatorEpoch"] = nullptr;
  out["deleteHorizonMs"] = header.has_delete_horizon() ? json(header.base_timestamp) : nullptr;
  if (!header.is_control() || records.records.empty()) return;
  const auto marker = decode_end_txn_marker(records.records.front());
  ASSERT_TRUE(marker.ok());
  if (!marker->has_value()) return;
  out["controlType"] = (*marker)->type == ControlType::kAbort ? "ABORT" : "COMMIT";
  out["coordinatorEpoch"] = (*marker)->coordinator_epoch;
}

struct Found {
  json batches = json::array();
  json records = json::array();
};

void read_segment(const fs::path& path, Found& found) {
  SCOPED_TRACE(path.string());
  const Offset base = std::stoll(path.stem().string());
  test::MemoryFile file(read_file(path));
  SegmentScanner scanner(file, {.segment_base = base});
  while (true) {
    auto batch = scanner.next();
    ASSERT_TRUE(batch.ok());
    if (!batch->has_value()) break;
    auto records = read_records_of((*batch)->bytes);
    ASSERT_TRUE(records.ok()) << to_string(records.error());
    const BatchHeader& header = (*batch)->header;
    json described = batch_json(**batch, base);
    if (header.magic == 2) add_v2_fields(described, header, *records);
    found.batches.push_back(described);
    for (const RecordView& record : records->records) {
      found.records.push_back(record_json(record, header.base_offset));
    }
  }
  ASSERT_FALSE(scanner.bad_spot().has_value()) << scanner.bad_spot()->what;
}

TEST(Golden, EveryBatchAndRecordReadsAsKafkaSays) {
  const auto cases = golden_cases();
  if (cases.empty()) GTEST_SKIP() << "no golden data under " << shared_directory();
  std::size_t batches = 0;
  for (const fs::path& directory : cases) {
    SCOPED_TRACE(directory.string());
    std::ifstream in(directory / "expect.json");
    const json expected = json::parse(in);
    std::vector<fs::path> segments;
    for (const auto& entry :
         fs::directory_iterator(directory / expected.at("dir").get<std::string>())) {
      if (entry.path().extension() == ".log") segments.push_back(entry.path());
    }
    std::sort(segments.begin(), segments.end());
    Found found;
    for (const fs::path& segment : segments)
      read_segment(segment, found);

    ASSERT_EQ(found.batches.size(), expected.at("batches").size());
    for (std::size_t i = 0; i < found.batches.size(); ++i) {
      EXPECT_EQ(found.batches[i], expected.at("batches")[i]) << "batch " << i;
    }
    ASSERT_EQ(found.records.size(), expected.at("records").size());
    for (std::size_t i = 0; i < found.records.size(); ++i) {
      EXPECT_EQ(found.records[i], expected.at("records")[i]) << "record " << i;
    }
    batches += found.batches.size();
  }
  EXPECT_GT(batches, 100U);
}

}  // namespace
}  // namespace oncelog
