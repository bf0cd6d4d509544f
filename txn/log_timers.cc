// What a log does by the clock: flush.ms, idle sync and checkpoint, sidecar, embedder's high
// watermark; and the making of the sidecar.
#include <algorithm>
#include <utility>

#include "txn/log_core.h"

namespace oncelog {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kIdleNs = 100 * kMs;            // then the durable floor follows
constexpr std::int64_t kSidecarIdleNs = 10'000 * kMs;  // then the sidecar is brought up to date
constexpr std::int64_t kHighWatermarkNs = 5'000 * kMs;
constexpr std::int64_t kSidecarBytesMin = 64LL << 20;
constexpr std::int64_t kProducerBytes = 200;  // about what the sidecar takes for one

}  // namespace

void LogCore::tick() {
  if (state_ != State::kOpen || read_only_) return;
  const std::int64_t now = env_.clock->monotonic_ns();
  const Watermarks& marks = writer_->marks();
  const std::int64_t idle_ns = now - last_append_ns_;
  if (marks.durable_end() == marks.accepted_end()) {
    last_flush_ns_ = now;
  } else if (idle_ns >= kIdleNs ||
             (options_.flush_ms != kUnlimited && now - last_flush_ns_ >= options_.flush_ms * kMs)) {
    writer_->request_sync();
    writer_->pump();
  }
  // Below the end: a segment that begins there later must not find its predecessor passed before
  // that one's indexes are in place. A broker would not notice a missing .txnindex.
  const Offset below_end = std::max(list_->segments.back()->base_offset(),
                                    std::min(marks.durable_end(), data_end()) - 1);
  if (idle_ns >= kIdleNs && checkpoints_.advance_recovery_point(below_end)) {
    sidecar_stale_ = true;
    checkpoints_.write_root();
  }
  const auto producers = static_cast<std::int64_t>(producers_.producers().size());
  const std::int64_t sidecar_bytes = std::max(kSidecarBytesMin, 8 * kProducerBytes * producers);
  const bool much = bytes_since_sidecar_ >= sidecar_bytes;
  if (much || (sidecar_stale_ && idle_ns >= kSidecarIdleNs)) save_sidecar({});
  if (embedder_moves_ && now - last_high_watermark_save_ns_ >= kHighWatermarkNs) {
    last_high_watermark_save_ns_ = now;
    env_.root->set_high_watermark(name_, high_watermark_);
    if (env_.root->dirty()) checkpoints_.write_root();
  }
  const std::vector<std::string> due = deleted_.take_due(env_.clock->wall_ms());
  if (!due.empty()) remove_files(due, [](const Status&) {});
}

Sidecar LogCore::make_sidecar() const {
  Sidecar sidecar;
  sidecar.log_start = log_start_;
  for (const std::shared_ptr<LogSegment>& segment : list_->segments) {
    sidecar.sealed.push_back(segment->facts());
  }
  sidecar.active.segment = sidecar.sealed.back();
  sidecar.sealed.pop_back();
  const SidecarSegment& active = sidecar.active.segment;
  sidecar.active.offset =
      active.last_offset == kNoOffset ? active.base_offset : active.last_offset + 1;
  sidecar.active.unsynced_bytes_max = unsynced_bytes_recorded_;
  sidecar.active.recovery_point =
      env_.root->saved_recovery_point(name_).value_or(checkpoints_.recovery_point());
  sidecar.snapshots = checkpoints_.snapshots();
  fill_producers(sidecar);
  return sidecar;
}

void LogCore::fill_producers(Sidecar& sidecar) const {
  sidecar.producers = list_producers(producers_);
  sidecar.active.last_stable_offset =
      producers_.txns().first_unstable(log_start_).value_or(writer_->marks().accepted_end());
}

void LogCore::save_sidecar(Done done) {
  if (!done) done = [](const Status&) {};
  sidecar_stale_ = false;
  bytes_since_sidecar_ = 0;
  // State is that of the accepted end, now; segments are those of the same place, later: when
  // everything accepted so far is written. It goes to the disk when all of that is durable.
  auto producers = std::make_shared<Sidecar>();
  fill_producers(*producers);
  const Offset end = writer_->marks().accepted_end();
  sidecar_offset_ = end;
  writer_->enqueue_mark([this, self = shared_from_this(), producers, end,
                         done = std::move(done)](const Status& written) mutable {
    if (!written.ok()) {
      done(written);
      return;
    }
    auto sidecar = std::make_shared<Sidecar>(make_sidecar());
    sidecar->producers = std::move(producers->producers);
    sidecar->active.last_stable_offset = producers->active.last_stable_offset;
    acks_.add_flush(end, [this, self, sidecar, done = std::move(done)](const Status& durable) {
      if (!durable.ok()) {
        done(durable);
        return;
      }
      checkpoints_.save_sidecar(*sidecar, done);
    });
    publish();
  });
  writer_->pump();
}

}  // namespace oncelog
