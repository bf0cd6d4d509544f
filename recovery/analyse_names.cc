// Lists and classifies a partition directory.
#include "recovery/analyse_names.h"

#include <memory>
#include <optional>

#include "storage/segment_scanner.h"

namespace oncelog {

Result<DirectoryPlan> classify_directory(FileSystem& files, const std::string& directory) {
  ONCELOG_TRY_ASSIGN(const std::vector<DirEntry> entries, files.list(directory));
  const auto scan = [&](const PartitionFileName& name) -> Result<std::optional<Offset>> {
    const std::string path = directory + '/' + file_name(name.kind, name.base_offset, name.stage);
    ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file, files.open(path, OpenMode::kRead));
    ScanOptions options;
    options.segment_base = name.base_offset;
    SegmentScanner scanner(*file, options);
    for (;;) {
      ONCELOG_TRY_ASSIGN(const auto batch, scanner.next());
      if (!batch) break;
    }
    if (scanner.bad_spot()) return std::optional<Offset>();
    return std::optional<Offset>(scanner.next_offset());
  };
  return classify(entries, scan);
}

std::vector<OpenSegment> opened_segments(const RecoveryPlan& plan) {
  std::vector<OpenSegment> out;
  out.reserve(plan.segments.size());
  for (const SegmentPlan& segment : plan.segments)
    out.push_back(segment.open);
  return out;
}

}  // namespace oncelog
