// Hex literals and shared test data for the index tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace oncelog {

/// Bytes from hex digits; everything else is skipped.
inline std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> out;
  int high = -1;
  for (const char c : text) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) continue;
    if (high < 0) {
      high = static_cast<int>(digit);
    } else {
      out.push_back(static_cast<std::byte>(high * 16 + static_cast<int>(digit)));
      high = -1;
    }
  }
  return out;
}

/// The seed of random tests: ONCELOG_SEED or a fixed one.
inline std::uint64_t test_seed() {
  const char* const text = std::getenv("ONCELOG_SEED");
  return text == nullptr ? 20240611 : std::strtoull(text, nullptr, 10);
}

inline std::filesystem::path golden_cases() {
  const char* const shared = std::getenv("ONCELOG_SHARED_DIR");
  const std::filesystem::path base =
      shared == nullptr ? std::filesystem::path(ONCELOG_SOURCE_DIR) / "../shared" : shared;
  return base / "golden/cases";
}

/// All files below the golden cases whose name ends in `suffix`, sorted.
inline std::vector<std::filesystem::path> golden_files(const std::string& suffix) {
  std::vector<std::filesystem::path> out;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(golden_cases(), error), end;
       !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (it->is_regular_file() && name.size() >= suffix.size() &&
        name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0) {
      out.push_back(it->path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

}  // namespace oncelog
