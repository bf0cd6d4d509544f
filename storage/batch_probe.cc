// Looks for a valid batch behind a bad spot.
#include "storage/batch_probe.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "oncelog/record_batch.h"

#include "storage/base/endian.h"
#include "storage/format/batch_header.h"
#include "storage/segment_scanner.h"

namespace oncelog {
namespace {

constexpr std::int64_t kHeaderBytes = kBatchHeaderBytes;
constexpr std::size_t kSearchChunkBytes = std::size_t{1} << 20;
constexpr std::int64_t kReadChunkBytes = std::int64_t{1} << 20;
constexpr std::size_t kMagicAt = batch_field::kMagic.offset;
constexpr std::byte kMagic{2};
constexpr int kAttributesUnused = ~0x7f;

/// Size of the batch that a plausible header claims.
std::int64_t size_at(std::span<const std::byte> head) {
  return load_be<std::int32_t>(head, batch_field::kBatchLength.offset) +
         std::int64_t{kBatchLogOverheadBytes};
}

class Probe {
 public:
  Probe(File& file, const ProbeLimits& limits, std::int64_t end)
      : file_(file), limits_(limits), end_(end), hash_bytes_left_(limits.hash_bytes_max) {}

  Result<ProbeResult> run(std::int64_t bad_position);

 private:
  /// A run of valid batches that begins at a position.
  struct Chain {
    std::int64_t batches = 0;
    Offset first_offset = kNoOffset;
    std::int64_t end = 0;
    Offset next_offset = kNoOffset;
    bool reaches_end = false;
  };

  bool plausible(std::span<const std::byte> head, std::int64_t position) const;
  /// Follows the batches from `position`, where one of `first_bytes` seems to be.
  Result<Chain> follow(std::int64_t position, std::int64_t first_bytes);
  /// Notes what was found at a plausible candidate. Where to search on, or nothing when the search
  /// is over.
  std::optional<std::int64_t> note(std::int64_t position, const Chain& chain);
  Result<std::optional<std::int64_t>> try_length_of(std::int64_t bad_position);
  /// Searches one chunk from `begin`; where to search on.
  Result<std::optional<std::int64_t>> search_chunk(std::int64_t begin, std::int64_t search_end);

