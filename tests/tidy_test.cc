// Rules about the source text that no compiler checks, run as an ordinary test.
//
// Each rule prints file:line, so a failure reads like a compiler error.

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

// Lower layers first. A file may include its own layer and those before it; the simulator stands
// beside the stack: it sees the seam, and only tools see it.
constexpr std::array<std::string_view, 9> kLayers{"storage/include", "storage/base", "storage/io",
                                                  "storage/format",  "storage",      "index",
                                                  "recovery",        "txn",          "tools"};
constexpr std::size_t kIoLayer = 2;
constexpr std::size_t kToolsLayer = 8;
constexpr std::size_t kSim = kLayers.size();

constexpr std::size_t kColumnsMax = 100;
constexpr std::size_t kHeaderLinesMax = 200;
constexpr std::size_t kSourceLinesMax = 500;

struct SourceFile {
  std::string path;  // relative to the repository root
  std::vector<std::string> lines;
};

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

/// The layer with the longest matching folder, or nothing for tests, bench and fuzz.
std::optional<std::size_t> layer_of(std::string_view path) {
  if (starts_with(path, "storage/sim/")) return kSim;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < kLayers.size(); ++i) {
    const bool inside = starts_with(path, kLayers[i]) && path.size() > kLayers[i].size() &&
                        path[kLayers[i].size()] == '/';
    if (inside && (!best || kLayers[i].size() > kLayers[*best].size())) best = i;
  }
  return best;
}

bool may_include(std::size_t from, std::size_t to) {
  if (from == kSim) return to == kSim || to <= kIoLayer;
  if (to == kSim) return from == kToolsLayer;
  return to <= from;
}

/// `"oncelog/log.h"` names a public header; find which layer ships it.
std::string resolve_include(const fs::path& root, const std::string& name) {
  if (!starts_with(name, "oncelog/")) return name;
  for (const std::string_view layer : {"storage", "storage/sim", "index", "recovery", "txn"}) {
    std::string candidate = std::string(layer) + "/include/" + name;
    if (fs::exists(root / candidate)) return candidate;
  }
  return name;
}

/// The project file that a line includes: every quoted one, and `<oncelog/...>`.
std::optional<std::string> quoted_include(std::string_view line) {
  for (const std::string_view prefix : {"#include \"", "#include <oncelog/"}) {
    if (!starts_with(line, prefix)) continue;
    const std::string_view rest = line.substr(sizeof("#include "));
    return std::string(rest.substr(0, rest.find_first_of("\">")));
  }
  return std::nullopt;
}

std::vector<SourceFile> sources_under(const fs::path& root) {
  std::vector<SourceFile> out;
  for (const std::string_view top :
       {"storage", "index", "recovery", "txn", "tools", "bench", "tests", "fuzz"}) {
    if (!fs::exists(root / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension().string();
      if (!entry.is_regular_file() || (extension != ".h" && extension != ".cc")) continue;
      SourceFile file{entry.path().lexically_relative(root).generic_string(), {}};
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);)
        file.lines.push_back(line);
      out.push_back(std::move(file));
    }
  }
  return out;
}

/// The header between angle brackets that a line includes.
std::optional<std::string_view> system_include(std::string_view line) {
  constexpr std::string_view kPrefix = "#include <";
  if (!starts_with(line, kPrefix)) return std::nullopt;
  line.remove_prefix(kPrefix.size());
  return line.substr(0, line.find('>'));
}

/// True for headers of the C++ library, which alone have no dot, e.g. `<vector>`.
bool is_standard_header(std::string_view name) {
  return name.find('.') == std::string_view::npos && name.find('/') == std::string_view::npos;
}

/// True for the files that are the library; programs and tests may call the OS themselves.
bool in_library(std::string_view path) {
  const auto layer = layer_of(path);
  return layer && *layer != kToolsLayer;
}

/// Third-party headers that the library uses, each in the folder that wraps it.
struct WrappedHeader {
  std::string_view folder;
  std::string_view header;
};
constexpr std::array<WrappedHeader, 9> kWrappedHeaders{{{"storage/base/", "isa-l.h"},
                                                        {"storage/base/", "isa-l/crc.h"},
                                                        {"storage/base/", "xxhash.h"},
                                                        {"storage/format/", "lz4.h"},
                                                        {"storage/format/", "lz4frame.h"},
                                                        {"storage/format/", "snappy.h"},
                                                        {"storage/format/", "zlib.h"},
                                                        {"storage/format/", "zstd.h"},
                                                        {"storage/format/", "zstd_errors.h"}}};

bool may_use_library(std::string_view path, std::string_view header) {
  return starts_with(header, "oncelog/") ||
         std::any_of(kWrappedHeaders.begin(), kWrappedHeaders.end(),
                     [&](const WrappedHeader& wrapped) {
                       return starts_with(path, wrapped.folder) && header == wrapped.header;
                     });
}

/// True when `text` has `name` and not only as the end of a longer one (`log.cc` in `txn_log.cc`).
bool names(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    if (at == 0 || std::string_view(" \t\n/(\"").find(text[at - 1]) != std::string_view::npos)
      return true;
  }
  return false;
}

class Tidy : public ::testing::Test {
 protected:
  const fs::path root_ = ONCELOG_SOURCE_DIR;
  const std::vector<SourceFile> files_ = sources_under(root_);
};

TEST_F(Tidy, FindsTheSources) {
  EXPECT_GE(files_.size(), std::size_t{ONCELOG_TIDY_FILES_MIN});
}

