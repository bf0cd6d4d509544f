// The example of README.md: compiled, run, and compared with the text there by readme_test.cc.
// [example]
#include <cstdio>
#include <ctime>

#include <oncelog/store.h>

int main() {
  auto store = oncelog::Store::open({.data_dirs = {"data"}});
  if (!store.ok()) return 2;
  auto log = (*store)->open_log({.topic = "orders", .partition = 0}, oncelog::LogOptions{});
  if (!log.ok()) return 1;

  oncelog::RecordBatchBuilder batch({.producer = {.id = 4000, .epoch = 3}, .base_sequence = 0});
  batch.add({.timestamp_ms = std::time(nullptr) * 1000, .key = "k", .value = "v"});
  auto appended = (*log)->append(std::move(batch).finish());  // returns once it is on the disk

  oncelog::FetchBuffer buffer;  // keep it: the next fetch reuses its memory
  auto page = (*log)->fetch({.isolation = oncelog::Isolation::kReadCommitted}, buffer);
  if (!appended.ok() || !page.ok()) return 1;
  std::printf("duplicate: %d, batches: %zu\n", appended->duplicate, page->batches().size());
  return (*store)->close().ok() ? 0 : 1;
}
// [example]
