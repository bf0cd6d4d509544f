// Finding, loading and copying golden cases.
#include "tests/support/golden.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace oncelog::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> directories_in(const fs::path& parent) {
  std::vector<fs::path> out;
  if (!fs::is_directory(parent)) return out;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent)) {
    if (entry.is_directory()) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

GoldenCase load_case(const fs::path& root, const std::string& name) {
  GoldenCase golden;
  golden.name = name;
  golden.root = root;
  std::ifstream(root / "expect.json") >> golden.expect;
  golden.partition_directory = golden.expect.at("dir").get<std::string>();
  return golden;
}

}  // namespace

std::string GoldenCase::config(const std::string& key, const std::string& otherwise) const {
  return expect.at("config").value(key, otherwise);
}

std::optional<fs::path> shared_directory() {
  const char* const given = std::getenv("ONCELOG_SHARED_DIR");
  const fs::path path =
      given != nullptr ? fs::path(given) : fs::path(ONCELOG_SOURCE_DIR "/../shared");
  if (!fs::is_directory(path)) return std::nullopt;
  return path;
}

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> out;
  const std::optional<fs::path> shared = shared_directory();
  if (!shared) return out;
  for (const fs::path& path : directories_in(*shared / "golden" / "cases")) {
    out.push_back(load_case(path, path.filename().string()));
  }
  return out;
}

std::vector<GoldenCase> golden_recovery_cases() {
  std::vector<GoldenCase> out;
  const std::optional<fs::path> shared = shared_directory();
  if (!shared) return out;
  for (const fs::path& path : directories_in(*shared / "golden-recovery")) {
    out.push_back(load_case(path / "in", path.filename().string()));
    if (fs::is_directory(path / "out")) out.back().out = path / "out";
  }
  return out;
}

TempDirectory::TempDirectory() {
  std::string pattern = (fs::temp_directory_path() / "oncelog-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void copy_case(const GoldenCase& golden, const fs::path& target) {
  DirectoryImage image = golden.image();
  image.root_files.erase("expect.json");
  write_image(image, target);
}

}  // namespace oncelog::test
