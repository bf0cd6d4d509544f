// The contract of IoQueue, over every implementation of the seam.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

#include "tests/io/io_contract.h"

namespace oncelog {
namespace {

constexpr std::int64_t kMillisecondNs = 1'000'000;
constexpr std::int64_t kForever = -1;

std::vector<Buffer> buffers_of(const std::vector<std::string>& texts) {
  std::vector<Buffer> buffers;
  buffers.reserve(texts.size());
  for (const std::string& text : texts)
    buffers.push_back(buffer_of(text));
  return buffers;
}

TEST_P(IoContract, WritesSyncsAndReadsThroughTheQueue) {
  const auto file = open("a");
  const auto queue = make_queue();

  queue->submit(write_request(7, file, 2, buffers_of({"abc", "", "def"})));
  EXPECT_EQ(queue->in_flight(), 1U);
  const auto written = collect(*queue, 1);
  queue->submit(sync_request(8, file));
  const auto synced = collect(*queue, 1);
  queue->submit(read_request(9, file, 1, 4));
  const auto read = collect(*queue, 1);

  EXPECT_EQ(written[0].token, 7U);
  EXPECT_EQ(written[0].kind, IoRequest::Kind::kWrite);
  EXPECT_TRUE(written[0].status.ok());
  EXPECT_EQ(synced[0].token, 8U);
  EXPECT_EQ(synced[0].kind, IoRequest::Kind::kSync);
  EXPECT_TRUE(synced[0].status.ok());
  EXPECT_EQ(read[0].token, 9U);
  EXPECT_TRUE(read[0].status.ok());
  EXPECT_EQ(read[0].bytes, 4);
  EXPECT_EQ(text_of(read[0].buffers.at(0).bytes()), std::string("\0abc", 4));
  EXPECT_EQ(content(*file), std::string("\0\0abcdef", 8));
  EXPECT_EQ(queue->in_flight(), 0U);
}

TEST_P(IoContract, GivesTheSameBuffersBack) {
  const auto file = open("a");
  const auto queue = make_queue();
  std::vector<Buffer> buffers = buffers_of({"abc", "defg"});
  const std::byte* first = buffers[0].bytes().data();
  const std::byte* second = buffers[1].bytes().data();

  queue->submit(write_request(1, file, 0, std::move(buffers)));
  const auto done = collect(*queue, 1);

  ASSERT_EQ(done[0].buffers.size(), 2U);
  EXPECT_EQ(done[0].buffers[0].bytes().data(), first);
  EXPECT_EQ(done[0].buffers[1].bytes().data(), second);
  EXPECT_EQ(done[0].buffers[1].size(), 4U);
}

TEST_P(IoContract, AnEmptyWriteSucceeds) {
  const auto file = open("a");
  const auto queue = make_queue();

  queue->submit(write_request(1, file, 10, {}));
  queue->submit(write_request(2, file, 10, buffers_of({""})));
  const auto done = collect(*queue, 2);

  EXPECT_TRUE(done[0].status.ok());
  EXPECT_TRUE(done[1].status.ok());
  EXPECT_EQ(file->stat()->size, 0);
}

TEST_P(IoContract, QueueReadsEndAtTheEndOfTheFile) {
  const auto file = write_file("a", "0123456789");
  const auto queue = make_queue();

  queue->submit(read_request(0, file, 4, 100));
  queue->submit(read_request(1, file, 10, 100));
  queue->submit(read_request(2, file, 5000, 100));
  const auto done = collect(*queue, 3);

  for (const IoCompletion& completion : done) {
    EXPECT_TRUE(completion.status.ok());
    EXPECT_EQ(completion.bytes, completion.token == 0 ? 6 : 0);
    EXPECT_EQ(completion.buffers.at(0).size(), 100U);
  }
}

TEST_P(IoContract, WritesMoreBuffersThanTheKernelTakesAtOnce) {
  constexpr std::size_t kBuffers = 3000;  // IOV_MAX is 1024
  const auto file = open("a");
  const auto queue = make_queue();
  std::vector<Buffer> buffers;
  std::string expected;
  for (std::size_t i = 0; i < kBuffers; ++i) {
    const std::string text = std::to_string(i) + ",";
    expected += text;
    buffers.push_back(buffer_of(text));
  }

  queue->submit(write_request(1, file, 0, std::move(buffers)));
  const auto done = collect(*queue, 1);

  EXPECT_TRUE(done[0].status.ok());
  EXPECT_EQ(done[0].buffers.size(), kBuffers);
  EXPECT_EQ(content(*file), expected);
}

// H085: no order is promised, the positions are explicit.
TEST_P(IoContract, TakesFarMoreOperationsThanARingHolds) {
  constexpr std::uint64_t kOperations = 5000;
  const auto file = open("a");
  const auto queue = make_queue();

  for (std::uint64_t i = 0; i < kOperations; ++i) {
    const auto digit = static_cast<char>('0' + i % 10);
    queue->submit(
        write_request(i, file, static_cast<std::int64_t>(i), buffers_of({std::string(1, digit)})));
  }
  EXPECT_EQ(queue->in_flight(), kOperations);
  const auto done = collect(*queue, kOperations);

  std::set<std::uint64_t> tokens;
  for (const IoCompletion& completion : done) {
    EXPECT_TRUE(completion.status.ok());
    tokens.insert(completion.token);
  }
  EXPECT_EQ(tokens.size(), kOperations);
  std::string expected;
  for (std::uint64_t i = 0; i < kOperations; ++i)
    expected.push_back(static_cast<char>('0' + i % 10));
  EXPECT_EQ(content(*file), expected);
}

TEST_P(IoContract, ImpossibleRequestsComeBackAsCompletions) {
  const auto file = write_file("a", "abc");
  const auto queue = make_queue();
  IoRequest two_buffers = read_request(1, file, 0, 1);
  two_buffers.buffers.push_back(buffer_of("x"));

  queue->submit(sync_request(0, nullptr));
  queue->submit(std::move(two_buffers));
  queue->submit(write_request(2, file, -1, buffers_of({"x"})));
  queue->submit(read_request(3, file, -1, 1));
  const auto done = collect(*queue, 4);

  for (const IoCompletion& completion : done) {
    EXPECT_EQ(code_of(completion.status), ErrorCode::kInvalidArgument) << completion.token;
  }
  EXPECT_EQ(content(*file), "abc");
}

TEST_P(IoContract, OperationsOnAClosedFileFail) {
  const auto file = write_file("a", "abc");
  const auto queue = make_queue();
  ASSERT_TRUE(file->close().ok());
  const auto other = write_file("b", "xyz");  // would reuse the number of the closed one

  queue->submit(write_request(0, file, 0, buffers_of({"!"})));
  queue->submit(sync_request(1, file));
  queue->submit(read_request(2, file, 0, 3));
  const auto done = collect(*queue, 3);

  for (const IoCompletion& completion : done) {
    EXPECT_EQ(code_of(completion.status), ErrorCode::kNotOpen) << completion.token;
  }
  EXPECT_EQ(content(*other), "xyz");
}

TEST_P(IoContract, AFailedOperationNamesItsFile) {
  write_file("a", "abc");
  const auto file = open("a", OpenMode::kRead);
  const auto queue = make_queue();

  queue->submit(write_request(5, file, 0, buffers_of({"x"})));
  const auto done = collect(*queue, 1);

  EXPECT_EQ(code_of(done[0].status), ErrorCode::kIo);
  EXPECT_EQ(done[0].status.error().path, path("a"));
  EXPECT_EQ(done[0].buffers.size(), 1U);
}

TEST_P(IoContract, TheQueueKeepsTheFileAlive) {
  const auto queue = make_queue();
  auto file = open("a");

  queue->submit(write_request(1, std::move(file), 0, buffers_of({"abc"})));
  const auto done = collect(*queue, 1);

  EXPECT_TRUE(done[0].status.ok());
  EXPECT_EQ(content(*open("a", OpenMode::kRead)), "abc");
}

TEST_P(IoContract, PollWithoutTimeoutReturnsAtOnce) {
  const auto queue = make_queue();
  std::vector<IoCompletion> done;

  EXPECT_EQ(queue->poll(done, 0), 0U);
  EXPECT_TRUE(done.empty());
}

TEST_P(IoContract, PollSleepsUntilItsTimeout) {
  const auto queue = make_queue();
  std::vector<IoCompletion> done;
  const std::int64_t before = io_->clock().monotonic_ns();

  EXPECT_EQ(queue->poll(done, 20 * kMillisecondNs), 0U);

  EXPECT_GE(io_->clock().monotonic_ns() - before, 20 * kMillisecondNs);
}

TEST_P(IoContract, AWakeBeforePollIsNotLost) {
  const auto queue = make_queue();
  std::vector<IoCompletion> done;

  for (int i = 0; i < 100; ++i) {
    queue->wake();
    queue->wake();
    EXPECT_EQ(queue->poll(done, kForever), 0U);
  }

  EXPECT_TRUE(done.empty());
}

TEST_P(IoContract, AWakeIsUsedUpByOnePoll) {
  const auto queue = make_queue();
  std::vector<IoCompletion> done;
  queue->wake();
  queue->poll(done, kForever);
  const std::int64_t before = io_->clock().monotonic_ns();

  queue->poll(done, 20 * kMillisecondNs);

  EXPECT_GE(io_->clock().monotonic_ns() - before, 20 * kMillisecondNs);
}

TEST_P(IoContract, TheDescriptorIsReadableWhenPollHasSomethingToDo) {
  const auto queue = make_queue();
  if (queue->native_handle() < 0) GTEST_SKIP() << "no descriptors here";
  const auto file = open("a");
  std::vector<IoCompletion> done;
  const auto readable = [&](int timeout_ms) {
    pollfd wanted{queue->native_handle(), POLLIN, 0};
    return ::poll(&wanted, 1, timeout_ms) == 1;
  };

  for (std::uint64_t round = 0; round < 50; ++round) {
    EXPECT_FALSE(readable(0)) << "idle, round " << round;
    queue->wake();
    EXPECT_TRUE(readable(10'000));
    queue->poll(done, 0);
    EXPECT_FALSE(readable(0)) << "after the wake, round " << round;
    queue->submit(write_request(round, file, 0, buffers_of({"abc"})));
    std::size_t taken = queue->poll(done, 0);
    if (taken == 0) {
      EXPECT_TRUE(readable(10'000));
      taken = queue->poll(done, 0);
    }
    EXPECT_EQ(taken, 1U);
  }
  EXPECT_EQ(done.size(), 50U);
}

TEST_P(IoContract, AnotherThreadWakesASleepingPoll) {
  if (!io_->has_threads()) GTEST_SKIP() << "no threads here";
  constexpr int kWakes = 200;
  const auto queue = make_queue();
  std::atomic<int> polled{0};
  std::thread waker([&] {
    for (int i = 0; i < kWakes; ++i) {
      queue->wake();
      while (polled.load() <= i)
        std::this_thread::yield();
    }
  });
  std::vector<IoCompletion> done;

  for (int i = 0; i < kWakes; ++i) {
    queue->poll(done, kForever);
    polled.fetch_add(1);
  }
  waker.join();

  EXPECT_TRUE(done.empty());
}

// A blocking caller drives the shard, hands it on and may end before its operations do.
TEST_P(IoContract, OperationsOutliveTheThreadThatSubmittedThem) {
  if (!io_->has_threads()) GTEST_SKIP() << "no threads here";
  constexpr int kRounds = 100;
  constexpr std::uint64_t kWrites = 16;
  const auto file = open("a");
  const auto other = open("b");
  const auto queue = make_queue();
  const std::string block(4096, 'x');

  for (int round = 0; round < kRounds; ++round) {
    std::vector<IoCompletion> done;
    std::thread([&] {
      for (std::uint64_t i = 0; i < kWrites; ++i) {
        const std::int64_t position =
            (round * static_cast<std::int64_t>(kWrites) + static_cast<std::int64_t>(i)) * 4096;
        queue->submit(write_request(i, i % 2 == 0 ? file : other, position, buffers_of({block})));
        if (i % 4 == 0) queue->submit(sync_request(100 + i, file));
      }
      queue->wake();
      queue->poll(done, 0);
    }).join();
    while (done.size() < kWrites + kWrites / 4)
      queue->poll(done, kForever);
    for (const IoCompletion& completion : done)
      ASSERT_TRUE(completion.status.ok()) << to_string(completion.status.error());
    queue->wake();  // must still work when the thread that armed it has gone
    EXPECT_EQ(queue->poll(done, kForever), 0U);
  }
}

TEST_P(IoContract, DestroyedWithOperationsInFlightItFinishesThem) {
  constexpr std::uint64_t kOperations = 1000;
  const auto file = open("a");
  const std::string block(512, 'x');
  std::atomic<std::uint64_t> released{0};
  std::vector<std::byte> bytes(512, std::byte{'x'});

  {
    const auto queue = make_queue();
    std::vector<IoCompletion> done;
    for (std::uint64_t i = 0; i < kOperations; ++i) {
      std::vector<Buffer> buffers;
      buffers.emplace_back(std::span<std::byte>(bytes), [&released] { ++released; });
      queue->submit(write_request(i, file, static_cast<std::int64_t>(i) * 512, std::move(buffers)));
      if (i == kOperations / 2) queue->poll(done, 0);
    }
  }

  EXPECT_EQ(released.load(), kOperations);
  EXPECT_EQ(file->stat()->size, static_cast<std::int64_t>(kOperations) * 512);
}

TEST_P(IoContract, AQueueGivesItsDescriptorsBack) {
  if (!GetParam().open_descriptors) GTEST_SKIP() << "no descriptors here";
  make_queue().reset();
  const std::size_t before = GetParam().open_descriptors();

  for (int i = 0; i < 20; ++i) {
    const auto queue = make_queue();
    queue->wake();
  }

  EXPECT_EQ(GetParam().open_descriptors(), before);
}

}  // namespace
}  // namespace oncelog
