// The contract suites over the real machine: blocking calls and io_uring.
#include <dirent.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "tests/io/io_contract.h"

namespace oncelog {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<Io> make_io(IoBackend backend) {
  SystemIoOptions options;
  options.backend = backend;
  options.ring_entries = 32;  // small, so that the suite overfills it
  Result<std::shared_ptr<Io>> io = make_system_io(options);
  return io.ok() ? std::move(io).value() : nullptr;
}

std::string make_root(Io& /*io*/) {
  std::string name = (fs::temp_directory_path() / "oncelog-io-XXXXXX").string();
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  return name;
}

void remove_root(Io& /*io*/, const std::string& root) {
  fs::remove_all(root);
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

IoImplementation implementation(const std::string& name, IoBackend backend) {
  return {name, [backend] { return make_io(backend); }, make_root, remove_root, open_descriptors};
}

INSTANTIATE_TEST_SUITE_P(System, IoContract,
                         ::testing::Values(implementation("posix", IoBackend::kPosix),
                                           implementation("uring", IoBackend::kUring)),
                         name_of);

}  // namespace
}  // namespace oncelog