  File& file_;
  const ProbeLimits& limits_;
  std::int64_t end_;
  std::int64_t hash_bytes_left_;
  ProbeResult result_;
  std::vector<std::byte> chunk_;
};

/// Cheap tests of 61 bytes before anything is hashed.
bool Probe::plausible(std::span<const std::byte> head, std::int64_t position) const {
  if (head[kMagicAt] != kMagic) return false;
  const auto decoded = decode_header(head);
  if (!decoded.ok()) return false;
  const BatchHeader& header = *decoded;
  return header.batch_length >= kBatchLengthMin && header.size_bytes() <= end_ - position &&
         (header.attributes & kAttributesUnused) == 0 && header.codec_bits() <= 4 &&
         header.last_offset_delta >= 0 && header.record_count >= 0 &&
         header.record_count - 1 <= header.last_offset_delta &&
         header.base_offset >= limits_.expected_offset_min &&
         header.base_offset >= limits_.segment_base &&
         header.base_offset - limits_.segment_base <=
             kRelativeOffsetMax - header.last_offset_delta &&
         header.leader_epoch >= limits_.leader_epoch_min;
}

Result<Probe::Chain> Probe::follow(std::int64_t position, std::int64_t first_bytes) {
  SegmentScanner scanner(file_, {.begin = position,
                                 .end = end_,
                                 .segment_base = limits_.segment_base,
                                 .expected_offset = limits_.expected_offset_min});
  Chain out;
  out.end = position;
  LeaderEpoch epoch = limits_.leader_epoch_min;
  while (hash_bytes_left_ > 0) {
    ONCELOG_TRY_ASSIGN(const auto batch, scanner.next());
    if (!batch) {
      out.reaches_end = !scanner.bad_spot() || scanner.bad_spot()->kind == BadKind::kZeros;
      break;
    }
    hash_bytes_left_ -= batch->header.size_bytes();
    // Magic 0 and 1 have no epoch and do not come back once magic 2 was written.
    if (batch->header.magic != 2 || batch->header.leader_epoch < epoch) break;
    epoch = batch->header.leader_epoch;
    if (out.batches == 0) out.first_offset = batch->header.base_offset;
    ++out.batches;
    out.end = batch->end();
    out.next_offset = batch->header.next_offset();
  }
  out.reaches_end = out.reaches_end && out.batches > 0;
  // What was hashed or read without becoming part of the chain.
  if (!out.reaches_end) hash_bytes_left_ -= kReadChunkBytes + (out.batches == 0 ? first_bytes : 0);
  return out;
}

std::optional<std::int64_t> Probe::note(std::int64_t position, const Chain& chain) {
  if (chain.reaches_end) {
    result_.outcome = ProbeOutcome::kFound;
    result_.position = position;
    result_.offset = chain.first_offset;
    result_.chain_end = chain.end;
    result_.chain_next_offset = chain.next_offset;
    return std::nullopt;
  }
  if (hash_bytes_left_ <= 0) {
    result_.outcome = ProbeOutcome::kLimitReached;
    return std::nullopt;
  }
  if (chain.batches == 0) return position + 1;
  if (result_.unchained_batches == 0) result_.unchained_position = position;
  result_.unchained_batches += chain.batches;
  // No batch begins within bytes whose CRCs are good, so the search goes on behind them; else each
  // batch of a long chain would be followed to the same bad spot.
  return chain.end;
}

Result<std::optional<std::int64_t>> Probe::try_length_of(std::int64_t bad_position) {
  const std::optional<std::int64_t> byte_by_byte = bad_position + 1;
  std::vector<std::byte> head(kBatchHeaderBytes);
  ONCELOG_TRY_ASSIGN(const std::size_t got, file_.read_at(bad_position, head));
  if (got < head.size()) return byte_by_byte;
  ONCELOG_TRY_ASSIGN(const BatchHeader header, decode_header(head));
  if (header.magic != 2 || header.batch_length < kBatchLengthMin ||
      header.size_bytes() > end_ - bad_position - kHeaderBytes) {
    return byte_by_byte;
  }
  const std::int64_t candidate = bad_position + header.size_bytes();
  ONCELOG_TRY_ASSIGN(const std::size_t next_got, file_.read_at(candidate, head));
  if (next_got < head.size() || !plausible(head, candidate)) return byte_by_byte;
  ONCELOG_TRY_ASSIGN(const Chain chain, follow(candidate, size_at(head)));
  // If it leads nowhere the search below comes by again.
  if (!chain.reaches_end) return byte_by_byte;
  return note(candidate, chain);
}

Result<std::optional<std::int64_t>> Probe::search_chunk(std::int64_t begin,
                                                        std::int64_t search_end) {
  // The headers of the last candidates reach past the chunk's starting positions.
  const auto wanted = static_cast<std::size_t>(
      std::min(static_cast<std::int64_t>(kSearchChunkBytes), end_ - begin));
  if (chunk_.size() < wanted) chunk_.resize(wanted);
  std::size_t have = 0;
  while (have < wanted) {
    const auto into = std::span(chunk_).subspan(have, wanted - have);
    ONCELOG_TRY_ASSIGN(const std::size_t got,
                       file_.read_at(begin + static_cast<std::int64_t>(have), into));
    if (got == 0) break;
    have += got;
  }
  const std::span<const std::byte> bytes(chunk_.data(), have);
  if (have < kBatchHeaderBytes) return std::optional<std::int64_t>(search_end);
  const auto starts = static_cast<std::int64_t>(have) - kHeaderBytes + 1;
  const std::int64_t limit = std::min(begin + starts, search_end);
  std::int64_t at = begin;
  while (at < limit) {
    const std::size_t from = static_cast<std::size_t>(at - begin) + kMagicAt;
    const std::size_t span = static_cast<std::size_t>(limit - at);
    const void* hit = std::memchr(bytes.data() + from, std::to_integer<int>(kMagic), span);
    if (hit == nullptr) break;
    at = begin + (static_cast<const std::byte*>(hit) - bytes.data()) -
         static_cast<std::int64_t>(kMagicAt);
    const auto head = bytes.subspan(static_cast<std::size_t>(at - begin), kBatchHeaderBytes);
    if (plausible(head, at)) {
      ONCELOG_TRY_ASSIGN(const Chain chain, follow(at, size_at(head)));
      return note(at, chain);
    }
    ++at;
  }
  return std::optional<std::int64_t>(limit);
}

Result<ProbeResult> Probe::run(std::int64_t bad_position) {
  // The last position at which a header fits, and the limit.
  const std::int64_t last_end = end_ - kHeaderBytes + 1;
  const std::int64_t search_end =
      std::min(last_end, bad_position + std::max<std::int64_t>(limits_.search_bytes_max, 0) + 1);
  ONCELOG_TRY_ASSIGN(std::optional<std::int64_t> at, try_length_of(bad_position));
  while (at && *at < search_end) {
    ONCELOG_TRY_ASSIGN(at, search_chunk(*at, search_end));
  }
  if (at && search_end < last_end) result_.outcome = ProbeOutcome::kLimitReached;
  return result_;
}

}  // namespace

Result<ProbeResult> find_valid_batch_after(File& file, std::int64_t position,
                                           const ProbeLimits& limits) {
  std::int64_t end = limits.end;
  if (end < 0) {
    ONCELOG_TRY_ASSIGN(const FileStat stat, file.stat());
    end = stat.size;
  }
  if (end - position < kHeaderBytes) return ProbeResult{};
  return Probe(file, limits, end).run(position);
}

}  // namespace oncelog
