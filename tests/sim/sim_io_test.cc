// Operation numbers, crash points, queues, executor and clock of a simulated process.
#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "oncelog/sim.h"

#include "tests/sim/sim_fixture.h"

namespace oncelog {
namespace {

struct Machine {
  explicit Machine(std::uint64_t seed = 1)
      : disk(std::make_shared<SimDisk>()), io(std::make_shared<SimIo>(disk, options(seed))) {}
  static SimOptions options(std::uint64_t seed) {
    SimOptions options;
    options.seed = seed;
    return options;
  }
  std::shared_ptr<SimDisk> disk;
  std::shared_ptr<SimIo> io;
};

TEST(SimIo, NumbersEveryOperationAndShowsItBeforeItTakesEffect) {
  Machine m;
  std::vector<std::string> seen;
  m.io->on_operation([&](const SimOperation& operation) {
    EXPECT_EQ(operation.index, seen.size());
    const std::string kind(to_string(operation.kind));
    seen.push_back(kind + " " + operation.path + " " + text_on(*m.disk, "f"));
  });

  const auto file = open(*m.io, "f");
  write(*file, 0, "abc");
  ASSERT_TRUE(file->truncate(1).ok());
  ASSERT_TRUE(m.io->files().rename("f", "g").ok());
  auto queue = queue_of(*m.io);
  queue->submit(request_of(IoRequest::Kind::kSync, 1, file));
  std::vector<IoCompletion> done;
  ASSERT_EQ(queue->poll(done, -1), 1U);

  EXPECT_EQ(seen, (std::vector<std::string>{"create f (missing)", "write f ", "truncate f abc",
                                            "rename g a", "sync f (missing)"}));
  EXPECT_EQ(m.io->operation_count(), 5U);
}

TEST(SimIo, DiesBeforeTheChosenOperation) {
  Machine m;
  const auto file = open(*m.io, "f");
  m.io->crash_at(2);

  write(*file, 0, "a");
  EXPECT_FALSE(file->write_at(1, text_bytes("b")).ok());

  EXPECT_TRUE(m.io->dead());
  EXPECT_EQ(text_on(*m.disk, "f"), "a");
  EXPECT_FALSE(m.io->files().open("f", OpenMode::kRead).ok());
  EXPECT_FALSE(m.io->make_queue().ok());
}

TEST(SimIo, IsDeadForGoodAfterACrashOfTheDisk) {
  Machine m;
  const auto file = open(*m.io, "f");
  auto queue = queue_of(*m.io);
  queue->submit(request_of(IoRequest::Kind::kWrite, 7, file, 0, "late"));

  m.disk->power_cut(PowerCut::kNoneKept, 1);
  SimIo next(m.disk);
  open(next, "f");

  std::vector<IoCompletion> done;
  ASSERT_EQ(queue->poll(done, -1), 1U);
  EXPECT_EQ(done[0].token, 7U);
  EXPECT_FALSE(done[0].status.ok());
  EXPECT_EQ(done[0].buffers.size(), 1U);
  EXPECT_FALSE(file->write_at(0, text_bytes("late")).ok());
  EXPECT_FALSE(m.io->files().unlink("f").ok());
  EXPECT_EQ(text_on(*m.disk, "f"), "");
}

TEST(SimIo, FailsTheChosenOperationOnly) {
  Machine m;
  const auto file = open(*m.io, "f");
  m.io->fail_at(1, ENOSPC);

  const Status failed = file->write_at(0, text_bytes("a"));
  write(*file, 0, "b");

  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kDiskFull);
  EXPECT_EQ(failed.error().path, "f");
  EXPECT_EQ(text_on(*m.disk, "f"), "b");
}

TEST(SimIo, RetriesInterruptedOperationsInside) {
  Machine m;
  const auto file = open(*m.io, "f");
  m.io->fail_at(1, EINTR);
  m.io->fail_at(2, EAGAIN);

  write(*file, 0, "a");
  EXPECT_TRUE(file->sync().ok());

  EXPECT_EQ(text_on(*m.disk, "f"), "a");
}

TEST(SimIo, SameSeedSameRun) {
  const auto run = [](std::uint64_t seed) {
    Machine m(seed);
    const auto file = open(*m.io, "f");
    auto queue = queue_of(*m.io);
    std::vector<IoCompletion> done;
    for (std::uint64_t i = 0; i < 50; ++i) {
      queue->submit(request_of(IoRequest::Kind::kWrite, i, file, static_cast<std::int64_t>(i) * 10,
                               "0123456789"));
      queue->poll(done, 0);
    }
    while (queue->in_flight() > 0)
      queue->poll(done, -1);
    return m.io->trace_hash();
  };

  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
}

TEST(SimIoQueue, CompletesInAnyOrder) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Machine m(seed);
    const auto file = open(*m.io, "f");
    auto queue = queue_of(*m.io);
    for (std::uint64_t token = 0; token < 3; ++token)
      queue->submit(request_of(IoRequest::Kind::kWrite, token, file, 0, "x"));
    std::vector<IoCompletion> done;
    while (queue->in_flight() > 0)
      EXPECT_GE(queue->poll(done, -1), 1U);
    std::string order;
    for (const IoCompletion& completion : done)
      order += std::to_string(completion.token);
    orders.insert(order);
  }

  EXPECT_EQ(orders.size(), 6U);
}

