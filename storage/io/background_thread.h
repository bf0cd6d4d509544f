// Starts the library's threads: no signal of the application is delivered to them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "oncelog/result.h"

namespace oncelog {

/// A thread named `name` (15 characters at most are shown) that runs `body` with all signals
/// blocked. kIo with EAGAIN when the system allows no more threads.
Result<std::thread> start_background_thread(const std::string& name, std::function<void()> body);

/// `count` threads with the same body. When one cannot be started, `stop` is called, which must
/// make the bodies return, and those that run are joined.
Result<std::vector<std::thread>> start_background_threads(std::size_t count,
                                                          const std::string& name,
                                                          const std::function<void()>& body,
                                                          const std::function<void()>& stop);

}  // namespace oncelog
