// Measures what stands behind a bad spot.
#include "recovery/behind.h"

#include <algorithm>
#include <array>

#include "storage/base/endian.h"
#include "storage/batch_probe.h"

namespace oncelog {
namespace {

/// End of the batch that the header at the bad spot claims, when it can be one; else the spot.
Result<std::int64_t> claimed_end(File& file, const BadSpot& spot) {
  // A length that was itself refused says nothing.
  if (spot.kind != BadKind::kCrc && spot.kind != BadKind::kTruncated &&
      spot.kind != BadKind::kHeader) {
    return spot.position;
  }
  std::array<std::byte, kBatchLogOverheadBytes> head{};
  ONCELOG_TRY_ASSIGN(const std::size_t got, file.read_at(spot.position, head));
  if (got < head.size()) return spot.position;
  const auto length = load_be<std::int32_t>(head, 8);
  return spot.position + std::max<std::int64_t>(length, 0) + std::int64_t{kBatchLogOverheadBytes};
}

struct Found {
  bool valid = false;
  bool limit_reached = false;
  std::int64_t end = 0;  // of the last valid batch, in the file
};

Result<Found> look_in_file(const OpenSegment& segment, const BehindQuery& query, Behind& out) {
  if (query.spot.kind == BadKind::kZeros) return Found{};
  ProbeLimits limits;
  limits.expected_offset_min = query.spot.expected_offset;
  limits.segment_base = segment.base_offset;
  limits.leader_epoch_min = query.leader_epoch_min;
  limits.end = segment.size;
  ONCELOG_TRY_ASSIGN(const ProbeResult probe,
                     find_valid_batch_after(*segment.log, query.spot.position, limits));
  if (probe.outcome == ProbeOutcome::kFound) {
    out.resume_position = probe.position;
    out.resume_offset = probe.offset;
    return Found{true, false, probe.chain_end};
  }
  if (probe.outcome == ProbeOutcome::kLimitReached) return Found{true, true, segment.size};
  if (probe.unchained_batches == 0) return Found{};
  // Good batches before another bad spot. Those inside the extent of the bad batch itself may be
  // the value of one of its records; others are the log's.
  ONCELOG_TRY_ASSIGN(const std::int64_t claimed, claimed_end(*segment.log, query.spot));
  if (probe.unchained_position < claimed) return Found{};
  out.resume_position = probe.unchained_position;
  return Found{true, false, segment.size};
}

/// The same for a later segment, from its beginning.
Result<Found> look_in_later(const OpenSegment& segment, const BehindQuery& query) {
  ScanOptions options;
  options.segment_base = segment.base_offset;
  SegmentScanner scanner(*segment.log, options);
  Found out;
  for (;;) {
    ONCELOG_TRY_ASSIGN(const auto batch, scanner.next());
    if (!batch) break;
    out.valid = true;
    out.end = batch->end();
    if (query.window_bytes < 0 || out.end > query.window_bytes) return out;
  }
  if (!scanner.bad_spot() || scanner.bad_spot()->kind == BadKind::kZeros) return out;
  BehindQuery inner = query;
  inner.spot = *scanner.bad_spot();
  Behind ignored;
  ONCELOG_TRY_ASSIGN(const Found found, look_in_file(segment, inner, ignored));
  return found.valid ? found : out;
}

}  // namespace

Result<Behind> look_behind(std::span<const OpenSegment> segments, const BehindQuery& query) {
  Behind out;
  ONCELOG_TRY_ASSIGN(const Found here, look_in_file(segments.front(), query, out));
  std::int64_t distance = here.end - query.spot.position;  // to the end of the last valid batch
  bool limit_reached = here.limit_reached;
  out.valid = here.valid;
  std::int64_t before = segments.front().size - query.spot.position;
  for (const OpenSegment& segment : segments.subspan(1)) {
    const bool decided = out.valid && (query.window_bytes < 0 || distance > query.window_bytes);
    if (decided || limit_reached) break;
    ONCELOG_TRY_ASSIGN(const Found found, look_in_later(segment, query));
    if (found.valid) {
      out.valid = true;
      distance = before + found.end;
    }
    limit_reached = limit_reached || found.limit_reached;
    before += segment.size;
  }
  const bool near = query.window_bytes < 0 || distance <= query.window_bytes;
  out.within_window = out.valid && !limit_reached && near;
  return out;
}

}  // namespace oncelog
