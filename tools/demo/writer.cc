// The process that `oncelog demo` kills: one thread per producer, blocking appends.
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "oncelog/control_record.h"
#include "oncelog/store.h"

#include "tools/cli.h"
#include "tools/demo/workload.h"

namespace oncelog::tools::demo {
namespace {

/// Reports acknowledgements. A line is shorter than PIPE_BUF, so lines of several threads never
/// mix and a line is there completely or not at all.
bool report(int descriptor, const Acknowledgement& acknowledgement) {
  const std::string line = encode(acknowledgement);
  ssize_t n = 0;
  do {
    n = ::write(descriptor, line.data(), line.size());
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(line.size());
}

class ProducerThread {
 public:
  ProducerThread(Log& log, std::int32_t partition, ProducerId producer, int descriptor)
      : log_(log), partition_(partition), producer_(producer), descriptor_(descriptor) {}

  /// Until something fails; the process is killed before.
  Status run() {
    const Role role = role_of(producer_);
    std::int64_t batches = 0;
    for (std::int64_t transaction = 0;; ++transaction) {
      const std::int64_t count = role == Role::kHanging ? kHangingBatches : kBatchesPerTransaction;
      for (std::int64_t i = 0; i < count; ++i)
        ONCELOG_TRY(append(planned_batch(producer_, batches++)));
      if (role == Role::kHanging) return {};
      if (role == Role::kTransactional) ONCELOG_TRY(end(transaction));
    }
  }

 private:
  Status append(const PlannedBatch& batch) {
    ONCELOG_TRY_ASSIGN(const AppendResult result, log_.append(build_batch(partition_, batch)));
    return acknowledged(batch.number, false, result);
  }

  Status end(std::int64_t transaction) {
    AppendOptions options;
    options.origin = AppendOrigin::kCoordinator;
    const EndTxnMarker marker{
        ends_by_abort(transaction) ? ControlType::kAbort : ControlType::kCommit, 0};
    ONCELOG_TRY_ASSIGN(
        const AppendResult result,
        log_.append(make_end_txn_marker(ProducerIdentity{producer_, 0}, marker, 0), options));
    return acknowledged(transaction, true, result);
  }

  Status acknowledged(std::int64_t number, bool marker, const AppendResult& result) {
    if (!report(descriptor_, Acknowledgement{partition_, producer_, number, marker,
                                             result.first_offset, result.last_offset}))
      return make_error(ErrorCode::kIo, "nobody listens to the acknowledgements");
    return {};
  }

  Log& log_;
  std::int32_t partition_;
  ProducerId producer_;
  int descriptor_;
};

}  // namespace

int run_writer(const std::string& directory, int descriptor) {
  StoreOptions options;
  options.data_dirs = {directory};
  const auto store = Store::open(options);
  if (!store.ok()) return fail(store.error());
  std::vector<std::shared_ptr<Log>> logs;
  for (std::int32_t partition = 0; partition < kPartitions; ++partition) {
    auto log = (*store)->open_log(partition_name(partition), demo_log_options());
    if (!log.ok()) return fail(log.error());
    logs.push_back(std::move(log).value());
  }
  std::vector<std::jthread> threads;
  const auto start = [&](std::int32_t partition, ProducerId producer) {
    Log& log = *logs[static_cast<std::size_t>(partition)];
    threads.emplace_back([&log, partition, producer, descriptor] {
      const Status status = ProducerThread(log, partition, producer, descriptor).run();
      if (!status.ok()) print_error(status.error());
    });
  };
  for (std::int32_t partition = 0; partition < kPartitions; ++partition) {
    start(partition, kIdempotentBase + partition);
    start(partition, kTransactionalBase + partition);
  }
  start(0, kHangingProducer);
  threads.clear();
  return kExitDamaged;
}

}  // namespace oncelog::tools::demo
