// What the documents say about the tree is checked here: the example, and references to sections.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

const fs::path kRoot = ONCELOG_SOURCE_DIR;

/// What stands between two marks; empty when either is missing.
std::string between(std::string_view text, std::string_view begin, std::string_view end) {
  const std::size_t from = text.find(begin);
  if (from == std::string_view::npos) return {};
  const std::size_t start = from + begin.size();
  const std::size_t to = text.find(end, start);
  return to == std::string_view::npos ? std::string{} : std::string(text.substr(start, to - start));
}

bool has_section(std::string_view document, const std::string& title) {
  return document.find("\n## " + title + "\n") != std::string_view::npos ||
         document.find("\n### " + title + "\n") != std::string_view::npos;
}

TEST(Readme, ShowsTheExampleThatIsCompiled) {
  const std::string shown = between(text_of(kRoot / "README.md"), "```cpp\n", "```");
  const std::string compiled =
      between(text_of(kRoot / "tests/readme/readme_example.cc"), "// [example]\n", "// [example]");

  ASSERT_FALSE(compiled.empty());
  EXPECT_EQ(shown, compiled);
}

/// What the example prints when it is run in `folder`.
std::string run_example(const fs::path& folder) {
  const fs::path output = folder / "output";
  const std::string command =
      "cd '" + folder.string() + "' && '" ONCELOG_README_EXAMPLE "' >output 2>&1";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the test has no other thread.
  if (std::system(command.c_str()) != 0) return "failed: " + text_of(output);
  return text_of(output);
}

TEST(Readme, ItsExampleIsAnsweredAsARetryTheSecondTime) {
  const fs::path folder = fs::path(::testing::TempDir()) / "oncelog_readme_example";
  fs::remove_all(folder);
  fs::create_directories(folder);

  const std::string first = run_example(folder);
  const std::string second = run_example(folder);

  EXPECT_EQ(first, "duplicate: 0, batches: 1\n");
  EXPECT_EQ(second, "duplicate: 1, batches: 1\n");
  fs::remove_all(folder);
}

#ifdef ONCELOG_PROGRAM
/// The first words of the lines between two marks.
std::set<std::string> first_words(const std::string& text, std::string_view line_begin) {
  std::set<std::string> words;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, line_begin.size(), line_begin) != 0) continue;
    const std::string rest = line.substr(line_begin.size());
    const std::string word = rest.substr(0, rest.find_first_of(" `"));
    if (!word.empty()) words.insert(word);
  }
  return words;
}

TEST(Readme, ListsTheCommandsThatTheProgramHas) {
  const fs::path help = fs::path(::testing::TempDir()) / "oncelog_readme_help";
  const std::string command = "'" ONCELOG_PROGRAM "' --help >'" + help.string() + "'";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the test has no other thread.
  ASSERT_EQ(std::system(command.c_str()), 0);

  const auto offered = first_words(between(text_of(help), "Subcommands:\n", "\nExit codes"), "  ");
  const auto listed =
      first_words(between(text_of(kRoot / "README.md"), "| command | does |\n", "\n\n"), "| `");

  EXPECT_FALSE(offered.empty());
  EXPECT_EQ(listed, offered);
  fs::remove(help);
}
#endif

TEST(Documents, HaveTheSectionsThatSourcesReferTo) {
  constexpr std::string_view kReference = "ARCHITECTURE.md, \"";
  const std::string document = text_of(kRoot / "ARCHITECTURE.md");

  for (const std::string_view folder : {"storage", "index", "recovery", "txn", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc") continue;
      const std::string text = text_of(entry.path());
      EXPECT_EQ(text.find("DESIGN"), std::string::npos) << entry.path() << " names a missing page";
      for (std::size_t at = text.find(kReference); at != std::string::npos;
           at = text.find(kReference, at + 1)) {
        const std::size_t begin = at + kReference.size();
        const std::string title = text.substr(begin, text.find('"', begin) - begin);
        EXPECT_TRUE(has_section(document, title)) << entry.path() << " names " << title;
      }
    }
  }
}

TEST(Documents, LinkToFilesThatExist) {
  for (const std::string_view name :
       {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"}) {
    const std::string text = text_of(kRoot / name);
    ASSERT_FALSE(text.empty()) << name;
    for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
      const std::string link = text.substr(at + 2, text.find(')', at) - at - 2);
      if (link.find("://") != std::string::npos) continue;
      EXPECT_TRUE(fs::exists(kRoot / link)) << name << " links to " << link;
    }
  }
}

// A file that ARCHITECTURE.md names as the place of an invariant has to be there.
TEST(Documents, NameSourcesThatExist) {
  const std::string text = text_of(kRoot / "ARCHITECTURE.md");
  for (std::size_t at = text.find('`'); at != std::string::npos;) {
    const std::size_t end = text.find('`', at + 1);
    ASSERT_NE(end, std::string::npos);
    const std::string name = text.substr(at + 1, end - at - 1);
    const bool source = name.find('/') != std::string::npos &&
                        (name.ends_with(".h") || name.ends_with(".cc") || name.ends_with(".md"));
    if (source && name.find('*') == std::string::npos && !name.starts_with("oncelog/")) {
      EXPECT_TRUE(fs::exists(kRoot / name)) << name;
    }
    at = text.find('`', end + 1);
  }
}

}  // namespace
