// Stores in temporary directories of the real machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "oncelog/store.h"

#include "tests/txn/log_support.h"

namespace oncelog::testing {

/// A directory that goes with this object.
class TempDirectory {
 public:
  TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory();
  std::string path(const std::string& name = "data") const { return (root_ / name).string(); }

 private:
  std::filesystem::path root_;
};

/// Every test of a suite with this fixture runs on io_uring (or what it falls
/// back to) and on posix.
class StoreTest : public ::testing::TestWithParam<IoBackend> {
 protected:
  StoreOptions options(Driver driver = Driver::kOwnThread) const;
  /// Fails the test when it cannot; then null.
  std::shared_ptr<Store> open(const StoreOptions& options) const;
  std::shared_ptr<Store> open() const { return open(options()); }
  TempDirectory directory_;
};

std::string backend_name(const ::testing::TestParamInfo<IoBackend>& info);

std::shared_ptr<Log> open_log(Store& store, const std::string& topic = "t",
                              const LogOptions& options = {});
LogOptions written_options();  ///< acknowledged when written: fast
Result<AppendResult> append(Log& log, int count = 1, const std::string& value = "v");

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);
/// Descriptors that this process has open.
std::size_t open_descriptors();
/// ONCELOG_SEED, or a seed of the clock; printed.
std::uint64_t test_seed();
/// Polls `condition` for up to ten seconds; what it said last.
bool eventually(const std::function<bool()>& condition);

}  // namespace oncelog::testing
