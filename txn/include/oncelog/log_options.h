// How one log behaves. Defaults and names follow Kafka's topic configuration (DEFAULTS.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

struct LogOptions {
  std::int64_t segment_bytes = 1073741824;      ///< segment.bytes, 14..2^31-1: roll size
  std::int64_t segment_ms = 604800000;          ///< segment.ms, >= 1: roll by record timestamps
  std::int64_t segment_jitter_ms = 0;           ///< segment.jitter.ms, >= 0
  std::int64_t segment_index_bytes = 10485760;  ///< segment.index.bytes, >= 4
  std::int64_t index_interval_bytes = 4096;     ///< index.interval.bytes, >= 0
  std::int64_t message_bytes_max = 1048588;     ///< max.message.bytes: one batch as stored
  std::int64_t flush_messages = kUnlimited;     ///< flush.messages, >= 1
  std::int64_t flush_ms = kUnlimited;           ///< flush.ms, >= 0
  std::int64_t retention_ms = 604800000;        ///< retention.ms, -1: none
  std::int64_t retention_bytes = -1;            ///< retention.bytes, -1: none
  std::int64_t file_delete_delay_ms = 60000;    ///< file.delete.delay.ms, >= 0
  bool cleanup_delete = true;                   ///< cleanup.policy has "delete"
  bool cleanup_compact = false;                 ///< cleanup.policy has "compact": keys required
  std::optional<Codec> compression = {};        ///< compression.type; nothing: the producer's
  int compression_level = 0;                    ///< 0: the codec's default
  TimestampType timestamp_type = TimestampType::kCreateTime;  ///< message.timestamp.type
  std::int64_t timestamp_before_max_ms = kUnlimited;          ///< message.timestamp.before.max.ms
  std::int64_t timestamp_after_max_ms = 3600000;              ///< message.timestamp.after.max.ms
  std::int64_t producer_expiration_ms = 86400000;             ///< producer.id.expiration.ms
  std::size_t producers_max = 5'000'000;  ///< producers remembered; oldest idle ones go first
  bool txn_verification = false;          ///< transaction.partition.verification.enable
  std::int64_t max_compaction_lag_ms = kUnlimited;  ///< max.compaction.lag.ms; caps roll time

  Durability durability = Durability::kDurable;
  std::optional<Visibility> visibility = {};  ///< nothing: that of `durability`
  OnDamage on_damage = OnDamage::kFail;
  OnHoledTail on_holed_tail = OnHoledTail::kCut;
  /// W: most bytes written and not yet synced at any moment (a larger batch goes alone); bounds
  /// what a crash may leave torn or holed. >= 4096. Ignored when durability is kWritten.
  std::int64_t unsynced_bytes_max = 8 << 20;
  /// Bytes of appends waiting to be written before callers get kBusy (or wait). >= 4096.
  std::int64_t queue_bytes_max = 64 << 20;
  /// Largest decompressed size of one batch that append validation will open, bytes.
  std::int64_t decompressed_bytes_max = 128LL << 20;

  Visibility effective_visibility() const {
    if (visibility) return *visibility;
    return durability == Durability::kDurable ? Visibility::kDurable : Visibility::kWritten;
  }
};

/// kInvalidArgument with the option's Kafka name and its range when a value is out of range.
Status validate(const LogOptions& options);

/// Sets options by Kafka's names ("segment.bytes" -> "1500"); unknown names are kInvalidArgument,
/// names of DEFAULTS.md that concern parts not built here are accepted and ignored.
Status apply_config(LogOptions& options, const std::map<std::string, std::string>& config);

}  // namespace oncelog
