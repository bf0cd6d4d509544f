// Script operations on files: listing, and damage from outside.
#include <algorithm>
#include <optional>

#include "tools/base64.h"
#include "tools/script/runner.h"

namespace oncelog::tools::script {
namespace {

constexpr std::int64_t kFileBytesMax = 1LL << 30;

Json list_files(const Step& step, Disk& disk, const std::string& directory) {
  const std::string_view glob = step.fields["glob"].as_string();
  const auto entries = disk.list(directory);
  if (!entries.ok()) return error_result(entries.error());
  Json::Array files;
  for (const Disk::Entry& entry : *entries) {
    if (matches_glob(glob.empty() ? "*" : glob, entry.name))
      files.push_back(Json::object({{"name", entry.name}, {"size", entry.size}}));
  }
  return Json::object({{"ok", true}, {"files", std::move(files)}});
}

/// The path relative to the root: of the partition directory, or "../x" of the root itself.
Result<std::string> path_of(const std::string& directory, std::string_view file) {
  std::string out = directory + "/" + std::string(file);
  if (file.starts_with("../")) out = std::string(file.substr(3));
  if (file.empty() || out.find("..") != std::string::npos || out.front() == '/')
    return make_error(ErrorCode::kInvalidArgument, "no file: \"" + std::string(file) + "\"");
  return out;
}

/// The bytes that a `base64` or `zeros` field stands for.
Result<std::vector<std::byte>> payload_of(const Json& fields) {
  const Json& zeros = fields["zeros"];
  if (zeros.is_integer()) {
    if (zeros.as_integer() < 0 || zeros.as_integer() > kFileBytesMax)
      return make_error(ErrorCode::kInvalidArgument, "\"zeros\" is out of range");
    return std::vector<std::byte>(static_cast<std::size_t>(zeros.as_integer()));
  }
  auto bytes = decode_base64(fields["base64"].as_string());
  if (!bytes) return make_error(ErrorCode::kInvalidArgument, "\"base64\" is no base64");
  return *std::move(bytes);
}

Status overwrite(std::vector<std::byte>& bytes, std::int64_t at,
                 const std::vector<std::byte>& with) {
  if (at < 0 || at > kFileBytesMax)
    return make_error(ErrorCode::kInvalidArgument, "\"at\" is out of range");
  const auto begin = static_cast<std::size_t>(at);
  if (bytes.size() < begin + with.size()) bytes.resize(begin + with.size());
  std::copy(with.begin(), with.end(), bytes.begin() + static_cast<std::ptrdiff_t>(begin));
  return {};
}

Status write_part(const Step& step, Disk& disk, const std::string& path) {
  ONCELOG_TRY_ASSIGN(const auto part, payload_of(step.fields));
  std::vector<std::byte> bytes;
  auto found = disk.read(path);
  if (found.ok()) bytes = std::move(found).value();
  const std::int64_t at = step.op == "file_append" ? static_cast<std::int64_t>(bytes.size())
                                                   : step.fields["at"].as_integer(0);
  ONCELOG_TRY(overwrite(bytes, at, part));
  return disk.write(path, bytes);
}

Status flip(const Step& step, Disk& disk, const std::string& path) {
  ONCELOG_TRY_ASSIGN(auto bytes, disk.read(path));
  const std::int64_t at = step.fields["at"].as_integer(0);
  if (at < 0 || at >= static_cast<std::int64_t>(bytes.size()))
    return make_error(ErrorCode::kInvalidArgument, "\"at\" lies outside the file").at(path);
  bytes[static_cast<std::size_t>(at)] ^= static_cast<std::byte>(step.fields["mask"].as_integer());
  return disk.write(path, bytes);
}

Status resize(const Step& step, Disk& disk, const std::string& path) {
  ONCELOG_TRY_ASSIGN(auto bytes, disk.read(path));
  const std::int64_t size = step.fields["size"].as_integer();
  if (size < 0 || size > kFileBytesMax)
    return make_error(ErrorCode::kInvalidArgument, "\"size\" is out of range");
  bytes.resize(static_cast<std::size_t>(size));
  return disk.write(path, bytes);
}

Status change(const Step& step, Disk& disk, const std::string& directory) {
  ONCELOG_TRY_ASSIGN(const std::string path, path_of(directory, step.fields["file"].as_string()));
  if (step.op == "file_xor") return flip(step, disk, path);
  if (step.op == "file_truncate") return resize(step, disk, path);
  if (step.op == "file_remove") return disk.remove(path);
  if (step.op == "file_write" || step.op == "file_append") return write_part(step, disk, path);
  ONCELOG_TRY_ASSIGN(const std::string to, path_of(directory, step.fields["to"].as_string()));
  ONCELOG_TRY_ASSIGN(const auto bytes, disk.read(path));
  ONCELOG_TRY(disk.write(to, bytes));
  return step.op == "file_rename" ? disk.remove(path) : Status{};
}

}  // namespace

Json run_file_operation(const Step& step, Disk& disk, const std::string& directory, bool open) {
  if (step.op == "files") return list_files(step, disk, directory);
  if (open)
    return error_result(make_error(ErrorCode::kInvalidArgument,
                                   "files are changed only while the log is not open"));
  const Status status = change(step, disk, directory);
  return status.ok() ? Json::object({{"ok", true}}) : error_result(status.error());
}

bool matches_glob(std::string_view pattern, std::string_view name) {
  // Greedy with one way back: the last '*' takes one character more each time.
  std::size_t p = 0;
  std::size_t n = 0;
  std::optional<std::size_t> star;
  std::size_t star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star) {
      p = *star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

}  // namespace oncelog::tools::script
