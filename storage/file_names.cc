// Prints and parses the names of FORMAT.md 9.
#include "storage/file_names.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "storage/base/assert.h"

namespace oncelog {
namespace {

constexpr std::size_t kOffsetDigits = 20;
constexpr std::array<FileKind, 5> kKinds{FileKind::kLog, FileKind::kOffsetIndex,
                                         FileKind::kTimeIndex, FileKind::kTxnIndex,
                                         FileKind::kSnapshot};
constexpr std::array<FileStage, 3> kStages{FileStage::kCleaned, FileStage::kSwap,
                                           FileStage::kDeleted};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

/// All of `text`, decimal digits only; nothing when it does not fit.
template <class T>
std::optional<T> parse_digits(std::string_view text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::string_view suffix_of(DirectoryState state) {
  switch (state) {
    case DirectoryState::kLive:
      return "";
    case DirectoryState::kDeleting:
      return "-delete";
    case DirectoryState::kStray:
      return "-stray";
    case DirectoryState::kFuture:
      return "-future";
  }
  return "";
}

/// "<topic>-<partition>", split at the last '-'.
std::optional<TopicPartition> parse_partition(std::string_view text) {
  const std::size_t dash = text.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view topic = text.substr(0, dash);
  const std::optional<std::int32_t> partition = parse_digits<std::int32_t>(text.substr(dash + 1));
  if (!partition || !check_topic_name(topic).ok()) return std::nullopt;
  return TopicPartition{std::string(topic), *partition};
}

std::string padded(Offset offset) {
  const std::string digits = std::to_string(offset);
  return std::string(kOffsetDigits - digits.size(), '0') + digits;
}

}  // namespace

std::string_view suffix_of(FileKind kind) noexcept {
  switch (kind) {
    case FileKind::kLog:
      return ".log";
    case FileKind::kOffsetIndex:
      return ".index";
    case FileKind::kTimeIndex:
      return ".timeindex";
    case FileKind::kTxnIndex:
      return ".txnindex";
    case FileKind::kSnapshot:
      return ".snapshot";
  }
  return "";
}

std::string_view suffix_of(FileStage stage) noexcept {
  switch (stage) {
    case FileStage::kLive:
      return "";
    case FileStage::kCleaned:
      return ".cleaned";
    case FileStage::kSwap:
      return ".swap";
    case FileStage::kDeleted:
      return ".deleted";
  }
  return "";
}

std::string file_name(FileKind kind, Offset base_offset, FileStage stage) {
  ONCELOG_ASSERT(base_offset >= 0);
  std::string name = padded(base_offset);
  name += suffix_of(kind);
  name += suffix_of(stage);
  return name;
}

std::optional<PartitionFileName> parse_file_name(std::string_view name) {
  PartitionFileName out;
  for (const FileStage stage : kStages) {
    if (!remove_suffix(name, suffix_of(stage))) continue;
    out.stage = stage;
    break;
  }
  if (name.size() <= kOffsetDigits) return std::nullopt;
  const std::optional<Offset> base = parse_digits<Offset>(name.substr(0, kOffsetDigits));
  if (!base) return std::nullopt;
  const std::string_view suffix = name.substr(kOffsetDigits);
  const auto* const kind = std::find_if(kKinds.begin(), kKinds.end(),
                                        [&](FileKind k) { return suffix == suffix_of(k); });
  if (kind == kKinds.end()) return std::nullopt;
  out.kind = *kind;
  out.base_offset = *base;
  const bool replaceable = out.kind != FileKind::kSnapshot;
  if (!replaceable && (out.stage == FileStage::kCleaned || out.stage == FileStage::kSwap)) {
    return std::nullopt;
  }
  return out;
}

std::string damaged_file_name(Offset base_offset, std::int64_t position) {
  return "oncelog-damaged-" + std::to_string(base_offset) + '-' + std::to_string(position) + ".log";
}

bool is_own_file_name(std::string_view name) {
  return name.starts_with("oncelog.") || name.starts_with("oncelog-");
}

bool is_partition_text_file(std::string_view name) {
  if (!remove_suffix(name, ".tmp")) static_cast<void>(remove_suffix(name, ".deleted"));
  return name == "leader-epoch-checkpoint" || name == "partition.metadata";
}

Status check_topic_name(std::string_view topic) {
  const auto bad = [&](const char* why) {
    return make_error(ErrorCode::kInvalidArgument, std::string("topic name ") + why);
  };
  if (topic.empty()) return bad("is empty");
  if (topic.size() > kTopicNameBytesMax) return bad("is longer than 249 bytes");
  if (topic == "." || topic == "..") return bad("must not be \".\" or \"..\"");
  const bool plain = std::all_of(topic.begin(), topic.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  });
  if (!plain) return bad("has a byte outside [a-zA-Z0-9._-]");
  return {};
}

std::optional<PartitionDirectoryName> parse_directory_name(std::string_view name) {
  PartitionDirectoryName out;
  constexpr std::array<DirectoryState, 3> kMarked{DirectoryState::kDeleting, DirectoryState::kStray,
                                                  DirectoryState::kFuture};
  for (const DirectoryState state : kMarked) {
    if (!remove_suffix(name, suffix_of(state))) continue;
    out.state = state;
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const std::string_view id = name.substr(dot + 1);
    if (id.size() != 32 || !std::all_of(id.begin(), id.end(), is_hex)) return std::nullopt;
    out.unique_id = std::string(id);
    name = name.substr(0, dot);
    break;
  }
  std::optional<TopicPartition> partition = parse_partition(name);
  if (!partition) return std::nullopt;
  out.partition = std::move(*partition);
  return out;
}

std::string marked_directory_name(const TopicPartition& name, DirectoryState state,
                                  std::string_view unique_id) {
  ONCELOG_ASSERT(state != DirectoryState::kLive);
  std::string tail = '-' + std::to_string(name.partition) + '.';
  tail += unique_id;
  tail += suffix_of(state);
  std::string topic = name.topic;
  if (state != DirectoryState::kFuture && topic.size() + tail.size() > kFileNameBytesMax) {
    topic.resize(kFileNameBytesMax - tail.size());
  }
  return topic + tail;
}

}  // namespace oncelog
