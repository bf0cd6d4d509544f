// Reading records from files, filtered as read_committed wants it.
#include "tools/offline_reader.h"

#include <algorithm>

#include "index/derived_file.h"
#include "index/offset_index.h"
#include "storage/format/legacy_batch.h"
#include "tools/text.h"

namespace oncelog::tools {
namespace {

constexpr std::int64_t kIndexFileBytesMax = 1LL << 31;

/// A batch border at or before the batch that holds `offset`: from the offset index when it is
/// good, else the start of the file.
std::int64_t border_before(FileSystem& files, const std::string& directory,
                           const LoadedSegment& segment, Offset offset) {
  const Offset base = segment.facts.base_offset;
  if (offset <= base) return 0;
  const auto bytes = read_whole_file(
      files, directory + "/" + file_name(FileKind::kOffsetIndex, base), kIndexFileBytesMax);
  if (!bytes.ok()) return 0;
  const auto index = OffsetIndex::decode(*bytes, base, kIndexFileBytesMax, segment.facts.size);
  // An entry names the last offset of its batch, so the one at or below `offset` - 1 is safe.
  return index.ok() ? (*index)->lookup(offset - 1).position : 0;
}

}  // namespace

Result<OfflineReader> OfflineReader::open(FileSystem& files, const std::string& directory,
                                          const Options& options) {
  ONCELOG_TRY_ASSIGN(Partition partition, find_partition(files, directory));
  ONCELOG_TRY_ASSIGN(LoadedPartition loaded,
                     load_partition(files, std::move(partition), options.high_watermark));
  OfflineReader reader(files, std::move(loaded));
  reader.read_committed_ = options.read_committed;
  ONCELOG_TRY_ASSIGN(const LogState state, state_of(files, reader.loaded_));
  reader.bound_ = options.read_committed ? state.last_stable_offset : state.high_watermark;
  for (const AbortedTxnInfo& txn : state.aborted_txns)
    reader.aborted_[txn.producer_id][txn.last_offset] = txn.first_offset;
  return reader;
}

Result<Offset> OfflineReader::read(Offset from,
                                   const std::function<bool(const RecordView&)>& visit) {
  if (from < log_start() || from > loaded_.log.log_end)
    return make_error(ErrorCode::kOffsetOutOfRange,
                      text("the log holds offsets {} to {}", log_start(), loaded_.log.log_end))
        .at(loaded_.partition.directory)
        .with_offset(from);
  Offset next = from;
  for (const LoadedSegment& segment : loaded_.log.segments) {
    if (segment.next_offset <= next) continue;
    if (segment.facts.base_offset >= bound_) break;
    ONCELOG_TRY_ASSIGN(const bool more, read_segment(segment, next, visit));
    if (!more) return next;
  }
  for (const DamagedRange& range : loaded_.log.damaged) {
    if (range.first_offset < bound_ && next <= range.first_offset)
      return make_error(ErrorCode::kDamaged, "these offsets cannot be read")
          .at(loaded_.partition.directory)
          .with_offset(range.first_offset);
  }
  return std::max(next, bound_);
}

Result<bool> OfflineReader::read_segment(const LoadedSegment& segment, Offset& next,
                                         const std::function<bool(const RecordView&)>& visit) {
  const std::string& directory = loaded_.partition.directory;
  const std::string path = directory + "/" + file_name(FileKind::kLog, segment.facts.base_offset);
  ONCELOG_TRY_ASSIGN(const auto file, files_->open(path, OpenMode::kRead));
  ScanOptions options;
  options.segment_base = segment.facts.base_offset;
  options.begin = border_before(*files_, directory, segment, next);
  options.end = segment.facts.size;
  SegmentScanner scanner(*file, options);
  while (true) {
    ONCELOG_TRY_ASSIGN(const auto batch, scanner.next());
    if (!batch) break;
    if (batch->header.last_offset() < next) continue;
    // A batch that reaches beyond the bound is withheld as a whole.
    if (batch->header.next_offset() > bound_) return false;
    ONCELOG_TRY_ASSIGN(const bool more, read_batch(*batch, next, visit));
    if (!more) return false;
  }
  if (const auto& bad = scanner.bad_spot(); bad && bad->expected_offset < bound_)
    return make_error(ErrorCode::kDamaged, bad->what)
        .at(path, bad->position)
        .with_offset(bad->expected_offset);
  return true;
}

Result<bool> OfflineReader::read_batch(const ScannedBatch& batch, Offset& next,
                                       const std::function<bool(const RecordView&)>& visit) const {
  const BatchHeader& header = batch.header;
  if (!header.is_control() && !(read_committed_ && is_aborted(header))) {
    ONCELOG_TRY_ASSIGN(const Records records, read_records_of(batch.bytes));
    for (const RecordView& record : records.records) {
      if (record.offset < next) continue;
      next = record.offset + 1;
      if (!visit(record)) return false;
    }
  }
  next = header.next_offset();
  return true;
}

bool OfflineReader::is_aborted(const BatchHeader& header) const {
  if (!header.is_transactional()) return false;
  const auto producer = aborted_.find(header.producer_id);
  if (producer == aborted_.end()) return false;
  const auto txn = producer->second.lower_bound(header.base_offset);
  return txn != producer->second.end() && txn->second <= header.base_offset;
}

}  // namespace oncelog::tools
