// Record batches from arbitrary bytes: parse, decompress and walk them; what reads well is rebuilt
// and must read the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "oncelog/batch_header.h"
#include "oncelog/control_record.h"
#include "oncelog/record_batch.h"

#include "storage/base/endian.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace std::string_view_literals;

constexpr std::int64_t kDecompressedMax = 1 << 20;
constexpr std::size_t kLengthPosition = 8;
constexpr std::size_t kMagicPosition = 16;

void require(bool condition) {
  if (!condition) std::abort();
}

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

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  read_batch(bytes);
  // The same with a length and a magic that fit, so that most inputs reach the records.
  if (size < oncelog::kBatchHeaderBytes) return 0;
  const auto length = static_cast<std::int32_t>(size - oncelog::kBatchLogOverheadBytes);
  oncelog::store_be<std::int32_t>(bytes, kLengthPosition, length);
  oncelog::store_be<std::int8_t>(bytes, kMagicPosition, 2);
  read_batch(bytes);
  return 0;
}
