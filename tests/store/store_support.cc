// Stores in temporary directories of the real machine.
#include "tests/store/store_support.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>
#include <utility>

namespace oncelog::testing {

namespace fs = std::filesystem;

TempDirectory::TempDirectory() {
  std::string name = (fs::temp_directory_path() / "oncelog-store-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  root_ = name;
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

StoreOptions StoreTest::options(Driver driver) const {
  StoreOptions options;
  options.data_dirs = {directory_.path()};
  options.driver = driver;
  options.background = false;
  SystemIoOptions system;
  system.backend = GetParam();
  Result<std::shared_ptr<Io>> io = make_system_io(system);
  EXPECT_TRUE(io.ok());
  if (io.ok()) options.io = *io;
  return options;
}

std::shared_ptr<Store> StoreTest::open(const StoreOptions& options) const {
  Result<std::shared_ptr<Store>> store = Store::open(options);
  EXPECT_TRUE(store.ok()) << to_string(store.error());
  return store.ok() ? *store : nullptr;
}

std::string backend_name(const ::testing::TestParamInfo<IoBackend>& info) {
  return info.param == IoBackend::kPosix ? "Posix" : "Automatic";
}

std::shared_ptr<Log> open_log(Store& store, const std::string& topic, const LogOptions& options) {
  Result<std::shared_ptr<Log>> log = store.open_log({topic, 0}, options);
  EXPECT_TRUE(log.ok()) << to_string(log.error());
  return log.ok() ? *log : nullptr;
}

LogOptions written_options() {
  LogOptions options;
  options.durability = Durability::kWritten;
  return options;
}

Result<AppendResult> append(Log& log, int count, const std::string& value) {
  BatchSpec spec;
  spec.count = count;
  spec.value = value;
  return log.append(make_batch(spec));
}

std::string read_text(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

std::uint64_t test_seed() {
  const char* given = std::getenv("ONCELOG_SEED");  // NOLINT(concurrency-mt-unsafe)
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : static_cast<std::uint64_t>(now);
  std::cout << "ONCELOG_SEED=" << seed << '\n';
  return seed;
}

bool eventually(const std::function<bool()>& condition) {
  constexpr int kTries = 10'000;
  for (int i = 0; i < kTries; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

}  // namespace oncelog::testing
