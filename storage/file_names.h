// Names of files and directories that hold a partition, and what each name means.
//
// FORMAT  FORMAT.md 9. A base offset is printed with 20 digits, so that names sort as numbers do.
// Names that this page does not know are foreign: they are left alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

/// Longest name of a file or directory that file systems take, bytes.
inline constexpr std::size_t kFileNameBytesMax = 255;
inline constexpr std::size_t kTopicNameBytesMax = 249;

enum class FileKind : std::uint8_t { kLog, kOffsetIndex, kTimeIndex, kTxnIndex, kSnapshot };

/// Where a file stands in a replacement or a deletion.
enum class FileStage : std::uint8_t {
  kLive,     ///< no further suffix
  kCleaned,  ///< ".cleaned": output of an unfinished compaction or split
  kSwap,     ///< ".swap": a complete replacement, not yet in place
  kDeleted,  ///< ".deleted": waits for its deletion
};

/// A file of Kafka's inside a partition directory.
struct PartitionFileName {
  FileKind kind = FileKind::kLog;
  FileStage stage = FileStage::kLive;
  Offset base_offset = 0;  ///< of a snapshot: the offset below which it covers everything
  friend bool operator==(const PartitionFileName&, const PartitionFileName&) = default;
};

/// ".log", ".index", ".timeindex", ".txnindex", ".snapshot".
std::string_view suffix_of(FileKind kind) noexcept;
/// "", ".cleaned", ".swap", ".deleted".
std::string_view suffix_of(FileStage stage) noexcept;

/// "00000000000000000055.log" and the like. REQUIRES: base_offset >= 0.
std::string file_name(FileKind kind, Offset base_offset, FileStage stage = FileStage::kLive);

/// Nothing for foreign names: not exactly 20 digits, above 2^63-1, another suffix.
std::optional<PartitionFileName> parse_file_name(std::string_view name);

/// "oncelog-damaged-<base>-<position>.log": bytes that a cut removed.
std::string damaged_file_name(Offset base_offset, std::int64_t position);
/// Whether a name is one that this library gives: "oncelog." or "oncelog-" in front.
bool is_own_file_name(std::string_view name);
/// Whether a name is one that Kafka gives to a text file of a partition, ".tmp" and ".deleted"
/// behind included.
bool is_partition_text_file(std::string_view name);

/// What a partition's directory is for.
enum class DirectoryState : std::uint8_t {
  kLive,
  kDeleting,  ///< "-delete": being deleted
  kStray,     ///< "-stray": set aside, not served
  kFuture,    ///< "-future": a replica being moved between disks
};

struct PartitionDirectoryName {
  TopicPartition partition;  ///< topic may be cut short when the state is kDeleting or kStray
  DirectoryState state = DirectoryState::kLive;
  std::string unique_id;  ///< 32 hexadecimal digits; empty when kLive
};

/// kInvalidArgument when a topic name is empty, longer than 249 bytes, "." or "..", or has a byte
/// outside [a-zA-Z0-9._-].
Status check_topic_name(std::string_view topic);

/// Nothing when the name is not that of a partition's directory.
std::optional<PartitionDirectoryName> parse_directory_name(std::string_view name);

/// "<topic>-<partition>.<unique_id>-delete" and the like. For kDeleting and kStray the topic is cut
/// so that the name fits 255 bytes; a -future name is not cut. REQUIRES: state is not kLive.
std::string marked_directory_name(const TopicPartition& name, DirectoryState state,
                                  std::string_view unique_id);

}  // namespace oncelog
