// The small text files of a data directory and of a partition: checkpoints and metadata.
//
// FORMAT  FORMAT.md 15. Pure codecs; `derived_file.h` writes them (temp, fsync, rename, directory).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

inline constexpr std::string_view kRecoveryPointFile = "recovery-point-offset-checkpoint";
inline constexpr std::string_view kLogStartFile = "log-start-offset-checkpoint";
inline constexpr std::string_view kHighWatermarkFile = "replication-offset-checkpoint";
inline constexpr std::string_view kCleanerFile = "cleaner-offset-checkpoint";
inline constexpr std::string_view kCleanShutdownFile = ".kafka_cleanshutdown";
inline constexpr std::string_view kMetaPropertiesFile = "meta.properties";
inline constexpr std::string_view kLockFile = ".lock";
inline constexpr std::string_view kLeaderEpochFile = "leader-epoch-checkpoint";
inline constexpr std::string_view kPartitionMetadataFile = "partition.metadata";

/// One of the four root checkpoints: "topic partition offset" per line.
using OffsetCheckpoint = std::map<TopicPartition, Offset>;
std::string encode_offset_checkpoint(const OffsetCheckpoint& offsets);
/// An empty text is an empty map. kDamaged names the line.
Result<OffsetCheckpoint> decode_offset_checkpoint(std::string_view text);

/// A 16-byte id, printed as 22 characters of URL-safe base64.
struct Uuid {
  std::array<std::uint8_t, 16> bytes{};
  bool is_zero() const;
  friend bool operator==(const Uuid&, const Uuid&) = default;
};
std::string to_string(const Uuid& id);
Result<Uuid> parse_uuid(std::string_view text);

/// partition.metadata: exactly "version: 0\ntopic_id: <id>", no final newline.
std::string encode_partition_metadata(const Uuid& topic_id);
Result<Uuid> decode_partition_metadata(std::string_view text);

struct MetaProperties {
  int version = 1;
  std::string cluster_id;
  std::optional<std::int32_t> node_id;  ///< broker.id in version 0
  std::optional<std::string> directory_id;
};
std::string encode_meta_properties(const MetaProperties& properties);
Result<MetaProperties> decode_meta_properties(std::string_view text);

/// {"version":0,"brokerEpoch":N}; only the file's existence matters on reading.
std::string encode_clean_shutdown(std::int64_t broker_epoch);

}  // namespace oncelog
