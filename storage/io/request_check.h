// Questions about an IoRequest that every queue asks before it begins.
#pragma once

#include <cstddef>

#include "oncelog/io_queue.h"

namespace oncelog {

/// What is wrong with the shape of a request (no file, a negative position, a read without exactly
/// one buffer): kInvalidArgument. The queue answers such a request itself.
Status check_request(const IoRequest& request);

/// Bytes that a request moves: 0 for a sync.
std::size_t request_bytes(const IoRequest& request);

}  // namespace oncelog
