// Names of error codes, their Kafka numbers, and the one-line form of an Error.
#include "oncelog/result.h"

#include <array>
#include <cstring>

#include "storage/base/assert.h"

namespace oncelog {
namespace {

struct CodeRow {
  ErrorCode code;
  std::string_view name;
  std::int16_t kafka;  // Kafka protocol guide, "Error codes"
};

constexpr std::array<CodeRow, 27> kCodes{{
    {ErrorCode::kIo, "KAFKA_STORAGE_ERROR", 56},
    {ErrorCode::kDiskFull, "DISK_FULL", 56},
    {ErrorCode::kDamaged, "DAMAGED", 56},
    {ErrorCode::kCorruptBatch, "CORRUPT_MESSAGE", 2},
    {ErrorCode::kInvalidRecord, "INVALID_RECORD", 87},
    {ErrorCode::kInvalidTimestamp, "INVALID_TIMESTAMP", 32},
    {ErrorCode::kMessageTooLarge, "MESSAGE_TOO_LARGE", 10},
    {ErrorCode::kRecordListTooLarge, "RECORD_LIST_TOO_LARGE", 18},
    {ErrorCode::kUnsupportedFormat, "UNSUPPORTED_FOR_MESSAGE_FORMAT", 43},
    {ErrorCode::kUnsupportedCompression, "UNSUPPORTED_COMPRESSION_TYPE", 76},
    {ErrorCode::kOutOfOrderSequence, "OUT_OF_ORDER_SEQUENCE_NUMBER", 45},
    {ErrorCode::kInvalidProducerEpoch, "INVALID_PRODUCER_EPOCH", 47},
    {ErrorCode::kInvalidTxnState, "INVALID_TXN_STATE", 48},
    {ErrorCode::kCoordinatorFenced, "TRANSACTION_COORDINATOR_FENCED", 52},
    {ErrorCode::kOffsetOutOfRange, "OFFSET_OUT_OF_RANGE", 1},
    {ErrorCode::kOffsetsOutOfOrder, "OFFSETS_OUT_OF_ORDER", 87},
    {ErrorCode::kOffsetGap, "OFFSET_GAP", 56},
    {ErrorCode::kFencedLeaderEpoch, "FENCED_LEADER_EPOCH", 74},
    {ErrorCode::kUnknownLeaderEpoch, "UNKNOWN_LEADER_EPOCH", 75},
    {ErrorCode::kPolicyViolation, "POLICY_VIOLATION", 44},
    {ErrorCode::kLocked, "LOCKED", 56},
    {ErrorCode::kBusy, "BUSY", 7},
    {ErrorCode::kNotOpen, "NOT_OPEN", 6},
    {ErrorCode::kNotFound, "UNKNOWN_TOPIC_OR_PARTITION", 3},
    {ErrorCode::kAlreadyExists, "TOPIC_ALREADY_EXISTS", 36},
    {ErrorCode::kInvalidArgument, "INVALID_REQUEST", 42},
    {ErrorCode::kUnsupported, "UNSUPPORTED", 35},
}};

constexpr bool rows_are_in_enum_order() {
  for (std::size_t i = 0; i < kCodes.size(); ++i) {
    if (static_cast<std::size_t>(kCodes[i].code) != i) return false;
  }
  return static_cast<std::size_t>(ErrorCode::kUnsupported) + 1 == kCodes.size();
}
static_assert(rows_are_in_enum_order());

const CodeRow& row_of(ErrorCode code) noexcept {
  const auto index = static_cast<std::size_t>(code);
  ONCELOG_ASSERT(index < kCodes.size());
  return kCodes[index];
}

}  // namespace

std::string_view to_string(ErrorCode code) noexcept {
  return row_of(code).name;
}

std::int16_t kafka_error_of(ErrorCode code) noexcept {
  return row_of(code).kafka;
}

std::string to_string(const Error& error) {
  std::string out;
  if (!error.path.empty()) out += error.path + ": ";
  out += error.message.empty() ? std::string(to_string(error.code)) : error.message;
  if (error.position >= 0) out += ", byte " + std::to_string(error.position);
  if (error.offset >= 0) out += ", offset " + std::to_string(error.offset);
  if (error.sys_errno != 0) {
    std::array<char, 128> text{};
    // The GNU strerror_r returns the text, which may or may not be in the buffer.
    out += std::string(" (") + strerror_r(error.sys_errno, text.data(), text.size()) + ")";
  }
  return out;
}

}  // namespace oncelog
