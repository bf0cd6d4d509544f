// Questions about an IoRequest that every queue asks before it begins.
#include "storage/io/request_check.h"

#include <limits>

namespace oncelog {

std::size_t request_bytes(const IoRequest& request) {
  if (request.kind == IoRequest::Kind::kSync) return 0;
  std::size_t bytes = 0;
  for (const Buffer& buffer : request.buffers)
    bytes += buffer.size();
  return bytes;
}

Status check_request(const IoRequest& request) {
  const auto invalid = [](const char* what) {
    return make_error(ErrorCode::kInvalidArgument, what);
  };
  if (request.file == nullptr) return invalid("request without a file");
  if (request.kind == IoRequest::Kind::kSync) return {};
  if (request.kind == IoRequest::Kind::kRead && request.buffers.size() != 1) {
    return invalid("a read needs exactly one buffer").at(request.file->path());
  }
  const auto bytes = static_cast<std::int64_t>(request_bytes(request));
  if (request.position < 0 || bytes > std::numeric_limits<std::int64_t>::max() - request.position) {
    return invalid("range outside a file").at(request.file->path(), request.position);
  }
  return {};
}

}  // namespace oncelog
