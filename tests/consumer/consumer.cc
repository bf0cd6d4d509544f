// Uses the installed library as an outsider would; built without exceptions and RTTI.
#include <cstdio>
#include <memory>
#include <utility>

#include <oncelog/store.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto store = oncelog::Store::open({.data_dirs = {argv[1]}});
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", to_string(store.error()).c_str());
    return 1;
  }
  auto log = (*store)->open_log({.topic = "orders", .partition = 0}, oncelog::LogOptions{});
  if (!log.ok()) return 1;

  // A codec needs the libraries that only the archive is linked with.
  oncelog::RecordBatchBuilder batch({.codec = oncelog::Codec::kZstd});
  batch.add({.timestamp_ms = 1, .key = "k", .value = "v"});
  const auto appended = (*log)->append(std::move(batch).finish());
  if (!appended.ok() || !appended->durable) return 1;
  std::printf("offset %lld by %s\n", static_cast<long long>(appended->first_offset),
              (*store)->io_description().c_str());
  return (*store)->close().ok() ? 0 : 1;
}
