// The toy log: recovery, append, roll and snapshot.
#include "tests/sim/toy_log.h"

#include <algorithm>
#include <span>
#include <utility>

#include "storage/base/crc32c.h"
#include "storage/base/endian.h"

namespace oncelog {
namespace {

constexpr std::size_t kHeaderBytes = 16;  // length, checksum, offset

std::string segment_path(std::size_t base) {
  std::string digits = std::to_string(base);
  return "log/" + std::string(8 - digits.size(), '0') + digits + ".segment";
}

std::uint32_t checksum_of(std::span<const std::byte> record) {
  return crc32c(record.subspan(8));
}

std::vector<std::byte> encode(std::uint64_t offset, const std::string& payload) {
  std::vector<std::byte> out(kHeaderBytes + payload.size());
  store_be<std::uint32_t>(out, 0, static_cast<std::uint32_t>(out.size()));
  store_be<std::uint64_t>(out, 8, offset);
  std::transform(payload.begin(), payload.end(), out.begin() + kHeaderBytes,
                 [](char c) { return static_cast<std::byte>(c); });
  store_be<std::uint32_t>(out, 4, checksum_of(out));
  return out;
}

Result<std::vector<std::byte>> read_all(File& file) {
  ONCELOG_TRY_ASSIGN(const FileStat stat, file.stat());
  std::vector<std::byte> bytes(static_cast<std::size_t>(stat.size));
  ONCELOG_TRY_ASSIGN(const std::size_t read, file.read_at(0, bytes));
  bytes.resize(read);
  return bytes;
}

IoRequest request_of(IoRequest::Kind kind, const std::shared_ptr<File>& file) {
  IoRequest request;
  request.kind = kind;
  request.file = file;
  return request;
}

}  // namespace

Status ToyLog::open() {
  ONCELOG_TRY_ASSIGN(queue_, io_.make_queue());
  ONCELOG_TRY_ASSIGN(const std::vector<DirEntry> entries, io_.files().list("log"));
  bool whole = true;
  for (const DirEntry& entry : entries) {
    if (entry.name.find(".segment") == std::string::npos) continue;
    const std::string path = "log/" + entry.name;
    if (!whole || path != segment_path(records_.size())) {
      ONCELOG_TRY(io_.files().unlink(path));
      continue;
    }
    ONCELOG_TRY(recover_segment(path, whole));
  }
  if (segment_ && mistake_ != Mistake::kServeUnsyncedTail) {
    ONCELOG_TRY_ASSIGN(const std::vector<std::byte> bytes, read_all(*segment_));
    ONCELOG_TRY(segment_->write_at(0, bytes));
    ONCELOG_TRY(segment_->sync());
  }
  ONCELOG_TRY(sync_directory());
  return load_snapshot();
}

Status ToyLog::recover_segment(const std::string& path, bool& whole) {
  ONCELOG_TRY_ASSIGN(segment_, io_.files().open(path, OpenMode::kReadWrite));
  ONCELOG_TRY_ASSIGN(const std::vector<std::byte> bytes, read_all(*segment_));
  std::size_t at = 0;
  segment_records_ = 0;
  while (segment_records_ < kRecordsPerSegment && bytes.size() - at >= kHeaderBytes) {
    const auto rest = std::span(bytes).subspan(at);
    const std::size_t size = load_be<std::uint32_t>(rest, 0);
    if (size < kHeaderBytes || size > rest.size()) break;
    if (load_be<std::uint64_t>(rest, 8) != records_.size()) break;
    const bool sound = load_be<std::uint32_t>(rest, 4) == checksum_of(rest.first(size));
    if (!sound && mistake_ != Mistake::kNoChecksum) break;
    std::string payload(size - kHeaderBytes, ' ');
    std::transform(rest.begin() + kHeaderBytes, rest.begin() + static_cast<std::ptrdiff_t>(size),
                   payload.begin(), [](std::byte b) { return static_cast<char>(b); });
    records_.push_back(std::move(payload));
    ++segment_records_;
    at += size;
  }
  segment_bytes_ = static_cast<std::int64_t>(at);
  whole = segment_records_ == kRecordsPerSegment;
  if (at < bytes.size()) ONCELOG_TRY(segment_->truncate(segment_bytes_));
  return {};
}

Status ToyLog::sync_directory() {
  if (mistake_ == Mistake::kNoDirectorySync) return {};
  return io_.files().sync_directory("log");
}

Status ToyLog::roll() {
  if (segment_ && mistake_ != Mistake::kRollBeforeSync) ONCELOG_TRY(segment_->sync());
  ONCELOG_TRY_ASSIGN(segment_,
                     io_.files().open(segment_path(records_.size()), OpenMode::kCreateExclusive));
  segment_bytes_ = 0;
  segment_records_ = 0;
  return sync_directory();
}

Status ToyLog::complete(std::vector<IoRequest> requests) {
  for (IoRequest& request : requests)
    queue_->submit(std::move(request));
  std::vector<IoCompletion> done;
  while (done.size() < requests.size())
    queue_->poll(done, -1);
  for (IoCompletion& completion : done)
    ONCELOG_TRY(std::move(completion.status));
  return {};
}

Status ToyLog::sync_file() {
  const auto sync = [&] {
    std::vector<IoRequest> requests;
    requests.push_back(request_of(IoRequest::Kind::kSync, segment_));
    return complete(std::move(requests));
  };
  Status synced = sync();
  if (!synced.ok() && mistake_ == Mistake::kRetryFailedSync) return sync();
  return synced;
}

Status ToyLog::append(const std::vector<std::string>& payloads) {
  std::vector<IoRequest> writes;
  for (const std::string& payload : payloads) {
    if (!segment_ || segment_records_ == kRecordsPerSegment) {
      ONCELOG_TRY(complete(std::exchange(writes, {})));
      ONCELOG_TRY(roll());
    }
    IoRequest write = request_of(IoRequest::Kind::kWrite, segment_);
    write.position = segment_bytes_;
    write.buffers.emplace_back(encode(records_.size(), payload));
    segment_bytes_ += static_cast<std::int64_t>(write.buffers.front().size());
    ++segment_records_;
    records_.push_back(payload);
    writes.push_back(std::move(write));
  }
  ONCELOG_TRY(complete(std::move(writes)));
  if (mistake_ == Mistake::kAcknowledgeBeforeSync) return {};
  return sync_file();
}

Status ToyLog::save_snapshot(std::int64_t value) {
  FileSystem& files = io_.files();
  ONCELOG_TRY_ASSIGN(const std::shared_ptr<File> file,
                     files.open("log/snapshot.tmp", OpenMode::kCreate));
  ONCELOG_TRY(file->truncate(0));
  ONCELOG_TRY(file->write_at(0, encode(static_cast<std::uint64_t>(value),
                                       std::string(static_cast<std::size_t>(value % 900), 's'))));
  if (mistake_ != Mistake::kRenameWithoutSync) ONCELOG_TRY(file->sync());
  ONCELOG_TRY(files.rename("log/snapshot.tmp", "log/snapshot"));
  return sync_directory();
}

Status ToyLog::load_snapshot() {
  const auto file = io_.files().open("log/snapshot", OpenMode::kRead);
  snapshot_ = 0;
  if (!file.ok()) return file.error().code == ErrorCode::kNotFound ? Status() : file.status();
  ONCELOG_TRY_ASSIGN(const std::vector<std::byte> bytes, read_all(**file));
  const bool sound = bytes.size() >= kHeaderBytes &&
                     load_be<std::uint32_t>(bytes, 0) == bytes.size() &&
                     load_be<std::uint32_t>(bytes, 4) == checksum_of(bytes);
  snapshot_ = sound ? load_be<std::int64_t>(bytes, 8) : -1;
  return {};
}

}  // namespace oncelog
