// The numbers and names that every layer shares: offsets, producers, policies.
//
// Names ending in `_end` are exclusive, names beginning with `last_` are inclusive, as on disk.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace oncelog {

/// A record's place in a partition, 0 .. 2^63-1. -1 means none.
using Offset = std::int64_t;
/// Milliseconds since the Unix epoch. -1 means none.
using TimestampMs = std::int64_t;
/// Id of an idempotent or transactional producer, >= 0. -1 means none.
using ProducerId = std::int64_t;
/// Epoch of a producer, 0 .. 32767. -1 means none.
using ProducerEpoch = std::int16_t;
/// Sequence number of a record of a producer, 0 .. 2^31-1, wrapping to 0. -1 means none.
using Sequence = std::int32_t;
/// Leader epoch of a partition, >= 0. -1 means unknown.
using LeaderEpoch = std::int32_t;
/// Epoch of a transaction coordinator (leader epoch of its log), >= 0. -1 means none.
using CoordinatorEpoch = std::int32_t;

inline constexpr Offset kNoOffset = -1;
inline constexpr TimestampMs kNoTimestamp = -1;
inline constexpr ProducerId kNoProducerId = -1;
inline constexpr ProducerEpoch kNoProducerEpoch = -1;
inline constexpr Sequence kNoSequence = -1;
inline constexpr LeaderEpoch kNoLeaderEpoch = -1;
inline constexpr CoordinatorEpoch kNoCoordinatorEpoch = -1;

/// Largest distance of an offset from its segment's base (indexes hold 31-bit relative offsets).
inline constexpr Offset kRelativeOffsetMax = 2147483647;
/// Largest size of a segment file: positions are 31 bits on disk.
inline constexpr std::int64_t kSegmentBytesMax = 2147483647;

/// Which partition: `topic` as Kafka allows it (1..249 of [a-zA-Z0-9._-], not "." or ".."),
/// `partition` >= 0.
struct TopicPartition {
  std::string topic;
  std::int32_t partition = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads a defaulted comparison.
  friend auto operator<=>(const TopicPartition&, const TopicPartition&) = default;
  friend bool operator==(const TopicPartition&, const TopicPartition&) = default;
};

/// The directory name "<topic>-<partition>".
std::string to_string(const TopicPartition& name);

/// Compression of a batch's records; the value is the one of attribute bits 0-2 (FORMAT.md 2).
enum class Codec : std::uint8_t { kNone = 0, kGzip = 1, kSnappy = 2, kLz4 = 3, kZstd = 4 };
std::string_view to_string(Codec codec) noexcept;

enum class TimestampType : std::uint8_t { kCreateTime = 0, kLogAppendTime = 1 };

/// Who appends, and so which checks apply (PRODUCER_STATE.md, "Append origins").
enum class AppendOrigin : std::uint8_t {
  kClient,       ///< full checks, duplicates answered, offsets assigned
  kCoordinator,  ///< markers and offset commits: epoch checks, offsets assigned
  kReplica,      ///< offsets and epochs as given; violations of producer rules only noted
};

/// How safe an append is when it is acknowledged.
enum class Durability : std::uint8_t {
  kWritten,  ///< in the page cache: survives the end of the process
  kDurable,  ///< fsynced: survives a power cut
};

/// What readers may see, i.e. what moves the high watermark.
enum class Visibility : std::uint8_t {
  kWritten,   ///< high watermark = written end
  kDurable,   ///< high watermark = durable end
  kEmbedder,  ///< as the embedder says (a replica protocol)
};

/// Upper bound of a read (FETCH.md 1).
enum class Isolation : std::uint8_t {
  kReadUncommitted,  ///< up to the high watermark
  kReadCommitted,    ///< up to the last stable offset
  kLogEnd,           ///< up to the log end: replicas and debugging
};

/// What becomes of a log whose durable bytes are bad (ARCHITECTURE.md, "Verdicts").
enum class OnDamage : std::uint8_t {
  kFail,      ///< this log does not open
  kReadOnly,  ///< serve what is valid; offsets in the hole answer kDamaged
  kCut,       ///< cut like Kafka, keeping the removed bytes in oncelog-damaged-*
};

/// What becomes of a tail with a hole in bytes that were never acknowledged.
enum class OnHoledTail : std::uint8_t { kCut, kFail };

}  // namespace oncelog
