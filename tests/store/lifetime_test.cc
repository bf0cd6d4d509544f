// In which order a store, its logs, pages and callbacks may go.
#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "tests/store/store_support.h"

namespace oncelog::testing {
namespace {

namespace fs = std::filesystem;

class StoreLifetime : public StoreTest {
 protected:
  /// Waits until the directory can be had again.
  bool given_back() const {
    const StoreOptions again = options();
    return eventually([&] { return Store::open(again).ok(); });
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, StoreLifetime,
                         ::testing::Values(IoBackend::kAutomatic, IoBackend::kPosix), backend_name);

TEST_P(StoreLifetime, EndsWhenTheLastReferenceGoesInsideACallback) {
  for (int round = 0; round < 20; ++round) {
    std::shared_ptr<Store> store = open();
    std::shared_ptr<Log> log = open_log(*store, "t", written_options());
    std::promise<void> gone;
    Log& raw = *log;
    raw.append(make_batch({}), {},
               [&gone, store = std::move(store), log](const Result<AppendResult>&) mutable {
                 store.reset();
                 log.reset();
                 gone.set_value();
               });
    log.reset();
    gone.get_future().get();
    ASSERT_TRUE(given_back());
  }
}

// The callback itself owns the last reference and lets it go when it is
// destroyed: that may not happen in the middle of a round, whoever drives it.
TEST_P(StoreLifetime, EndsWhenACallbackThatOwnsItIsDestroyed) {
  for (int round = 0; round < 20; ++round) {
    std::shared_ptr<Store> store = open();
    std::shared_ptr<Log> log = open_log(*store, "t", written_options());
    std::promise<void> called;
    log->append(make_batch({}), {},
                [&called, store, log](const Result<AppendResult>&) { called.set_value(); });
    if (round % 2 == 0) {
      ASSERT_TRUE(append(*log).ok());
    }
    store.reset();
    log.reset();
    called.get_future().get();
    ASSERT_TRUE(given_back());
  }
}

TEST_P(StoreLifetime, EndsWhenItsEventLoopDropsItInsidePoll) {
  std::shared_ptr<Store> store = open(options(Driver::kCaller));
  std::shared_ptr<Log> log = open_log(*store);
  bool called = false;
  log->append(make_batch({}), {}, [&](const Result<AppendResult>&) {
    log.reset();
    store.reset();
    called = true;
  });
  while (!called)
    store->poll(1'000'000);
  EXPECT_TRUE(given_back());
}

TEST_P(StoreLifetime, LetsLogsAnswerThatOutliveIt) {
  std::shared_ptr<Store> store = open();
  const std::shared_ptr<Log> log = open_log(*store);
  ASSERT_TRUE(append(*log).ok());
  std::promise<Status> polled;
  log->when(100, Isolation::kLogEnd, [&](const Status& status) { polled.set_value(status); });

  store.reset();

  const Status answer = polled.get_future().get();
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kNotOpen);
  EXPECT_TRUE(given_back());
  const Result<AppendResult> appended = append(*log);
  ASSERT_FALSE(appended.ok());
  EXPECT_EQ(appended.error().code, ErrorCode::kNotOpen);
  FetchBuffer buffer;
  const Result<FetchPage> page = log->fetch({}, buffer);
  ASSERT_FALSE(page.ok());
  EXPECT_EQ(page.error().code, ErrorCode::kNotOpen);
  EXPECT_TRUE(log->close().ok());
}

TEST_P(StoreLifetime, AnswersEveryAppendBeforeItIsGone) {
  for (int round = 0; round < 20; ++round) {
    std::shared_ptr<Store> store = open();
    std::shared_ptr<Log> log = open_log(*store);
    std::atomic<int> called{0};
    for (int i = 0; i < 30; ++i)
      log->append(make_batch({}), {}, [&](const Result<AppendResult>&) { ++called; });
    if (round % 2 == 0) log.reset();
    store.reset();
    ASSERT_EQ(called, 30);
  }
}

TEST_P(StoreLifetime, ReopensAfterItWentWithoutClose) {
  std::shared_ptr<Store> store = open();
  std::shared_ptr<Log> log = open_log(*store);
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(append(*log).ok());
  store.reset();
  log.reset();
  EXPECT_FALSE(fs::exists(directory_.path() + "/.kafka_cleanshutdown"));

  store = open();
  log = open_log(*store);

  EXPECT_EQ(log->offsets().log_end, 10);
  EXPECT_EQ(read_offsets(*log, Isolation::kReadUncommitted).size(), 10U);
  EXPECT_TRUE(store->close().ok());
  EXPECT_TRUE(fs::exists(directory_.path() + "/.kafka_cleanshutdown"));
}

// Once: `close` gave up the descriptor of the active segment under a page that
// pins it.
TEST_P(StoreLifetime, KeepsThePagesFilesReadableAfterTheLogClosed) {
  const std::shared_ptr<Store> store = open();
  const std::shared_ptr<Log> log = open_log(*store);
  ASSERT_TRUE(append(*log, 3).ok());
  FetchBuffer buffer;
  FetchRequest request;
  request.file_ranges_only = true;
  const Result<FetchPage> page = log->fetch(request, buffer);
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->file_ranges().size(), 1U);

  ASSERT_TRUE(log->close().ok());

  const FileRange& range = page->file_ranges().front();
  std::vector<std::byte> bytes(static_cast<std::size_t>(range.bytes));
  const auto read = range.file->read_at(range.position, bytes);
  EXPECT_TRUE(read.ok());
}

TEST_P(StoreLifetime, AnswersNotOpenToReadersThatRaceAClose) {
  for (int round = 0; round < 30; ++round) {
    const std::shared_ptr<Store> store = open();
    const std::shared_ptr<Log> log = open_log(*store, "t", written_options());
    ASSERT_TRUE(append(*log, 5).ok());
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) {
      readers.emplace_back([&] {
        FetchBuffer buffer;
        while (true) {
          const Result<FetchPage> page = log->fetch({}, buffer);
          if (page.ok()) continue;
          EXPECT_EQ(page.error().code, ErrorCode::kNotOpen) << to_string(page.error());
          return;
        }
      });
    }
    EXPECT_TRUE(log->close().ok());
    for (std::thread& reader : readers)
      reader.join();
  }
}

TEST_P(StoreLifetime, OpensAClosedLogAgain) {
  const std::shared_ptr<Store> store = open();
  std::shared_ptr<Log> log = open_log(*store);
  ASSERT_TRUE(append(*log).ok());
  EXPECT_EQ(store->open_log({"t", 0}, {}).error().code, ErrorCode::kAlreadyExists);
  ASSERT_TRUE(log->close().ok());
  EXPECT_FALSE(store->logs().front().open);

  log = open_log(*store);

  EXPECT_TRUE(store->logs().front().open);
  EXPECT_EQ(append(*log)->first_offset, 1);
  EXPECT_TRUE(store->close().ok());
  EXPECT_EQ(store->open_log({"t", 0}, {}).error().code, ErrorCode::kNotOpen);
  EXPECT_EQ(store->delete_log({"t", 0}).error().code, ErrorCode::kNotOpen);
  EXPECT_EQ(store->checkpoint().error().code, ErrorCode::kNotOpen);
}

}  // namespace
}  // namespace oncelog::testing
