// The one loop over the batches of a log file.
#include "storage/segment_scanner.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "storage/base/assert.h"
#include "storage/base/endian.h"
#include "storage/format/batch_header.h"
#include "storage/format/legacy_batch.h"

namespace oncelog {
namespace {

// Enough of any batch to know its magic and size.
constexpr std::int64_t kSniffBytes = batch_field::kMagic.end();
constexpr std::int64_t kHeaderBytes = kBatchHeaderBytes;
constexpr std::int64_t kOverheadBytes = kBatchLogOverheadBytes;

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::int32_t length_min(int magic) {
  if (magic == 0) return kLegacySizeMinV0;
  return magic == 1 ? kLegacySizeMinV1 : kBatchLengthMin;
}

}  // namespace

std::string_view to_string(BadKind kind) noexcept {
  switch (kind) {
    case BadKind::kTruncated:
      return "truncated";
    case BadKind::kZeros:
      return "zeros";
    case BadKind::kLength:
      return "length";
    case BadKind::kMagic:
      return "magic";
    case BadKind::kCrc:
      return "crc";
    case BadKind::kOffsetOrder:
      return "offset-order";
    case BadKind::kHeader:
      return "header";
  }
  return "unknown";
}

SegmentScanner::SegmentScanner(File& file, const ScanOptions& options)
    : file_(file),
      options_(options),
      position_(options.begin),
      end_(options.end),
      next_offset_(options.expected_offset < 0 ? options.segment_base : options.expected_offset),
      buffer_position_(options.begin) {
  ONCELOG_ASSERT(options.begin >= 0 && options.segment_base >= 0);
}

Result<std::optional<ScannedBatch>> SegmentScanner::next() {
  if (bad_spot_) return std::optional<ScannedBatch>{};
  if (end_ < 0) {
    ONCELOG_TRY_ASSIGN(const FileStat stat, file_.stat());
    end_ = stat.size;
  }
  if (position_ >= end_) return std::optional<ScannedBatch>{};
  return inspect();
}

/// Borrows `count` bytes at the current position from the buffer, reading a chunk if needed. Fewer
/// come back only when the file turned out to be shorter, and then `end_` is lowered to match.
/// REQUIRES: position_ + count <= end_.
Result<std::span<const std::byte>> SegmentScanner::bytes_at_position(std::int64_t count) {
  ONCELOG_ASSERT(count >= 0 && count <= end_ - position_);
  const auto wanted = static_cast<std::size_t>(count);
  std::size_t have = 0;
  if (position_ < buffer_position_ + static_cast<std::int64_t>(buffered_)) {
    const auto skip = static_cast<std::size_t>(position_ - buffer_position_);
    have = buffered_ - skip;
    if (have >= wanted) return std::span<const std::byte>(buffer_).subspan(skip, wanted);
    std::memmove(buffer_.data(), buffer_.data() + skip, have);
  }
  const std::int64_t remaining = end_ - position_;
  const auto target = static_cast<std::size_t>(
      std::min(remaining, std::max(count, static_cast<std::int64_t>(options_.chunk_bytes))));
  if (buffer_.size() < target) buffer_.resize(target);
  buffer_position_ = position_;
  buffered_ = have;
  while (buffered_ < wanted) {
    const auto into = std::span(buffer_).subspan(buffered_, target - buffered_);
    ONCELOG_TRY_ASSIGN(const std::size_t got,
                       file_.read_at(position_ + static_cast<std::int64_t>(buffered_), into));
    if (got == 0) {
      end_ = position_ + static_cast<std::int64_t>(buffered_);
      break;
    }
    buffered_ += got;
  }
  return std::span<const std::byte>(buffer_).first(std::min(wanted, buffered_));
}

Result<std::optional<ScannedBatch>> SegmentScanner::inspect() {
  ONCELOG_TRY_ASSIGN(const std::span<const std::byte> head,
                     bytes_at_position(std::min(kHeaderBytes, end_ - position_)));
  if (head.empty()) return std::optional<ScannedBatch>{};
  // A header is unwritten when all of it is zero, never for one field (a CRC may well be 0).
  if (all_zero(head)) {
    ONCELOG_TRY_ASSIGN(const bool zeros, zero_to_the_end());
    if (zeros) return stop(bad(BadKind::kZeros, "zeros up to the end"));
    return stop(bad(BadKind::kLength, "a header of zeros with other bytes behind it"));
  }
  if (auto spot = check_sizes(head)) return stop(*std::move(spot));
  const auto length = load_be<std::int32_t>(head, batch_field::kBatchLength.offset);
  if (load_be<std::int8_t>(head, batch_field::kMagic.offset) < 2) {
    return finish_legacy(kOverheadBytes + length);
  }
  ONCELOG_TRY_ASSIGN(const BatchHeader header, decode_header(head));
  return finish_v2(header);
}

/// What the bytes outside the CRC say about the batch's extent. `head` has 61 bytes unless the
/// file ends before.
std::optional<BadSpot> SegmentScanner::check_sizes(std::span<const std::byte> head) const {
  const std::int64_t remaining = end_ - position_;
  if (static_cast<std::int64_t>(head.size()) < kSniffBytes) {
    return bad(BadKind::kTruncated, std::to_string(remaining) + " bytes are no batch header");
  }
  const auto magic = load_be<std::int8_t>(head, batch_field::kMagic.offset);
  if (magic < 0 || magic > 2) return bad(BadKind::kMagic, "magic is " + std::to_string(magic));
  const auto length = load_be<std::int32_t>(head, batch_field::kBatchLength.offset);
  if (length < length_min(magic)) {
    return bad(BadKind::kLength, "batch length " + std::to_string(length) + " is too small");
  }
  if (length > remaining - kOverheadBytes) {
    return bad(BadKind::kTruncated, "batch of " + std::to_string(kOverheadBytes + length) +
                                        " bytes ends after " + std::to_string(remaining));
  }
  return std::nullopt;
}

/// I5, and fields that no writer produces. Every sum here is of checked parts.
std::optional<BadSpot> SegmentScanner::check_header(const BatchHeader& header) const {
  if (header.last_offset_delta < 0 || header.record_count < 0) {
    return bad(BadKind::kHeader, "last offset delta is " +
                                     std::to_string(header.last_offset_delta) +
                                     ", record count is " + std::to_string(header.record_count));
  }
  if (header.base_offset < next_offset_) {
    return bad(BadKind::kOffsetOrder, "base offset " + std::to_string(header.base_offset) +
                                          " is below " + std::to_string(next_offset_));
  }
  if (header.base_offset < options_.segment_base ||
      header.base_offset - options_.segment_base > kRelativeOffsetMax - header.last_offset_delta) {
    return bad(BadKind::kOffsetOrder, "base offset " + std::to_string(header.base_offset) +
                                          " is out of the segment's range");
  }
  if (header.base_offset >= std::numeric_limits<Offset>::max() - header.last_offset_delta) {
    return bad(BadKind::kOffsetOrder, "no offset can follow the batch");
  }
  return std::nullopt;
}

Result<std::optional<ScannedBatch>> SegmentScanner::finish_v2(BatchHeader header) {
  if (auto spot = check_header(header)) return stop(*std::move(spot));
  const std::int64_t count = options_.headers_only ? kHeaderBytes : header.size_bytes();
  ONCELOG_TRY_ASSIGN(const std::span<const std::byte> bytes, bytes_at_position(count));
  if (static_cast<std::int64_t>(bytes.size()) < count) {
    return stop(bad(BadKind::kTruncated, "the file became shorter"));
  }
  if (!options_.headers_only && options_.check_crc && batch_crc(bytes) != header.crc) {
    return stop(bad(BadKind::kCrc, "CRC does not match"));
  }
  return accept(header, bytes);
}

Result<std::optional<ScannedBatch>> SegmentScanner::finish_legacy(std::int64_t size) {
  ONCELOG_TRY_ASSIGN(const std::span<const std::byte> bytes, bytes_at_position(size));
  if (static_cast<std::int64_t>(bytes.size()) < size) {
    return stop(bad(BadKind::kTruncated, "the file became shorter"));
  }
  const auto entry = LegacyBatchView::parse(bytes);
  if (!entry.ok()) return stop(bad(BadKind::kHeader, entry.error().message));
  if (options_.check_crc && !entry->crc_matches()) {
    return stop(bad(BadKind::kCrc, "CRC does not match"));
  }
  const BatchHeader header = legacy_header(*entry, options_.limits);
  if (auto spot = check_header(header)) return stop(*std::move(spot));
  return accept(header, bytes);
}

/// The scan is over when this is asked, so the buffer is free to be used.
Result<bool> SegmentScanner::zero_to_the_end() {
  if (buffer_.size() < options_.chunk_bytes) {
    buffer_.resize(std::min(options_.chunk_bytes, static_cast<std::size_t>(end_ - position_)));
  }
  std::int64_t at = position_;
  buffered_ = 0;
  while (at < end_) {
    const auto piece = std::min(static_cast<std::int64_t>(buffer_.size()), end_ - at);
    const auto into = std::span(buffer_).first(static_cast<std::size_t>(piece));
    ONCELOG_TRY_ASSIGN(const std::size_t got, file_.read_at(at, into));
    if (got == 0) break;
    if (!all_zero(into.first(got))) return false;
    at += static_cast<std::int64_t>(got);
  }
  return true;
}

BadSpot SegmentScanner::bad(BadKind kind, std::string what) const {
  return {kind, position_, next_offset_, std::move(what)};
}

std::optional<ScannedBatch> SegmentScanner::stop(BadSpot spot) {
  bad_spot_ = std::move(spot);
  return std::nullopt;
}

std::optional<ScannedBatch> SegmentScanner::accept(const BatchHeader& header,
                                                   std::span<const std::byte> bytes) {
  ScannedBatch out{position_, header, bytes};
  ONCELOG_ASSERT(out.end() > position_ && out.end() <= end_);
  ONCELOG_ASSERT(header.next_offset() > next_offset_);
  position_ = out.end();
  next_offset_ = header.next_offset();
  return out;
}

}  // namespace oncelog
