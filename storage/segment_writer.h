// Writes accepted batches to segment files in offset order and says when they are written and when
// they are durable. It knows bytes and offsets, no batches and no indexes.
//
// Everything queued while a write is in flight becomes the next group: one vectored write. A sync
// covers what was written before it began; appends that arrive meanwhile form the next group. So
// the disk itself is the gather window, there is no timer.
//
// INVARIANTS
//   I2  see Watermarks.
//   I7  once failed, nothing more is submitted; the owner answers every pending append with it. A
//       failed sync is never retried.
//   W   bytes written and not yet synced never exceed `unsynced_bytes_max`, except a single larger
//       write, which goes alone with nothing unsynced before it.
//   In a log that waits for syncs a new segment gets its first byte only after the old one is
//   synced and the new name is durable (H-076, H-078).
// THREADS  the shard's driver only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "oncelog/buffer.h"
#include "oncelog/io.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

#include "storage/watermarks.h"

namespace oncelog {

/// Where a writer hands its operations; the shard routes the completion back.
using SubmitIo = std::function<void(IoRequest, std::function<void(IoCompletion&&)>)>;

class SegmentWriter {
 public:
  /// What the writer tells the log. Called from `pump`/completions, never from `enqueue_*`.
  class Owner {
   public:
    Owner() = default;
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    virtual ~Owner() = default;
    /// One queued write is in the file; called in queue order, before the watermark is published.
    virtual void on_write_done() = 0;
    /// Something has ended: watermarks moved, or (once failed) less is in flight.
    virtual void on_progress() = 0;
    /// The queue reached a roll: create the file of `base` durably, then call `roll_done`.
    virtual void on_roll_needed(Offset base) = 0;
    /// A write, sync or roll failed; nothing more will be submitted.
    virtual void on_writer_failed(const Error& error) = 0;
  };

  struct Options {
    std::int64_t unsynced_bytes_max = 8 << 20;  ///< W; ignored when not sync_before_roll
    std::int64_t group_bytes_max = 1 << 20;     ///< one write's size, a single larger op aside
    /// False: a log that acknowledges when written. Old segments are synced after the roll, and so
    /// many rolls may be ahead of that that few descriptors are held.
    bool sync_before_roll = true;
  };

  SegmentWriter(Owner& owner, SubmitIo submit, const Options& options, std::shared_ptr<File> file,
                std::int64_t position, Offset end_offset);
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;
  ~SegmentWriter() = default;

  /// Queues bytes that end at `end_offset` (exclusive). `durable`: sync as soon as it is written.
  void enqueue_write(Buffer bytes, Offset end_offset, bool durable);
  /// Queues the change to a new segment file.
  void enqueue_roll(Offset base);
  /// Runs `reached` when everything queued before is written, or with the error that stopped it.
  void enqueue_mark(std::function<void(Status)> reached);
  /// Asks for a sync that covers everything accepted so far.
  void request_sync();
  /// Answers `on_roll_needed`.
  void roll_done(Result<std::shared_ptr<File>> file);
  /// Submits what can be submitted. Call after enqueueing; cheap when there is nothing to do.
  void pump();

  /// Submits nothing more, as after a failure; the owner is not told.
  void abandon(const Error& why);

  void set_options(const Options& options) { options_ = options; }
  const Watermarks& marks() const { return marks_; }
  std::int64_t queued_bytes() const { return queued_bytes_; }
  bool failed() const { return failed_; }
  /// Nothing queued, nothing in flight.
  bool idle() const { return queue_.empty() && quiet() && !sync_wanted(); }
  /// Nothing in flight, whatever is queued: files may be touched by others now.
  bool quiet() const { return !write_in_flight_ && syncs_in_flight_ == 0 && !rolling_; }
  const std::shared_ptr<File>& file() const { return file_; }

 private:
  struct Item {
    enum class Kind : std::uint8_t { kWrite, kRoll, kMark };
    Kind kind = Kind::kWrite;
    Buffer bytes;
    Offset end_offset = 0;  // kRoll: the new base
    bool durable = false;
    std::function<void(Status)> reached;
  };

  bool start_front();
  void start_group();
  void finish_group(std::vector<Offset> ends, IoCompletion&& completion);
  bool group_fits(std::int64_t group_bytes, std::int64_t next_bytes) const;
  void start_roll();
  bool sync_wanted() const;
  void start_sync();
  void finish_sync(IoCompletion&& completion);
  void fail(const Error& error);

  Owner& owner_;
  SubmitIo submit_;
  Options options_;
  std::shared_ptr<File> file_;
  std::int64_t position_;  // end of what was submitted, in file_
  Watermarks marks_;
  std::deque<Item> queue_;
  std::int64_t queued_bytes_ = 0;
  Offset sync_wanted_end_;                             // durable_end has to reach this
  std::vector<std::shared_ptr<File>> unsynced_files_;  // older segments not yet synced
  bool current_dirty_ = false;       // file_ has bytes that no finished sync covers
  std::int64_t unsynced_bytes_ = 0;  // submitted and not covered by a finished sync
  std::int64_t sync_covers_bytes_ = 0;
  std::vector<std::shared_ptr<File>> sync_files_;
  Offset sync_covers_end_ = 0;
  std::size_t syncs_in_flight_ = 0;
  bool write_in_flight_ = false;
  bool rolling_ = false;
  bool failed_ = false;
  bool pumping_ = false;
};

}  // namespace oncelog