TEST(SimIoQueue, HasNoEffectBeforeTheCompletionIsPolled) {
  Machine m;
  const auto file = open(*m.io, "f");
  auto queue = queue_of(*m.io);

  queue->submit(request_of(IoRequest::Kind::kWrite, 1, file, 0, "abc"));
  EXPECT_EQ(text_on(*m.disk, "f"), "");
  std::vector<IoCompletion> done;
  queue->poll(done, -1);

  EXPECT_EQ(text_on(*m.disk, "f"), "abc");
}

TEST(SimIoQueue, ASyncCoversOnlyWhatWasCompleteWhenItWasSubmitted) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Machine m(seed);
    put(*m.disk, "f", "");
    const auto file = open(*m.io, "f");
    auto queue = queue_of(*m.io);
    std::vector<IoCompletion> done;
    write(*file, 0, "a");
    queue->submit(request_of(IoRequest::Kind::kWrite, 1, file, 1, "b"));
    queue->submit(request_of(IoRequest::Kind::kSync, 2, file));
    while (queue->in_flight() > 0)
      queue->poll(done, -1);

    m.disk->power_cut(PowerCut::kNoneKept, 1);

    EXPECT_EQ(text_on(*m.disk, "f"), "a") << seed;
  }
}

TEST(SimIoQueue, KeepsAFileThatIsClosedAndUnlinkedMeanwhile) {
  Machine m;
  auto file = open(*m.io, "f");
  auto queue = queue_of(*m.io);
  queue->submit(request_of(IoRequest::Kind::kWrite, 1, file, 0, "abc"));
  ASSERT_TRUE(file->close().ok());
  ASSERT_TRUE(m.io->files().unlink("f").ok());
  ASSERT_TRUE(m.io->files().sync_directory("/").ok());
  for (int i = 0; i < 200; ++i) {
    open(*m.io, "other");
    ASSERT_TRUE(m.io->files().unlink("other").ok());
    ASSERT_TRUE(m.io->files().sync_directory("/").ok());
  }

  std::vector<IoCompletion> done;
  ASSERT_EQ(queue->poll(done, -1), 1U);

  EXPECT_TRUE(done[0].status.ok());
}

TEST(SimIoQueue, MovesTheClockWhenItWaitsForNothing) {
  Machine m;
  auto queue = queue_of(*m.io);
  std::vector<IoCompletion> done;

  queue->poll(done, 5'000'000);
  EXPECT_EQ(m.io->clock().monotonic_ns(), 5'000'000);
  EXPECT_EQ(m.io->clock().wall_ms(), SimClock::kStartMs + 5);
  queue->wake();
  queue->poll(done, 5'000'000);

  EXPECT_EQ(m.io->clock().monotonic_ns(), 5'000'000);
}

TEST(SimClock, JumpsOnTheWallOnly) {
  SimClock clock;
  EXPECT_EQ(clock.wall_ms(), 1'700'000'000'000);

  clock.advance_ms(10);
  clock.set_wall_ms(5);

  EXPECT_EQ(clock.wall_ms(), 5);
  EXPECT_EQ(clock.monotonic_ns(), 10'000'000);
}

TEST(SimClock, IsSharedByTheLivesOfOneMachine) {
  Machine m;
  SimOptions options;
  options.clock = std::make_shared<SimClock>(77);
  SimIo first(m.disk, options);
  first.clock().advance_ms(1);
  SimIo second(m.disk, options);

  EXPECT_EQ(second.clock().wall_ms(), 78);
}

TEST(SimExecutor, RunsTasksWhenToldInSeededOrder) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimExecutor executor(seed);
    std::string order;
    for (const char name : {'a', 'b', 'c'})
      executor.run([&order, name] { order += name; });
    EXPECT_EQ(order, "");
    EXPECT_TRUE(executor.run_one());
    EXPECT_EQ(order.size(), 1U);
    EXPECT_EQ(executor.run_pending(), 2U);
    EXPECT_FALSE(executor.run_one());
    orders.insert(order);
  }

  EXPECT_EQ(orders.size(), 6U);
}

TEST(SimExecutor, FinishesWhatItAcceptedAndWhatThatAdds) {
  int ran = 0;
  {
    SimExecutor executor(1);
    executor.run([&] {
      ++ran;
      executor.run([&] { ++ran; });
    });
  }

  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace oncelog
