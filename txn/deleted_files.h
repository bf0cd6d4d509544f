// Files that were renamed away and wait for their deletion, so that slow readers can finish.
//
// The list holds the renamed path of every file, so that a delayed deletion can never hit a new
// file of the old name (H-017). THREADS  the shard's driver.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace oncelog {

class DeletedFiles {
 public:
  void add(std::string path, std::int64_t due_ms) { files_.push_back({std::move(path), due_ms}); }
  /// Takes out the paths whose time has come.
  std::vector<std::string> take_due(std::int64_t now_ms);
  /// Takes out all: the log is being closed.
  std::vector<std::string> take_all();

 private:
  struct Entry {
    std::string path;
    std::int64_t due_ms = 0;
  };
  std::deque<Entry> files_;
};

}  // namespace oncelog
