// Everything at once: blocking and queued appends to several logs, fetches,
// rolls, cuts, deletes of records and closes, on many threads; and what must
// hold of every answer.
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>

#include "tests/store/store_support.h"

namespace oncelog::testing {
namespace {

class StoreStress : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Backends, StoreStress,
                         ::testing::Values(IoBackend::kAutomatic, IoBackend::kPosix), backend_name);

thread_local bool on_blocking_thread = false;

/// A log under load, and what was answered.
struct Victim {
  std::shared_ptr<Log> log;
  bool cut = false;  // truncated at random: offsets come again
  std::shared_mutex closing_mutex;
  std::atomic<bool> closed{false};  // `close` returned
  bool closing = false;             // guarded by closing_mutex
  std::mutex mutex;
  std::map<Offset, std::string> acked;  // guarded by mutex; by first offset
  Offset last_called = kNoOffset;       // guarded by mutex; of successes in callbacks
  std::atomic<int> asked{0};
  std::atomic<int> called{0};

  void record(const AppendResult& result, const std::string& value) {
    const std::lock_guard lock(mutex);
    const bool fresh = acked.emplace(result.first_offset, value).second;
    if (!cut) {
      EXPECT_TRUE(fresh) << "offset " << result.first_offset << " twice";
    }
  }
};

bool expected(const Error& error) {
  return error.code == ErrorCode::kNotOpen || error.code == ErrorCode::kBusy ||
         error.code == ErrorCode::kOffsetOutOfRange;
}

/// Appends with a callback. Those given before `close` began are answered
/// before it returns.
void append_later(Victim& victim, const std::string& value) {
  const std::shared_lock lock(victim.closing_mutex);
  const bool in_time = !victim.closing;
  ++victim.asked;
  const auto once = std::make_shared<std::atomic<int>>(0);
  BatchSpec spec;
  spec.value = value;
  victim.log->append(make_batch(spec), {},
                     [&victim, value, in_time, once](const Result<AppendResult>& result) {
                       EXPECT_EQ(++*once, 1) << "a second answer";
                       EXPECT_FALSE(on_blocking_thread);
                       EXPECT_FALSE(in_time && victim.closed) << "an answer after close";
                       if (result.ok()) {
                         EXPECT_FALSE(victim.closed) << "a success after close";
                         victim.record(*result, value);
                         const std::lock_guard order(victim.mutex);
                         if (!victim.cut) {
                           EXPECT_GT(result->first_offset, victim.last_called);
                         }
                         victim.last_called = result->first_offset;
                       } else {
                         EXPECT_TRUE(expected(result.error())) << to_string(result.error());
                       }
                       ++victim.called;
                     });
}

void append_now(Victim& victim, const std::string& value) {
  const Result<AppendResult> result = append(*victim.log, 1, value);
  if (result.ok()) {
    victim.record(*result, value);
  } else {
    EXPECT_TRUE(expected(result.error())) << to_string(result.error());
  }
}

void read_somewhere(const Victim& victim, std::mt19937_64& random) {
  const LogOffsets offsets = victim.log->offsets();
  FetchBuffer buffer;
  FetchRequest request;
  const auto span = static_cast<std::uint64_t>(offsets.log_end - offsets.log_start) + 1;
  request.offset = offsets.log_start + static_cast<Offset>(random() % span);
  request.bytes_max = 4096;
  const Result<FetchPage> page = victim.log->fetch(request, buffer);
  if (!page.ok()) {
    EXPECT_TRUE(expected(page.error())) << to_string(page.error());
    return;
  }
  Offset next = request.offset;
  for (const RecordBatchView& batch : page->batches()) {
    EXPECT_LE(batch.header().base_offset, next);
    next = batch.header().next_offset();
  }
}

void administer(Victim& victim, std::mt19937_64& random) {
  const LogOffsets offsets = victim.log->offsets();
  Status status;
  switch (random() % 6) {
    case 0:
      status = victim.log->roll().status();
      break;
    case 1:
      status =
          victim.log->delete_records((offsets.log_start + offsets.high_watermark) / 2).status();
      break;
    case 2:
      status = victim.log->apply_retention().status();
      break;
    case 3:
      if (victim.cut)
        status = victim.log->truncate(std::max(offsets.log_start, offsets.log_end - 3));
      break;
    case 4:
      status = victim.log->flush();
      break;
    default:
      status = victim.log->state().status();
      break;
  }
  if (!status.ok()) {
    EXPECT_TRUE(expected(status.error())) << to_string(status.error());
  }
}

void close_victim(Victim& victim) {
  {
    const std::unique_lock lock(victim.closing_mutex);
    victim.closing = true;
  }
  const Status status = victim.log->close();
  EXPECT_TRUE(status.ok()) << to_string(status.error());
  victim.closed = true;
}

std::string text_of(const OptionalBytes& bytes) {
  std::string text;
  if (!bytes) return text;
  for (const std::byte b : *bytes)
    text.push_back(static_cast<char>(b));
  return text;
}

/// What was acknowledged and not removed is in the log, where the answer said.
void check_kept(const Log& log, const Victim& victim) {
  FetchBuffer buffer;
  FetchRequest request;
  request.offset = log.offsets().log_start;
  std::map<Offset, std::string> found;
  while (request.offset < log.offsets().high_watermark) {
    const Result<FetchPage> page = log.fetch(request, buffer);
    ASSERT_TRUE(page.ok()) << to_string(page.error());
    std::vector<Records> storage;
    const Result<std::vector<VisibleRecord>> records =
        visible_records(*page, request.offset, Isolation::kReadUncommitted, storage);
    ASSERT_TRUE(records.ok());
    for (const VisibleRecord& one : *records)
      found[one.record.offset] = text_of(one.record.value);
    ASSERT_GT(page->next_offset, request.offset);
    request.offset = page->next_offset;
  }
  for (const auto& [offset, value] : victim.acked) {
    if (offset < log.offsets().log_start) continue;
    ASSERT_EQ(found[offset], value + "0") << "at " << offset;
  }
}

void run_stress(const std::shared_ptr<Store>& store, std::vector<Victim>& victims,
                std::uint64_t seed) {
  constexpr int kRounds = 150;
  std::vector<std::thread> threads;
  const auto start = [&](std::uint64_t kind, const auto& step) {
    threads.emplace_back([&victims, kind, seed, step] {
      on_blocking_thread = true;
      std::mt19937_64 random(seed * 31 + kind);
      for (int i = 0; i < kRounds; ++i) {
        Victim& victim = victims[random() % victims.size()];
        step(victim, std::to_string(kind) + '-' + std::to_string(i) + '-', random);
      }
    });
  };
  for (std::uint64_t kind = 0; kind < 3; ++kind)
    start(kind, [](Victim& victim, const std::string& value, auto&) { append_now(victim, value); });
  for (std::uint64_t kind = 3; kind < 5; ++kind)
    start(kind,
          [](Victim& victim, const std::string& value, auto&) { append_later(victim, value); });
  start(5,
        [](Victim& victim, const std::string&, auto& random) { read_somewhere(victim, random); });
  start(6, [](Victim& victim, const std::string&, auto& random) { administer(victim, random); });
  threads.emplace_back([&] {
    on_blocking_thread = true;
    std::mt19937_64 random(seed);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 50));
    close_victim(victims.front());
  });
  for (std::thread& thread : threads)
    thread.join();
  for (Victim& victim : victims)
    close_victim(victim);
  EXPECT_TRUE(store->close().ok());
}

