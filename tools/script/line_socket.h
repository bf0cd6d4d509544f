// Lines over a socket: how the runner and the engine's process talk.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace oncelog::tools::script {

/// Owns one end of a stream socket. A line has no newline inside.
class LineSocket {
 public:
  LineSocket() = default;
  explicit LineSocket(int descriptor) : descriptor_(descriptor) {}
  LineSocket(const LineSocket&) = delete;
  LineSocket& operator=(const LineSocket&) = delete;
  LineSocket(LineSocket&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), read_(std::move(other.read_)) {}
  LineSocket& operator=(LineSocket&& other) noexcept;
  ~LineSocket() { close(); }

  bool is_open() const { return descriptor_ >= 0; }
  void close();
  /// False when the other end is gone.
  bool send(std::string line) const;
  /// The next line; nothing when the other end is gone.
  std::optional<std::string> receive();

 private:
  int descriptor_ = -1;
  std::string read_;
};

}  // namespace oncelog::tools::script
