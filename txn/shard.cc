// Shard: messages, the driver token, completions and callbacks.
#include "txn/shard.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "storage/base/assert.h"
#include "storage/io/background_thread.h"

namespace oncelog {
namespace {

constexpr int kRoundsMax = 8;  // of one `poll`

thread_local bool running_callbacks = false;
thread_local const Shard* driven = nullptr;  // whose round this thread is inside

Error blocking_refused() {
  return make_error(ErrorCode::kInvalidArgument, "a blocking call inside a completion callback");
}

}  // namespace

Shard::Shard(std::shared_ptr<Io> io, std::unique_ptr<IoQueue> queue)
    : io_(std::move(io)), queue_(std::move(queue)) {}

Status Shard::start_thread() {
  has_thread_ = true;  // before the thread reads it
  Result<std::thread> started = start_background_thread("oncelog-shard", [this] { thread_main(); });
  if (!started.ok()) {
    has_thread_ = false;
    return std::move(started).error();
  }
  thread_ = std::move(started).value();
  return {};
}

Shard::~Shard() {
  {
    const std::lock_guard lock(token_mutex_);
    stopping_ = true;
    token_changed_.notify_all();
  }
  queue_->wake();
  if (thread_.joinable()) thread_.join();
  has_thread_ = false;
  // Without a thread, or after it: end what is in flight, so that no buffer or task outlives us.
  while (in_flight_count_ > 0 || background_count_ > 0 || mailbox_size_ > 0)
    drive_once(-1, Runs::kNoCallbacks);
  while (posters_ > 0)
    std::this_thread::yield();
}

bool Shard::in_callback() {
  return running_callbacks || driven != nullptr;
}

void Shard::set_tick(std::int64_t interval_ms, std::function<void()> tick) {
  tick_ = std::move(tick);
  tick_interval_ns_ = interval_ms * 1'000'000;
  next_tick_ns_ = io_->clock().monotonic_ns() + tick_interval_ns_;
}

void Shard::post(Message message) {
  {
    const std::lock_guard lock(mailbox_mutex_);
    mailbox_.push_back(std::move(message));
    mailbox_size_ = mailbox_.size();
  }
  // A sleeping driver is woken through its queue; without a driver the store's thread takes over,
  // or the caller's event loop sees the queue's descriptor.
  if (sleeping_) {
    queue_->wake();
    return;
  }
  const std::lock_guard lock(token_mutex_);
  if (driving_) return;  // it looks at the mailbox again before it sleeps or lets go
  if (has_thread_) {
    token_changed_.notify_all();
  } else {
    queue_->wake();
  }
}

Status Shard::run_blocking(const std::function<void(Waiter&)>& start) {
  if (in_callback()) return blocking_refused();
  Waiter waiter(*this);
  {
    const std::lock_guard lock(mailbox_mutex_);
    mailbox_.emplace_back([&] { start(waiter); });
    mailbox_size_ = mailbox_.size();
  }
  if (sleeping_) queue_->wake();
  std::unique_lock lock(token_mutex_);
  while (!waiter.done()) {
    if (driving_) {
      token_changed_.wait(lock);
      continue;
    }
    driving_ = true;
    lock.unlock();
    while (!waiter.done())
      drive_once(-1, Runs::kNoCallbacks);
    lock.lock();
    let_go();
  }
  return {};
}

void Shard::let_go() {
  driving_ = false;
  if (has_thread_) {
    token_changed_.notify_all();
    return;
  }
  // A blocking caller that waits takes the token; the event loop finds out by a wake too many.
  if (has_work() || callback_count_ > 0) queue_->wake();
  token_changed_.notify_all();
}

Status Shard::drain_callbacks() {
  if (in_callback()) return blocking_refused();
  if (!has_thread_) {
    run_callbacks();
    return {};
  }
  std::atomic<bool> reached{false};
  call_back([this, &reached] {
    const std::lock_guard lock(token_mutex_);
    reached = true;
    token_changed_.notify_all();
  });
  std::unique_lock lock(token_mutex_);
  token_changed_.wait(lock, [&] { return reached.load(); });
  return {};
}

void Shard::drop_callbacks() {
  std::vector<Message> dropped;  // destroyed without the lock: they may own anything
  const std::lock_guard lock(callback_mutex_);
  dropped.swap(callbacks_);
  callback_count_ = 0;
}

std::size_t Shard::poll(std::int64_t timeout_ns) {
  if (in_callback()) return 0;
  bool mine = false;
  {
    const std::lock_guard lock(token_mutex_);
    mine = !driving_;  // else a blocking caller has it and hands it on
    if (mine) driving_ = true;
  }
  std::size_t handled = 0;
  if (mine) {
    handled = drive_once(timeout_ns, Runs::kCallbacks);
    // What completions submitted reaches the kernel by another round only.
    for (int i = 1; i < kRoundsMax && unsubmitted_; ++i)
      handled += drive_once(0, Runs::kCallbacks);
    const std::lock_guard lock(token_mutex_);
    driving_ = false;
    if ((mailbox_size_ > 0 || unsubmitted_) && !has_thread_) queue_->wake();
    token_changed_.notify_all();
  }
  if (!has_thread_) run_callbacks();
  return handled;
}

bool Shard::has_work() const {
  return mailbox_size_ > 0 || in_flight_count_ > 0;
}

std::int64_t Shard::bounded_timeout(std::int64_t timeout_ns) const {
  if (tick_interval_ns_ == 0 || timeout_ns == 0) return timeout_ns;
  const std::int64_t left =
      std::max<std::int64_t>(next_tick_ns_ - io_->clock().monotonic_ns(), 1'000);
  return timeout_ns < 0 ? left : std::min(timeout_ns, left);
}

std::size_t Shard::drive_once(std::int64_t timeout_ns, Runs runs) {
  driven = this;
  std::size_t handled = run_messages();
  if (waiter_done_) timeout_ns = 0;
  if (handled > 0 && in_flight_count_ == 0) timeout_ns = 0;
  if (!io_->has_threads() && background_count_ > 0 && handled == 0 && io_->executor().run_one()) {
    timeout_ns = 0;
    ++handled;
  }
  if (timeout_ns != 0) {
    sleeping_ = true;
    if (mailbox_size_ > 0) timeout_ns = 0;
    if (runs == Runs::kCallbacks && callback_count_ > 0) timeout_ns = 0;
  }
  completed_.clear();
  unsubmitted_ = false;
  queue_->poll(completed_, bounded_timeout(timeout_ns));
  sleeping_ = false;
  handled += run_completions();
  maybe_tick();
  const bool tell_thread = runs == Runs::kNoCallbacks && callback_count_ > 0 && has_thread_;
  if (waiter_done_ || tell_thread) {
    waiter_done_ = false;
    const std::lock_guard lock(token_mutex_);
    token_changed_.notify_all();
  }
  driven = nullptr;
  return handled;
}

std::size_t Shard::run_completions() {
  // A completion's handler may submit; the vector must not change under it.
  std::vector<IoCompletion> completed = std::exchange(completed_, {});
  const std::size_t count = completed.size();
  for (IoCompletion& completion : completed) {
    const auto entry = in_flight_.find(completion.token);
    ONCELOG_ASSERT(entry != in_flight_.end());
    const std::function<void(IoCompletion &&)> done = std::move(entry->second);
    in_flight_.erase(entry);
    --in_flight_count_;
    done(std::move(completion));
  }
  completed.clear();
  completed_ = std::move(completed);
  return count;
}

std::size_t Shard::run_messages() {
  {
    const std::lock_guard lock(mailbox_mutex_);
    running_.swap(mailbox_);
    mailbox_size_ = 0;
  }
  const std::size_t count = running_.size();
  for (Message& message : running_)
    message();
  running_.clear();
  return count;
}

void Shard::maybe_tick() {
  if (tick_interval_ns_ == 0) return;
  const std::int64_t now = io_->clock().monotonic_ns();
  if (now < next_tick_ns_) return;
  next_tick_ns_ = now + tick_interval_ns_;
  tick_();
}

void Shard::run_callbacks() {
  const std::lock_guard running(callback_run_mutex_);
  std::vector<Message> callbacks;
  {
    const std::lock_guard lock(callback_mutex_);
    callbacks.swap(callbacks_);
    callback_count_ = 0;
  }
  running_callbacks = true;
  for (Message& callback : callbacks) {
    callback();
    callback = nullptr;  // what it holds may be the last reference to a log
  }
  running_callbacks = false;
}

void Shard::submit(IoRequest request, std::function<void(IoCompletion&&)> done) {
  request.token = next_token_++;
  in_flight_.emplace(request.token, std::move(done));
  ++in_flight_count_;
  unsubmitted_ = true;
  queue_->submit(std::move(request));
}

void Shard::background(std::function<void()> work, Message then) {
  ++background_count_;
  ++posters_;
  io_->executor().run([this, work = std::move(work), then = std::move(then)]() mutable {
    work();
    work = nullptr;  // what it holds may not outlive the shard, and the executor's copy would
    post([this, then = std::move(then)] {
      --background_count_;
      then();
    });
    --posters_;
  });
}

void Shard::call_back(Message callback) {
  {
    const std::lock_guard lock(callback_mutex_);
    callbacks_.push_back(std::move(callback));
    callback_count_ = callbacks_.size();
  }
  if (driven != this) announce_callbacks();  // else the end of the round does
}

void Shard::announce_callbacks() {
  if (!has_thread_ || sleeping_) queue_->wake();
  const std::lock_guard lock(token_mutex_);
  token_changed_.notify_all();
}

void Shard::thread_main() {
  std::unique_lock lock(token_mutex_);
  while (true) {
    const auto ready = [this] {
      return callback_count_ > 0 || (!driving_ && (stopping_ || has_work()));
    };
    if (tick_interval_ns_ > 0) {
      token_changed_.wait_for(lock, std::chrono::nanoseconds(tick_interval_ns_), ready);
    } else {
      token_changed_.wait(lock, ready);
    }
    if (!driving_) {
      driving_ = true;
      lock.unlock();
      // Sleeps only while something is in flight: an idle shard's token is free for callers.
      drive_once(in_flight_count_ > 0 ? -1 : 0, Runs::kCallbacks);
      lock.lock();
      driving_ = false;
      token_changed_.notify_all();
    }
    if (callback_count_ > 0) {
      lock.unlock();
      run_callbacks();
      lock.lock();
    }
    if (stopping_ && !has_work() && callback_count_ == 0) return;
  }
}

}  // namespace oncelog
