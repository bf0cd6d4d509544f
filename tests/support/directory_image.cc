// Reading and writing directory images.
#include "tests/support/directory_image.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

namespace oncelog::test {
namespace {

namespace fs = std::filesystem;

Result<FileMap> read_directory(FileSystem& files, const std::string& directory) {
  ONCELOG_TRY_ASSIGN(const std::vector<DirEntry> entries, files.list(directory));
  FileMap out;
  for (const DirEntry& entry : entries) {
    if (entry.type != FileType::kRegular) continue;
    const std::string path = directory + "/" + entry.name;
    ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file, files.open(path, OpenMode::kRead));
    ONCELOG_TRY_ASSIGN(const FileStat stat, file->stat());
    std::vector<std::byte> bytes(static_cast<std::size_t>(stat.size));
    ONCELOG_TRY_ASSIGN(const std::size_t count, file->read_at(0, bytes));
    bytes.resize(count);
    out.emplace(entry.name, std::move(bytes));
  }
  return out;
}

}  // namespace

FileMap read_files(const fs::path& directory) {
  FileMap out;
  if (!fs::is_directory(directory)) return out;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    out.emplace(entry.path().filename().string(), bytes_of(text));
  }
  return out;
}

void write_files(const FileMap& files, const fs::path& directory) {
  fs::create_directories(directory);
  for (const auto& [name, bytes] : files) {
    std::ofstream out(directory / name, std::ios::binary | std::ios::trunc);
    const std::string text = text_of(bytes);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
  }
}

DirectoryImage read_image(const fs::path& root, const std::string& partition_directory) {
  return {read_files(root), read_files(root / partition_directory), partition_directory};
}

void write_image(const DirectoryImage& image, const fs::path& root) {
  write_files(image.root_files, root);
  write_files(image.files, root / image.partition_directory);
}

Result<DirectoryImage> image_of(FileSystem& files, const std::string& root,
                                const std::string& partition_directory) {
  DirectoryImage image;
  image.partition_directory = partition_directory;
  ONCELOG_TRY_ASSIGN(image.root_files, read_directory(files, root));
  Result<FileMap> inner = read_directory(files, root + "/" + partition_directory);
  // Power may be lost before the partition's directory is durable.
  if (!inner.ok() && inner.error().code == ErrorCode::kNotFound) return image;
  ONCELOG_TRY_ASSIGN(image.files, std::move(inner));
  return image;
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const std::vector<std::byte>& bytes) {
  std::string text(bytes.size(), '\0');
  std::transform(bytes.begin(), bytes.end(), text.begin(),
                 [](std::byte byte) { return static_cast<char>(byte); });
  return text;
}

}  // namespace oncelog::test
