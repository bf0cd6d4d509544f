// Compares the sidecar's places with the log.
#include "recovery/sidecar_places.h"

#include <algorithm>
#include <array>
#include <utility>

#include "index/derived_file.h"
#include "index/offset_index.h"
#include "index/time_index.h"
#include "recovery/index_check.h"
#include "storage/segment_scanner.h"

namespace oncelog {
namespace {

constexpr std::int64_t kSidecarBytesMax = std::int64_t{1} << 31;

const OpenSegment* find(std::span<const OpenSegment> segments, Offset base) {
  const auto it = std::find_if(segments.begin(), segments.end(),
                               [base](const OpenSegment& s) { return s.base_offset == base; });
  return it == segments.end() ? nullptr : &*it;
}

/// Whether the last batch header stands where the sidecar says; `size` bytes must be there.
Result<bool> holds(const SidecarSegment& place, const OpenSegment& segment) {
  if (segment.size < place.size) return false;
  if (place.last_batch_position < 0) return place.size == 0;
  BatchHeaderBytes header{};
  const std::int64_t room = place.size - place.last_batch_position;
  if (room <= 0) return false;
  const auto bytes = std::span(header).first(
      static_cast<std::size_t>(std::min<std::int64_t>(room, std::int64_t{kBatchHeaderBytes})));
  ONCELOG_TRY_ASSIGN(const std::size_t got, segment.log->read_at(place.last_batch_position, bytes));
  return got == bytes.size() && header == place.last_batch_header;
}

/// Whether an index file ends in zeros, as only a broker's active one does.
Result<bool> is_preallocated(FileSystem& files, const std::string& path, std::size_t entry_bytes) {
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file, files.open(path, OpenMode::kRead));
  ONCELOG_TRY_ASSIGN(const FileStat stat, file->stat());
  const auto entry = static_cast<std::int64_t>(entry_bytes);
  if (stat.size < 2 * entry || stat.size % entry != 0) return false;
  std::vector<std::byte> tail(2 * entry_bytes);
  ONCELOG_TRY_ASSIGN(const std::size_t got, file->read_at(stat.size - 2 * entry, tail));
  tail.resize(got);
  return slots_of(tail, entry_bytes).zero_tail;
}

class Weighing {
 public:
  Weighing(FileSystem& files, const std::string& directory, const SidecarQuery& query)
      : files_(files), directory_(directory), query_(query) {}

  Result<SidecarFindings> run();

 private:
  Status read();
  Result<bool> was_foreign_writer_here();
  Result<SidecarPlace> place_of_checkpoint();
  bool broker_left_a_trace(Offset log_end) const;
  Result<bool> all_below_are_equal();

