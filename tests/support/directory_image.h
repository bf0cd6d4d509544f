// The files of one partition and of its data root as values in memory.
//
// What a crash left on a simulated disk and what lies in a golden directory take the same form, so
// that the same models and comparisons work on both.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "oncelog/file_system.h"
#include "oncelog/result.h"

namespace oncelog::test {

using FileMap = std::map<std::string, std::vector<std::byte>>;

struct DirectoryImage {
  FileMap root_files;  ///< regular files of the data root, by name
  FileMap files;       ///< regular files of the partition directory, by name
  /// Names the partition in the root's checkpoints: "<topic>-<partition>".
  std::string partition_directory;
};

/// Regular files directly in `directory`; an absent directory has none.
FileMap read_files(const std::filesystem::path& directory);
void write_files(const FileMap& files, const std::filesystem::path& directory);

/// The image of `root`/`partition_directory` on the real disk.
DirectoryImage read_image(const std::filesystem::path& root,
                          const std::string& partition_directory);
void write_image(const DirectoryImage& image, const std::filesystem::path& root);

/// The same through the seam, so that a simulated disk's surviving state can be looked at.
Result<DirectoryImage> image_of(FileSystem& files, const std::string& root,
                                const std::string& partition_directory);

std::vector<std::byte> bytes_of(const std::string& text);
std::string text_of(const std::vector<std::byte>& bytes);

}  // namespace oncelog::test
