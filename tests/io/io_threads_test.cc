// The seam used from several threads at once, and interrupted by signals.
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

#include "storage/io/thread_executor.h"
#include "tests/io/io_contract.h"

namespace oncelog {
namespace {

TEST(ThreadExecutor, FinishesWhatWasAccepted) {
  constexpr int kTasks = 1000;
  std::atomic<int> ran{0};
  {
    const auto executor = ThreadExecutor::create(3);
    ASSERT_TRUE(executor.ok());
    ThreadExecutor& self = **executor;

    for (int i = 0; i < kTasks; ++i) {
      self.run([&ran, &self] {
        ++ran;
        self.run([&ran] { ++ran; });  // while the destructor waits, too
      });
    }
  }

  EXPECT_EQ(ran.load(), 2 * kTasks);
}

TEST(ThreadExecutor, TakesTasksFromManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 500;
  std::atomic<int> ran{0};
  {
    const auto executor = ThreadExecutor::create(2);
    ASSERT_TRUE(executor.ok());
    std::vector<std::thread> givers;
    for (int i = 0; i < kThreads; ++i) {
      givers.emplace_back([&] {
        for (int task = 0; task < kTasks; ++task)
          (*executor)->run([&ran] { ++ran; });
      });
    }
    for (std::thread& giver : givers)
      giver.join();
  }

  EXPECT_EQ(ran.load(), kThreads * kTasks);
}

// A closed descriptor number that is used again would send a late write into the wrong file.
TEST_P(IoContract, AFileClosedUnderItsUsersNeverTouchesAnother) {
  if (!io_->has_threads()) GTEST_SKIP() << "no threads here";
  for (int round = 0; round < 50; ++round) {
    const std::string name = "closed" + std::to_string(round);
    const auto file = open(name);
    std::atomic<bool> odd_error{false};
    std::vector<std::thread> users;
    for (int i = 0; i < 3; ++i) {
      users.emplace_back([&] {
        std::array<std::byte, 8> bytes{};
        for (;;) {
          const Status written = file->write_at(0, bytes);
          const Result<std::size_t> read = file->read_at(0, bytes);
          if (written.ok() && read.ok()) continue;
          const Status& bad = written.ok() ? read.status() : written;
          if (bad.error().code != ErrorCode::kNotOpen) odd_error = true;
          return;
        }
      });
    }

    EXPECT_TRUE(file->close().ok());
    const auto other = write_file("other" + std::to_string(round), "untouched");
    for (std::thread& user : users)
      user.join();

    EXPECT_FALSE(odd_error.load());
    EXPECT_EQ(content(*other), "untouched");
  }
}

TEST_P(IoContract, ASignalDoesNotEndASleepingPoll) {
  if (!io_->has_threads()) GTEST_SKIP() << "no threads here";
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {};  // without SA_RESTART: calls return EINTR
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  const auto queue = make_queue();
  std::atomic<bool> returned{false};
  std::atomic<bool> woken{false};
  std::thread sleeper([&] {
    std::vector<IoCompletion> done;
    queue->poll(done, -1);
    EXPECT_TRUE(woken.load()) << "ended by the signal";
    returned = true;
  });

  for (int i = 0; i < 100; ++i) {
    ::pthread_kill(sleeper.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  woken = true;
  queue->wake();
  sleeper.join();

  EXPECT_TRUE(returned.load());
  ::sigaction(SIGUSR1, &before, nullptr);
}

// The driver of a shard changes: what one thread submits another polls.
TEST_P(IoContract, TheDriverMayChangeWithEveryCall) {
  if (!io_->has_threads()) GTEST_SKIP() << "no threads here";
  constexpr std::uint64_t kRounds = 200;
  const auto file = open("a");
  const auto queue = make_queue();
  std::atomic<std::uint64_t> turn{0};  // even: submit and hand over, odd: poll
  std::thread submitter([&] {
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      while (turn.load() != 2 * i)
        std::this_thread::yield();
      std::vector<Buffer> buffers;
      buffers.push_back(buffer_of("abcd"));
      queue->submit(write_request(i, file, static_cast<std::int64_t>(i) * 4, std::move(buffers)));
      turn.store(2 * i + 1);
    }
  });

  for (std::uint64_t i = 0; i < kRounds; ++i) {
    while (turn.load() != 2 * i + 1)
      std::this_thread::yield();
    const auto done = collect(*queue, 1);
    EXPECT_EQ(done.at(0).token, i);
    EXPECT_TRUE(done.at(0).status.ok());
    turn.store(2 * i + 2);
  }
  submitter.join();

  EXPECT_EQ(file->stat()->size, static_cast<std::int64_t>(kRounds) * 4);
}

}  // namespace
}  // namespace oncelog
