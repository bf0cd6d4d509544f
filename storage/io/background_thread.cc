// Starts the library's threads.
#include "storage/io/background_thread.h"

#include <csignal>
#include <system_error>
#include <utility>

#include <pthread.h>

#include "storage/io/os_error.h"

namespace oncelog {
namespace {

constexpr std::size_t kThreadNameMax = 15;  // pthread_setname_np

/// Blocks every signal while it lives; threads started meanwhile inherit that.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

Result<std::thread> start_background_thread(const std::string& name, std::function<void()> body) {
  const SignalsBlocked blocked;
  try {
    std::thread thread(std::move(body));
    pthread_setname_np(thread.native_handle(), name.substr(0, kThreadNameMax).c_str());
    return thread;
  } catch (const std::system_error& error) {  // std::thread has no other way to say it
    return os_error(error.code().value(), "cannot start a thread", {});
  }
}

Result<std::vector<std::thread>> start_background_threads(std::size_t count,
                                                          const std::string& name,
                                                          const std::function<void()>& body,
                                                          const std::function<void()>& stop) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    Result<std::thread> started = start_background_thread(name, body);
    if (started.ok()) {
      threads.push_back(std::move(started).value());
      continue;
    }
    stop();
    for (std::thread& thread : threads)
      thread.join();
    return started.error();
  }
  return threads;
}

}  // namespace oncelog
