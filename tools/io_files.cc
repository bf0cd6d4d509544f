// Reading text files and making temporary directories.
#include "tools/io_files.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace oncelog::tools {
namespace {

Error os_error(ErrorCode code, const char* what, const std::string& path, int number) {
  Error error = make_error(code, what).at(path);
  error.sys_errno = number;
  return error;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  std::FILE* const file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    const int number = errno;
    return os_error(number == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                    "cannot read the file", path, number);
  }
  std::string text;
  std::array<char, 65536> chunk{};
  while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), file))
    text.append(chunk.data(), n);
  const int number = std::ferror(file) != 0 ? errno : 0;
  if (file != stdin) std::fclose(file);
  if (number != 0) return os_error(ErrorCode::kIo, "cannot read the file", path, number);
  return text;
}

Result<TemporaryDirectory> TemporaryDirectory::make(const std::string& prefix) {
  std::error_code error;
  const auto base = std::filesystem::temp_directory_path(error);
  std::string name = (error ? std::string("/tmp") : base.string()) + "/" + prefix + "-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    return os_error(ErrorCode::kIo, "cannot make a temporary directory", name, errno);
  return TemporaryDirectory(std::move(name));
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace oncelog::tools
