// A shard: one queue of messages, one IoQueue, one driver at a time. All state of the logs it owns
// changes in messages and completions, so that state needs no locks.
//
// Whoever holds the driver token runs the shard: the store's thread, the caller's event loop
// (`poll`), or a blocking caller that finds the token free and drives until its own work is done.
//
// INVARIANTS
//   One driver at a time. Callbacks of callers run only on the store's thread or in `poll`: a
//   blocking caller that drives may hold a lock that a callback wants. (`drain_callbacks` runs them
//   where there is no store thread.) They run one after another, in the order of `call_back`.
//   A caller's callback is also destroyed there: it may own the last reference to a store.
//   Nothing is forgotten. Why a message M is run by someone:
//     M enters the mailbox before `post` looks at `sleeping_`; a driver sets `sleeping_` before it
//     looks at the mailbox (both sequentially consistent). So a driver on its way to sleep sees M,
//     or `post` sees it and wakes its queue; a wake that comes early ends the next sleep.
//     A driver that does not sleep looks again under the token mutex when it lets go (`let_go`);
//     `post` looks at `driving_` under the same mutex. So M is seen by the one or the other, which
//     tells the store's thread (`token_changed_`) or the event loop (the queue's descriptor).
//   The same holds for operations in flight and for callbacks: `let_go` hands all three on, and a
//   driver that may not run callbacks tells those who may after every round.
//   A round takes the mailbox as it is: messages that post messages cannot keep completions
//   waiting.
// THREADS  `post`, `run_blocking`, `poll`, `call_back` from any thread; the members under "driver
// only" from a message or completion.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "oncelog/io.h"
#include "oncelog/result.h"

namespace oncelog {

class Shard {
 public:
  Shard(std::shared_ptr<Io> io, std::unique_ptr<IoQueue> queue);
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  /// Drives until nothing is in flight, then stops the thread.
  ~Shard();

  using Message = std::function<void()>;
  /// Queues a message and wakes a driver. Any thread.
  void post(Message message);
  /// Queues a message and waits until `done` was set by it or by what it started; drives itself
  /// when nobody does. kInvalidArgument inside a callback. Any thread.
  class Waiter;
  Status run_blocking(const std::function<void(Waiter&)>& start);

  /// Returns once every callback queued so far has run: by the store's thread, or here when there
  /// is none. kInvalidArgument inside a callback.
  Status drain_callbacks();
  /// Destroys callbacks that nobody will run: without a thread, when the store goes away.
  void drop_callbacks();
  /// Driver::kCaller: one round, then callbacks. 0 inside a callback.
  std::size_t poll(std::int64_t timeout_ns);
  int native_handle() const { return queue_->native_handle(); }

  /// Before the first message: runs `tick` on the driver about every `interval_ms` (0: never).
  void set_tick(std::int64_t interval_ms, std::function<void()> tick);
  /// Starts the store's thread, once, after `set_tick`. Without it callers drive.
  Status start_thread();

  // ---- driver only
  void submit(IoRequest request, std::function<void(IoCompletion&&)> done);
  /// Runs `work` on the executor and then `then` as a message.
  void background(std::function<void()> work, Message then);
  std::size_t background_count() const { return background_count_; }

  /// Queues a caller's callback. Any thread.
  void call_back(Message callback);

  Io& io() { return *io_; }
  /// Whether the calling thread is running callbacks or driving, of any shard: it must not wait.
  static bool in_callback();

 private:
  enum class Runs : std::uint8_t { kNoCallbacks, kCallbacks };
  /// One round. A driver that runs callbacks afterwards does not sleep while some are queued.
  std::size_t drive_once(std::int64_t timeout_ns, Runs runs);
  std::size_t run_messages();
  std::size_t run_completions();
  void run_callbacks();
  void thread_main();
  bool has_work() const;
  /// Gives the token back and tells who goes on. REQUIRES: token_mutex_ held by the driver.
  void let_go();
  void announce_callbacks();
  void maybe_tick();
  std::int64_t bounded_timeout(std::int64_t timeout_ns) const;

  std::shared_ptr<Io> io_;
  std::unique_ptr<IoQueue> queue_;

  std::mutex mailbox_mutex_;
  std::vector<Message> mailbox_;  // guarded by mailbox_mutex_
  std::atomic<std::size_t> mailbox_size_{0};
  std::atomic<bool> sleeping_{false};  // the driver is in, or about to enter, a sleeping poll

  std::mutex token_mutex_;
  std::condition_variable token_changed_;
  bool driving_ = false;   // guarded by token_mutex_
  bool stopping_ = false;  // guarded by token_mutex_

  std::mutex callback_run_mutex_;  // held while callbacks run; taken before callback_mutex_
  std::mutex callback_mutex_;
  std::vector<Message> callbacks_;  // guarded by callback_mutex_
  std::atomic<std::size_t> callback_count_{0};

  // driver only
  std::unordered_map<std::uint64_t, std::function<void(IoCompletion&&)>> in_flight_;
  std::uint64_t next_token_ = 1;
  std::atomic<std::size_t> in_flight_count_{0};
  std::size_t background_count_ = 0;
  std::atomic<std::size_t> posters_{0};  // executor tasks that still touch this shard
  std::vector<Message> running_;
  std::vector<IoCompletion> completed_;
  bool waiter_done_ = false;  // some blocking caller's work ended in this round
  bool unsubmitted_ = false;  // the queue may hold operations that `poll` has not handed over

  std::int64_t tick_interval_ns_ = 0;
  std::int64_t next_tick_ns_ = 0;
  std::function<void()> tick_;
  bool has_thread_ = false;  // constant between `start_thread` and the end
  std::thread thread_;
};

/// The end of one blocking call. `finish` is called once, by the driver.
class Shard::Waiter {
 public:
  explicit Waiter(Shard& shard) : shard_(shard) {}
  void finish() {
    Shard& shard = shard_;  // the caller may return, and this object end, at the store below
    done_.store(true, std::memory_order_release);
    shard.waiter_done_ = true;
  }
  bool done() const { return done_.load(std::memory_order_acquire); }

 private:
  Shard& shard_;
  std::atomic<bool> done_{false};
};

}  // namespace oncelog