TEST_P(StoreStress, AnswersEachAppendOnceInOrderAndKeepsIt) {
  const std::uint64_t seed = test_seed();
  StoreOptions with_timers = options();
  with_timers.background = true;
  LogOptions durable;
  durable.segment_bytes = 3000;
  durable.index_interval_bytes = 100;
  durable.file_delete_delay_ms = 0;
  LogOptions written = durable;
  written.durability = Durability::kWritten;
  written.queue_bytes_max = 4096;
  std::vector<Victim> victims(3);
  victims[2].cut = true;
  {
    const std::shared_ptr<Store> store = open(with_timers);
    for (std::size_t i = 0; i < victims.size(); ++i)
      victims[i].log = open_log(*store, "t" + std::to_string(i), i == 1 ? written : durable);

    run_stress(store, victims, seed);
  }
  for (Victim& victim : victims) {
    EXPECT_EQ(victim.asked, victim.called);
    victim.log.reset();
  }
  const std::shared_ptr<Store> store = open();
  for (std::size_t i = 0; i < 2; ++i) {
    const std::shared_ptr<Log> log = open_log(*store, "t" + std::to_string(i));
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(log->recovery_report().truncated_bytes, 0);
    check_kept(*log, victims[i]);
  }
  EXPECT_NE(open_log(*store, "t2"), nullptr);
}

