// Which derived files of a segment are kept, and which are written again.
#include <algorithm>

#include "recovery/analysis.h"
#include "storage/base/endian.h"
#include "storage/file_names.h"

namespace oncelog {
namespace {

bool has_entry(const TxnIndex& index, ProducerId producer_id, Offset last_offset) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    const AbortedTxn entry = index.entry(i);
    if (entry.last_offset == last_offset) return entry.producer_id == producer_id;
  }
  return false;
}

std::unique_ptr<TxnIndex> make_txn_index(Offset base, const std::vector<AbortedTxn>& entries) {
  auto index = std::make_unique<TxnIndex>(base);
  for (const AbortedTxn& entry : entries)
    index->append(entry);
  return index;
}

}  // namespace

Status Analysis::finish_segment(std::size_t i, SegmentPass& pass) {
  SegmentPlan& segment = plan_->segments[i];
  const bool sealed = !stopped_ && i + 1 < plan_->segments.size();
  const auto name = [&](FileKind kind) { return file_name(kind, segment.open.base_offset); };
  const bool empty = segment.facts.last_batch_position < 0;
  if (sealed) pass.build.close_time_index();
  if (segment.has_hole) {
    // Served as it is, with indexes in memory that know a way across the hole.
  } else if (pass.from_beginning) {
    const auto decide = [&](auto& check, std::size_t rebuilt_size, FileKind kind) {
      if (!check) {
        if (sealed && !empty) plan_->report.rebuilt.push_back(name(kind));
        return sealed && !empty;
      }
      const bool lost = sealed && check->entries().empty() && rebuilt_size > 0;
      if (check->fault() || lost) plan_->report.rebuilt.push_back(name(kind));
      return check->fault().has_value() || lost || check->zero_tail();
    };
    if (pass.offset_check) pass.offset_check->finish();
    if (pass.time_check) pass.time_check->finish(sealed);
    segment.write_offset_index =
        decide(pass.offset_check, pass.build.offset_index().size(), FileKind::kOffsetIndex);
    segment.write_time_index =
        decide(pass.time_check, pass.build.time_index().size(), FileKind::kTimeIndex);
  } else {
    // Rolled since the checkpoint: entries of both parts belong together now.
    segment.write_offset_index = sealed;
    segment.write_time_index = sealed;
  }
  segment.offset_index = pass.build.take_offset_index();
  segment.time_index = pass.build.take_time_index();
  ONCELOG_TRY(finish_txn_index(i, pass));
  segment.facts.aborted_count = static_cast<std::uint32_t>(segment.txn_index->size());
  const Offset durable = plan_->root.recovery_point.value_or(0);
  segment.needs_sync = !plan_->root.clean && segment.next_offset > durable;
  if (hooks_ != nullptr) hooks_->on_segment(segment, pass, sealed);
  if (!empty) release_indexes_below(i);
  return {};
}

/// The active segment's indexes stay in memory, those of sealed ones only to be written. The last
/// segment with a batch may turn out to be the active one.
void Analysis::release_indexes_below(std::size_t i) {
  for (std::size_t j = i; j-- > 0;) {
    SegmentPlan& segment = plan_->segments[j];
    if (segment.released) return;
    segment.released = true;
    if (segment.has_hole) continue;
    if (!segment.write_offset_index) segment.offset_index.reset();
    if (!segment.write_time_index) segment.time_index.reset();
    if (!segment.write_txn_index) segment.txn_index.reset();
  }
}

