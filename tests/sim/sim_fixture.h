// Shorthands of the simulator's tests: one disk, one process, text for bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "oncelog/sim.h"

namespace oncelog {

inline std::span<const std::byte> text_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline Buffer text_buffer(std::string_view text) {
  return Buffer::copy_of(text_bytes(text));
}

inline constexpr std::string_view kMissing = "(missing)";

/// The file's text, kMissing when it is not there.
inline std::string text_on(const SimDisk& disk, const std::string& path) {
  const auto bytes = disk.read_file(path);
  if (!bytes.ok()) return std::string(kMissing);
  std::string text;
  for (const std::byte b : *bytes)
    text.push_back(static_cast<char>(b));
  return text;
}

inline void put(SimDisk& disk, const std::string& path, std::string_view text) {
  ASSERT_TRUE(disk.write_file(path, text_bytes(text)).ok());
}

inline std::shared_ptr<File> open(Io& io, const std::string& path,
                                  OpenMode mode = OpenMode::kCreate) {
  auto file = io.files().open(path, mode);
  EXPECT_TRUE(file.ok()) << path;
  return file.ok() ? *file : nullptr;
}

inline std::unique_ptr<IoQueue> queue_of(Io& io) {
  auto queue = io.make_queue();
  EXPECT_TRUE(queue.ok());
  return queue.ok() ? std::move(queue).value() : nullptr;
}

inline void write(File& file, std::int64_t position, std::string_view text) {
  EXPECT_TRUE(file.write_at(position, text_bytes(text)).ok());
}

inline IoRequest request_of(IoRequest::Kind kind, std::uint64_t token, std::shared_ptr<File> file,
                            std::int64_t position = 0, std::string_view text = {}) {
  IoRequest request;
  request.kind = kind;
  request.token = token;
  request.file = std::move(file);
  request.position = position;
  if (kind != IoRequest::Kind::kSync) request.buffers.push_back(text_buffer(text));
  return request;
}

inline constexpr std::uint64_t kSeeds = 400;

/// What `see` says of the disk after each of many power cuts of copies of it.
template <class See>
std::set<std::string> outcomes(const SimDisk& disk, PowerCut mode, const See& see) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto copy = disk.clone();
    copy->power_cut(mode, seed);
    seen.insert(see(*copy));
  }
  return seen;
}

using Outcomes = std::set<std::string>;

}  // namespace oncelog
