// Lines over a socket.
#include "tools/script/line_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace oncelog::tools::script {

LineSocket& LineSocket::operator=(LineSocket&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
    read_ = std::move(other.read_);
  }
  return *this;
}

void LineSocket::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  read_.clear();
}

bool LineSocket::send(std::string line) const {
  line += '\n';
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t n = ::send(descriptor_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

std::optional<std::string> LineSocket::receive() {
  std::size_t searched = 0;
  while (true) {
    const std::size_t end = read_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    searched = read_.size();
    std::array<char, 65536> chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init): read into
    const ssize_t n = ::recv(descriptor_, chunk.data(), chunk.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    read_.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace oncelog::tools::script