Status Analysis::finish_txn_index(std::size_t i, SegmentPass& pass) {
  SegmentPlan& segment = plan_->segments[i];
  const Offset base = segment.open.base_offset;
  std::unique_ptr<TxnIndex> file;
  if (!segment.files.txn_index.empty()) {
    ONCELOG_TRY_ASSIGN(const auto bytes, read_derived(segment.files.txn_index));
    Result<std::unique_ptr<TxnIndex>> decoded = TxnIndex::decode(bytes, base);
    if (decoded.ok()) {
      file = std::move(decoded).value();
    } else {
      pass.txn_fault = decoded.error().message;
      pass.txn_fault_position = decoded.error().position;
    }
  }
  if (!pass.from_beginning && file != nullptr) {
    // Entries below the checkpoint are the sidecar's; those above were derived again.
    std::vector<AbortedTxn> all;
    for (std::size_t k = 0; k < file->size(); ++k) {
      if (file->entry(k).last_offset < plan_->sidecar.sidecar->active.offset) {
        all.push_back(file->entry(k));
      }
    }
    all.insert(all.end(), pass.aborted.begin(), pass.aborted.end());
    pass.aborted = std::move(all);
  }
  std::unique_ptr<TxnIndex> rebuilt = make_txn_index(base, pass.aborted);
  const bool missing = segment.files.txn_index.empty() && rebuilt->empty();
  bool keep = missing;
  if (!keep && file != nullptr) {
    ONCELOG_TRY_ASSIGN(keep, explains(*file, *rebuilt, pass));
  }
  if (keep && file != nullptr) {
    segment.txn_index = std::move(file);
    return {};
  }
  segment.txn_index = std::move(rebuilt);
  segment.write_txn_index = !keep;
  if (!keep) plan_->report.rebuilt.push_back(file_name(FileKind::kTxnIndex, base));
  return {};
}

/// Whether the file says what the log says, or what compaction leaves: an entry keeps the first
/// offset of data that is gone, and stays while its marker does.
Result<bool> Analysis::explains(const TxnIndex& file, const TxnIndex& rebuilt, SegmentPass& pass) {
  for (std::size_t i = 0; i < rebuilt.size(); ++i) {
    const AbortedTxn entry = rebuilt.entry(i);
    if (has_entry(file, entry.producer_id, entry.last_offset)) continue;
    pass.txn_fault = "no entry for the abort at offset " + std::to_string(entry.last_offset);
    return false;
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < file.size(); ++i) {
    const AbortedTxn entry = file.entry(i);
    pass.txn_fault = "entry " + std::to_string(i);
    pass.txn_fault_position = static_cast<std::int64_t>(i * kTxnIndexEntryBytes);
    while (next < rebuilt.size() && rebuilt.entry(next).last_offset < entry.last_offset)
      ++next;
    std::optional<AbortedTxn> same;
    if (next < rebuilt.size() && rebuilt.entry(next).last_offset == entry.last_offset) {
      same = rebuilt.entry(next);
    }
    if (same && entry == *same) continue;
    if (!same && pass.from_beginning) {
      const std::pair<ProducerId, Offset> marker{entry.producer_id, entry.last_offset};
      const auto& markers = pass.abort_markers;
      if (std::find(markers.begin(), markers.end(), marker) == markers.end()) return false;
    }
    if (same &&
        (entry.producer_id != same->producer_id || entry.first_offset > same->first_offset ||
         entry.last_stable_offset > same->last_stable_offset)) {
      return false;
    }
    if (!same || entry.first_offset != same->first_offset) {
      ONCELOG_TRY_ASSIGN(const bool covered, plan_->is_covered_by_a_batch(entry.first_offset));
      if (covered) return false;
    }
    if (same && entry.last_stable_offset != same->last_stable_offset) {
      ONCELOG_TRY_ASSIGN(const bool covered,
                         plan_->is_covered_by_a_batch(entry.last_stable_offset));
      if (covered) return false;
    }
  }
  pass.txn_fault.clear();
  pass.txn_fault_position = -1;
  return true;
}

