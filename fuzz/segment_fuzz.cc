// Arbitrary bytes as a log file: the scanner never crashes, positions and offsets rise, every batch
// it gives has a good CRC, and the probe finds only what the scanner accepts.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "fuzz/require.h"
#include "storage/base/endian.h"
#include "storage/batch_probe.h"
#include "storage/format/batch_header.h"
#include "storage/format/legacy_batch.h"
#include "storage/segment_scanner.h"
#include "tests/format/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using oncelog::require;

constexpr oncelog::DecompressLimits kLimits{.batch_bytes_max = 1 << 20};

void check_crc(const oncelog::ScannedBatch& batch) {
  if (batch.header.magic == 2) {
    require(oncelog::batch_crc(batch.bytes) == batch.header.crc);
    return;
  }
  const auto entry = oncelog::LegacyBatchView::parse(batch.bytes);
  require(entry.ok() && entry->crc_matches());
}

void scan(oncelog::File& file, const oncelog::ScanOptions& options) {
  oncelog::SegmentScanner scanner(file, options);
  std::int64_t position = options.begin;
  oncelog::Offset offset = options.segment_base;
  while (true) {
    const auto batch = scanner.next();
    require(batch.ok());
    if (!batch->has_value()) break;
    require((*batch)->position == position && (*batch)->end() > position);
    require((*batch)->header.base_offset >= offset);
    require((*batch)->header.next_offset() > offset);
    if (!options.headers_only) check_crc(**batch);
    position = (*batch)->end();
    offset = (*batch)->header.next_offset();
  }
  require(scanner.position() == position && position <= scanner.end());
  require(scanner.bad_spot().has_value() == (position < scanner.end()));
  if (!scanner.bad_spot() || options.headers_only) return;
  require(scanner.bad_spot()->position == position);

  const auto probe = oncelog::find_valid_batch_after(
      file, position, {.expected_offset_min = offset, .segment_base = options.segment_base});
  require(probe.ok());
  if (probe->outcome != oncelog::ProbeOutcome::kFound) return;
  require(probe->position > position && probe->offset >= offset);
  require(probe->chain_end > probe->position && probe->chain_end <= scanner.end());
}

/// Makes the CRC of each batch fit, as far as lengths lead.
void fix_crcs(std::vector<std::byte>& bytes) {
  std::size_t at = 0;
  while (bytes.size() - at >= oncelog::kBatchHeaderBytes) {
    const auto rest = std::span(bytes).subspan(at);
    const auto view = oncelog::RecordBatchView::parse(rest);
    if (!view.ok()) return;
    const std::size_t batch_bytes = view->bytes().size();
    const auto batch = rest.first(batch_bytes);
    oncelog::store_be(batch, oncelog::batch_field::kCrc.offset, oncelog::batch_crc(batch));
    at += batch_bytes;
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  for (const bool fixed : {false, true}) {
    if (fixed) fix_crcs(bytes);
    oncelog::test::MemoryFile file(bytes);
    scan(file, {.limits = kLimits});
    scan(file, {.chunk_bytes = 64, .limits = kLimits});
    scan(file, {.headers_only = true, .chunk_bytes = 64, .limits = kLimits});
  }
  return 0;
}
