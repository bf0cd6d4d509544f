// Driver::kCaller: an event loop that sleeps on the native handle and is never
// forgotten.
#include <atomic>
#include <future>
#include <thread>

#include <poll.h>

#include "tests/store/store_support.h"

namespace oncelog::testing {
namespace {

class StoreEventLoop : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Backends, StoreEventLoop,
                         ::testing::Values(IoBackend::kAutomatic, IoBackend::kPosix), backend_name);

constexpr int kPatienceMs = 10'000;

/// Whether the handle became readable within `timeout_ms`.
bool readable(const Store& store, int timeout_ms = kPatienceMs) {
  pollfd waiting{store.native_handle(), POLLIN, 0};
  return ::poll(&waiting, 1, timeout_ms) == 1;
}

/// Sleeps on the handle alone until `done`; false when nothing woke it in time.
bool run_loop(Store& store, const std::function<bool()>& done) {
  while (!done()) {
    if (!readable(store)) return false;
    store.poll();
  }
  return true;
}

TEST_P(StoreEventLoop, WakesForAMessageOfAnotherThread) {
  const std::shared_ptr<Store> store = open(options(Driver::kCaller));
  const std::shared_ptr<Log> log = open_log(*store);
  while (readable(*store, 0))
    store->poll();
  bool called = false;

  std::thread([&] {
    log->append(make_batch({}), {}, [&](const Result<AppendResult>& r) { called = r.ok(); });
  }).join();

  EXPECT_TRUE(run_loop(*store, [&] { return called; }));
  EXPECT_EQ(log->offsets().high_watermark, 1);
}

// A durable append is a write and, from its completion, a sync: what a round
// submits last has to reach the kernel too, although nothing wakes the loop for
// it.
TEST_P(StoreEventLoop, CarriesDurableAppendsThroughAllTheirSteps) {
  const std::shared_ptr<Store> store = open(options(Driver::kCaller));
  LogOptions small;
  small.segment_bytes = 1500;
  const std::shared_ptr<Log> log = open_log(*store, "t", small);
  constexpr int kAppends = 200;
  int acked = 0;
  std::function<void(const Result<AppendResult>&)> next = [&](const Result<AppendResult>& result) {
    ASSERT_TRUE(result.ok()) << to_string(result.error());
    EXPECT_EQ(result->first_offset, acked);
    if (++acked < kAppends) log->append(make_batch({}), {}, next);
  };

  log->append(make_batch({}), {}, next);

  EXPECT_TRUE(run_loop(*store, [&] { return acked == kAppends; }));
}

TEST_P(StoreEventLoop, SharesTheShardWithBlockingCallers) {
  const std::shared_ptr<Store> store = open(options(Driver::kCaller));
  const std::shared_ptr<Log> log = open_log(*store);
  constexpr int kAppends = 300;
  constexpr int kThreads = 3;
  std::atomic<int> acked{0};
  std::atomic<int> failed{0};
  std::atomic<bool> wrong_thread{false};
  const std::thread::id loop = std::this_thread::get_id();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kAppends; ++i) {
        if ((i + t) % 2 == 0) {
          failed += append(*log).ok() ? 0 : 1;
          ++acked;
          continue;
        }
        log->append(make_batch({}), {}, [&](const Result<AppendResult>& result) {
          failed += result.ok() ? 0 : 1;
          if (std::this_thread::get_id() != loop) wrong_thread = true;
          ++acked;
        });
      }
    });
  }

  // The last acknowledgement may be that of a blocking caller, which wakes
  // nobody: bounded waits.
  while (acked < kThreads * kAppends) {
    const int before = acked;
    if (!readable(*store, kPatienceMs) && acked == before) {
      ADD_FAILURE() << "nobody woke the loop at " << before;
      break;
    }
    store->poll();
  }
  for (std::thread& thread : threads)
    thread.join();

  EXPECT_EQ(failed, 0);
  EXPECT_FALSE(wrong_thread);
  EXPECT_EQ(log->offsets().high_watermark, kThreads * kAppends);
}

TEST_P(StoreEventLoop, HandsOnWhatABlockingCallerLeavesBehind) {
  const std::shared_ptr<Store> store = open(options(Driver::kCaller));
  const std::shared_ptr<Log> log = open_log(*store);
  const std::shared_ptr<Log> other = open_log(*store, "other", written_options());
  for (int round = 0; round < 100; ++round) {
    int called = 0;
    log->append(make_batch({}), {}, [&](const Result<AppendResult>&) { ++called; });
    ASSERT_TRUE(append(*other).ok());
    ASSERT_EQ(called, 0) << "a callback on a blocking caller";
    ASSERT_TRUE(run_loop(*store, [&] { return called == 1; })) << "round " << round;
  }
}

TEST_P(StoreEventLoop, DoesNothingWhenPolledInsideACallback) {
  const std::shared_ptr<Store> store = open(options(Driver::kCaller));
  const std::shared_ptr<Log> log = open_log(*store);
  std::vector<int> order;
  log->append(make_batch({}), {}, [&](const Result<AppendResult>&) {
    order.push_back(1);
    EXPECT_EQ(store->poll(), 0U);
    order.push_back(2);
    EXPECT_EQ(log->flush().error().code, ErrorCode::kInvalidArgument);
  });
  log->append(make_batch({}), {}, [&](const Result<AppendResult>&) { order.push_back(3); });

  EXPECT_TRUE(run_loop(*store, [&] { return order.size() == 3; }));

  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

// Once: the closing thread found no callbacks queued while the loop was running
// the last ones.
TEST_P(StoreEventLoop, RunsNoCallbackAfterCloseReturned) {
  for (int round = 0; round < 50; ++round) {
    const std::shared_ptr<Store> store = open(options(Driver::kCaller));
    const std::shared_ptr<Log> log = open_log(*store, "t", written_options());
    std::atomic<bool> closed{false};
    std::atomic<bool> late{false};
    std::atomic<int> called{0};
    for (int i = 0; i < 20; ++i) {
      log->append(make_batch({}), {}, [&](const Result<AppendResult>&) {
        std::this_thread::yield();
        if (closed) late = true;
        ++called;
      });
    }
    std::thread closer([&] {
      EXPECT_TRUE(log->close().ok());
      closed = true;
    });
    while (!closed)
      store->poll(1'000'000);
    closer.join();
    EXPECT_FALSE(late);
    EXPECT_EQ(called, 20);
    ASSERT_TRUE(store->close().ok());
  }
}

}  // namespace
}  // namespace oncelog::testing
