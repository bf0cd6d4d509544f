// The public store.
#include "oncelog/store.h"

#include <utility>

#include "txn/store_core.h"

namespace oncelog {

Store::Store(std::shared_ptr<StoreCore> core) : core_(std::move(core)) {}

Store::~Store() {
  if (Shard::in_callback()) {
    // The last reference went inside a callback: the thread that runs it cannot wait for itself.
    StoreCore::elsewhere([core = std::move(core_)] { core->shut_down(); });
  } else {
    core_->shut_down();
  }
}

Result<std::shared_ptr<Store>> Store::open(const StoreOptions& options) {
  ONCELOG_TRY_ASSIGN(std::shared_ptr<StoreCore> core, StoreCore::open(options));
  return std::make_shared<Store>(std::move(core));
}

Result<std::shared_ptr<Log>> Store::open_log(const TopicPartition& name,
                                             const LogOptions& options) {
  return core_->open_log(name, options);
}

std::vector<OpenOutcome> Store::open_logs(
    const std::function<LogOptions(const TopicPartition&)>& options_of) {
  return core_->open_logs(options_of);
}

std::vector<LogSummary> Store::logs() const {
  return core_->logs();
}

Status Store::delete_log(const TopicPartition& name) {
  return core_->delete_log(name);
}

std::size_t Store::poll(std::int64_t timeout_ns) {
  const std::shared_ptr<StoreCore> core = core_;  // a callback may drop this store
  return core->poll(timeout_ns);
}

int Store::native_handle() const {
  return core_->native_handle();
}

Status Store::checkpoint() {
  return core_->checkpoint();
}

const std::vector<std::string>& Store::notes() const {
  return core_->notes();
}

std::string Store::io_description() const {
  return core_->io_description();
}

Status Store::close() {
  return core_->close();
}

}  // namespace oncelog
