// Finding partitions and the facts about them.
#include "tools/partition.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "index/text_files.h"

namespace oncelog::tools {
namespace {

std::string last_component(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_in_use(FileSystem& files, const std::string& root) {
  auto file = files.open(root + "/" + std::string(kLockFile), OpenMode::kRead);
  if (!file.ok()) return false;
  const auto locked = (*file)->is_locked();
  return locked.ok() && *locked;
}

Partition describe(FileSystem& files, std::string directory, std::optional<TopicPartition> name) {
  Partition out;
  out.root = directory.substr(0, directory.rfind('/'));
  if (out.root.empty()) out.root = "/";
  out.directory = std::move(directory);
  out.name = std::move(name);
  out.in_use = is_in_use(files, out.root);
  if (out.name) out.facts = read_root_facts(files, out.root, *out.name, out.notes);
  return out;
}

bool is_live_file(std::string_view name, FileKind kind) {
  const auto parsed = parse_file_name(name);
  return parsed && parsed->kind == kind && parsed->stage == FileStage::kLive;
}

bool has_segments(const std::vector<DirEntry>& entries) {
  return std::any_of(entries.begin(), entries.end(), [](const DirEntry& entry) {
    return entry.type == FileType::kRegular && is_live_file(entry.name, FileKind::kLog);
  });
}

bool is_root_file(const std::string& name) {
  return name == kMetaPropertiesFile || name == kRecoveryPointFile || name == kLogStartFile ||
         name == kHighWatermarkFile || name == kCleanShutdownFile;
}

Result<std::vector<DirEntry>> list_directory(FileSystem& files, const std::string& path) {
  ONCELOG_TRY_ASSIGN(const FileStat stat, files.stat(path));
  if (stat.type != FileType::kDirectory)
    return make_error(ErrorCode::kInvalidArgument, "not a directory").at(path);
  return files.list(path);
}

Error no_partition(const std::string& path) {
  return make_error(ErrorCode::kInvalidArgument,
                    "neither a partition directory nor a data directory with partitions")
      .at(path);
}

Json offset_or_null(const std::optional<Offset>& offset) {
  return offset ? Json(*offset) : Json();
}

}  // namespace

std::optional<TopicPartition> parse_partition_name(std::string_view name) {
  auto parsed = parse_directory_name(name);
  if (!parsed || parsed->state != DirectoryState::kLive) return std::nullopt;
  return std::move(parsed->partition);
}

std::string Partition::facts_used() const {
  std::string out;
  const auto add = [&](bool used, const char* what) {
    if (!used) return;
    if (!out.empty()) out += ", ";
    out += what;
  };
  add(facts.log_start.has_value(), "log start");
  add(facts.high_watermark.has_value(), "high watermark");
  add(facts.recovery_point.has_value(), "recovery point");
  add(facts.clean, "clean marker");
  return out.empty() ? "nothing" : out;
}

Json Partition::facts_json() const {
  return Json::object({{"logStartOffset", offset_or_null(facts.log_start)},
                       {"highWatermark", offset_or_null(facts.high_watermark)},
                       {"recoveryPoint", offset_or_null(facts.recovery_point)},
                       {"cleanShutdown", facts.clean}});
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  std::string out = std::filesystem::absolute(path, error).lexically_normal().generic_string();
  if (error) out = path;
  while (out.size() > 1 && out.back() == '/')
    out.pop_back();
  return out;
}

Result<Partition> find_partition(FileSystem& files, const std::string& path) {
  std::string directory = absolute_path(path);
  ONCELOG_TRY_ASSIGN(const auto entries, list_directory(files, directory));
  auto name = parse_partition_name(last_component(directory));
  if (!name && !has_segments(entries))
    return make_error(ErrorCode::kInvalidArgument, "not a partition directory").at(directory);
  return describe(files, std::move(directory), std::move(name));
}

Result<std::vector<Partition>> find_partitions(FileSystem& files, const std::string& path) {
  std::string directory = absolute_path(path);
  ONCELOG_TRY_ASSIGN(const auto entries, list_directory(files, directory));
  std::vector<Partition> out;
  auto name = parse_partition_name(last_component(directory));
  if (name || has_segments(entries)) {
    out.push_back(describe(files, std::move(directory), std::move(name)));
    return out;
  }
  bool is_root = false;
  for (const DirEntry& entry : entries) {
    if (entry.type == FileType::kRegular) is_root = is_root || is_root_file(entry.name);
    if (entry.type != FileType::kDirectory) continue;
    if (auto inner = parse_partition_name(entry.name))
      out.push_back(describe(files, directory + "/" + entry.name, std::move(inner)));
  }
  if (out.empty() && !is_root) return no_partition(directory);
  return out;
}

Result<std::vector<BaseFile>> live_files(FileSystem& files, const std::string& directory,
                                         FileKind kind) {
  ONCELOG_TRY_ASSIGN(const auto entries, files.list(directory));
  std::vector<BaseFile> out;
  for (const DirEntry& entry : entries) {
    if (entry.type != FileType::kRegular || !is_live_file(entry.name, kind)) continue;
    ONCELOG_TRY_ASSIGN(const FileStat stat, files.stat(directory + "/" + entry.name));
    out.push_back(BaseFile{parse_file_name(entry.name)->base_offset, entry.name, stat.size});
  }
  return out;
}

}  // namespace oncelog::tools
