// A data root: lock, checkpoints, clean-shutdown marker, meta.properties.
#include "txn/data_dir.h"

#include <array>
#include <atomic>
#include <span>
#include <utility>

#include "index/derived_file.h"
#include "storage/base/endian.h"
#include "storage/base/xxh3.h"

namespace oncelog {
namespace {

constexpr std::int64_t kCheckpointBytesMax = 64 << 20;
constexpr std::int64_t kMetaBytesMax = 1 << 20;

std::string text_of(const std::vector<std::byte>& bytes) {
  std::string text(bytes.size(), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i)
    text[i] = static_cast<char>(bytes[i]);
  return text;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

Status make_directories(FileSystem& files, const std::string& path) {
  const Result<FileStat> stat = files.stat(path);
  if (stat.ok()) {
    if (stat->type == FileType::kDirectory) return {};
    return make_error(ErrorCode::kIo, "not a directory").at(path);
  }
  if (stat.error().code != ErrorCode::kNotFound) return stat.error();
  const std::size_t slash = path.find_last_of('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash);
  if (!parent.empty() && slash != 0) ONCELOG_TRY(make_directories(files, parent));
  Status made = files.make_directory(path);
  if (!made.ok() && made.error().code != ErrorCode::kAlreadyExists) return made;
  return files.sync_directory(parent.empty() ? "/" : parent);
}

}  // namespace

DataDir::DataDir(FileSystem& files, Options options, std::shared_ptr<File> lock)
    : files_(files), options_(std::move(options)), lock_(std::move(lock)) {}

Result<std::unique_ptr<DataDir>> DataDir::open(FileSystem& files, const Options& options,
                                               std::vector<std::string>& notes) {
  ONCELOG_TRY(make_directories(files, options.path));
  const std::string lock_path = options.path + '/' + std::string(kLockFile);
  ONCELOG_TRY_ASSIGN(std::shared_ptr<File> lock, files.open(lock_path, OpenMode::kCreate));
  ONCELOG_TRY(lock->lock());
  auto directory = std::make_unique<DataDir>(files, options, std::move(lock));
  ONCELOG_TRY(directory->read(notes));
  return directory;
}

Status DataDir::read(std::vector<std::string>& notes) {
  ONCELOG_TRY(read_checkpoint(recovery_points_, notes));
  ONCELOG_TRY(read_checkpoint(log_starts_, notes));
  ONCELOG_TRY(read_checkpoint(high_watermarks_, notes));
  return read_meta_properties();
}

Status DataDir::read_checkpoint(Checkpoint& checkpoint, std::vector<std::string>& notes) {
  const std::string path = options_.path + '/' + std::string(checkpoint.file);
  const Result<std::vector<std::byte>> bytes = read_whole_file(files_, path, kCheckpointBytesMax);
  if (!bytes.ok()) {
    if (bytes.error().code == ErrorCode::kNotFound) return {};
    if (bytes.error().code == ErrorCode::kIo) return bytes.error();
    notes.push_back(to_string(bytes.error()) + ": treated as missing");
    return {};
  }
  Result<OffsetCheckpoint> offsets = decode_offset_checkpoint(text_of(*bytes));
  if (offsets.ok()) {
    checkpoint.offsets = std::move(offsets).value();
    checkpoint.saved = checkpoint.offsets;
  } else {
    notes.push_back(to_string(Error(offsets.error()).at(path)) + ": treated as missing");
  }
  return {};
}

Status DataDir::remove_clean_marker() {
  const std::string path = options_.path + '/' + std::string(kCleanShutdownFile);
  const Result<FileStat> stat = files_.stat(path);
  if (!stat.ok()) {
    if (stat.error().code == ErrorCode::kNotFound) return {};
    return stat.error();
  }
  ONCELOG_TRY(files_.unlink(path));
  ONCELOG_TRY(files_.sync_directory(options_.path));
  was_clean_ = true;
  return {};
}

Status DataDir::read_meta_properties() {
  const std::string path = options_.path + '/' + std::string(kMetaPropertiesFile);
  const Result<FileStat> stat = files_.stat(path);
  if (!stat.ok()) {
    if (stat.error().code == ErrorCode::kNotFound) return {};
    return stat.error();
  }
  ONCELOG_TRY_ASSIGN(const std::vector<std::byte> bytes,
                     read_whole_file(files_, path, kMetaBytesMax));
  Result<MetaProperties> properties = decode_meta_properties(text_of(bytes));
  if (!properties.ok()) return Error(properties.error()).at(path);
  meta_ = std::move(properties).value();
  return {};
}

Status DataDir::begin(const std::string& cluster_id, std::int32_t node_id) {
  if (!meta_) {
    MetaProperties properties;
    properties.node_id = node_id;
    properties.cluster_id = cluster_id;
    ONCELOG_TRY(replace_file(files_, options_.path, std::string(kMetaPropertiesFile),
                             bytes_of(encode_meta_properties(properties))));
    meta_ = properties;
  }
  return remove_clean_marker();
}

RootFacts DataDir::facts_of(const TopicPartition& name) const {
  const std::lock_guard lock(mutex_);
  const auto find = [&](const Checkpoint& checkpoint) -> std::optional<Offset> {
    const auto entry = checkpoint.offsets.find(name);
    if (entry == checkpoint.offsets.end()) return std::nullopt;
    return entry->second;
  };
  RootFacts facts;
  facts.clean = was_clean_;
  facts.recovery_point = find(recovery_points_);
  facts.log_start = find(log_starts_);
  facts.high_watermark = find(high_watermarks_);
  return facts;
}

void DataDir::set(Checkpoint& checkpoint, const TopicPartition& name, Offset offset) {
  const std::lock_guard lock(mutex_);
  const auto entry = checkpoint.offsets.find(name);
  if (offset == kNoOffset) {
    if (entry == checkpoint.offsets.end()) return;
    checkpoint.offsets.erase(entry);
  } else {
    if (entry != checkpoint.offsets.end() && entry->second == offset) return;
    checkpoint.offsets[name] = offset;
  }
  ++checkpoint.version;
}

std::optional<Offset> DataDir::saved_recovery_point(const TopicPartition& name) const {
  const std::lock_guard lock(mutex_);
  const auto entry = recovery_points_.saved.find(name);
  if (entry == recovery_points_.saved.end()) return std::nullopt;
  return entry->second;
}

void DataDir::set_recovery_point(const TopicPartition& name, Offset offset) {
  set(recovery_points_, name, offset);
}

void DataDir::set_log_start(const TopicPartition& name, Offset offset) {
  set(log_starts_, name, offset);
}

void DataDir::set_high_watermark(const TopicPartition& name, Offset offset) {
  set(high_watermarks_, name, offset);
}

Status DataDir::forget(const TopicPartition& name) {
  set_recovery_point(name, kNoOffset);
  set_log_start(name, kNoOffset);
  set_high_watermark(name, kNoOffset);
  return dirty() ? write() : Status{};
}

bool DataDir::dirty() const {
  const std::lock_guard lock(mutex_);
  for (const Checkpoint* checkpoint : {&recovery_points_, &log_starts_, &high_watermarks_}) {
    if (checkpoint->version != checkpoint->saved_version) return true;
  }
  return false;
}

Status DataDir::write() {
  const std::lock_guard writing(write_mutex_);
  ONCELOG_TRY(write(recovery_points_));
  ONCELOG_TRY(write(log_starts_));
  return write(high_watermarks_);
}

Status DataDir::write(Checkpoint& checkpoint) {
  OffsetCheckpoint offsets;
  std::uint64_t version = 0;
  {
    const std::lock_guard lock(mutex_);
    if (checkpoint.version == checkpoint.saved_version) return {};
    version = checkpoint.version;
    offsets = checkpoint.offsets;
  }
  const std::string text = encode_offset_checkpoint(offsets);
  ONCELOG_TRY(replace_file(files_, options_.path, std::string(checkpoint.file), bytes_of(text)));
  const std::lock_guard lock(mutex_);
  checkpoint.saved_version = version;
  checkpoint.saved = std::move(offsets);
  return {};
}

Status DataDir::write_clean_marker() {
  return replace_file(files_, options_.path, std::string(kCleanShutdownFile),
                      bytes_of(encode_clean_shutdown(options_.broker_epoch)));
}

Uuid make_uuid(std::string_view seed, std::int64_t wall_ms, std::int64_t monotonic_ns) {
  static std::atomic<std::uint64_t> counter{0};
  std::string text(seed);
  std::array<std::byte, 24> numbers{};
  store_be(std::span(numbers), 0, wall_ms);
  store_be(std::span(numbers), 8, monotonic_ns);
  store_be(std::span(numbers), 16, static_cast<std::int64_t>(++counter));
  for (const std::byte b : numbers)
    text.push_back(static_cast<char>(b));
  const Hash128 hash = xxh3_128(std::as_bytes(std::span(text)));
  Uuid id;
  for (std::size_t i = 0; i < 8; ++i) {
    id.bytes[i] = static_cast<std::uint8_t>(hash.high >> (8 * i));
    id.bytes[8 + i] = static_cast<std::uint8_t>(hash.low >> (8 * i));
  }
  id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0FU) | 0x40U);  // RFC 4122 version 4
  id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3FU) | 0x80U);  // and variant
  return id;
}

}  // namespace oncelog
