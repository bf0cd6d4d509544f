// A growing array with one writer and any number of readers that never wait.
//
// THREADS  `push_back` by one writer; `size` and `operator[]` below it from any thread. Elements
// never move and never change after they are published.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>

#include "storage/base/assert.h"

namespace oncelog {

template <class T>
class AppendOnlyArray {
 public:
  AppendOnlyArray() = default;
  AppendOnlyArray(const AppendOnlyArray&) = delete;
  AppendOnlyArray& operator=(const AppendOnlyArray&) = delete;
  AppendOnlyArray(AppendOnlyArray&&) = delete;
  AppendOnlyArray& operator=(AppendOnlyArray&&) = delete;
  ~AppendOnlyArray() {
    for (std::atomic<T*>& chunk : chunks_)
      delete[] chunk.load(std::memory_order_relaxed);
  }

  std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  bool empty() const noexcept { return size() == 0; }

  /// REQUIRES: i < size()
  const T& operator[](std::size_t i) const {
    ONCELOG_ASSERT(i < size());
    const Place place = place_of(i);
    return chunks_[place.chunk].load(std::memory_order_acquire)[place.index];
  }

  void push_back(const T& value) {
    const std::size_t i = size_.load(std::memory_order_relaxed);
    const Place place = place_of(i);
    T* chunk = chunks_[place.chunk].load(std::memory_order_relaxed);
    if (chunk == nullptr) {
      chunk = std::make_unique<T[]>(kFirstChunk << place.chunk).release();
      chunks_[place.chunk].store(chunk, std::memory_order_release);
    }
    chunk[place.index] = value;
    size_.store(i + 1, std::memory_order_release);
  }

 private:
  // Chunk k holds kFirstChunk << k elements, so 32 chunks hold more than any index can.
  static constexpr std::size_t kFirstChunk = 64;
  static constexpr std::size_t kChunks = 32;
  struct Place {
    std::size_t chunk, index;
  };
  static Place place_of(std::size_t i) {
    const std::size_t shifted = i / kFirstChunk + 1;
    const auto chunk = static_cast<std::size_t>(std::bit_width(shifted)) - 1;
    ONCELOG_ASSERT(chunk < kChunks);
    const std::size_t before = kFirstChunk * ((std::size_t{1} << chunk) - 1);
    return {chunk, i - before};
  }

  std::array<std::atomic<T*>, kChunks> chunks_{};
  std::atomic<std::size_t> size_{0};
};

}  // namespace oncelog
