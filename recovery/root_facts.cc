// What the data root says about one partition.
#include <algorithm>

#include "index/derived_file.h"
#include "recovery/recover.h"

namespace oncelog {
namespace {

constexpr std::int64_t kCheckpointBytesMax = std::int64_t{1} << 30;

std::optional<Offset> read_entry(FileSystem& files, const std::string& root, std::string_view name,
                                 const TopicPartition& partition, std::vector<std::string>& notes) {
  const std::string path = root + '/' + std::string(name);
  const auto bytes = read_whole_file(files, path, kCheckpointBytesMax);
  if (!bytes.ok()) {
    if (bytes.error().code != ErrorCode::kNotFound) notes.push_back(to_string(bytes.error()));
    return std::nullopt;
  }
  std::string text(bytes->size(), '\0');
  std::transform(bytes->begin(), bytes->end(), text.begin(),
                 [](std::byte b) { return static_cast<char>(std::to_integer<unsigned char>(b)); });
  const Result<OffsetCheckpoint> checkpoint = decode_offset_checkpoint(text);
  if (!checkpoint.ok()) {
    notes.push_back(std::string(name) +
                    ": unreadable, taken as missing: " + checkpoint.error().message);
    return std::nullopt;
  }
  const auto entry = checkpoint->find(partition);
  if (entry == checkpoint->end()) return std::nullopt;
  if (entry->second < 0) {
    notes.push_back(std::string(name) + ": a negative offset, taken as missing");
    return std::nullopt;
  }
  return entry->second;
}

}  // namespace

RootFacts read_root_facts(FileSystem& files, const std::string& root, const TopicPartition& name,
                          std::vector<std::string>& notes) {
  RootFacts facts;
  facts.clean = files.stat(root + '/' + std::string(kCleanShutdownFile)).ok();
  facts.recovery_point = read_entry(files, root, kRecoveryPointFile, name, notes);
  facts.log_start = read_entry(files, root, kLogStartFile, name, notes);
  facts.high_watermark = read_entry(files, root, kHighWatermarkFile, name, notes);
  return facts;
}

}  // namespace oncelog
