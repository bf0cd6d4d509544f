// Raw entries of index files and snapshots.
#include "tools/dump_derived.h"

#include <algorithm>
#include <array>
#include <span>

#include "index/derived_file.h"
#include "index/offset_index.h"
#include "index/producer_snapshot.h"
#include "index/time_index.h"
#include "index/txn_index.h"
#include "storage/base/endian.h"
#include "tools/state_json.h"

namespace oncelog::tools {
namespace {

constexpr std::int64_t kFileBytesMax = 1LL << 31;

using Bytes = std::span<const std::byte>;

struct EntryFormat {
  FileKind kind;
  std::size_t bytes;
  Json (*describe)(Offset base, Bytes entry);
};

Json offset_entry(Offset base, Bytes entry) {
  return Json::object({{"segment", base},
                       {"offset", base + load_be<std::int32_t>(entry, 0)},
                       {"position", load_be<std::int32_t>(entry, 4)}});
}

Json time_entry(Offset base, Bytes entry) {
  return Json::object({{"segment", base},
                       {"timestamp", load_be<std::int64_t>(entry, 0)},
                       {"offset", base + load_be<std::int32_t>(entry, 8)}});
}

Json txn_entry(Offset base, Bytes entry) {
  return Json::object({{"segment", base},
                       {"producerId", load_be<std::int64_t>(entry, 2)},
                       {"firstOffset", load_be<std::int64_t>(entry, 10)},
                       {"lastOffset", load_be<std::int64_t>(entry, 18)},
                       {"lastStableOffset", load_be<std::int64_t>(entry, 26)},
                       {"version", load_be<std::int16_t>(entry, 0)}});
}

constexpr std::array kFormats{
    EntryFormat{FileKind::kOffsetIndex, kOffsetIndexEntryBytes, offset_entry},
    EntryFormat{FileKind::kTimeIndex, kTimeIndexEntryBytes, time_entry},
    EntryFormat{FileKind::kTxnIndex, kTxnIndexEntryBytes, txn_entry}};

bool all_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

/// Entries up to the last one that is not zero. A file of exactly one slot of zeros holds the
/// entry (base, 0): only preallocated files have more.
std::size_t entries_in(Bytes bytes, std::size_t entry_bytes) {
  std::size_t count = bytes.size() / entry_bytes;
  if (count == 1) return count;
  while (count > 0 && all_zero(bytes.subspan((count - 1) * entry_bytes, entry_bytes)))
    --count;
  return count;
}

Json snapshot_entry(ProducerId producer_id, const ProducerEntry& entry) {
  Json out = producer_json(producer_info(producer_id, entry));
  out.erase("batches");
  return out;
}

}  // namespace

Status DerivedDump::index(FileKind kind, const Visit& visit) {
  const auto* const format = std::find_if(kFormats.begin(), kFormats.end(),
                                          [&](const EntryFormat& one) { return one.kind == kind; });
  ONCELOG_TRY_ASSIGN(const auto files, live_files(files_, directory_, kind));
  for (const BaseFile& file : files) {
    ONCELOG_TRY_ASSIGN(const auto bytes,
                       read_whole_file(files_, directory_ + "/" + file.name, kFileBytesMax));
    const std::size_t count = entries_in(bytes, format->bytes);
    for (std::size_t i = 0; i < count; ++i)
      visit(format->describe(file.base_offset,
                             Bytes(bytes).subspan(i * format->bytes, format->bytes)));
    // A file that is read a second time has told its size and faults already.
    if (is_counted(kind, file.base_offset)) continue;
    counts_.push_back(Count{kind, file.base_offset, static_cast<std::int64_t>(count)});
    if (const std::size_t rest = bytes.size() % format->bytes; rest != 0)
      unreadable_.push_back(UnreadablePlace{file.name,
                                            static_cast<std::int64_t>(bytes.size() - rest),
                                            "the last entry is cut short", file.base_offset});
  }
  return {};
}

Status DerivedDump::snapshots(Offset log_start, Offset log_end, const Visit& visit) {
  ONCELOG_TRY_ASSIGN(const auto files, live_files(files_, directory_, FileKind::kSnapshot));
  ONCELOG_TRY_ASSIGN(const auto logs, live_files(files_, directory_, FileKind::kLog));
  const auto is_base = [&](Offset offset) {
    return std::any_of(logs.begin(), logs.end(),
                       [&](const BaseFile& log) { return log.base_offset == offset; });
  };
  const Offset last_base = logs.empty() ? 0 : logs.back().base_offset;
  Offset newest_stray = kNoOffset;
  for (const BaseFile& file : files) {
    if (!is_base(file.base_offset) && file.base_offset <= log_end)
      newest_stray = std::max(newest_stray, file.base_offset);
  }
  for (const BaseFile& file : files) {
    const Offset at = file.base_offset;
    const bool stray = !is_base(at) && !(at == newest_stray && at >= last_base);
    if (at > log_start && at <= log_end && !stray) ONCELOG_TRY(snapshot(file, visit));
  }
  return {};
}

Status DerivedDump::snapshot(const BaseFile& file, const Visit& visit) {
  ONCELOG_TRY_ASSIGN(const auto bytes,
                     read_whole_file(files_, directory_ + "/" + file.name, kFileBytesMax));
  const auto entries = decode_producer_snapshot(bytes);
  if (!entries.ok()) {
    unreadable_.push_back(UnreadablePlace{file.name,
                                          std::max<std::int64_t>(0, entries.error().position),
                                          entries.error().message, file.base_offset});
    return {};
  }
  Json::Array list;
  for (const auto& [producer_id, entry] : *entries)
    list.push_back(snapshot_entry(producer_id, entry));
  visit(Json::object({{"file", file.name},
                      {"offset", file.base_offset},
                      {"entriesInFileOrder", std::move(list)}}));
  return {};
}

bool DerivedDump::is_counted(FileKind kind, Offset base_offset) const {
  return std::any_of(counts_.begin(), counts_.end(), [&](const Count& count) {
    return count.kind == kind && count.base_offset == base_offset;
  });
}

std::int64_t DerivedDump::entry_count(FileKind kind, Offset base_offset) const {
  for (const Count& count : counts_) {
    if (count.kind == kind && count.base_offset == base_offset) return count.entries;
  }
  return 0;
}

}  // namespace oncelog::tools
