// One record of a batch v2: parsing at the front of bytes, and encoding.
//
// FORMAT  FORMAT.md 4:
//   length:varint attributes:int8 timestampDelta:varlong offsetDelta:varint
//   keyLength:varint key valueLength:varint value headerCount:varint headers
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "oncelog/record_batch.h"
#include "oncelog/result.h"

#include "storage/base/varint.h"

namespace oncelog {

/// How a length below -1 of a key, value or header value is taken.
enum class RecordRules : std::uint8_t {
  kAsStored,  ///< null, as Kafka's reader takes it
  kStrict,    ///< an error: nothing new is stored that way
};

/// A record as it stands in the batch. Key and value borrow the batch.
struct ParsedRecord {
  std::int64_t timestamp_delta = 0;
  std::int32_t offset_delta = 0;
  OptionalBytes key = std::nullopt;
  OptionalBytes value = std::nullopt;
};

/// Takes one record off the cursor. Headers are checked in any case and collected into `headers`
/// (cleared first) unless that is null. kInvalidRecord names the broken part.
Result<ParsedRecord> take_record(ByteCursor& cursor, RecordRules rules,
                                 std::vector<RecordHeaderView>* headers);

/// The effective timestamp of a record (FORMAT.md 2 and 4). Wraps like Kafka's 64-bit sum.
TimestampMs record_timestamp(const BatchHeader& batch, std::int64_t timestamp_delta);

/// Appends one encoded record to `out`. REQUIRES: the record fits 2^31-1 bytes.
void append_record(std::vector<std::byte>& out, const ParsedRecord& record,
                   std::span<const RecordHeaderView> headers);

}  // namespace oncelog
