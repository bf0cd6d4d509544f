// Uses the installed library as an outsider would; built without exceptions and RTTI.
#include <cstdio>
#include <memory>
#include <utility>

#include <oncelog/io.h>
#include <oncelog/record_batch.h>
#include <oncelog/result.h>

int main() {
  const oncelog::Result<std::shared_ptr<oncelog::Io>> io = oncelog::make_system_io();
  if (!io.ok()) {
    std::fprintf(stderr, "%s\n", oncelog::to_string(io.error()).c_str());
    return 1;
  }
  // A codec and the ring need every library that the archive is linked with.
  oncelog::RecordBatchBuilder batch({.codec = oncelog::Codec::kZstd});
  batch.add({.timestamp_ms = (*io)->clock().wall_ms(), .key = "k", .value = "v"});
  const oncelog::Buffer bytes = std::move(batch).finish();

  const auto view = oncelog::RecordBatchView::parse(bytes.bytes());
  if (!view.ok() || !view->crc_matches() || !oncelog::read_records(*view).ok()) return 1;
  std::printf("%s: a batch of %zu bytes\n", (*io)->description().c_str(), bytes.size());
  return 0;
}
