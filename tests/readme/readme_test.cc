// README.md shows the example that is compiled and run here, and no other.
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace {

std::string text_of(const std::string& name) {
  std::ifstream in(std::string(ONCELOG_SOURCE_DIR) + "/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

/// What stands between two marks; empty when either is missing.
std::string between(std::string_view text, std::string_view begin, std::string_view end) {
  const std::size_t from = text.find(begin);
  if (from == std::string_view::npos) return {};
  const std::size_t start = from + begin.size();
  const std::size_t to = text.find(end, start);
  return to == std::string_view::npos ? std::string{} : std::string(text.substr(start, to - start));
}

TEST(Readme, ShowsTheExampleThatIsCompiled) {
  const std::string shown = between(text_of("README.md"), "```cpp\n", "```");
  const std::string compiled =
      between(text_of("tests/readme/readme_example.cc"), "// [example]\n", "// [example]");

  ASSERT_FALSE(compiled.empty());
  EXPECT_EQ(shown, compiled);
}

}  // namespace
