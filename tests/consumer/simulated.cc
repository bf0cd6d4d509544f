// Uses the installed simulator as an outsider would: a power cut under an embedded store.
#include <cstdio>
#include <memory>
#include <utility>

#include <oncelog/sim.h>
#include <oncelog/store.h>

namespace {

struct Opened {
  std::shared_ptr<oncelog::Store> store;
  std::shared_ptr<oncelog::Log> log;
};

/// One life of a process on the disk; empty when it does not open.
Opened open_on(const std::shared_ptr<oncelog::SimDisk>& disk) {
  auto io = std::make_shared<oncelog::SimIo>(disk);
  auto store = oncelog::Store::open({.data_dirs = {"data"}, .io = std::move(io)});
  if (!store.ok()) return {};
  auto log = (*store)->open_log({.topic = "orders", .partition = 0}, oncelog::LogOptions{});
  if (!log.ok()) return {};
  return {*store, *log};
}

}  // namespace

int main() {
  auto disk = std::make_shared<oncelog::SimDisk>();
  const Opened before = open_on(disk);
  if (!before.log) return 1;
  oncelog::RecordBatchBuilder batch;
  batch.add({.timestamp_ms = oncelog::SimClock::kStartMs, .key = "k", .value = "v"});
  if (!before.log->append(std::move(batch).finish()).ok()) return 1;

  disk->power_cut(oncelog::PowerCut::kNoneKept, 1);

  const Opened after = open_on(disk);
  if (!after.log) return 1;
  std::printf("log end after the power cut: %lld\n",
              static_cast<long long>(after.log->offsets().log_end));
  return after.log->offsets().log_end == 1 ? 0 : 1;
}
