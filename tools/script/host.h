// What a script runs on: a real directory with the engine in a child process, or the simulated
// disk. The runner sees only this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "oncelog/result.h"

#include "tools/json.h"
#include "tools/script/fault_rules.h"

namespace oncelog::tools::script {

/// Files from outside the engine, to look at and to damage. Paths are relative to the data root.
class Disk {
 public:
  struct Entry {
    std::string name;
    std::int64_t size = 0;
  };
  Disk() = default;
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  virtual ~Disk() = default;

  /// Regular files of a directory, sorted by name; none when it is missing.
  virtual Result<std::vector<Entry>> list(const std::string& directory) = 0;
  /// kNotFound when missing.
  virtual Result<std::vector<std::byte>> read(const std::string& path) = 0;
  /// Creates or replaces, and makes the directories.
  virtual Status write(const std::string& path, const std::vector<std::byte>& bytes) = 0;
  virtual Status remove(const std::string& path) = 0;
};

class Host {
 public:
  Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  virtual ~Host() = default;

  /// Runs one operation in the engine, starting it first when it is not there. An error means
  /// that the engine ended by itself: the script cannot go on.
  virtual Result<Json> execute(const std::string& op, const Json& fields) = 0;
  /// The engine vanishes; nothing happens when there is none.
  virtual void kill() = 0;
  virtual void set_clock(std::int64_t wall_ms) = 0;
  virtual void add_fault(const FaultRule& rule) = 0;
  virtual void clear_faults() = 0;
  virtual Disk& disk() = 0;

  virtual bool simulated() const = 0;
  /// REQUIRES: simulated().
  virtual void power_cut(const std::string& mode, std::uint64_t seed) = 0;
  virtual void set_capacity(std::int64_t bytes) = 0;
};

/// The clock of every script starts here.
inline constexpr std::int64_t kClockStartMs = 1'700'000'000'000;

/// A host on a real directory (created when missing).
Result<std::unique_ptr<Host>> make_directory_host(const std::string& directory);
std::unique_ptr<Host> make_simulated_host(std::uint64_t seed);

/// The child of a directory host: reads requests from the socket `descriptor` until it closes. Exit
/// code.
int run_worker(int descriptor, const std::string& directory);

}  // namespace oncelog::tools::script
