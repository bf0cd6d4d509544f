// Owned bytes that travel through the commit path without being copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace oncelog {

/// Bytes with one owner and a release function. Move-only; the bytes stay at their address while
/// it moves. Made by the batch builder, from a vector, or adopted from a network buffer.
///
/// THREADS  one thread at a time; the release function runs on whichever thread destroys it.
class Buffer {
 public:
  Buffer() = default;

  /// Takes over a vector; its bytes are released with it.
  explicit Buffer(std::vector<std::byte> bytes) : owned_(std::move(bytes)), bytes_(owned_) {}

  /// Adopts foreign bytes; `release` is called exactly once when the buffer is destroyed.
  /// REQUIRES: `bytes` stays valid and writable (its headers are patched) until then.
  Buffer(std::span<std::byte> bytes, std::function<void()> release)
      : release_(std::move(release)), bytes_(bytes) {}

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept { take(std::move(other)); }
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      reset();
      take(std::move(other));
    }
    return *this;
  }
  ~Buffer() { reset(); }

  std::size_t size() const noexcept { return bytes_.size(); }
  bool empty() const noexcept { return bytes_.empty(); }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::span<std::byte> mutable_bytes() noexcept { return bytes_; }

  /// Drops trailing bytes. REQUIRES: size <= size().
  void shrink(std::size_t size) { bytes_ = bytes_.first(size); }

  static Buffer copy_of(std::span<const std::byte> bytes) {
    return Buffer(std::vector<std::byte>(bytes.begin(), bytes.end()));
  }

 private:
  void take(Buffer&& other) noexcept {
    // A moved vector keeps its heap block, so the span stays right.
    owned_ = std::move(other.owned_);
    release_ = std::exchange(other.release_, nullptr);
    bytes_ = std::exchange(other.bytes_, {});
  }
  void reset() noexcept {
    if (release_) release_();
    release_ = nullptr;
    bytes_ = {};
  }

  std::vector<std::byte> owned_;
  std::function<void()> release_;
  std::span<std::byte> bytes_;
};

}  // namespace oncelog
