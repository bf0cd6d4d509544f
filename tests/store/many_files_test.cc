// Descriptors: thousands of segments under a small limit, and what failed opens
// leave behind.
#include <filesystem>
#include <random>
#include <thread>

#include "tests/store/store_support.h"

namespace oncelog::testing {
namespace {

namespace fs = std::filesystem;

class StoreFiles : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Backends, StoreFiles,
                         ::testing::Values(IoBackend::kAutomatic, IoBackend::kPosix), backend_name);

TEST_P(StoreFiles,
       ReadsManySegmentsThroughFewDescriptors) {  // H098, H100
  constexpr int kSegments = 500;
  constexpr std::size_t kFilesMax = 16;
  constexpr std::size_t kOthers = 80;  // old segments that wait for their sync, the active one
  StoreOptions few = options();
  few.open_files_max = kFilesMax;
  const std::shared_ptr<Store> store = open(few);
  LogOptions small = written_options();
  small.segment_bytes = 100;
  small.index_interval_bytes = 0;
  const std::shared_ptr<Log> log = open_log(*store, "t", small);
  const std::size_t before = open_descriptors();
  for (int i = 0; i < kSegments; ++i)
    ASSERT_TRUE(append(*log).ok());
  ASSERT_TRUE(log->flush().ok());
  ASSERT_GE(log->state()->segments.size(), static_cast<std::size_t>(kSegments) - 1);
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= before + kFilesMax + kOthers; }))
      << open_descriptors() - before;

  const std::uint64_t seed = test_seed();
  std::vector<std::thread> readers;
  for (unsigned r = 0; r < 3; ++r) {
    readers.emplace_back([&, r] {
      std::mt19937_64 random(seed + r);
      FetchBuffer buffer;
      for (int i = 0; i < 400; ++i) {
        FetchRequest request;
        request.offset = static_cast<Offset>(random() % kSegments);
        request.bytes_max = 1;
        const Result<FetchPage> page = log->fetch(request, buffer);
        ASSERT_TRUE(page.ok()) << to_string(page.error());
        ASSERT_EQ(page->next_offset, request.offset + 1);
        if (i % 100 == 0) {
          EXPECT_LE(open_descriptors(), before + kFilesMax + kOthers);
        }
      }
    });
  }
  for (std::thread& reader : readers)
    reader.join();
  EXPECT_TRUE(store->close().ok());
}

TEST_P(StoreFiles, KeepsNothingOfFailedOpens) {  // H099
  const StoreOptions base = options();
  const std::shared_ptr<Store> holder = open(base);
  ASSERT_TRUE(append(*open_log(*holder)).ok());
  StoreOptions blocked = base;
  blocked.data_dirs = {directory_.path("file") + "/below"};
  write_text(directory_.path("file"), "x");
  const auto files = [&] {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::recursive_directory_iterator(directory_.path()))
      ++count;
    return count;
  };
  ASSERT_FALSE(Store::open(base).ok());
  const std::size_t descriptors = open_descriptors();
  const std::size_t files_before = files();

  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(Store::open(i % 2 == 0 ? base : blocked).ok());
    ASSERT_FALSE(holder->open_log({"t", 0}, {}).ok());
    ASSERT_FALSE(holder->open_log({"..", 0}, {}).ok());
  }

  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(files(), files_before);
}

TEST_P(StoreFiles, GivesDescriptorsBackWhenStoresGoWithoutClose) {
  const StoreOptions base = options();
  const auto round = [&] {
    const std::shared_ptr<Store> store = open(base);
    const std::shared_ptr<Log> log = open_log(*store, "t", written_options());
    ASSERT_TRUE(append(*log).ok());
    ASSERT_TRUE(log->roll().ok());
    ASSERT_TRUE(append(*log).ok());
  };
  round();
  const std::size_t descriptors = open_descriptors();
  for (int i = 0; i < 30; ++i)
    round();
  EXPECT_EQ(open_descriptors(), descriptors);
}

// Two readers and an appender meet the indexes of a log for the first time at
// once.
TEST_P(StoreFiles, LoadsIndexesOnceForReadersThatComeTogether) {  // H110
  LogOptions small = written_options();
  small.segment_bytes = 2000;
  small.index_interval_bytes = 0;
  {
    const std::shared_ptr<Store> store = open();
    const std::shared_ptr<Log> log = open_log(*store, "t", small);
    for (int i = 0; i < 200; ++i)
      ASSERT_TRUE(append(*log).ok());
    ASSERT_TRUE(store->close().ok());
  }
  for (int round = 0; round < 5; ++round) {
    const std::shared_ptr<Store> store = open();
    const std::shared_ptr<Log> log = open_log(*store, "t", small);
    const Offset end = log->offsets().log_end;
    std::vector<std::thread> readers;
    for (int r = 0; r < 2; ++r) {
      readers.emplace_back([&] {
        FetchBuffer buffer;
        for (FetchRequest request; request.offset < end; request.offset += 7) {
          request.bytes_max = 1;
          const Result<FetchPage> page = log->fetch(request, buffer);
          ASSERT_TRUE(page.ok()) << to_string(page.error());
          ASSERT_EQ(page->batches().front().header().base_offset, request.offset);
        }
      });
    }
    for (int i = 0; i < 30; ++i)
      ASSERT_EQ(append(*log)->first_offset, end + i);
    for (std::thread& reader : readers)
      reader.join();
    EXPECT_EQ(read_offsets(*log, Isolation::kReadUncommitted).size(),
              static_cast<std::size_t>(end) + 30);
    ASSERT_TRUE(store->close().ok());
  }
}

}  // namespace
}  // namespace oncelog::testing