/// Entries of the checkpoint's segment below the checkpoint cannot be derived from what is scanned
/// above it: they must be in the file. A crash while a log was closed can leave the sidecar without
/// the index that was written beside it.
Status Analysis::check_aborted_at_checkpoint(std::size_t i) {
  const SidecarCheckpoint& checkpoint = plan_->sidecar.sidecar->active;
  const SegmentPlan& segment = plan_->segments[i];
  std::uint32_t found = 0;
  if (!segment.files.txn_index.empty()) {
    ONCELOG_TRY_ASSIGN(const auto bytes, read_derived(segment.files.txn_index));
    const Result<std::unique_ptr<TxnIndex>> file =
        TxnIndex::decode(bytes, segment.open.base_offset);
    for (std::size_t k = 0; file.ok() && k < (*file)->size(); ++k) {
      if ((*file)->entry(k).last_offset < checkpoint.offset) ++found;
    }
  }
  if (found == checkpoint.segment.aborted_count) return {};
  plan_->report.notes.push_back(
      file_name(FileKind::kTxnIndex, segment.open.base_offset) +
      ": not all the entries that the sidecar counts, everything is read");
  at_checkpoint_ = false;
  return {};
}

/// Derived files of a sealed segment whose .log the sidecar vouches for: there, and of a size that
/// fits. Otherwise they are built from a scan of that segment alone; an aborted index cannot be.
Status Analysis::check_covered_indexes(std::size_t i) {
  SegmentPlan& segment = plan_->segments[i];
  const auto size_of = [&](const std::string& name) -> std::int64_t {
    if (name.empty()) return -1;
    const Result<FileStat> stat = files_.stat(path_of(name));
    return stat.ok() ? stat->size : -1;
  };
  const std::int64_t txn_bytes = std::max<std::int64_t>(size_of(segment.files.txn_index), 0);
  if (txn_bytes !=
      std::int64_t{segment.facts.aborted_count} * static_cast<std::int64_t>(kTxnIndexEntryBytes)) {
    plan_->report.notes.push_back(file_name(FileKind::kTxnIndex, segment.open.base_offset) +
                                  ": not of the size that the sidecar says, everything is read");
    at_checkpoint_ = false;
    return {};
  }
  const std::int64_t offset_bytes = size_of(segment.files.offset_index);
  const std::int64_t time_bytes = size_of(segment.files.time_index);
  const bool offsets_fit =
      offset_bytes >= 0 && offset_bytes % static_cast<std::int64_t>(kOffsetIndexEntryBytes) == 0;
  bool times_fit =
      time_bytes >= 0 && time_bytes % static_cast<std::int64_t>(kTimeIndexEntryBytes) == 0;
  if (times_fit && segment.facts.largest_timestamp >= 0) {
    ONCELOG_TRY_ASSIGN(const auto bytes, read_derived(segment.files.time_index));
    times_fit = bytes.size() >= kTimeIndexEntryBytes &&
                load_be<std::int64_t>(bytes, bytes.size() - kTimeIndexEntryBytes) ==
                    segment.facts.largest_timestamp;
  }
  if (offsets_fit && times_fit) return {};
  SegmentBuild build(segment.open.base_offset,
                     {plan_->options.index_interval_bytes, plan_->options.segment_index_bytes});
  ScanOptions options;
  options.segment_base = segment.open.base_offset;
  SegmentScanner scanner(*segment.open.log, options);
  for (;;) {
    ONCELOG_TRY_ASSIGN(const auto batch, scanner.next());
    if (!batch) break;
    build.add(*batch);
    ++plan_->report.batches_scanned;
  }
  plan_->report.bytes_scanned += scanner.position();
  if (scanner.bad_spot() || scanner.position() != segment.facts.size) {
    at_checkpoint_ = false;
    return {};
  }
  build.close_time_index();
  const auto rebuild = [&](FileKind kind) {
    plan_->report.rebuilt.push_back(file_name(kind, segment.open.base_offset));
    return true;
  };
  segment.write_offset_index = !offsets_fit && rebuild(FileKind::kOffsetIndex);
  segment.write_time_index = !times_fit && rebuild(FileKind::kTimeIndex);
  if (!offsets_fit) segment.offset_index = build.take_offset_index();
  if (!times_fit) segment.time_index = build.take_time_index();
  return {};
}

}  // namespace oncelog