TEST_F(Tidy, IncludesPointOnlyDownward) {
  for (const SourceFile& file : files_) {
    const auto from = layer_of(file.path);
    if (!from) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto name = quoted_include(file.lines[i]);
      if (!name) continue;
      const std::string target = resolve_include(root_, *name);
      const auto to = layer_of(target);
      EXPECT_TRUE(to.has_value()) << file.path << ':' << i + 1 << " includes " << target;
      if (to) {
        EXPECT_TRUE(may_include(*from, *to)) << file.path << ':' << i + 1 << " includes " << target;
      }
    }
  }
}

TEST_F(Tidy, PublicHeadersIncludeOnlyPublicHeaders) {
  for (const SourceFile& file : files_) {
    if (file.path.find("/include/oncelog/") == std::string::npos) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto name = quoted_include(file.lines[i]);
      if (name) {
        EXPECT_TRUE(starts_with(*name, "oncelog/")) << file.path << ':' << i + 1;
      }
    }
  }
}

TEST_F(Tidy, PublicHeadersIncludeOnlyTheStandardLibraryAndEachOther) {
  for (const SourceFile& file : files_) {
    if (file.path.find("/include/oncelog/") == std::string::npos) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto name = system_include(file.lines[i]);
      if (!name) continue;
      EXPECT_TRUE(is_standard_header(*name) || starts_with(*name, "oncelog/"))
          << file.path << ':' << i + 1 << " includes <" << *name << '>';
    }
  }
}

// The simulator is worth only what goes through the seam: one call around it and a seed no longer
// reproduces a run.
TEST_F(Tidy, OnlyTheSeamCallsTheOperatingSystemForFilesAndTime) {
  constexpr std::array<std::string_view, 3> kHeaders{"filesystem", "fstream", "ctime"};
  constexpr std::array<std::string_view, 6> kWords{"steady_clock",  "system_clock",
                                                   "utc_clock",     "high_resolution_clock",
                                                   "random_device", "fopen("};
  for (const SourceFile& file : files_) {
    if (!in_library(file.path) || starts_with(file.path, "storage/io/")) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      for (const std::string_view word : kWords) {
        EXPECT_EQ(line.find(word), std::string::npos) << file.path << ':' << i + 1 << ' ' << word;
      }
      const auto name = system_include(line);
      if (!name) continue;
      const bool forbidden = std::find(kHeaders.begin(), kHeaders.end(), *name) != kHeaders.end();
      EXPECT_FALSE(forbidden) << file.path << ':' << i + 1 << " includes <" << *name << '>';
      EXPECT_TRUE(is_standard_header(*name) || may_use_library(file.path, *name))
          << file.path << ':' << i + 1 << " includes <" << *name << '>';
    }
  }
}

// A shard's state changes on one thread; only who drives shards and who implements the seam start
// threads.
TEST_F(Tidy, OnlyTheSeamAndTheTopLayerStartThreads) {
  constexpr std::array<std::string_view, 3> kThreads{"thread", "future", "stop_token"};
  for (const SourceFile& file : files_) {
    const bool allowed = starts_with(file.path, "storage/io/") || starts_with(file.path, "txn/");
    if (!in_library(file.path) || allowed) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto name = system_include(file.lines[i]);
      if (!name) continue;
      const bool forbidden = std::find(kThreads.begin(), kThreads.end(), *name) != kThreads.end();
      EXPECT_FALSE(forbidden) << file.path << ':' << i + 1 << " includes <" << *name << '>';
    }
  }
}

TEST_F(Tidy, LinesAndFilesStayShort) {
  for (const SourceFile& file : files_) {
    const bool header = file.path.back() == 'h';
    EXPECT_LE(file.lines.size(), header ? kHeaderLinesMax : kSourceLinesMax) << file.path;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_LE(file.lines[i].size(), kColumnsMax) << file.path << ':' << i + 1;
    }
  }
}

// H-088, H-089: a mapped file that gets shorter or finds no block ends the process by a signal.
TEST_F(Tidy, NoFileIsMappedIntoMemory) {
  for (const SourceFile& file : files_) {
    if (!layer_of(file.path)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_EQ(file.lines[i].find("mmap("), std::string::npos) << file.path << ':' << i + 1;
    }
  }
}

TEST_F(Tidy, EveryFileBeginsBySayingWhatItIs) {
  for (const SourceFile& file : files_) {
    ASSERT_FALSE(file.lines.empty()) << file.path;
    EXPECT_TRUE(starts_with(file.lines.front(), "// ")) << file.path;
  }
}

// Guards against a test that exists but never runs.
TEST_F(Tidy, EverySourceIsNamedInACMakeFile) {
  std::string cmake_text;
  for (const auto& entry : fs::recursive_directory_iterator(root_)) {
    const std::string path = entry.path().lexically_relative(root_).generic_string();
    const bool cmake_file =
        entry.path().filename() == "CMakeLists.txt" || entry.path().extension() == ".cmake";
    if (!cmake_file || starts_with(path, "build/")) continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      const std::string_view code = std::string_view(line).substr(0, line.find('#'));
      cmake_text.append(code).push_back('\n');
    }
  }
  for (const SourceFile& file : files_) {
    if (file.path.back() == 'h') continue;
    const fs::path path = file.path;
    const bool named = names(cmake_text, path.filename().string()) ||
                       cmake_text.find('(' + path.stem().string() + ')') != std::string::npos;
    EXPECT_TRUE(named) << file.path << " is in no CMakeLists.txt";
  }
}

}  // namespace
