// Errors and results: what every fallible call of the library returns.
//
// Three kinds of trouble, three tools: the disk or the caller is wrong -> a returned Error; the
// library is wrong -> an assert that aborts, in release too; "already" and "not yet" -> ordinary
// values. Nothing throws across the API (std::bad_alloc excepted).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace oncelog {

/// What went wrong, at the grain at which callers react. `kafka_error_of` maps a code to the Kafka
/// protocol; `to_string(ErrorCode)` gives the name that scripts and tools print.
enum class ErrorCode : std::uint8_t {
  kIo,                      ///< the OS refused or failed; `sys_errno` says why; the log is latched
  kDiskFull,                ///< ENOSPC, EDQUOT or EFBIG; the log goes on when space returns
  kDamaged,                 ///< bytes that were proved durable are bad or missing
  kCorruptBatch,            ///< a batch given or read breaks the format (size, magic, CRC)
  kInvalidRecord,           ///< header or record structure is wrong (Kafka: INVALID_RECORD)
  kInvalidTimestamp,        ///< a record's timestamp is outside the allowed range
  kMessageTooLarge,         ///< one batch is larger than max.message.bytes
  kRecordListTooLarge,      ///< one append is larger than segment.bytes
  kUnsupportedFormat,       ///< legacy magic, or transactional data where it cannot be stored
  kUnsupportedCompression,  ///< unknown codec, or one that is not allowed here
  kOutOfOrderSequence,      ///< a producer's sequence is not the next one
  kInvalidProducerEpoch,    ///< an older producer epoch: the caller is fenced
  kInvalidTxnState,         ///< not verified, or plain data inside a transaction
  kCoordinatorFenced,       ///< a marker of an older coordinator epoch
  kOffsetOutOfRange,        ///< below the log start or beyond the log end
  kOffsetsOutOfOrder,       ///< numbered append that does not rise
  kOffsetGap,               ///< a whole segment is missing here; `offset` is the next one present
  kFencedLeaderEpoch,       ///< the request's leader epoch is older than the log's
  kUnknownLeaderEpoch,      ///< the request's leader epoch is newer than the log's
  kPolicyViolation,         ///< the log's configuration forbids the call
  kLocked,                  ///< another process or store holds the directory
  kBusy,                    ///< a queue is full; try again later
  kNotOpen,                 ///< closed, deleted or never opened
  kNotFound,                ///< no such log, file or directory
  kAlreadyExists,           ///< a log, file or directory of that name is there
  kInvalidArgument,         ///< the caller broke a documented precondition
  kUnsupported,             ///< this platform or implementation cannot do it
};

/// The name of a code as tools print it, e.g. "OUT_OF_ORDER_SEQUENCE_NUMBER": Kafka's protocol name
/// where Kafka has one, else our own ("DAMAGED", "DISK_FULL", "LOCKED", "OFFSET_GAP", ...).
std::string_view to_string(ErrorCode code) noexcept;

/// The numeric Kafka protocol error of a code (56 KAFKA_STORAGE_ERROR where Kafka has no closer
/// one, -1 UNKNOWN_SERVER_ERROR for the caller's own mistakes). Source: Kafka protocol guide.
std::int16_t kafka_error_of(ErrorCode code) noexcept;

/// Why a call failed and where. `path`, `position` and `offset` are set when they are known.
struct Error {
  ErrorCode code = ErrorCode::kIo;
  std::string message;         ///< one sentence without final period, in lower case
  int sys_errno = 0;           ///< errno of the OS, 0 when none
  std::string path;            ///< file or directory, empty when none
  std::int64_t position = -1;  ///< byte position in `path`, -1 when none
  std::int64_t offset = -1;    ///< record offset, -1 when none

  Error&& at(std::string file) && {
    path = std::move(file);
    return std::move(*this);
  }
  Error&& at(std::string file, std::int64_t byte_position) && {
    path = std::move(file);
    position = byte_position;
    return std::move(*this);
  }
  Error&& with_offset(std::int64_t record_offset) && {
    offset = record_offset;
    return std::move(*this);
  }
};

/// One line: message, then path, position, offset and errno as far as they are set.
std::string to_string(const Error& error);

inline Error make_error(ErrorCode code, std::string message) {
  return Error{code, std::move(message), 0, {}, -1, -1};
}

/// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): `return Error{...}` is the point.
  Status(Error error) : error_(std::move(error)) {}
  bool ok() const noexcept { return !error_.has_value(); }
  /// REQUIRES: !ok()
  const Error& error() const& { return *error_; }
  Error error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

/// A value, or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  bool ok() const noexcept { return state_.index() == 0; }
  /// REQUIRES: ok()
  const T& value() const& { return present(std::get_if<0>(&state_)); }
  T& value() & { return present(std::get_if<0>(&state_)); }
  T value() && { return std::move(present(std::get_if<0>(&state_))); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }
  /// REQUIRES: !ok()
  const Error& error() const& { return present(std::get_if<1>(&state_)); }
  Error error() && { return std::move(present(std::get_if<1>(&state_))); }
  Status status() const { return ok() ? Status{} : Status{error()}; }

 private:
  /// Aborts where a REQUIRES above is broken instead of following a null pointer.
  template <class U>
  static U& present(U* state) {
    if (state == nullptr) std::abort();
    return *state;
  }
  std::variant<T, Error> state_;
};

}  // namespace oncelog

#define ONCELOG_CONCAT_INNER(a, b) a##b
#define ONCELOG_CONCAT(a, b) ONCELOG_CONCAT_INNER(a, b)

/// Returns the error of `expr` (a Status or Result) to the caller, if it has one.
#define ONCELOG_TRY(expr)                                                                    \
  do {                                                                                       \
    if (auto oncelog_try = (expr); !oncelog_try.ok()) return std::move(oncelog_try).error(); \
  } while (false)

/// Declares `decl` from the value of `expr`, or returns its error to the caller.
#define ONCELOG_TRY_ASSIGN(decl, expr) \
  ONCELOG_TRY_ASSIGN_IMPL(ONCELOG_CONCAT(oncelog_result_, __LINE__), decl, expr)
#define ONCELOG_TRY_ASSIGN_IMPL(tmp, decl, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).error();  \
  decl = std::move(tmp).value()
