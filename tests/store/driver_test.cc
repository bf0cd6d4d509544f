// Who runs callbacks, what they may do, and what closes while others work.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include "tests/store/store_support.h"

namespace oncelog::testing {
namespace {

namespace fs = std::filesystem;

class StoreDriver : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Backends, StoreDriver,
                         ::testing::Values(IoBackend::kAutomatic, IoBackend::kPosix), backend_name);

TEST_P(StoreDriver, RefusesBlockingCallsInsideACallback) {
  const std::shared_ptr<Store> store = open();
  const std::shared_ptr<Log> log = open_log(*store);
  std::promise<std::vector<Status>> answers;

  log->append(make_batch({}), {}, [&](const Result<AppendResult>&) {
    std::vector<Status> statuses;
    statuses.push_back(log->append(make_batch({})).status());
    statuses.push_back(log->flush());
    statuses.push_back(log->roll().status());
    statuses.push_back(log->truncate(0));
    statuses.push_back(log->state().status());
    statuses.push_back(log->close());
    statuses.push_back(store->close());
    statuses.push_back(store->open_log({"other", 0}, {}).status());
    statuses.push_back(store->delete_log({"t", 0}));
    answers.set_value(std::move(statuses));
  });

  for (const Status& status : answers.get_future().get()) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument) << to_string(status.error());
  }
  // A refused delete leaves nothing half done: the log still takes appends and
  // can be deleted.
  EXPECT_TRUE(append(*log).ok());
  EXPECT_TRUE(store->delete_log({"t", 0}).ok());
}

TEST_P(StoreDriver, AppendsFromACallback) {
  const std::shared_ptr<Store> store = open();
  const std::shared_ptr<Log> log = open_log(*store);
  std::promise<Offset> last;
  std::function<void(const Result<AppendResult>&)> next = [&](const Result<AppendResult>& result) {
    if (!result.ok() || result->last_offset == 20) {
      last.set_value(result.ok() ? result->last_offset : kNoOffset);
      return;
    }
    log->append(make_batch({}), {}, next);
  };

  log->append(make_batch({}), {}, next);

  EXPECT_EQ(last.get_future().get(), 20);
}

// A blocking caller holds a lock that callbacks want: with callbacks on its
// thread, or kept until it is done, the two would wait for each other.
TEST_P(StoreDriver, NeverRunsACallbackOnABlockingCaller) {
  const std::shared_ptr<Store> store = open();
  const std::shared_ptr<Log> log = open_log(*store, "t", written_options());
  constexpr int kRounds = 500;
  std::mutex wanted;
  std::atomic<int> called{0};
  std::atomic<bool> same_thread{false};
  const std::thread::id caller = std::this_thread::get_id();

  for (int i = 0; i < kRounds; ++i) {
    log->append(make_batch({}), {}, [&](const Result<AppendResult>&) {
      if (std::this_thread::get_id() == caller) same_thread = true;
      const std::lock_guard lock(wanted);
      ++called;
    });
    const std::lock_guard lock(wanted);
    ASSERT_TRUE(append(*log).ok());
  }

  ASSERT_TRUE(log->close().ok());
  EXPECT_EQ(called, kRounds);
  EXPECT_FALSE(same_thread);
}

// Once: an event queued by the opening thread waited for the next thing to
// happen on the shard.
TEST_P(StoreDriver, DeliversEventsOfAnIdleStore) {
  StoreOptions with_listener = options();
  std::promise<StoreEvent::Kind> event;
  with_listener.listener = [&](const StoreEvent& one) { event.set_value(one.kind); };
  const std::shared_ptr<Store> store = open(with_listener);

  const std::shared_ptr<Log> log = open_log(*store);

  std::future<StoreEvent::Kind> arrived = event.get_future();
  ASSERT_EQ(arrived.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(arrived.get(), StoreEvent::Kind::kRecovered);
}

// Once: the second closer was told that the log is not open while the first was
// still writing.
TEST_P(StoreDriver, ClosesOnceForManyClosers) {
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    const std::shared_ptr<Store> store = open();
    const std::shared_ptr<Log> log = open_log(*store, "t", written_options());
    ASSERT_TRUE(append(*log).ok());
    std::atomic<int> bad{0};
    std::vector<std::thread> closers;
    for (int i = 0; i < 3; ++i)
      closers.emplace_back([&] { bad += log->close().ok() ? 0 : 1; });
    for (int i = 0; i < 2; ++i)
      closers.emplace_back([&] { bad += store->close().ok() ? 0 : 1; });
    for (std::thread& closer : closers)
      closer.join();
    ASSERT_EQ(bad, 0);
    ASSERT_TRUE(fs::exists(directory_.path() + "/.kafka_cleanshutdown"));
  }
}

// Once: a log that was being opened while the store closed stayed open in
// directories given back.
TEST_P(StoreDriver, ClosesWhileLogsAreBeingOpenedAndDeleted) {
  constexpr int kRounds = 15;
  for (int round = 0; round < kRounds; ++round) {
    const std::shared_ptr<Store> store = open();
    std::vector<std::thread> openers;
    for (int i = 0; i < 3; ++i) {
      openers.emplace_back([&, i] {
        const TopicPartition name{"t" + std::to_string(i), 0};
        while (true) {
          const Result<std::shared_ptr<Log>> log = store->open_log(name, written_options());
          if (!log.ok()) {
            EXPECT_EQ(log.error().code, ErrorCode::kNotOpen) << to_string(log.error());
            return;
          }
          const Result<AppendResult> appended = append(**log);
          if (!appended.ok()) {
            EXPECT_EQ(appended.error().code, ErrorCode::kNotOpen);
          }
          const Status deleted = store->delete_log(name);
          if (!deleted.ok()) {
            EXPECT_EQ(deleted.error().code, ErrorCode::kNotOpen) << to_string(deleted.error());
            return;
          }
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(round));
    const Status closed = store->close();
    for (std::thread& opener : openers)
      opener.join();
    ASSERT_TRUE(closed.ok()) << to_string(closed.error());
    for (const LogSummary& log : store->logs())
      EXPECT_FALSE(log.open);
  }
}

/// Voluntary context switches of the store's thread.
long switches_of_store_thread() {
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string line;
    bool mine = false;
    while (std::getline(status, line)) {
      if (line.starts_with("Name:")) mine = line.find("oncelog-shard") != std::string::npos;
      if (mine && line.starts_with("voluntary_ctxt_switches:")) {
        return std::stol(line.substr(line.find(':') + 1));
      }
    }
  }
  return -1;
}

TEST_P(StoreDriver, LeavesTheStoresThreadAsleepWhenIdle) {
  const std::shared_ptr<Store> store = open();
  const std::shared_ptr<Log> log = open_log(*store);
  ASSERT_TRUE(append(*log).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));

  const long before = switches_of_store_thread();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));

  ASSERT_GE(before, 0);
  EXPECT_EQ(switches_of_store_thread(), before);
}

}  // namespace
}  // namespace oncelog::testing
