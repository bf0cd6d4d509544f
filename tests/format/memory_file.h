// A File over bytes in memory, for tests that read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "oncelog/file_system.h"

namespace oncelog::test {

/// Reads and sizes work; what changes or locks a file is refused. Counts the bytes read.
class MemoryFile final : public File {
 public:
  explicit MemoryFile(std::vector<std::byte> content) : content_(std::move(content)) {}

  std::int64_t bytes_read() const { return bytes_read_; }
  std::int64_t largest_read() const { return largest_read_; }

  Result<std::size_t> read_at(std::int64_t position, std::span<std::byte> into) override {
    largest_read_ = std::max(largest_read_, static_cast<std::int64_t>(into.size()));
    if (position < 0) return make_error(ErrorCode::kInvalidArgument, "negative position");
    const auto at = std::min(static_cast<std::size_t>(position), content_.size());
    const std::size_t count = std::min(into.size(), content_.size() - at);
    std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(at), count, into.begin());
    bytes_read_ += static_cast<std::int64_t>(count);
    return count;
  }
  Result<FileStat> stat() override {
    FileStat out;
    out.size = static_cast<std::int64_t>(content_.size());
    return out;
  }
  Status write_at(std::int64_t, std::span<const std::byte>) override { return refused(); }
  Status truncate(std::int64_t) override { return refused(); }
  Status allocate(std::int64_t, std::int64_t) override { return refused(); }
  Status start_writeback(std::int64_t, std::int64_t) override { return refused(); }
  Status sync() override { return refused(); }
  Status lock() override { return refused(); }
  Result<bool> is_locked() override { return false; }
  Status close() override { return {}; }
  int native_handle() const noexcept override { return -1; }
  const std::string& path() const noexcept override { return path_; }

 private:
  static Error refused() { return make_error(ErrorCode::kUnsupported, "file is read-only"); }
  std::vector<std::byte> content_;
  std::string path_ = "memory";
  std::int64_t bytes_read_ = 0;
  std::int64_t largest_read_ = 0;
};

}  // namespace oncelog::test
