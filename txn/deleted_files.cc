// Deleted files: who is due.
#include "txn/deleted_files.h"

#include <limits>
#include <utility>

namespace oncelog {

std::vector<std::string> DeletedFiles::take_due(std::int64_t now_ms) {
  std::vector<std::string> due;
  std::deque<Entry> later;
  for (Entry& entry : files_) {
    if (entry.due_ms <= now_ms) {
      due.push_back(std::move(entry.path));
    } else {
      later.push_back(std::move(entry));
    }
  }
  files_ = std::move(later);
  return due;
}

std::vector<std::string> DeletedFiles::take_all() {
  return take_due(std::numeric_limits<std::int64_t>::max());
}

}  // namespace oncelog
