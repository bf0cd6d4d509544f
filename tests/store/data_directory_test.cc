// Data directories: locks, names, text files, the clean marker, several roots,
// damage.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>

#include "index/text_files.h"
#include "tests/io/sandbox.h"
#include "tests/store/store_support.h"

namespace oncelog::testing {
namespace {

namespace fs = std::filesystem;

class StoreDirectory : public StoreTest {
 protected:
  std::string file(const std::string& name) const { return directory_.path() + '/' + name; }
  bool has_marker() const { return fs::exists(file(".kafka_cleanshutdown")); }
  /// A store with a log of three records, closed.
  void make_closed_store() const {
    const std::shared_ptr<Store> store = open();
    ASSERT_TRUE(append(*open_log(*store), 3).ok());
    ASSERT_TRUE(store->close().ok());
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, StoreDirectory,
                         ::testing::Values(IoBackend::kAutomatic, IoBackend::kPosix), backend_name);

ErrorCode code_of(const Status& status) {
  EXPECT_FALSE(status.ok());
  return status.ok() ? ErrorCode::kUnsupported : status.error().code;
}

TEST_P(StoreDirectory, RefusesASecondStoreInTheProcessAndKeepsTheLock) {  // H094
  const std::shared_ptr<Store> store = open();
  for (int i = 0; i < 3; ++i)  // a failed try gives nothing back
    EXPECT_EQ(code_of(Store::open(options()).status()), ErrorCode::kLocked);
  EXPECT_TRUE(fs::exists(file(".lock")));
  EXPECT_TRUE(store->close().ok());
  EXPECT_NE(open(), nullptr);
}

/// A child that opens the store when told to and says how that ended.
class OtherProcess {
 public:
  explicit OtherProcess(const StoreOptions& options) {
    if (::pipe(go_.data()) != 0) std::abort();
    std::fflush(nullptr);
    child_ = ::fork();
    if (child_ != 0) return;
    char ready = 0;
    while (::read(go_[0], &ready, 1) != 1) {
    }
    StoreOptions own = options;
    own.io = nullptr;
    own.driver = Driver::kCaller;
    const Result<std::shared_ptr<Store>> store = Store::open(own);
    ::_exit(store.ok() ? 0 : store.error().code == ErrorCode::kLocked ? 1 : 2);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() {
    ::close(go_[0]);
    ::close(go_[1]);
  }
  /// 0: opened, 1: locked, 2: another error.
  int open_and_exit() {
    if (::write(go_[1], "g", 1) != 1) return -1;
    int status = 0;
    ::waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  std::array<int, 2> go_{};
  pid_t child_ = -1;
};

TEST_P(StoreDirectory,
       RefusesAStoreOfAnotherProcessWhoseFailureReleasesNothing) {  // H094, H095
  StoreOptions plain;
  plain.data_dirs = {directory_.path()};
  OtherProcess second(plain);  // forked while this process has one thread
  OtherProcess third(plain);
  OtherProcess last(plain);
  std::shared_ptr<Store> store = open();

  EXPECT_EQ(second.open_and_exit(), 1);
  EXPECT_EQ(third.open_and_exit(), 1);
  EXPECT_TRUE(append(*open_log(*store)).ok());
  ASSERT_TRUE(store->close().ok());
  EXPECT_EQ(last.open_and_exit(), 0);
}

TEST_P(StoreDirectory, LeavesCleanDirectoriesCleanWhenAnotherIsLocked) {
  make_closed_store();
  StoreOptions two = options();
  two.data_dirs.push_back(directory_.path("other"));
  StoreOptions other = options();
  other.data_dirs = {directory_.path("other")};
  const std::shared_ptr<Store> holder = open(other);

  EXPECT_EQ(code_of(Store::open(two).status()), ErrorCode::kLocked);

  EXPECT_TRUE(has_marker());
  EXPECT_NE(open(), nullptr) << "the first directory was given back";
}

TEST_P(StoreDirectory, MakesOneClusterIdAndKeepsWhatIsThere) {
  StoreOptions two = options();
  two.data_dirs.push_back(directory_.path("other"));
  two.node_id = 7;
  ASSERT_TRUE(open(two)->close().ok());
  const std::string first = read_text(file("meta.properties"));
  const Result<MetaProperties> meta = decode_meta_properties(first);
  ASSERT_TRUE(meta.ok());
  EXPECT_EQ(meta->node_id, 7);
  EXPECT_EQ(
      decode_meta_properties(read_text(directory_.path("other") + "/meta.properties"))->cluster_id,
      meta->cluster_id);

  two.node_id = 8;
  ASSERT_TRUE(open(two)->close().ok());
  EXPECT_EQ(read_text(file("meta.properties")), first);
}

TEST_P(StoreDirectory, RefusesMetaPropertiesThatAreNoneAndChangesNothing) {
  make_closed_store();
  write_text(file("meta.properties"), "version=1\nnode.id=x\n");

  EXPECT_FALSE(Store::open(options()).ok());

  EXPECT_TRUE(has_marker());
  EXPECT_EQ(read_text(file("meta.properties")), "version=1\nnode.id=x\n");
}

TEST_P(StoreDirectory, RefusesDirectoriesOfTwoClusters) {
  make_closed_store();
  fs::create_directory(directory_.path("other"));
  write_text(directory_.path("other") + "/meta.properties",
             "#\nversion=1\nnode.id=0\ncluster.id=somebodyElses\n");
  StoreOptions two = options();
  two.data_dirs.push_back(directory_.path("other"));

  EXPECT_EQ(code_of(Store::open(two).status()), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(has_marker());
}

TEST_P(StoreDirectory, WritesTheRootCheckpointsAtClose) {
  const std::shared_ptr<Store> store = open();
  LogOptions embedder;
  embedder.visibility = Visibility::kEmbedder;
  const std::shared_ptr<Log> a = open_log(*store, "a");
  const std::shared_ptr<Log> b = open_log(*store, "b", embedder);
  open_log(*store, "empty");
  ASSERT_TRUE(append(*a, 5).ok());
  ASSERT_TRUE(a->delete_records(2).ok());
  ASSERT_TRUE(append(*b, 4).ok());
  ASSERT_TRUE(b->set_high_watermark(3).ok());

  ASSERT_TRUE(store->close().ok());

  EXPECT_EQ(read_text(file("recovery-point-offset-checkpoint")), "0\n3\na 0 5\nb 0 4\nempty 0 0\n");
  EXPECT_EQ(read_text(file("log-start-offset-checkpoint")), "0\n1\na 0 2\n");
  EXPECT_EQ(read_text(file("replication-offset-checkpoint")), "0\n1\nb 0 3\n");
  EXPECT_EQ(read_text(file(".kafka_cleanshutdown")), "{\"version\":0,\"brokerEpoch\":-1}");
  for (const auto& entry : fs::recursive_directory_iterator(directory_.path()))
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
}

TEST_P(StoreDirectory, TreatsATornCheckpointAsMissingAndSaysSo) {  // H073
  make_closed_store();
  for (const std::string text : {"", "0\n2\nt 0 3\n", "0\n1\nt 0\n", "hello", "0\n1\nt 0 3"}) {
    write_text(file("recovery-point-offset-checkpoint"), text);
    const std::shared_ptr<Store> store = open();
    ASSERT_NE(store, nullptr) << text;
    const std::shared_ptr<Log> log = open_log(*store);
    ASSERT_NE(log, nullptr) << text;
    EXPECT_EQ(log->offsets().log_end, 3) << text;
    ASSERT_TRUE(store->close().ok());
  }
  write_text(file("recovery-point-offset-checkpoint"), "hello");
  EXPECT_EQ(open()->notes().size(), 1U);
}

TEST_P(StoreDirectory, RemovesTheCleanMarkerWhenItOpens) {  // H071
  make_closed_store();
  ASSERT_TRUE(has_marker());
  const std::shared_ptr<Store> store = open();
  EXPECT_FALSE(has_marker());
}

TEST_P(StoreDirectory, KeepsTheMarkerForLogsThatWereNotOpenedOnlyWhenTheyWereClean) {
  {
    const std::shared_ptr<Store> store = open();
    ASSERT_TRUE(append(*open_log(*store, "a")).ok());
    ASSERT_TRUE(append(*open_log(*store, "b")).ok());
    ASSERT_TRUE(store->close().ok());
  }
  {
    const std::shared_ptr<Store> store = open();
    ASSERT_TRUE(append(*open_log(*store, "a")).ok());
    ASSERT_TRUE(store->close().ok());
    EXPECT_TRUE(has_marker());
  }
  {
    const std::shared_ptr<Store> store = open();
    open_log(*store, "a");
  }
  const std::shared_ptr<Store> store = open();
  open_log(*store, "a");
  ASSERT_TRUE(store->close().ok());
  EXPECT_FALSE(has_marker()) << "b was never looked at since the crash";
}

TEST_P(StoreDirectory, LeavesForeignNamesAloneAndReportsThem) {  // H096
  make_closed_store();
  const std::string id(32, 'a');
  for (const std::string& name :
       {std::string("lost+found"), "t-1." + id + "-stray", "t-2." + id + "-future"})
    fs::create_directory(file(name));
  fs::create_directory(file("gone-0." + id + "-delete"));
  write_text(file("gone-0." + id + "-delete") + "/00000000000000000000.log", "x");
  fs::create_directories(file("odd-0." + id + "-delete/inside"));
  write_text(file(".DS_Store"), "x");
  for (const std::string name : {"abc.log", "00000000000000000000.log.bak",
                                 "000000000000000000001.log", "99999999999999999999.log"})
    write_text(file("t-0/" + name), "x");

  const std::shared_ptr<Store> store = open();
  ASSERT_NE(store, nullptr);
  const std::shared_ptr<Log> log = open_log(*store);

  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->offsets().log_end, 3);
  EXPECT_EQ(store->notes().size(), 4U);
  EXPECT_EQ(store->logs().size(), 1U);
  EXPECT_FALSE(fs::exists(file("gone-0." + id + "-delete")));
  EXPECT_TRUE(fs::exists(file("odd-0." + id + "-delete/inside")));
  EXPECT_TRUE(fs::exists(file("t-1." + id + "-stray")));
  EXPECT_TRUE(fs::exists(file("t-0/abc.log")));
  EXPECT_TRUE(store->close().ok());
}

TEST_P(StoreDirectory, PutsNewLogsWhereTheFewestAreAndFindsThemAgain) {
  StoreOptions two = options();
  two.data_dirs.push_back(directory_.path("other"));
  std::set<std::string> directories;
  {
    const std::shared_ptr<Store> store = open(two);
    for (int i = 0; i < 4; ++i)
      ASSERT_TRUE(append(*open_log(*store, "t" + std::to_string(i)), i + 1).ok());
    std::size_t first = 0;
    for (const LogSummary& log : store->logs()) {
      directories.insert(log.directory);
      first += log.directory.starts_with(directory_.path() + '/') ? 1U : 0U;
    }
    EXPECT_EQ(first, 2U);
    ASSERT_TRUE(store->close().ok());
  }
  EXPECT_TRUE(fs::exists(directory_.path("other") + "/.kafka_cleanshutdown"));
  const std::shared_ptr<Store> store = open(two);
  const std::vector<OpenOutcome> outcomes =
      store->open_logs([](const auto&) { return LogOptions{}; });
  ASSERT_EQ(outcomes.size(), 4U);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(outcomes[static_cast<std::size_t>(i)].log.ok());
    const Log& log = **outcomes[static_cast<std::size_t>(i)].log;
    EXPECT_EQ(log.offsets().log_end, i + 1);
    EXPECT_TRUE(directories.contains(log.directory()));
  }
}

TEST_P(StoreDirectory, RefusesAPartitionInTwoDirectories) {
  make_closed_store();
  fs::create_directories(directory_.path("other") + "/t-0");
  StoreOptions two = options();
  two.data_dirs.push_back(directory_.path("other"));

  const Result<std::shared_ptr<Store>> store = Store::open(two);

  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, ErrorCode::kAlreadyExists);
  EXPECT_TRUE(has_marker());
}

TEST_P(StoreDirectory, OpensAllButTheDamagedLog) {
  {
    const std::shared_ptr<Store> store = open();
    for (int i = 0; i < 6; ++i)
      ASSERT_TRUE(append(*open_log(*store, "t" + std::to_string(i)), 10).ok());
    ASSERT_TRUE(store->close().ok());
  }
  const std::string copy = directory_.path("copy");
  fs::copy(directory_.path(), copy, fs::copy_options::recursive);
  fs::remove(copy + "/.kafka_cleanshutdown");
  const std::string victim = copy + "/t3-0/00000000000000000000.log";
  std::string bytes = read_text(victim);
  bytes[bytes.size() / 2] ^= 0x40;
  write_text(victim, bytes);
  fs::remove(copy + "/t3-0/oncelog.sidecar");
  StoreOptions damaged = options();
  damaged.data_dirs = {copy};
  damaged.recovery_threads = 4;
  std::atomic<int> events{0};
  damaged.listener = [&](const StoreEvent& event) {
    events += event.kind == StoreEvent::Kind::kRecovered ? 1 : 0;
  };
  std::shared_ptr<Store> store = open(damaged);

  const std::vector<OpenOutcome> outcomes =
      store->open_logs([](const auto&) { return LogOptions{}; });

  ASSERT_EQ(outcomes.size(), 6U);
  for (const OpenOutcome& outcome : outcomes) {
    if (outcome.name.topic == "t3") {
      ASSERT_FALSE(outcome.log.ok());
      EXPECT_EQ(outcome.log.error().code, ErrorCode::kDamaged);
    } else {
      ASSERT_TRUE(outcome.log.ok()) << to_string(outcome.log.error());
      EXPECT_TRUE(append(**outcome.log).ok());
    }
  }
  EXPECT_TRUE(store->close().ok());
  store.reset();
  EXPECT_EQ(events, 5);
  EXPECT_FALSE(fs::exists(copy + "/.kafka_cleanshutdown"));
  EXPECT_EQ(read_text(victim), bytes) << "a log that does not open is left as it is";
}

TEST_P(StoreDirectory, StartsAnewUnderTheNameOfADeletedLog) {  // H017
  const std::shared_ptr<Store> store = open();
  for (int round = 0; round < 10; ++round) {
    const std::shared_ptr<Log> log = open_log(*store);
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(log->offsets().log_end, 0);
    ASSERT_TRUE(append(*log, 5).ok());
    ASSERT_TRUE(log->roll().ok());
    ASSERT_TRUE(append(*log, 5).ok());
    ASSERT_TRUE(log->delete_records(3).ok());
    if (round % 2 == 0) {
      ASSERT_TRUE(log->close().ok());
    }
    ASSERT_TRUE(store->delete_log({"t", 0}).ok());
    EXPECT_EQ(append(*log).error().code, ErrorCode::kNotOpen);
    EXPECT_FALSE(fs::exists(file("t-0")));
  }
  ASSERT_TRUE(append(*open_log(*store), 2).ok());
  EXPECT_EQ(code_of(store->delete_log({"none", 0})), ErrorCode::kNotFound);
  ASSERT_TRUE(store->close().ok());
  EXPECT_EQ(read_text(file("recovery-point-offset-checkpoint")), "0\n1\nt 0 2\n");
  EXPECT_EQ(open_log(*open())->offsets().log_end, 2);
}

// A crash between the rename of a deleted log and the checkpoint without it.
TEST_P(StoreDirectory, ForgetsTheCheckpointOfALogWhoseDirectoryWent) {
  make_closed_store();
  fs::remove_all(file("t-0"));
  {
    const std::shared_ptr<Store> store = open();
    const std::shared_ptr<Log> log = open_log(*store);
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(log->offsets().log_end, 0);
    ASSERT_TRUE(append(*log).ok());
  }
  const std::shared_ptr<Log> log = open_log(*open());
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->offsets().log_end, 1);
}

TEST_P(StoreDirectory, SaysNothingOfAFailureWhenALogIsDeleted) {  // H090
  StoreOptions listening = options();
  std::atomic<int> failures{0};
  listening.listener = [&](const StoreEvent& event) {
    failures += event.kind == StoreEvent::Kind::kFailed ? 1 : 0;
  };
  std::shared_ptr<Store> store = open(listening);
  const std::shared_ptr<Log> log = open_log(*store);
  ASSERT_TRUE(append(*log).ok());
  ASSERT_TRUE(store->delete_log({"t", 0}).ok());
  store.reset();
  EXPECT_EQ(failures, 0);
}

TEST_P(StoreDirectory, TakesLongAndOddNamesAndRefusesBadOnes) {  // H097
  const std::shared_ptr<Store> store = open();
  const std::string longest(249, 'n');
  for (const std::string& name : {longest, std::string("a.b.c"), std::string("x-delete")}) {
    const TopicPartition partition{name, 99999};  // "-99999" makes 255 bytes
    const Result<std::shared_ptr<Log>> log = store->open_log(partition, {});
    ASSERT_TRUE(log.ok()) << to_string(log.error());
    ASSERT_TRUE(append(**log).ok());
    EXPECT_TRUE(store->delete_log(partition).ok()) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), std::string("a b"),
        std::string(250, 'n'), std::string("a\0b", 3)}) {
    EXPECT_EQ(code_of(store->open_log({name, 0}, {}).status()), ErrorCode::kInvalidArgument)
        << name;
  }
  EXPECT_EQ(code_of(store->open_log({longest, 100'000}, {}).status()), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(store->open_log({"t", -1}, {}).status()), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(store->logs().empty());
}

TEST_P(StoreDirectory, ChecksItsOptions) {
  StoreOptions none = options();
  none.data_dirs.clear();
  StoreOptions twice = options();
  twice.data_dirs = {directory_.path(), directory_.path()};
  StoreOptions few = options();
  few.open_files_max = 7;
  StoreOptions threads = options();
  threads.recovery_threads = 0;
  for (const StoreOptions& bad : {none, twice, few, threads})
    EXPECT_EQ(code_of(Store::open(bad).status()), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(fs::exists(directory_.path()));
}

}  // namespace
}  // namespace oncelog::testing
