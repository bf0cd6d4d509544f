// Files of the tools themselves: scripts read as text, temporary directories.
#pragma once

#include <string>
#include <utility>

#include "oncelog/result.h"

namespace oncelog::tools {

/// The whole file; "-" is standard input.
Result<std::string> read_text_file(const std::string& path);

/// A directory under $TMPDIR (/tmp) that goes with this object, content and all.
class TemporaryDirectory {
 public:
  static Result<TemporaryDirectory> make(const std::string& prefix);
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace oncelog::tools
