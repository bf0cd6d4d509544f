// Reading by offset: which segments, which batches, which aborted transactions.
//
// A reader holds no lock of the appends: it takes the marks, then the segment list, reads, and
// takes the marks again; when something was removed meanwhile it starts over. Whole batches only:
// one that reaches over the isolation's bound is withheld.
#include <algorithm>
#include <utility>

#include "txn/fetch_page_builder.h"
#include "txn/log_core.h"

namespace oncelog {
namespace {

constexpr int kTriesMax = 1000;  // removals are rare; this many in a row is no accident
constexpr std::size_t kHeaderChunkBytes = 4096;

Error out_of_range(const Marks& marks, Offset offset, const std::string& directory) {
  return make_error(ErrorCode::kOffsetOutOfRange,
                    "the log holds offsets from " + std::to_string(marks.log_start) + " to below " +
                        std::to_string(marks.written_end))
      .at(directory)
      .with_offset(offset);
}

/// Finds where the first batch that reaches `offset` begins, in one segment. Index entries are
/// hints: one that does not lead to a batch costs a scan from the start, never an answer.
class BatchLocator {
 public:
  BatchLocator(const LogSegment& segment, File& file, const SegmentIndexes& indexes,
               std::int64_t size)
      : segment_(segment), file_(file), indexes_(indexes), size_(size) {}

  /// -1: no batch of this segment reaches `offset`.
  Result<std::int64_t> find(Offset offset) const {
    const std::int64_t hint = indexes_.offset->lookup(offset).position;
    ONCELOG_TRY_ASSIGN(const Found found, scan(hint, offset, offset));
    if (found.position >= 0 || (found.at_end && hint == 0)) return found.position;
    if (found.at_end) {
      // Nothing behind the hint reaches it. Right, unless the hint itself was wrong.
      return segment_.next_offset() > offset ? scan_all(offset) : Result<std::int64_t>(-1);
    }
    return scan_all(offset);
  }

 private:
  struct Found {
    std::int64_t position = -1;
    std::int64_t bad_position = -1;
    bool at_end = false;
  };

  /// From the start, stepping over damage with the help of the index.
  Result<std::int64_t> scan_all(Offset offset) const {
    std::int64_t begin = 0;
    while (true) {
      ONCELOG_TRY_ASSIGN(const Found found, scan(begin, offset, kNoOffset));
      if (found.position >= 0 || found.at_end) return found.position;
      const std::optional<OffsetIndexEntry> behind =
          indexes_.offset->first_from_position(found.bad_position + 1);
      if (!behind) return -1;
      begin = behind->position;
    }
  }

  /// `not_above`: a first batch that begins above it means that the hint led too far.
  Result<Found> scan(std::int64_t begin, Offset offset, Offset not_above) const {
    ScanOptions options;
    options.begin = begin;
    options.end = size_;
    options.segment_base = segment_.base_offset();
    options.headers_only = true;
    options.chunk_bytes = kHeaderChunkBytes;
    SegmentScanner scanner(file_, options);
    while (true) {
      ONCELOG_TRY_ASSIGN(const std::optional<ScannedBatch> batch, scanner.next());
      Found found;
      if (!batch) {
        found.at_end = !scanner.bad_spot().has_value();
        found.bad_position = scanner.position();
        return found;
      }
      if (batch->header.last_offset() < offset) continue;
      const bool too_far = begin > 0 && batch->position == begin && not_above != kNoOffset &&
                           batch->header.base_offset > not_above;
      if (too_far) {
        found.bad_position = begin;
        return found;
      }
      found.position = batch->position;
      return found;
    }
  }

