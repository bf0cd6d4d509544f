// Codecs of the offset checkpoints, partition.metadata, meta.properties and the clean marker.
#include "index/text_files.h"

#include <algorithm>

#include "index/checkpoint_text.h"

namespace oncelog {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kUuidChars = 22;  // 16 bytes, unpadded

// The next line without its end; false at the end of the text.
bool next_line(std::string_view& text, std::string_view& line) {
  if (text.empty()) return false;
  const std::size_t length = text.find('\n');
  line = text.substr(0, length);
  text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return true;
}

// The value of "name: value"; nothing when the line is another one.
std::optional<std::string_view> metadata_value(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return std::nullopt;
  line.remove_prefix(name.size());
  if (line.size() < 2 || line[0] != ':' || (line[1] != ' ' && line[1] != '\t')) return std::nullopt;
  const std::size_t begin = line.find_first_not_of(" \t", 1);
  return begin == std::string_view::npos ? std::string_view{} : line.substr(begin);
}

}  // namespace

std::string encode_offset_checkpoint(const OffsetCheckpoint& offsets) {
  std::string out = checkpoint_head(offsets.size());
  for (const auto& [partition, offset] : offsets) {
    out += partition.topic + ' ' + std::to_string(partition.partition) + ' ' +
           std::to_string(offset) + '\n';
  }
  return out;
}

Result<OffsetCheckpoint> decode_offset_checkpoint(std::string_view text) {
  OffsetCheckpoint offsets;
  const auto add = [&offsets](std::span<const std::string_view> fields,
                              std::size_t line) -> Status {
    const auto partition = parse_number<std::int32_t>(fields[1]);
    const auto offset = parse_number<Offset>(fields[2]);
    if (!partition.has_value() || *partition < 0) return damaged_line(line, "no partition number");
    if (!offset.has_value() || *offset < 0) return damaged_line(line, "no offset");
    const bool is_new =
        offsets.emplace(TopicPartition{std::string(fields[0]), *partition}, *offset).second;
    return is_new ? Status{} : damaged_line(line, "partition is listed twice");
  };
  ONCELOG_TRY(read_checkpoint(text, 3, add));
  return offsets;
}

bool Uuid::is_zero() const {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

std::string to_string(const Uuid& id) {
  std::string out;
  std::uint32_t pending = 0;
  unsigned pending_bits = 0;
  for (const std::uint8_t byte : id.bytes) {
    pending = (pending << 8) | byte;
    pending_bits += 8;
    while (pending_bits >= 6) {
      pending_bits -= 6;
      out += kBase64[(pending >> pending_bits) & 63U];
    }
  }
  out += kBase64[(pending << (6 - pending_bits)) & 63U];
  return out;
}

Result<Uuid> parse_uuid(std::string_view text) {
  if (text.size() != kUuidChars) {
    return make_error(ErrorCode::kInvalidArgument, "id has not 22 characters");
  }
  Uuid id;
  std::uint32_t pending = 0;
  unsigned pending_bits = 0;
  std::size_t count = 0;
  for (const char c : text) {
    const std::size_t value = kBase64.find(c);
    if (value == std::string_view::npos) {
      return make_error(ErrorCode::kInvalidArgument, "id is no URL-safe base64");
    }
    pending = (pending << 6) | static_cast<std::uint32_t>(value);
    pending_bits += 6;
    if (pending_bits >= 8) {
      pending_bits -= 8;
      id.bytes.at(count++) = static_cast<std::uint8_t>((pending >> pending_bits) & 255U);
    }
  }
  // Set bits behind the last byte would make two texts of one id.
  if ((pending & ((1U << pending_bits) - 1)) != 0) {
    return make_error(ErrorCode::kInvalidArgument, "id has bits behind its 16 bytes");
  }
  return id;
}

std::string encode_partition_metadata(const Uuid& topic_id) {
  return "version: 0\ntopic_id: " + to_string(topic_id);
}

Result<Uuid> decode_partition_metadata(std::string_view text) {
  std::string_view line;
  const bool has_version = next_line(text, line);
  const auto version_text =
      has_version ? metadata_value(line, "version") : std::optional<std::string_view>{};
  const auto version =
      version_text ? parse_number<std::int32_t>(*version_text) : std::optional<std::int32_t>{};
  if (!version.has_value() || *version < 0) return damaged_line(1, "no version");
  const bool has_id = next_line(text, line);
  const auto id_text =
      has_id ? metadata_value(line, "topic_id") : std::optional<std::string_view>{};
  if (!id_text.has_value()) return damaged_line(2, "no topic_id");
  Result<Uuid> id = parse_uuid(*id_text);
  if (!id.ok()) return damaged_line(2, id.error().message);
  if (id->is_zero()) return damaged_line(2, "topic_id is zero");
  return id;
}

std::string encode_clean_shutdown(std::int64_t broker_epoch) {
  return "{\"version\":0,\"brokerEpoch\":" + std::to_string(broker_epoch) + '}';
}

}  // namespace oncelog
