// Crashes while a store opens: at every operation, on the simulated machine.
#include "tests/store/store_support.h"

namespace oncelog::testing {
namespace {

Result<std::shared_ptr<Store>> open_store(const std::shared_ptr<SimIo>& io) {
  StoreOptions options;
  options.data_dirs = {"data", "more"};
  options.io = io;
  options.driver = Driver::kCaller;
  options.background = false;
  return Store::open(options);
}

constexpr int kRecords = 3;

/// Two directories with a log each, closed cleanly.
std::shared_ptr<SimDisk> clean_disk() {
  auto disk = std::make_shared<SimDisk>();
  const Result<std::shared_ptr<Store>> store = open_store(std::make_shared<SimIo>(disk));
  EXPECT_TRUE(store.ok());
  for (const std::string topic : {"a", "b"})
    EXPECT_TRUE(append(*open_log(**store, topic), kRecords).ok());
  EXPECT_TRUE((*store)->close().ok());
  return disk;
}

std::string log_file(const std::string& topic) {
  return (topic == "a" ? "data/a-0" : "more/b-0") + std::string("/00000000000000000000.log");
}

// Whoever finds the marker after a crash may trust the log unseen: so it may be
// there only while nothing has been changed, whatever the disk kept.
TEST(StoreOpenCrash, LeavesTheMarkerOnlyBesideUntouchedLogs) {  // H071, H074
  const std::shared_ptr<SimDisk> origin = clean_disk();
  std::uint64_t operations = 1;
  for (std::uint64_t crash = 0; crash < operations; ++crash) {
    for (const PowerCut mode : {PowerCut::kNoneKept, PowerCut::kAllKept}) {
      const std::shared_ptr<SimDisk> disk = origin->clone();
      {
        const auto io = std::make_shared<SimIo>(disk);
        io->crash_at(crash);
        const Result<std::shared_ptr<Store>> store = open_store(io);
        if (store.ok()) {
          const Result<std::shared_ptr<Log>> log = (*store)->open_log({"a", 0}, {});
          if (log.ok()) {
            static_cast<void>(append(**log));
            static_cast<void>((*log)->truncate(1));
          }
        }
        if (store.ok() && io->operation_count() < crash) operations = 0;  // the run ended before
        if (operations != 0) operations = crash + 2;
        disk->power_cut(mode, crash);
      }
      const Result<std::vector<std::byte>> before = origin->read_file(log_file("a"));
      const Result<std::vector<std::byte>> after = disk->read_file(log_file("a"));
      ASSERT_TRUE(before.ok());
      if (disk->read_file("data/.kafka_cleanshutdown").ok()) {
        ASSERT_TRUE(after.ok());
        EXPECT_EQ(*after, *before) << "crash at " << crash;
      }
      const Result<std::shared_ptr<Store>> again = open_store(std::make_shared<SimIo>(disk));
      ASSERT_TRUE(again.ok()) << crash << ": " << to_string(again.error());
      for (const OpenOutcome& outcome :
           (*again)->open_logs([](const TopicPartition&) { return LogOptions{}; })) {
        ASSERT_TRUE(outcome.log.ok()) << crash << ": " << to_string(outcome.log.error());
        if (outcome.name.topic == "b") {
          EXPECT_EQ((*outcome.log)->offsets().log_end, kRecords);
        }
      }
      EXPECT_TRUE((*again)->close().ok());
      EXPECT_TRUE(disk->read_file("data/.kafka_cleanshutdown").ok());
    }
  }
}

// Close, then power: everything the marker promises is on the disk.
TEST(StoreOpenCrash, KeepsAllOfAClosedStoreOverAPowerCut) {  // H079
  LogOptions written;
  written.durability = Durability::kWritten;
  for (const PowerCut mode : {PowerCut::kNoneKept, PowerCut::kSubset, PowerCut::kTorn}) {
    const auto disk = std::make_shared<SimDisk>();
    {
      const Result<std::shared_ptr<Store>> store = open_store(std::make_shared<SimIo>(disk));
      ASSERT_TRUE(store.ok());
      for (const std::string topic : {"a", "b"}) {
        const std::shared_ptr<Log> log = open_log(**store, topic, written);
        ASSERT_TRUE(append(*log, 3).ok());
        ASSERT_TRUE(log->roll().ok());
        ASSERT_TRUE(append(*log, 4).ok());
      }
      ASSERT_TRUE((*store)->close().ok());
    }
    disk->power_cut(mode, 7);
    EXPECT_TRUE(disk->read_file("data/.kafka_cleanshutdown").ok());
    const Result<std::shared_ptr<Store>> store = open_store(std::make_shared<SimIo>(disk));
    ASSERT_TRUE(store.ok());
    for (const std::string topic : {"a", "b"})
      EXPECT_EQ(read_offsets(*open_log(**store, topic), Isolation::kReadUncommitted).size(), 7U);
  }
}

// One log's flush or close vouches for that log only.
TEST(StoreOpenCrash, NeverLetsOneLogsFlushVouchForAnother) {  // H075
  LogOptions written;
  written.durability = Durability::kWritten;
  const auto disk = std::make_shared<SimDisk>();
  {
    const Result<std::shared_ptr<Store>> store = open_store(std::make_shared<SimIo>(disk));
    ASSERT_TRUE(store.ok());
    const std::shared_ptr<Log> a = open_log(**store, "a", written);
    const std::shared_ptr<Log> b = open_log(**store, "b", written);
    ASSERT_TRUE(append(*a, 5).ok());
    ASSERT_TRUE(append(*b, 5).ok());
    ASSERT_TRUE(a->close().ok());
    ASSERT_TRUE((*store)->checkpoint().ok());
    disk->power_cut(PowerCut::kNoneKept, 1);
  }
  const Result<std::shared_ptr<Store>> store = open_store(std::make_shared<SimIo>(disk));
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(open_log(**store, "a")->offsets().log_end, 5);
  const std::shared_ptr<Log> b = open_log(**store, "b");
  ASSERT_NE(b, nullptr);
  EXPECT_LE(b->offsets().log_end, 5);
}

// Once: a log that failed and was opened again in the same run was judged by
// the marker that the run had found, so its torn tail passed for damage or for
// good data.
TEST(StoreOpenCrash, WithdrawsTheCleanStateOfALogThatWasTouched) {  // H074
  const std::shared_ptr<SimDisk> disk = clean_disk();
  const auto io = std::make_shared<SimIo>(disk);
  const Result<std::shared_ptr<Store>> store = open_store(io);
  ASSERT_TRUE(store.ok());
  std::shared_ptr<Log> log = open_log(**store, "a");
  ASSERT_TRUE(append(*log, 2).ok());
  io->fail_at(io->operation_count() + 1, 5);  // the sync behind the next write
  ASSERT_FALSE(append(*log, 2).ok());
  ASSERT_FALSE(log->close().ok());
  const Result<std::vector<std::byte>> bytes = disk->read_file(log_file("a"));
  ASSERT_TRUE(bytes.ok());
  std::vector<std::byte> torn = *bytes;
  torn.resize(torn.size() - 1);
  ASSERT_TRUE(disk->write_file(log_file("a"), torn).ok());

  log = open_log(**store, "a");

  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->offsets().log_end, kRecords + 2);
  EXPECT_TRUE(append(*log).ok());
}

// Once: the recovery point stood at the offset of the cut although a batch that reached over it was
// gone, so every later open found bytes missing that it believed durable.
TEST(StoreOpenCrash, ReopensALogThatWasCutInsideABatch) {
  enum class End { kClose, kKill, kAppendAndKill };
  for (const End end : {End::kClose, End::kKill, End::kAppendAndKill}) {
    const std::shared_ptr<SimDisk> disk = clean_disk();
    {
      const auto io = std::make_shared<SimIo>(disk);
      const Result<std::shared_ptr<Store>> store = open_store(io);
      ASSERT_TRUE(store.ok());
      const std::shared_ptr<Log> log = open_log(**store, "a");
      ASSERT_TRUE(log->truncate(1).ok());
      EXPECT_EQ(log->offsets().log_end, 1);
      if (end == End::kAppendAndKill) {
        EXPECT_EQ(append(*log)->first_offset, 1);
      }
      ASSERT_TRUE((*store)->checkpoint().ok());
      if (end == End::kClose) {
        EXPECT_TRUE((*store)->close().ok());
      }
      disk->power_cut(PowerCut::kNoneKept, 3);
    }
    const Result<std::shared_ptr<Store>> store = open_store(std::make_shared<SimIo>(disk));
    ASSERT_TRUE(store.ok());
    const std::shared_ptr<Log> log = open_log(**store, "a");
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(log->offsets().log_end, end == End::kAppendAndKill ? 2 : 0);
    EXPECT_TRUE(append(*log).ok());
  }
}

}  // namespace
}  // namespace oncelog::testing