  const LogSegment& segment_;
  File& file_;
  const SegmentIndexes& indexes_;
  const std::int64_t size_;
};

/// Where reading has to stop although the log goes on: damage and gaps.
struct Barrier {
  Offset first = 0;
  Offset last = 0;
  bool damaged = false;
};

std::optional<Barrier> next_barrier(const SegmentList& list, Offset offset) {
  std::optional<Barrier> nearest;
  const auto take = [&](Offset first, Offset last, bool damaged) {
    if (last < offset) return;
    if (!nearest || first < nearest->first) nearest = Barrier{first, last, damaged};
  };
  for (const GapFinding& gap : list.gaps)
    take(gap.first_offset, gap.last_offset, false);
  for (const DamagedRange& range : list.damaged)
    take(range.first_offset, range.last_offset, true);
  return nearest;
}

Error barrier_error(const Barrier& barrier, Offset offset, const std::string& directory) {
  if (barrier.damaged) {
    return make_error(ErrorCode::kDamaged, "offsets " + std::to_string(barrier.first) + " to " +
                                               std::to_string(barrier.last) + " are damaged")
        .at(directory)
        .with_offset(offset);
  }
  return make_error(ErrorCode::kOffsetGap, "no segment holds offsets " +
                                               std::to_string(barrier.first) + " to " +
                                               std::to_string(barrier.last))
      .at(directory)
      .with_offset(barrier.last + 1);
}

/// Reads batches of one segment into the page until `stop`, the budget or the end.
struct SegmentRead {
  bool full = false;               // the budget is used up
  bool stopped = false;            // reached `stop`
  std::int64_t bytes_needed = 0;   // of a first batch that does not fit
  Offset next_offset = kNoOffset;  // behind the last batch taken
};

/// What to read of a segment's file.
struct SegmentSpan {
  std::shared_ptr<File> file;
  Offset base_offset = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Result<SegmentRead> read_segment(const SegmentSpan& span, Offset stop, const FetchRequest& request,
                                 FetchPageBuilder& page) {
  const std::shared_ptr<File>& file = span.file;
  SegmentRead result;
  ScanOptions options;
  options.begin = span.begin;
  options.end = span.end;
  options.segment_base = span.base_offset;
  options.check_crc = false;
  options.headers_only = request.file_ranges_only;
  const std::int64_t left = std::max<std::int64_t>(request.bytes_max - page.stored_bytes(), 0);
  options.chunk_bytes = static_cast<std::size_t>(
      std::clamp<std::int64_t>(std::min(left, span.end - span.begin), 1024, 1 << 20));
  if (request.file_ranges_only) options.chunk_bytes = kHeaderChunkBytes;
  SegmentScanner scanner(*file, options);
  while (true) {
    ONCELOG_TRY_ASSIGN(const std::optional<ScannedBatch> batch, scanner.next());
    if (!batch) {
      if (!scanner.bad_spot()) return result;
      if (page.count() > 0) {  // what lies before it is good; the next fetch meets it first
        result.stopped = true;
        return result;
      }
      return make_error(ErrorCode::kDamaged, scanner.bad_spot()->what)
          .at(file->path(), scanner.position())
          .with_offset(scanner.next_offset());
    }
    if (batch->header.last_offset() >= stop) {
      result.stopped = true;
      return result;
    }
    const bool first = page.count() == 0;
    const bool fits = page.stored_bytes() + batch->header.size_bytes() <= request.bytes_max;
    if (!fits && !(first && request.at_least_one)) {
      result.full = true;
      if (first) result.bytes_needed = batch->header.size_bytes();
      return result;
    }
    ONCELOG_TRY(page.add(*batch, file));
    result.next_offset = batch->header.next_offset();
    if (!fits) {
      result.full = true;
      return result;
    }
  }
}

}  // namespace

Result<FetchPage> LogCore::fetch(const FetchRequest& request, FetchBuffer& buffer) const {
  for (int i = 0;; ++i) {
    const Marks marks = view_.marks();
    const std::shared_ptr<const SegmentList> list = view_.segments();
    if (!marks.open || !list) {
      return make_error(ErrorCode::kNotOpen, "the log is closed").at(directory_);
    }
    Result<FetchPage> page = fetch_once(request, buffer, marks, *list);
    if (view_.marks().generation == marks.generation || i == kTriesMax) return page;
  }
}

Result<FetchPage> LogCore::fetch_once(const FetchRequest& request, FetchBuffer& buffer,
                                      const Marks& marks, const SegmentList& list) const {
  if (request.offset < marks.log_start || request.offset > marks.written_end) {
    return out_of_range(marks, request.offset, directory_);
  }
  const Offset limit = limit_of(request.isolation, marks);
  FetchPageBuilder builder(buffer, !request.file_ranges_only);
  Offset next = request.offset;
  std::int64_t bytes_needed = 0;
  std::size_t first_segment = list.floor(request.offset);
  if (request.offset < limit) {
    const std::optional<Barrier> barrier = next_barrier(list, request.offset);
    if (barrier && barrier->first <= request.offset) {
      return barrier_error(*barrier, request.offset, directory_);
    }
    const Offset stop = barrier ? std::min(barrier->first, limit) : limit;
    if (first_segment == list.segments.size())
      return out_of_range(marks, request.offset, directory_);
    for (std::size_t i = first_segment; i < list.segments.size(); ++i) {
      const LogSegment& segment = *list.segments[i];
      if (segment.base_offset() >= stop) break;
      const std::int64_t size = segment.size();
      std::int64_t begin = size > 0 ? 0 : -1;
      std::shared_ptr<File> file;
      if (size > 0) {
        ONCELOG_TRY_ASSIGN(file, segment.file_for_page());
      }
      if (size > 0 && i == first_segment) {
        ONCELOG_TRY_ASSIGN(const std::shared_ptr<const SegmentIndexes> indexes, segment.indexes());
        ONCELOG_TRY_ASSIGN(begin,
                           BatchLocator(segment, *file, *indexes, size).find(request.offset));
      }
      if (begin >= 0) {
        ONCELOG_TRY_ASSIGN(
            const SegmentRead read,
            read_segment({file, segment.base_offset(), begin, size}, stop, request, builder));
        if (read.next_offset != kNoOffset) next = std::max(next, read.next_offset);
        bytes_needed = read.bytes_needed;
        if (read.full || read.stopped) break;
      }
      // Nothing of this segment is left, so a reader need not stay below the next one (H-103).
      const bool last = i + 1 == list.segments.size();
      next = std::max(next, last ? stop : std::min(list.segments[i + 1]->base_offset(), stop));
    }
  }
  std::vector<AbortedRange> aborted;
  if (request.isolation == Isolation::kReadCommitted || request.verdicts) {
    ONCELOG_TRY_ASSIGN(aborted, collect_aborted(list, first_segment, request.offset, builder));
  }
  std::vector<BatchVerdict> verdicts;
  if (request.verdicts) {
    ONCELOG_TRY_ASSIGN(verdicts, verdicts_of(builder.headers(), aborted, marks));
  }
  if (request.isolation != Isolation::kReadCommitted) aborted.clear();
  FetchPage page = builder.finish(std::move(aborted), std::move(verdicts));
  page.next_offset = next;
  page.bytes_needed = bytes_needed;
  page.log_start = marks.log_start;
  page.high_watermark = marks.high_watermark;
  page.last_stable_offset = marks.last_stable;
  page.log_end = marks.written_end;
  return page;
}

Result<std::vector<AbortedRange>> LogCore::collect_aborted(const SegmentList& list,
                                                           std::size_t first_segment, Offset from,
                                                           const FetchPageBuilder& page) const {
  std::vector<AbortedRange> aborted;
  if (page.count() == 0) return aborted;
  // The marker, and with it the entry, may lie in any later segment (H-016).
  const Offset to = page.headers().back().next_offset();
  std::vector<AbortedTxn> found;
  for (std::size_t i = first_segment; i < list.segments.size(); ++i) {
    if (list.segments[i]->aborted_count() == 0) continue;
    ONCELOG_TRY_ASSIGN(const std::shared_ptr<const SegmentIndexes> indexes,
                       list.segments[i]->indexes());
    if (indexes->txn->collect(from, to, found)) break;
  }
  for (const AbortedTxn& txn : found) {
    aborted.push_back({txn.producer_id, txn.first_offset, txn.last_offset});
  }
  std::sort(aborted.begin(), aborted.end(), [](const AbortedRange& a, const AbortedRange& b) {
    return a.first_offset < b.first_offset;
  });
  return aborted;
}

Result<std::vector<BatchVerdict>> LogCore::verdicts_of(const std::vector<BatchHeader>& headers,
                                                       const std::vector<AbortedRange>& aborted,
                                                       const Marks& marks) const {
  std::vector<OngoingTxn> open;
  const bool undecided = std::any_of(headers.begin(), headers.end(), [&](const BatchHeader& h) {
    return h.is_transactional() && h.last_offset() >= marks.last_stable;
  });
  if (undecided) {
    ONCELOG_TRY(shard().run_blocking([&](Shard::Waiter& waiter) {
      open = open_txns();
      waiter.finish();
    }));
  }
  std::vector<BatchVerdict> verdicts;
  for (const BatchHeader& header : headers) {
    const auto covers = [&](const auto& txn) {
      return txn.producer_id == header.producer_id && txn.first_offset <= header.base_offset;
    };
    if (header.is_control()) {
      verdicts.push_back(BatchVerdict::kControl);
    } else if (!header.is_transactional()) {
      verdicts.push_back(BatchVerdict::kNonTransactional);
    } else if (std::any_of(aborted.begin(), aborted.end(), [&](const AbortedRange& range) {
                 return covers(range) && header.last_offset() < range.last_offset;
               })) {
      verdicts.push_back(BatchVerdict::kAborted);
    } else if (std::any_of(open.begin(), open.end(), covers)) {
      verdicts.push_back(BatchVerdict::kOpen);
    } else {
      verdicts.push_back(BatchVerdict::kCommitted);
    }
  }
  return verdicts;
}

}  // namespace oncelog
