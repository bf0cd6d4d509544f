// The read view: sequence lock and segment list.
#include "txn/read_view.h"

#include <algorithm>
#include <utility>

#include "storage/base/assert.h"

namespace oncelog {

std::size_t SegmentList::floor(Offset offset) const {
  const auto above = std::upper_bound(
      segments.begin(), segments.end(), offset,
      [](Offset value, const std::shared_ptr<LogSegment>& s) { return value < s->base_offset(); });
  if (above == segments.begin()) return segments.size();
  return static_cast<std::size_t>(above - segments.begin()) - 1;
}

Marks ReadView::marks() const {
  while (true) {
    const std::uint64_t before = sequence_.load(std::memory_order_acquire);
    if ((before & 1) != 0) continue;
    Marks marks;
    marks.log_start = log_start_.load(std::memory_order_acquire);
    marks.last_stable = last_stable_.load(std::memory_order_acquire);
    marks.high_watermark = high_watermark_.load(std::memory_order_acquire);
    marks.durable_end = durable_end_.load(std::memory_order_acquire);
    marks.written_end = written_end_.load(std::memory_order_acquire);
    marks.generation = generation_.load(std::memory_order_acquire);
    marks.open = open_.load(std::memory_order_acquire);
    if (sequence_.load(std::memory_order_acquire) == before) return marks;
  }
}

std::shared_ptr<const SegmentList> ReadView::segments() const {
  const std::lock_guard lock(list_mutex_);
  return list_;
}

void ReadView::publish(const Marks& marks) {
  ONCELOG_ASSERT(marks.last_stable <= marks.high_watermark);  // I3
  ONCELOG_ASSERT(marks.high_watermark <= marks.written_end);  // I3
  ONCELOG_ASSERT(marks.durable_end <= marks.written_end);     // I2
  const std::uint64_t sequence = sequence_.load(std::memory_order_relaxed);
  sequence_.store(sequence + 1, std::memory_order_release);
  log_start_.store(marks.log_start, std::memory_order_release);
  last_stable_.store(marks.last_stable, std::memory_order_release);
  high_watermark_.store(marks.high_watermark, std::memory_order_release);
  durable_end_.store(marks.durable_end, std::memory_order_release);
  written_end_.store(marks.written_end, std::memory_order_release);
  generation_.store(marks.generation, std::memory_order_release);
  open_.store(marks.open, std::memory_order_release);
  sequence_.store(sequence + 2, std::memory_order_release);
}

void ReadView::publish_segments(std::shared_ptr<const SegmentList> list) {
  const std::lock_guard lock(list_mutex_);
  list_ = std::move(list);
}

}  // namespace oncelog
