// What every implementation of the seam is tested with: the contract suites run over each of them.
//
// An implementation joins by one .cc file with INSTANTIATE_TEST_SUITE_P(Name, IoContract, ...) that
// is linked with ${ONCELOG_IO_CONTRACT} (tests/io.cmake).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "oncelog/io.h"

namespace oncelog {

struct IoImplementation {
  std::string name;                                          ///< letters and digits, for gtest
  std::function<std::shared_ptr<Io>()> make_io;              ///< null: not to be had here, skip
  std::function<std::string(Io&)> make_root;                 ///< a new, empty directory
  std::function<void(Io&, const std::string&)> remove_root;  ///< with all that is in it
  std::function<std::size_t()> open_descriptors;             ///< may be empty
};

// NOLINTNEXTLINE(readability-identifier-naming): googletest looks for this name
inline void PrintTo(const IoImplementation& implementation, std::ostream* out) {
  *out << implementation.name;
}
inline std::string name_of(const ::testing::TestParamInfo<IoImplementation>& info) {
  return info.param.name;
}

/// A directory on the implementation under test, and shorthands that fail the test.
class IoContract : public ::testing::TestWithParam<IoImplementation> {
 protected:
  void SetUp() override;
  void TearDown() override;

  FileSystem& files() { return io_->files(); }
  std::string path(std::string_view name) const { return root_ + "/" + std::string(name); }
  std::shared_ptr<File> open(std::string_view name, OpenMode mode = OpenMode::kCreate);
  /// A new file with that content.
  std::shared_ptr<File> write_file(std::string_view name, std::string_view content);
  std::string content(File& file);
  std::unique_ptr<IoQueue> make_queue();
  /// Polls until `count` completions are there; gives up, and fails, after a minute.
  std::vector<IoCompletion> collect(IoQueue& queue, std::size_t count);

  std::shared_ptr<Io> io_;
  std::string root_;
};

inline std::vector<std::byte> bytes_of(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    bytes[i] = static_cast<std::byte>(text[i]);
  return bytes;
}

inline Buffer buffer_of(std::string_view text) {
  return Buffer(bytes_of(text));
}

inline std::string text_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes)
    text.push_back(static_cast<char>(byte));
  return text;
}

inline ErrorCode code_of(const Status& status) {
  EXPECT_FALSE(status.ok());
  return status.ok() ? ErrorCode::kUnsupported : status.error().code;
}
template <class T>
ErrorCode code_of(const Result<T>& result) {
  return code_of(result.status());
}

IoRequest write_request(std::uint64_t token, std::shared_ptr<File> file, std::int64_t position,
                        std::vector<Buffer> buffers);
IoRequest sync_request(std::uint64_t token, std::shared_ptr<File> file);
IoRequest read_request(std::uint64_t token, std::shared_ptr<File> file, std::int64_t position,
                       std::size_t bytes);

}  // namespace oncelog