  FileSystem& files_;
  const std::string& directory_;
  const SidecarQuery& query_;
  SidecarFindings out_;
};

Status Weighing::read() {
  const std::string path = directory_ + '/' + std::string(kSidecarFile);
  Result<std::vector<std::byte>> bytes = read_whole_file(files_, path, kSidecarBytesMax);
  if (!bytes.ok()) {
    if (bytes.error().code == ErrorCode::kNotFound) return {};
    if (bytes.error().code != ErrorCode::kDamaged) return std::move(bytes).error();
    out_.notes.push_back("oncelog.sidecar cannot be read and is ignored: " + bytes.error().message);
    return {};
  }
  Result<Sidecar> sidecar = decode_sidecar(*bytes);
  if (sidecar.ok()) {
    out_.sidecar = std::move(sidecar).value();
  } else {
    out_.notes.push_back("oncelog.sidecar is damaged and ignored: " + sidecar.error().message);
  }
  return {};
}

Result<bool> Weighing::was_foreign_writer_here() {
  const Sidecar& sidecar = *out_.sidecar;
  if (query_.clean && query_.recovery_point && *query_.recovery_point != sidecar.active.offset) {
    out_.notes.emplace_back("another writer closed the log since the sidecar was written");
    return true;
  }
  for (const OpenSegment& segment : query_.segments) {
    if (segment.base_offset > sidecar.active.offset) break;
    const bool listed =
        segment.base_offset == sidecar.active.segment.base_offset ||
        std::any_of(sidecar.sealed.begin(), sidecar.sealed.end(),
                    [&](const SidecarSegment& s) { return s.base_offset == segment.base_offset; });
    if (!listed) {
      out_.notes.push_back("segment " + std::to_string(segment.base_offset) +
                           " was made by another writer: the sidecar does not list it");
      return true;
    }
  }
  if (query_.plan->segments.empty()) return false;
  const SegmentFiles& active = query_.plan->segments.back();
  const std::array<std::pair<const std::string*, std::size_t>, 2> indexes{
      {{&active.offset_index, kOffsetIndexEntryBytes}, {&active.time_index, kTimeIndexEntryBytes}}};
  for (const auto& [name, entry_bytes] : indexes) {
    if (name->empty()) continue;
    ONCELOG_TRY_ASSIGN(const bool preallocated,
                       is_preallocated(files_, directory_ + '/' + *name, entry_bytes));
    if (!preallocated) continue;
    out_.notes.push_back("another writer had the log open: " + *name + " is preallocated");
    return true;
  }
  return false;
}

/// A broker that cut the log below the sidecar's checkpoint wrote a lower recovery point, or took a
/// snapshot at the new end.
bool Weighing::broker_left_a_trace(Offset log_end) const {
  const Sidecar& sidecar = *out_.sidecar;
  if (query_.recovery_point && query_.clean && *query_.recovery_point < sidecar.active.offset) {
    return true;
  }
  if (query_.recovery_point && *query_.recovery_point < sidecar.active.recovery_point) return true;
  const auto& ours = sidecar.snapshots;
  const auto& present = query_.plan->snapshots;
  return std::find(present.begin(), present.end(), log_end) != present.end() &&
         std::find(ours.begin(), ours.end(), log_end) == ours.end();
}

Result<SidecarPlace> Weighing::place_of_checkpoint() {
  const SidecarSegment& place = out_.sidecar->active.segment;
  const OpenSegment* const segment = find(query_.segments, place.base_offset);
  if (segment == nullptr) {
    // Retention took it, or it is lost.
    const bool below =
        !query_.segments.empty() && place.base_offset < query_.segments.front().base_offset;
    const Offset log_end = 0;
    if (below || broker_left_a_trace(log_end)) return SidecarPlace::kStale;
    return SidecarPlace::kNeither;
  }
  ONCELOG_TRY_ASSIGN(const bool equal, holds(place, *segment));
  if (equal) return SidecarPlace::kEqual;
  ScanOptions options;
  options.segment_base = segment->base_offset;
  SegmentScanner scanner(*segment->log, options);
  for (;;) {
    ONCELOG_TRY_ASSIGN(const auto batch, scanner.next());
    if (!batch) break;
    // Something else that is valid stands there.
    if (batch->end() > place.last_batch_position) return SidecarPlace::kStale;
  }
  const bool at_border = !scanner.bad_spot() || scanner.bad_spot()->kind == BadKind::kZeros;
  const bool last = segment == &query_.segments.back();
  if (at_border && last && broker_left_a_trace(scanner.next_offset())) return SidecarPlace::kStale;
  return SidecarPlace::kNeither;
}

Result<bool> Weighing::all_below_are_equal() {
  const Sidecar& sidecar = *out_.sidecar;
  const Offset end = sidecar.active.segment.base_offset;
  auto listed = sidecar.sealed.begin();
  for (const OpenSegment& segment : query_.segments) {
    if (segment.base_offset >= end) break;
    // Those below the first one that is there went by retention.
    while (&segment == &query_.segments.front() && listed != sidecar.sealed.end() &&
           listed->base_offset < segment.base_offset) {
      ++listed;
    }
    if (listed == sidecar.sealed.end() || listed->base_offset != segment.base_offset) return false;
    ONCELOG_TRY_ASSIGN(const bool equal, holds(*listed, segment));
    if (!equal || segment.size != listed->size) return false;
    ++listed;
  }
  const bool first_is_checkpoint =
      !query_.segments.empty() && query_.segments.front().base_offset == end;
  return listed == sidecar.sealed.end() || first_is_checkpoint;
}

Result<SidecarFindings> Weighing::run() {
  ONCELOG_TRY(read());
  if (!out_.sidecar) return std::move(out_);
  ONCELOG_TRY_ASSIGN(out_.foreign_writer, was_foreign_writer_here());
  ONCELOG_TRY_ASSIGN(out_.checkpoint, place_of_checkpoint());
  switch (out_.checkpoint) {
    case SidecarPlace::kEqual: {
      ONCELOG_TRY_ASSIGN(out_.covers, all_below_are_equal());
      // Its compaction may have taken batches that are listed as present.
      out_.must_go = out_.foreign_writer && !out_.covers;
      if (!out_.covers) {
        out_.notes.emplace_back("a sealed segment is not as the sidecar describes it");
      }
      break;
    }
    case SidecarPlace::kStale:
      out_.notes.emplace_back("the sidecar describes another history of this log and is ignored");
      out_.sidecar.reset();
      out_.must_go = true;
      break;
    case SidecarPlace::kNeither:
      out_.notes.push_back("the batch before offset " +
                           std::to_string(out_.sidecar->active.offset) +
                           " that the sidecar vouches for is bad or missing");
      break;
  }
  return std::move(out_);
}

}  // namespace

Offset SidecarFindings::floor() const {
  if (!sidecar) return 0;
  return std::max(sidecar->active.offset, sidecar->active.recovery_point);
}

std::int64_t SidecarFindings::window_bytes() const {
  if (!sidecar || foreign_writer) return kUnsyncedUnlimited;
  return sidecar->active.unsynced_bytes_max;
}

Result<SidecarFindings> weigh_sidecar(FileSystem& files, const std::string& directory,
                                      const SidecarQuery& query) {
  return Weighing(files, directory, query).run();
}

}  // namespace oncelog