// One thread trims to the end while another appends.
TEST_P(StoreStress, NeverLosesABatchToATrimToTheEnd) {  // H047
  constexpr int kRounds = 2000;
  constexpr int kRecords = 5;
  const std::shared_ptr<Store> store = open();
  LogOptions options = written_options();
  options.segment_bytes = 4000;
  options.file_delete_delay_ms = 0;
  const std::shared_ptr<Log> log = open_log(*store, "t", options);
  std::atomic<bool> done{false};
  std::thread trimmer([&] {
    for (int i = 0; !done; ++i) {
      const Result<Offset> trimmed = log->delete_records(-1);
      ASSERT_TRUE(trimmed.ok()) << to_string(trimmed.error());
      if (i % 16 == 0) {
        ASSERT_TRUE(log->apply_retention().ok());
      }
    }
  });
  FetchBuffer buffer;
  for (int i = 0; i < kRounds; ++i) {
    const Result<AppendResult> appended = append(*log, kRecords);
    ASSERT_TRUE(appended.ok()) << to_string(appended.error());
    ASSERT_EQ(appended->first_offset, Offset{i} * kRecords);
    FetchRequest request;
    request.offset = appended->first_offset;
    const Result<FetchPage> page = log->fetch(request, buffer);
    if (page.ok()) {
      ASSERT_EQ(page->batches().size(), 1U);
      ASSERT_EQ(page->batches().front().header().base_offset, request.offset);
    } else {  // trimmed already
      ASSERT_EQ(page.error().code, ErrorCode::kOffsetOutOfRange) << to_string(page.error());
      ASSERT_GT(log->offsets().log_start, request.offset);
    }
  }
  done = true;
  trimmer.join();
  const LogOffsets offsets = log->offsets();
  EXPECT_EQ(offsets.log_end, Offset{kRounds} * kRecords);
  EXPECT_TRUE(store->close().ok());
}

// Appends and rolls of the same segment: one new segment at a time, each batch
// in exactly one.
TEST_P(StoreStress,
       PutsEachBatchIntoOneSegmentWhileSegmentsRoll) {  // H091, H092
  constexpr int kAppends = 150;
  constexpr int kThreads = 3;
  const std::shared_ptr<Store> store = open();
  const std::shared_ptr<Log> log = open_log(*store, "t", written_options());
  std::atomic<bool> done{false};
  std::vector<std::thread> others;
  others.emplace_back([&] {
    while (!done)
      EXPECT_TRUE(log->roll().ok());
  });
  others.emplace_back([&] {  // follows the log end: never a gap, never out of range below it
    FetchBuffer buffer;
    FetchRequest request;
    request.isolation = Isolation::kLogEnd;
    while (!done || request.offset < log->offsets().log_end) {
      const Offset end = log->offsets().log_end;
      const Result<FetchPage> page = log->fetch(request, buffer);
      ASSERT_TRUE(page.ok()) << to_string(page.error());
      if (request.offset < end) {
        ASSERT_GT(page->next_offset, request.offset);
      }
      for (const RecordBatchView& batch : page->batches())
        ASSERT_EQ(batch.header().base_offset, request.offset++);
    }
    EXPECT_EQ(request.offset, kAppends * kThreads);
  });
  std::vector<std::thread> appenders;
  for (int t = 0; t < kThreads; ++t) {
    appenders.emplace_back([&] {
      for (int i = 0; i < kAppends; ++i)
        ASSERT_TRUE(append(*log).ok());
    });
  }
  for (std::thread& appender : appenders)
    appender.join();
  done = true;
  for (std::thread& other : others)
    other.join();
  Offset last = kNoOffset;
  const Result<LogState> state = log->state();
  ASSERT_TRUE(state.ok());
  for (const SegmentInfo& segment : state->segments) {
    EXPECT_GT(segment.base_offset, last);
    last = segment.base_offset;
  }
  EXPECT_TRUE(store->close().ok());
}

}  // namespace
}  // namespace oncelog::testing
