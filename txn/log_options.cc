// Log options: ranges, and Kafka's names for them.
#include "oncelog/log_options.h"

#include <array>
#include <charconv>
#include <functional>
#include <string_view>
#include <utility>

namespace oncelog {
namespace {

Error bad_option(std::string_view name, const std::string& value, std::string_view range) {
  return make_error(ErrorCode::kInvalidArgument,
                    std::string(name) + " is " + value + ", not " + std::string(range));
}

struct NumberOption {
  std::string_view name;
  std::int64_t LogOptions::*member;
  std::int64_t min;
  std::int64_t max;
};

constexpr std::int64_t kInt32Max = 2147483647;
constexpr std::array kNumbers{
    NumberOption{"segment.bytes", &LogOptions::segment_bytes, 14, kInt32Max},
    NumberOption{"segment.ms", &LogOptions::segment_ms, 1, kUnlimited},
    NumberOption{"segment.jitter.ms", &LogOptions::segment_jitter_ms, 0, kUnlimited},
    NumberOption{"segment.index.bytes", &LogOptions::segment_index_bytes, 4, kInt32Max},
    NumberOption{"index.interval.bytes", &LogOptions::index_interval_bytes, 0, kInt32Max},
    NumberOption{"max.message.bytes", &LogOptions::message_bytes_max, 0, kInt32Max},
    NumberOption{"flush.messages", &LogOptions::flush_messages, 1, kUnlimited},
    NumberOption{"flush.ms", &LogOptions::flush_ms, 0, kUnlimited},
    NumberOption{"retention.ms", &LogOptions::retention_ms, -1, kUnlimited},
    NumberOption{"retention.bytes", &LogOptions::retention_bytes, -1, kUnlimited},
    NumberOption{"file.delete.delay.ms", &LogOptions::file_delete_delay_ms, 0, kUnlimited},
    NumberOption{"message.timestamp.before.max.ms", &LogOptions::timestamp_before_max_ms, 0,
                 kUnlimited},
    NumberOption{"message.timestamp.after.max.ms", &LogOptions::timestamp_after_max_ms, 0,
                 kUnlimited},
    NumberOption{"producer.id.expiration.ms", &LogOptions::producer_expiration_ms, 1, kUnlimited},
    NumberOption{"max.compaction.lag.ms", &LogOptions::max_compaction_lag_ms, 1, kUnlimited},
    NumberOption{"unsynced.bytes.max", &LogOptions::unsynced_bytes_max, 4096, kUnlimited},
    NumberOption{"queue.bytes.max", &LogOptions::queue_bytes_max, 4096, kUnlimited},
    NumberOption{"decompressed.bytes.max", &LogOptions::decompressed_bytes_max, 1, kUnlimited},
};

/// Names of DEFAULTS.md that belong to the broker or to compaction: accepted, without effect here.
constexpr std::array<std::string_view, 14> kIgnored{"min.cleanable.dirty.ratio",
                                                    "min.compaction.lag.ms",
                                                    "delete.retention.ms",
                                                    "compression.gzip.level",
                                                    "compression.lz4.level",
                                                    "compression.zstd.level",
                                                    "preallocate",
                                                    "min.insync.replicas",
                                                    "unclean.leader.election.enable",
                                                    "producer.id.expiration.check.interval.ms",
                                                    "transaction.max.timeout.ms",
                                                    "log.flush.scheduler.interval.ms",
                                                    "log.retention.check.interval.ms",
                                                    "log.flush.offset.checkpoint.interval.ms"};

Result<bool> parse_bool(std::string_view name, const std::string& value) {
  if (value == "true") return true;
  if (value == "false") return false;
  return bad_option(name, value, "true or false");
}

Status set_number(LogOptions& options, const NumberOption& option, const std::string& value) {
  std::int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) {
    return bad_option(option.name, '"' + value + '"', "a whole number");
  }
  if (number < option.min || number > option.max) {
    return bad_option(option.name, value,
                      std::to_string(option.min) + ".." + std::to_string(option.max));
  }
  options.*option.member = number;
  return {};
}

Status set_cleanup(LogOptions& options, const std::string& value) {
  options.cleanup_compact = false;
  options.cleanup_delete = false;
  std::string_view rest = value;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    if (word == "delete") {
      options.cleanup_delete = true;
    } else if (word == "compact") {
      options.cleanup_compact = true;
    } else {
      return bad_option("cleanup.policy", '"' + value + '"', "a list of delete and compact");
    }
    if (comma == std::string_view::npos) return {};
    rest.remove_prefix(comma + 1);
  }
}

Status set_compression(LogOptions& options, const std::string& value) {
  static constexpr std::array<std::pair<std::string_view, Codec>, 5> kCodecs{
      {{"uncompressed", Codec::kNone},
       {"gzip", Codec::kGzip},
       {"snappy", Codec::kSnappy},
       {"lz4", Codec::kLz4},
       {"zstd", Codec::kZstd}}};
  if (value == "producer") {
    options.compression.reset();
    return {};
  }
  for (const auto& [name, codec] : kCodecs) {
    if (value != name) continue;
    options.compression = codec;
    return {};
  }
  return bad_option("compression.type", '"' + value + '"',
                    "producer, uncompressed, gzip, snappy, lz4 or zstd");
}

Status set_timestamp_type(LogOptions& options, const std::string& value) {
  if (value != "CreateTime" && value != "LogAppendTime") {
    return bad_option("message.timestamp.type", '"' + value + '"', "CreateTime or LogAppendTime");
  }
  options.timestamp_type =
      value == "CreateTime" ? TimestampType::kCreateTime : TimestampType::kLogAppendTime;
  return {};
}

Status set_option(LogOptions& options, const std::string& name, const std::string& value) {
  for (const NumberOption& option : kNumbers) {
    if (name == option.name) return set_number(options, option, value);
  }
  if (name == "cleanup.policy") return set_cleanup(options, value);
  if (name == "compression.type") return set_compression(options, value);
  if (name == "message.timestamp.type") return set_timestamp_type(options, value);
  if (name == "transaction.partition.verification.enable") {
    ONCELOG_TRY_ASSIGN(options.txn_verification, parse_bool(name, value));
    return {};
  }
  for (const std::string_view ignored : kIgnored) {
    if (name == ignored) return {};
  }
  return make_error(ErrorCode::kInvalidArgument, "no such option: " + name);
}

}  // namespace

Status validate(const LogOptions& options) {
  for (const NumberOption& option : kNumbers) {
    const std::int64_t value = options.*option.member;
    if (value < option.min || value > option.max) {
      return bad_option(option.name, std::to_string(value),
                        std::to_string(option.min) + ".." + std::to_string(option.max));
    }
  }
  if (!options.cleanup_delete && !options.cleanup_compact) {
    return bad_option("cleanup.policy", "empty", "a list of delete and compact");
  }
  return {};
}

Status apply_config(LogOptions& options, const std::map<std::string, std::string>& config) {
  LogOptions changed = options;
  for (const auto& [name, value] : config)
    ONCELOG_TRY(set_option(changed, name, value));
  ONCELOG_TRY(validate(changed));
  options = changed;
  return {};
}

}  // namespace oncelog
