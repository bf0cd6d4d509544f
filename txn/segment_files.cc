// Segment files: create, cut, restart.
#include "txn/segment_files.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "index/derived_file.h"
#include "storage/file_names.h"
#include "storage/segment_scanner.h"

namespace oncelog {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{1} << 20;

/// The live files of a directory, by kind.
struct LiveFiles {
  std::vector<PartitionFileName> files;
  std::vector<Offset> bases;  // of .log files, ascending
};

Result<LiveFiles> list_live(FileSystem& files, const std::string& directory) {
  ONCELOG_TRY_ASSIGN(const std::vector<DirEntry> entries, files.list(directory));
  LiveFiles live;
  for (const DirEntry& entry : entries) {
    if (entry.type != FileType::kRegular) continue;
    const std::optional<PartitionFileName> name = parse_file_name(entry.name);
    if (!name || name->stage != FileStage::kLive) continue;
    live.files.push_back(*name);
    if (name->kind == FileKind::kLog) live.bases.push_back(name->base_offset);
  }
  std::sort(live.bases.begin(), live.bases.end());
  return live;
}

Status remove_segment(FileSystem& files, const std::string& directory, Offset base_offset) {
  // The log goes first: an index without its log is a leftover, a log without index is rebuilt.
  for (const FileKind kind :
       {FileKind::kLog, FileKind::kOffsetIndex, FileKind::kTimeIndex, FileKind::kTxnIndex}) {
    ONCELOG_TRY(remove_if_exists(files, directory + '/' + file_name(kind, base_offset)));
  }
  return {};
}

/// Position of the first batch that reaches `offset`, i.e. where the file is to end.
Result<std::int64_t> cut_position(File& file, Offset base_offset, Offset offset) {
  ScanOptions options;
  options.segment_base = base_offset;
  options.headers_only = true;
  SegmentScanner scanner(file, options);
  while (true) {
    ONCELOG_TRY_ASSIGN(const std::optional<ScannedBatch> batch, scanner.next());
    if (!batch) return scanner.position();
    if (batch->header.last_offset() >= offset) return batch->position;
  }
}

/// Writes the first `bytes` of a file under a new inode and puts it in its place.
Status copy_prefix(FileSystem& files, const std::string& directory, const std::string& name,
                   File& from, std::int64_t bytes) {
  const std::string temp = directory + '/' + std::string(kTempPrefix) + name;
  ONCELOG_TRY(remove_if_exists(files, temp));
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> to, files.open(temp, OpenMode::kCreateExclusive));
  std::vector<std::byte> buffer(kCopyBytes);
  for (std::int64_t done = 0; done < bytes;) {
    const auto piece = static_cast<std::size_t>(
        std::min<std::int64_t>(bytes - done, static_cast<std::int64_t>(buffer.size())));
    ONCELOG_TRY_ASSIGN(const std::size_t read, from.read_at(done, std::span(buffer).first(piece)));
    if (read == 0) return make_error(ErrorCode::kIo, "file became shorter").at(from.path(), done);
    ONCELOG_TRY(to->write_at(done, std::span(buffer).first(read)));
    done += static_cast<std::int64_t>(read);
  }
  ONCELOG_TRY(to->sync());
  ONCELOG_TRY(to->close());
  return files.rename(temp, directory + '/' + name);
}

Status cut_file(FileSystem& files, const std::string& directory, Offset base_offset,
                const CutOptions& options) {
  const std::string name = file_name(FileKind::kLog, base_offset);
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file,
                     files.open(directory + '/' + name, OpenMode::kReadWrite));
  ONCELOG_TRY_ASSIGN(const std::int64_t position, cut_position(*file, base_offset, options.offset));
  ONCELOG_TRY_ASSIGN(const FileStat stat, file->stat());
  if (stat.size > position) {
    if (options.copy_always || stat.link_count > 1) {
      ONCELOG_TRY(copy_prefix(files, directory, name, *file, position));
    } else {
      ONCELOG_TRY(file->truncate(position));
      ONCELOG_TRY(file->sync());
    }
  }
  // Its indexes may point past the cut; they are made again from the log.
  for (const FileKind kind : {FileKind::kOffsetIndex, FileKind::kTimeIndex, FileKind::kTxnIndex}) {
    ONCELOG_TRY(remove_if_exists(files, directory + '/' + file_name(kind, base_offset)));
  }
  return {};
}

}  // namespace

std::string file_stem(Offset base_offset) {
  std::string name = file_name(FileKind::kLog, base_offset);
  name.resize(name.size() - suffix_of(FileKind::kLog).size());
  return name;
}

Result<std::shared_ptr<File>> create_segment_file(FileSystem& files, const std::string& directory,
                                                  Offset base_offset) {
  for (const FileKind kind : {FileKind::kOffsetIndex, FileKind::kTimeIndex, FileKind::kTxnIndex}) {
    ONCELOG_TRY(remove_if_exists(files, directory + '/' + file_name(kind, base_offset)));
  }
  const std::string path = directory + '/' + file_name(FileKind::kLog, base_offset);
  Result<std::shared_ptr<File>> file = files.open(path, OpenMode::kCreateExclusive);
  if (!file.ok()) {
    if (file.error().code != ErrorCode::kAlreadyExists) return file;
    file = files.open(path, OpenMode::kReadWrite);
    if (!file.ok()) return file;
    ONCELOG_TRY_ASSIGN(const FileStat stat, (*file)->stat());
    if (stat.size > 0) {
      return make_error(ErrorCode::kAlreadyExists, "a segment of that base holds data").at(path);
    }
  }
  // The name is durable before the first acknowledgement that depends on it (H-076).
  ONCELOG_TRY(files.sync_directory(directory));
  return file;
}

Status cut_segment_files(FileSystem& files, const std::string& directory,
                         const CutOptions& options) {
  ONCELOG_TRY_ASSIGN(const LiveFiles live, list_live(files, directory));
  for (const PartitionFileName& name : live.files) {
    if (name.kind != FileKind::kSnapshot || name.base_offset <= options.offset) continue;
    ONCELOG_TRY(remove_if_exists(files, directory + '/' + file_name(name.kind, name.base_offset)));
  }
  // From the end backwards, so that a crash leaves a log without a hole.
  std::vector<Offset> bases = live.bases;
  while (bases.size() > 1 && bases.back() > options.offset) {
    ONCELOG_TRY(remove_segment(files, directory, bases.back()));
    ONCELOG_TRY(files.sync_directory(directory));
    bases.pop_back();
  }
  if (!bases.empty()) ONCELOG_TRY(cut_file(files, directory, bases.back(), options));
  return files.sync_directory(directory);
}

Status restart_segment_files(FileSystem& files, const std::string& directory, Offset offset) {
  ONCELOG_TRY_ASSIGN(const LiveFiles live, list_live(files, directory));
  for (const PartitionFileName& name : live.files) {
    if (name.kind != FileKind::kSnapshot) continue;
    ONCELOG_TRY(remove_if_exists(files, directory + '/' + file_name(name.kind, name.base_offset)));
  }
  for (auto base = live.bases.rbegin(); base != live.bases.rend(); ++base) {
    ONCELOG_TRY(remove_segment(files, directory, *base));
    ONCELOG_TRY(files.sync_directory(directory));
  }
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file,
                     create_segment_file(files, directory, offset));
  return file->close();
}

}  // namespace oncelog
