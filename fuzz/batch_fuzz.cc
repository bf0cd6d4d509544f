// Record batches from arbitrary bytes: parse, decompress and walk them; what reads well is rebuilt
// and must read the same. The append path's checks run on the same bytes: what they accept reads.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "oncelog/batch_header.h"
#include "oncelog/control_record.h"
#include "oncelog/record_batch.h"

#include "fuzz/require.h"
#include "storage/base/endian.h"
#include "storage/batch_validator.h"
#include "storage/format/batch_header.h"
#include "storage/format/legacy_batch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace std::string_view_literals;
using oncelog::require;

constexpr std::int64_t kDecompressedMax = 1 << 20;
constexpr oncelog::TimestampMs kNowMs = 1700000000000;
constexpr std::size_t kLengthPosition = 8;
constexpr std::size_t kMagicPosition = 16;

std::optional<std::string_view> text_of(const oncelog::OptionalBytes& bytes) {
  if (!bytes) return std::nullopt;
  if (bytes->empty()) return ""sv;
  return std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

/// The records in a plain batch of their own.
oncelog::Buffer rebuild(const oncelog::BatchHeader& header, const oncelog::Records& records) {
  oncelog::RecordBatchBuilder builder({.base_offset = header.base_offset});
  for (const oncelog::RecordView& record : records.records) {
    oncelog::RecordInput input{.timestamp_ms = record.timestamp,
                               .key = text_of(record.key),
                               .value = text_of(record.value)};
    for (const oncelog::RecordHeaderView& one : record.headers) {
      input.headers.push_back({.key = one.key, .value = text_of(one.value)});
    }
    builder.add(input);
  }
  return std::move(builder).finish();
}

void check_rebuilt(const oncelog::BatchHeader& header, const oncelog::Records& records) {
  const oncelog::Buffer bytes = rebuild(header, records);
  const auto view = oncelog::RecordBatchView::parse(bytes.bytes());
  require(view.ok() && view->crc_matches());
  const auto again = oncelog::read_records(*view);
  require(again.ok() && again->records.size() == records.records.size());
  for (std::size_t i = 0; i < records.records.size(); ++i) {
    require(text_of(again->records[i].key) == text_of(records.records[i].key));
    require(text_of(again->records[i].value) == text_of(records.records[i].value));
    require(again->records[i].headers.size() == records.records[i].headers.size());
  }
}

void read_batch(std::span<const std::byte> bytes) {
  const auto view = oncelog::RecordBatchView::parse(bytes);
  if (!view.ok()) return;
  require(view->bytes().size() <= bytes.size());
  static_cast<void>(view->crc_matches());
  const auto records = oncelog::read_records(*view, {.batch_bytes_max = kDecompressedMax});
  if (!records.ok()) return;
  require(std::int64_t(records->storage.size()) <= kDecompressedMax);
  for (const oncelog::RecordView& record : records->records) {
    static_cast<void>(oncelog::decode_control_type(record.key).ok());
    static_cast<void>(oncelog::decode_end_txn_marker(record).ok());
  }
  if (!records->records.empty()) check_rebuilt(view->header(), *records);
}

/// Every append origin, with the codec kept and with another one.
void validate(std::span<const std::byte> bytes) {
  for (const oncelog::AppendOrigin origin :
       {oncelog::AppendOrigin::kClient, oncelog::AppendOrigin::kCoordinator,
        oncelog::AppendOrigin::kReplica}) {
    oncelog::ValidationRules rules;
    rules.origin = origin;
    rules.now_ms = kNowMs;
    rules.limits.batch_bytes_max = kDecompressedMax;
    if (bytes.size() % 2 == 0) rules.target_codec = oncelog::Codec::kLz4;
    const auto out = oncelog::validate_append(oncelog::Buffer::copy_of(bytes), rules);
    if (!out.ok()) continue;
    require(out->batches.size() == out->positions.size());
    require(out->batches.size() == out->markers.size());
    for (std::size_t i = 0; i < out->batches.size(); ++i) {
      const auto at = static_cast<std::size_t>(out->positions[i]);
      const auto view = oncelog::RecordBatchView::parse(out->bytes.bytes().subspan(at));
      require(view.ok() && view->crc_matches() && view->header() == out->batches[i]);
      if (origin == oncelog::AppendOrigin::kReplica) continue;
      const auto records = oncelog::read_records(*view, {.batch_bytes_max = kDecompressedMax});
      require(records.ok() && !records->records.empty());
    }
  }
}

void read_all_ways(std::vector<std::byte>& bytes) {
  read_batch(bytes);
  static_cast<void>(oncelog::read_records_of(bytes, {.batch_bytes_max = kDecompressedMax}).ok());
  validate(bytes);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  read_all_ways(bytes);
  // The same with a length, a magic and a CRC that fit, so that most inputs reach the records.
  if (size < oncelog::kBatchHeaderBytes) return 0;
  const auto length = static_cast<std::int32_t>(size - oncelog::kBatchLogOverheadBytes);
  oncelog::store_be<std::int32_t>(bytes, kLengthPosition, length);
  oncelog::store_be<std::int8_t>(bytes, kMagicPosition, 2);
  oncelog::store_be(std::span<std::byte>(bytes), oncelog::batch_field::kCrc.offset,
                    oncelog::batch_crc(bytes));
  read_all_ways(bytes);
  return 0;
}
