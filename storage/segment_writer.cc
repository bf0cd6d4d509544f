// Segment writer: groups, syncs and rolls.
#include "storage/segment_writer.h"

#include <algorithm>
#include <utility>

#include "storage/base/assert.h"

namespace oncelog {
namespace {

/// Descriptors of old segments that wait for their sync.
constexpr std::size_t kUnsyncedFilesMax = 64;

}  // namespace

SegmentWriter::SegmentWriter(Owner& owner, SubmitIo submit, const Options& options,
                             std::shared_ptr<File> file, std::int64_t position, Offset end_offset)
    : owner_(owner),
      submit_(std::move(submit)),
      options_(options),
      file_(std::move(file)),
      position_(position),
      marks_(end_offset),
      sync_wanted_end_(end_offset) {}

void SegmentWriter::enqueue_write(Buffer bytes, Offset end_offset, bool durable) {
  queued_bytes_ += static_cast<std::int64_t>(bytes.size());
  marks_.on_accepted(end_offset);
  queue_.push_back({Item::Kind::kWrite, std::move(bytes), end_offset, durable, {}});
}

void SegmentWriter::enqueue_roll(Offset base) {
  marks_.on_accepted(base);
  queue_.push_back({Item::Kind::kRoll, {}, base, false, {}});
}

void SegmentWriter::enqueue_mark(std::function<void(Status)> reached) {
  queue_.push_back({Item::Kind::kMark, {}, 0, false, std::move(reached)});
}

void SegmentWriter::request_sync() {
  sync_wanted_end_ = marks_.accepted_end();
}

void SegmentWriter::pump() {
  if (pumping_) return;  // a callback of ours called back
  pumping_ = true;
  bool progress = true;
  while (progress && !failed_) {
    // The sync goes first: under load the next group would start at once and it would never come.
    if (sync_wanted()) start_sync();
    progress = !queue_.empty() && !write_in_flight_ && !rolling_ && start_front();
  }
  pumping_ = false;
}

bool SegmentWriter::start_front() {
  switch (queue_.front().kind) {
    case Item::Kind::kMark: {
      const std::function<void(Status)> reached = std::move(queue_.front().reached);
      queue_.pop_front();
      reached({});
      return true;
    }
    case Item::Kind::kRoll:
      start_roll();
      break;
    case Item::Kind::kWrite:
      start_group();
      break;
  }
  return sync_wanted();  // what could not start may have asked for one
}

bool SegmentWriter::group_fits(std::int64_t group_bytes, std::int64_t next_bytes) const {
  if (group_bytes + next_bytes > options_.group_bytes_max && group_bytes > 0) return false;
  if (!options_.sync_before_roll) return true;
  return unsynced_bytes_ + group_bytes + next_bytes <= options_.unsynced_bytes_max;
}

void SegmentWriter::start_group() {
  IoRequest request;
  request.kind = IoRequest::Kind::kWrite;
  request.file = file_;
  request.position = position_;
  std::vector<Offset> ends;
  std::int64_t bytes = 0;
  while (!queue_.empty() && queue_.front().kind == Item::Kind::kWrite) {
    Item& item = queue_.front();
    const auto item_bytes = static_cast<std::int64_t>(item.bytes.size());
    const bool alone = bytes == 0 && unsynced_bytes_ == 0;  // larger than W: by itself
    if (!group_fits(bytes, item_bytes) && !alone) break;
    bytes += item_bytes;
    ends.push_back(item.end_offset);
    if (item.durable && item.end_offset > sync_wanted_end_) sync_wanted_end_ = item.end_offset;
    request.buffers.push_back(std::move(item.bytes));
    queue_.pop_front();
  }
  if (ends.empty()) {
    // W is used up: only a sync makes room.
    if (sync_wanted_end_ < marks_.written_end()) sync_wanted_end_ = marks_.written_end();
    return;
  }
  position_ += bytes;
  unsynced_bytes_ += bytes;
  current_dirty_ = true;
  queued_bytes_ -= bytes;
  write_in_flight_ = true;
  submit_(std::move(request), [this, ends = std::move(ends)](IoCompletion&& done) mutable {
    finish_group(std::move(ends), std::move(done));
  });
}

void SegmentWriter::finish_group(std::vector<Offset> ends, IoCompletion&& completion) {
  write_in_flight_ = false;
  if (failed_) {
    owner_.on_progress();  // quiet now, perhaps
    return;
  }
  if (!completion.status.ok()) {
    fail(completion.status.error());
    return;
  }
  for (std::size_t i = 0; i < ends.size(); ++i)
    owner_.on_write_done();
  marks_.on_written(ends.back());
  owner_.on_progress();
  pump();
}

void SegmentWriter::start_roll() {
  const Offset base = queue_.front().end_offset;
  ONCELOG_ASSERT(base >= marks_.written_end());
  if (options_.sync_before_roll || unsynced_files_.size() >= kUnsyncedFilesMax) {
    if (marks_.durable_end() < marks_.written_end() || syncs_in_flight_ > 0) {
      sync_wanted_end_ = std::max(sync_wanted_end_, marks_.written_end());
      return;
    }
  }
  if (current_dirty_) {  // synced behind the back of what is written to the new segment
    unsynced_files_.push_back(file_);
    current_dirty_ = false;
    sync_wanted_end_ = std::max(sync_wanted_end_, marks_.written_end());
  }
  rolling_ = true;
  owner_.on_roll_needed(base);
}

void SegmentWriter::roll_done(Result<std::shared_ptr<File>> file) {
  ONCELOG_ASSERT(rolling_);
  rolling_ = false;
  if (failed_) {
    owner_.on_progress();
    return;
  }
  if (!file.ok()) {
    fail(file.error());
    return;
  }
  file_ = std::move(file).value();
  position_ = 0;
  current_dirty_ = false;
  queue_.pop_front();
  owner_.on_progress();
  pump();
}

bool SegmentWriter::sync_wanted() const {
  // A sync waits for the write that it should cover, so that one flush serves the whole group.
  return sync_wanted_end_ > marks_.durable_end() && marks_.written_end() > marks_.durable_end() &&
         !write_in_flight_ && syncs_in_flight_ == 0;
}

void SegmentWriter::start_sync() {
  sync_covers_end_ = marks_.written_end();
  sync_covers_bytes_ = unsynced_bytes_;
  sync_files_ = std::move(unsynced_files_);
  unsynced_files_.clear();
  if (current_dirty_) sync_files_.push_back(file_);
  current_dirty_ = false;
  ONCELOG_ASSERT(!sync_files_.empty());
  syncs_in_flight_ = sync_files_.size();
  for (const std::shared_ptr<File>& file : sync_files_) {
    IoRequest request;
    request.kind = IoRequest::Kind::kSync;
    request.file = file;
    submit_(std::move(request), [this](IoCompletion&& done) { finish_sync(std::move(done)); });
  }
}

void SegmentWriter::finish_sync(IoCompletion&& completion) {
  ONCELOG_ASSERT(syncs_in_flight_ > 0);
  --syncs_in_flight_;
  if (failed_) {
    owner_.on_progress();
    return;
  }
  if (!completion.status.ok()) {
    fail(completion.status.error());
    return;
  }
  if (syncs_in_flight_ > 0) return;
  sync_files_.clear();
  unsynced_bytes_ -= sync_covers_bytes_;
  marks_.on_durable(sync_covers_end_);
  owner_.on_progress();
  pump();
}

void SegmentWriter::fail(const Error& error) {
  abandon(error);
  owner_.on_writer_failed(error);
}

void SegmentWriter::abandon(const Error& why) {
  failed_ = true;
  std::deque<Item> dropped = std::exchange(queue_, {});
  queued_bytes_ = 0;
  for (Item& item : dropped) {
    if (item.kind == Item::Kind::kMark) item.reached(why);
  }
}

}  // namespace oncelog
