// One record of a batch v2: parsing and encoding.
#include "storage/format/record.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "storage/base/assert.h"

namespace oncelog {
namespace {

Error invalid(const char* what) {
  return make_error(ErrorCode::kInvalidRecord, what);
}

/// Bytes behind a length of which -1 means null.
Result<OptionalBytes> take_nullable(ByteCursor& cursor, RecordRules rules, const char* what) {
  const auto length = cursor.varint();
  if (!length) return invalid(what);
  if (*length < 0) {
    if (*length != -1 && rules == RecordRules::kStrict) return invalid(what);
    return OptionalBytes{};
  }
  const auto bytes = cursor.bytes(*length);
  if (!bytes) return invalid(what);
  return OptionalBytes{*bytes};
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Status take_headers(ByteCursor& cursor, RecordRules rules, std::vector<RecordHeaderView>* headers) {
  const auto count = cursor.varint();
  if (!count) return invalid("header count is cut short");
  // Each header takes two bytes at least, so a lying count is found before anything is stored.
  if (*count < 0 || static_cast<std::size_t>(*count) > cursor.left() / 2) {
    return invalid("header count is negative or more than fits");
  }
  for (std::int32_t i = 0; i < *count; ++i) {
    const auto key_length = cursor.varint();
    if (!key_length) return invalid("header key length is broken");
    const auto key = cursor.bytes(*key_length);
    if (!key) return invalid("header key length is negative or more than fits");
    ONCELOG_TRY_ASSIGN(const OptionalBytes value,
                       take_nullable(cursor, rules, "header value length is broken"));
    if (headers != nullptr) headers->push_back({as_text(*key), value});
  }
  return {};
}

std::size_t nullable_bytes(const OptionalBytes& bytes) {
  if (!bytes) return 1;
  return varint_bytes(static_cast<std::int32_t>(bytes->size())) + bytes->size();
}

void append_nullable(std::vector<std::byte>& out, const OptionalBytes& bytes) {
  append_varint(out, bytes ? static_cast<std::int32_t>(bytes->size()) : -1);
  if (bytes) out.insert(out.end(), bytes->begin(), bytes->end());
}

}  // namespace

Result<ParsedRecord> take_record(ByteCursor& cursor, RecordRules rules,
                                 std::vector<RecordHeaderView>* headers) {
  if (headers != nullptr) headers->clear();
  const auto length = cursor.varint();
  if (!length) return invalid("length is cut short or broken");
  const auto whole = cursor.bytes(*length);
  if (!whole) return invalid("length is negative or more than fits");

  ByteCursor body(*whole);
  if (!body.byte()) return invalid("attributes are missing");
  ParsedRecord out;
  const auto timestamp_delta = body.varlong();
  if (!timestamp_delta) return invalid("timestamp delta is broken");
  out.timestamp_delta = *timestamp_delta;
  const auto offset_delta = body.varint();
  if (!offset_delta) return invalid("offset delta is broken");
  out.offset_delta = *offset_delta;
  ONCELOG_TRY_ASSIGN(out.key, take_nullable(body, rules, "key length is broken"));
  ONCELOG_TRY_ASSIGN(out.value, take_nullable(body, rules, "value length is broken"));
  ONCELOG_TRY(take_headers(body, rules, headers));
  if (body.left() != 0) return invalid("length is larger than its fields");
  return out;
}

TimestampMs record_timestamp(const BatchHeader& batch, std::int64_t timestamp_delta) {
  if (batch.timestamp_type() == TimestampType::kLogAppendTime) return batch.max_timestamp;
  return static_cast<TimestampMs>(static_cast<std::uint64_t>(batch.base_timestamp) +
                                  static_cast<std::uint64_t>(timestamp_delta));
}

void append_record(std::vector<std::byte>& out, const ParsedRecord& record,
                   std::span<const RecordHeaderView> headers) {
  ONCELOG_ASSERT(headers.size() <= std::numeric_limits<std::int32_t>::max());
  const auto header_count = static_cast<std::int32_t>(headers.size());
  std::size_t body = 1 + varlong_bytes(record.timestamp_delta) + varint_bytes(record.offset_delta) +
                     nullable_bytes(record.key) + nullable_bytes(record.value) +
                     varint_bytes(header_count);
  for (const RecordHeaderView& header : headers) {
    body += nullable_bytes(as_bytes(header.key)) + nullable_bytes(header.value);
  }
  ONCELOG_ASSERT(body <= std::numeric_limits<std::int32_t>::max());

  append_varint(out, static_cast<std::int32_t>(body));
  const std::size_t body_begin = out.size();
  out.push_back(std::byte{0});
  append_varlong(out, record.timestamp_delta);
  append_varint(out, record.offset_delta);
  append_nullable(out, record.key);
  append_nullable(out, record.value);
  append_varint(out, header_count);
  for (const RecordHeaderView& header : headers) {
    append_nullable(out, as_bytes(header.key));
    append_nullable(out, header.value);
  }
  ONCELOG_ASSERT(out.size() - body_begin == body);
}

}  // namespace oncelog
