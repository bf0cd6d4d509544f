// The real machine: how io_uring is chosen or refused, and what failing system calls become.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/io/io_contract.h"
#include "tests/io/sandbox.h"

namespace oncelog {
namespace {

namespace fs = std::filesystem;

/// Expects success of a child that runs `body`; skips when it says that there is no such sandbox.
void expect_in_child(const std::function<int()>& body) {
  const int code = run_in_child(body);
  if (code == kSandboxSkipped) GTEST_SKIP() << "no seccomp";
  EXPECT_EQ(code, 0);
}

/// Sets or clears ONCELOG_IO while it lives. No other thread runs in these tests.
class Environment {
 public:
  explicit Environment(const char* value) {
    // NOLINTBEGIN(concurrency-mt-unsafe)
    if (const char* before = std::getenv("ONCELOG_IO")) before_ = before;
    if (value != nullptr) {
      ::setenv("ONCELOG_IO", value, 1);
    } else {
      ::unsetenv("ONCELOG_IO");
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    if (before_) {
      ::setenv("ONCELOG_IO", before_->c_str(), 1);
    } else {
      ::unsetenv("ONCELOG_IO");
    }
    // NOLINTEND(concurrency-mt-unsafe)
  }

 private:
  std::optional<std::string> before_;
};

class SystemIoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = (fs::temp_directory_path() / "oncelog-system-XXXXXX").string();
    ASSERT_NE(::mkdtemp(root_.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string path(const char* name) const { return root_ + "/" + name; }

  const Environment environment_{nullptr};
  std::string root_;
};

Result<std::shared_ptr<Io>> make_io(IoBackend backend) {
  SystemIoOptions options;
  options.backend = backend;
  return make_system_io(options);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// One write through a queue of `io`; its status.
Status write_through_queue(Io& io, const std::shared_ptr<File>& file, std::size_t bytes) {
  ONCELOG_TRY_ASSIGN(const std::unique_ptr<IoQueue> queue, io.make_queue());
  std::vector<Buffer> buffers;
  buffers.emplace_back(std::vector<std::byte>(bytes, std::byte{'x'}));
  queue->submit(write_request(1, file, 0, std::move(buffers)));
  std::vector<IoCompletion> done;
  while (done.empty())
    queue->poll(done, -1);
  return std::move(done.front().status);
}

int check_fallback(long call, int errno_value, const char* cause, const std::string& name) {
  refuse_call(call, errno_value);
  const auto automatic = make_io(IoBackend::kAutomatic);
  if (!automatic.ok()) return check(false, to_string(automatic.error()));
  const std::string description = (*automatic)->description();
  int bad = check(has(description, "posix (io_uring refused: "), description);
  bad += check(has(description, cause), description);
  const auto file = (*automatic)->files().open(name, OpenMode::kCreate);
  bad += check(file.ok() && write_through_queue(**automatic, *file, 10).ok(), "write by posix");
  const auto wanted = make_io(IoBackend::kUring);
  bad += check(!wanted.ok(), "io_uring although it is blocked");
  if (wanted.ok()) return bad;
  bad += check(wanted.error().code == ErrorCode::kUnsupported, to_string(wanted.error()));
  return bad + check(wanted.error().sys_errno == errno_value, to_string(wanted.error()));
}

TEST_F(SystemIoTest, FallsBackWhenSeccompForbidsIoUring) {
  expect_in_child([&] { return check_fallback(SYS_io_uring_setup, EPERM, "EPERM", path("a")); });
}

TEST_F(SystemIoTest, FallsBackWhenTheKernelHasNoIoUring) {
  expect_in_child([&] { return check_fallback(SYS_io_uring_setup, ENOSYS, "ENOSYS", path("a")); });
}

TEST_F(SystemIoTest, FallsBackWhenLockedMemoryIsLimited) {
  expect_in_child(
      [&] { return check_fallback(SYS_io_uring_setup, ENOMEM, "RLIMIT_MEMLOCK", path("a")); });
}

TEST_F(SystemIoTest, FallsBackWhenARingCanBeMadeButNotUsed) {
  if (!make_io(IoBackend::kUring).ok()) GTEST_SKIP() << "no io_uring here";
  expect_in_child([&] { return check_fallback(SYS_io_uring_enter, EPERM, "EPERM", path("a")); });
}

TEST_F(SystemIoTest, AQueueRefusedLaterBecomesPosixAndIsReported) {
  if (!make_io(IoBackend::kUring).ok()) GTEST_SKIP() << "no io_uring here";
  expect_in_child([] {
    const auto io = make_io(IoBackend::kAutomatic);
    int bad = check((*io)->description() == "io_uring", (*io)->description());
    refuse_call(SYS_io_uring_setup, ENOMEM);
    bad += check((*io)->make_queue().ok(), "a queue by posix");
    return bad + check(has((*io)->description(), "io_uring, in part posix (io_uring refused: "),
                       (*io)->description());
  });
}

TEST_F(SystemIoTest, TheEnvironmentChoosesWhenTheCallerDoesNot) {
  const Environment posix("posix");

  EXPECT_EQ((*make_io(IoBackend::kAutomatic))->description(), "posix (ONCELOG_IO=posix)");
  EXPECT_EQ((*make_io(IoBackend::kPosix))->description(), "posix");
  const auto uring = make_io(IoBackend::kUring);
  if (uring.ok()) {
    EXPECT_EQ((*uring)->description(), "io_uring");
  }
}

TEST_F(SystemIoTest, TheEnvironmentCanDemandIoUring) {
  const Environment uring("uring");

  expect_in_child([] {
    refuse_call(SYS_io_uring_setup, EPERM);
    return check(!make_io(IoBackend::kAutomatic).ok(), "it fell back");
  });
}

TEST_F(SystemIoTest, AnUnknownWishIsAnError) {
  const Environment wrong("aio");

  EXPECT_EQ(code_of(make_io(IoBackend::kAutomatic)), ErrorCode::kInvalidArgument);
}

TEST_F(SystemIoTest, AnEmptyWishIsNone) {
  const Environment empty("");

  EXPECT_TRUE(make_io(IoBackend::kAutomatic).ok());
}

TEST_F(SystemIoTest, RefusesOptionsOutOfRange) {
  for (const std::uint32_t entries : {0U, 4097U}) {
    SystemIoOptions options;
    options.ring_entries = entries;
    EXPECT_EQ(code_of(make_system_io(options)), ErrorCode::kInvalidArgument);
  }
  for (const std::uint32_t threads : {0U, 65U}) {
    SystemIoOptions options;
    options.executor_threads = threads;
    EXPECT_EQ(code_of(make_system_io(options)), ErrorCode::kInvalidArgument);
  }
}

TEST_F(SystemIoTest, TheSmallestAndTheLargestRingWork) {
  for (const std::uint32_t entries : {1U, 3U, 4096U}) {
    SystemIoOptions options;
    options.ring_entries = entries;
    const auto io = make_system_io(options);
    ASSERT_TRUE(io.ok());
    const auto file = (*io)->files().open(path("a"), OpenMode::kCreate);

    EXPECT_TRUE(write_through_queue(**io, *file, 100'000).ok());
  }
}

TEST_F(SystemIoTest, NoDescriptorOutlivesExec) {
  std::set<int> before;
  for (int fd = 0; fd < 256; ++fd)
    if (::fcntl(fd, F_GETFD) >= 0) before.insert(fd);
  for (const IoBackend backend : {IoBackend::kAutomatic, IoBackend::kPosix}) {
    const auto io = make_io(backend);
    const auto file = (*io)->files().open(path("a"), OpenMode::kCreate);
    const auto queue = (*io)->make_queue();
    const auto closed = (*io)->files().open(path("b"), OpenMode::kCreate);
    ASSERT_TRUE((*closed)->close().ok());

    for (int fd = 0; fd < 256; ++fd) {
      const int flags = ::fcntl(fd, F_GETFD);
      if (flags < 0 || before.count(fd) != 0) continue;
      EXPECT_NE(flags & FD_CLOEXEC, 0) << fd;
    }
  }
}

// H114
TEST_F(SystemIoTest, TheErrorOfCloseIsReported) {
  for (const int number : {EIO, ENOSPC, EDQUOT, EINTR}) {
    expect_in_child([&] {
      const auto io = make_io(IoBackend::kPosix);
      const auto file = (*io)->files().open(path("a"), OpenMode::kCreate);
      refuse_call(SYS_close, number);
      const Status status = (*file)->close();
      int bad = check(!status.ok() && status.error().sys_errno == number, "close succeeded");
      bad += check((*file)->sync().error().code == ErrorCode::kNotOpen, "still open");
      return bad + check((*file)->close().error().code == ErrorCode::kNotOpen, "closed twice");
    });
  }
}

TEST_F(SystemIoTest, AFileIsClosedEvenIfItsErrorCannotBeLearnt) {
  expect_in_child([&] {
    const auto io = make_io(IoBackend::kPosix);
    const auto file = (*io)->files().open(path("a"), OpenMode::kCreate);
    int bad = check((*file)->lock().ok(), "lock");
    const auto other = (*io)->files().open(path("a"), OpenMode::kCreate);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    const Status status = (*file)->close();
    bad += check(!status.ok(), "an unknown result was called a success");
    bad += check((*file)->stat().error().code == ErrorCode::kNotOpen, "still open");
    return bad + check((*other)->lock().ok(), "the lock was kept");
  });
}

struct FailingCall {
  long call;
  int number;  // 0: the call returns 0
  ErrorCode expected;
  int expected_errno;
};

// H080: a write that moves nothing; and what each errno becomes.
TEST_F(SystemIoTest, FailingWritesAreTold) {
  const std::vector<FailingCall> cases{
      {SYS_pwrite64, 0, ErrorCode::kIo, EIO},
      {SYS_pwrite64, EIO, ErrorCode::kIo, EIO},
      {SYS_pwrite64, EINTR, ErrorCode::kIo, EINTR},  // for ever
      {SYS_pwrite64, ENOSPC, ErrorCode::kDiskFull, ENOSPC},
      {SYS_pwrite64, EDQUOT, ErrorCode::kDiskFull, EDQUOT},
  };
  for (const FailingCall& c : cases) {
    expect_in_child([&] {
      const auto io = make_io(IoBackend::kPosix);
      const auto file = (*io)->files().open(path("a"), OpenMode::kCreate);
      refuse_call(c.call, c.number);
      const Status direct = (*file)->write_at(7, bytes_of("abc"));
      const Status queued = write_through_queue(**io, *file, 3);
      int bad = 0;
      for (const Status& status : {direct, queued}) {
        if (status.ok()) return check(false, "the write succeeded");
        bad += check(status.error().code == c.expected, to_string(status.error()));
        bad += check(status.error().sys_errno == c.expected_errno, to_string(status.error()));
      }
      return bad + check(direct.error().position == 7, to_string(direct.error()));
    });
  }
}

TEST_F(SystemIoTest, OtherFailingCallsAreTold) {
  const auto expect = [this](const FailingCall& c, Status (*act)(Io&, File&, const std::string&)) {
    expect_in_child([&] {
      const auto io = make_io(IoBackend::kPosix);
      const auto file = (*io)->files().open(path("a"), OpenMode::kCreate);
      refuse_call(c.call, c.number);
      const Status status = act(**io, **file, root_);
      if (status.ok()) return check(false, "call " + std::to_string(c.call) + " succeeded");
      return check(status.error().code == c.expected && status.error().sys_errno == c.number,
                   to_string(status.error()));
    });
  };
  using Root = const std::string&;
  expect({SYS_fdatasync, EIO, ErrorCode::kIo, EIO}, [](Io&, File& f, Root) { return f.sync(); });
  expect({SYS_fdatasync, ENOSPC, ErrorCode::kDiskFull, 0},
         [](Io&, File& f, Root) { return f.sync(); });
  expect({SYS_ftruncate, EIO, ErrorCode::kIo, EIO},
         [](Io&, File& f, Root) { return f.truncate(1); });
  expect({SYS_fallocate, EOPNOTSUPP, ErrorCode::kUnsupported, 0},
         [](Io&, File& f, Root) { return f.allocate(0, 1); });
  expect({SYS_fallocate, ENOSPC, ErrorCode::kDiskFull, 0},
         [](Io&, File& f, Root) { return f.allocate(0, 1); });
  expect({SYS_sync_file_range, EIO, ErrorCode::kIo, 0},
         [](Io&, File& f, Root) { return f.start_writeback(0, 1); });
  expect({SYS_fsync, EIO, ErrorCode::kIo, 0},
         [](Io& io, File&, Root root) { return io.files().sync_directory(root); });
  expect({SYS_syncfs, EIO, ErrorCode::kIo, 0},
         [](Io& io, File&, Root root) { return io.files().sync_file_system(root); });
  expect({SYS_getdents64, EIO, ErrorCode::kIo, 0},
         [](Io& io, File&, Root root) { return io.files().list(root).status(); });
  expect({SYS_pread64, EIO, ErrorCode::kIo, 0}, [](Io&, File& f, Root) {
    std::array<std::byte, 4> into{};
    return f.read_at(0, into).status();
  });
}

// H080: a file size limit makes the kernel write a part, then say EFBIG.
TEST_F(SystemIoTest, AShortWriteIsFinishedFromTheRightPlace) {
  for (const IoBackend backend : {IoBackend::kPosix, IoBackend::kUring}) {
    if (!make_io(backend).ok()) continue;
    expect_in_child([&] {
      const auto io = make_io(backend);
      const auto file = (*io)->files().open(path("a"), OpenMode::kCreate);
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{10'000, 10'000};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const Status status = write_through_queue(**io, *file, 20'000);
      if (status.ok()) return check(false, "wrote beyond the limit");
      int bad = check(status.error().code == ErrorCode::kDiskFull, to_string(status.error()));
      return bad + check((*file)->stat()->size == 10'000, "the first part is missing");
    });
  }
}

TEST_F(SystemIoTest, AFullDeviceIsDiskFull) {
  for (const IoBackend backend : {IoBackend::kPosix, IoBackend::kUring}) {
    const auto io = make_io(backend);
    if (!io.ok()) continue;
    const auto full = (*io)->files().open("/dev/full", OpenMode::kReadWrite);
    ASSERT_TRUE(full.ok());

    EXPECT_EQ(code_of((*full)->write_at(0, bytes_of("abc"))), ErrorCode::kDiskFull);
    EXPECT_EQ(code_of(write_through_queue(**io, *full, 3)), ErrorCode::kDiskFull);
  }
}

// H094, in two processes.
TEST_F(SystemIoTest, AnotherProcessCannotTakeTheLock) {
  const auto io = make_io(IoBackend::kPosix);
  const auto mine = (*io)->files().open(path("lock"), OpenMode::kCreate);
  ASSERT_TRUE((*mine)->lock().ok());

  for (int round = 0; round < 2; ++round) {
    expect_in_child([&] {
      const auto theirs = (*io)->files().open(path("lock"), OpenMode::kCreate);
      const Status status = (*theirs)->lock();
      int bad = check(!status.ok() && status.error().code == ErrorCode::kLocked, "locked twice");
      return bad + check((*theirs)->close().ok(), "close");
    });
  }
}

// A child that was forked meanwhile has the descriptor too, and must not keep the lock.
TEST_F(SystemIoTest, ClosingReleasesTheLockThatAForkedChildInherited) {
  const auto io = make_io(IoBackend::kPosix);
  const auto first = (*io)->files().open(path("lock"), OpenMode::kCreate);
  ASSERT_TRUE((*first)->lock().ok());
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(::pipe2(pipe_ends.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char byte = 0;
    ::close(pipe_ends[1]);
    ::_exit(::read(pipe_ends[0], &byte, 1) == 0 ? 0 : 1);  // until the parent lets go
  }

  ASSERT_TRUE((*first)->close().ok());
  const auto second = (*io)->files().open(path("lock"), OpenMode::kCreate);
  EXPECT_TRUE((*second)->lock().ok());

  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

TEST_F(SystemIoTest, ADataFileNeverBecomesStandardOutput) {
  expect_in_child([&] {
    const auto io = make_io(IoBackend::kPosix);
    ::close(0);
    ::close(1);
    const auto file = (*io)->files().open(path("a"), OpenMode::kCreate);
    return check(file.ok() && (*file)->native_handle() > 2, "a low descriptor");
  });
}

TEST_F(SystemIoTest, APipeNamedLikeAFileStopsNobody) {
  const auto io = make_io(IoBackend::kPosix);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::array<std::byte, 4> into{};

  const auto file = (*io)->files().open(path("pipe"), OpenMode::kRead);

  ASSERT_TRUE(file.ok());
  EXPECT_EQ(code_of((*file)->read_at(0, into)), ErrorCode::kIo);
  EXPECT_EQ((*(*io)->files().list(root_))[0].type, FileType::kOther);
}

TEST_F(SystemIoTest, ListFollowsLinks) {
  const auto io = make_io(IoBackend::kPosix);
  fs::create_directory(path("d"));
  fs::create_directory_symlink(path("d"), path("to-d"));
  fs::create_symlink(path("none"), path("to-nothing"));

  const auto entries = (*io)->files().list(root_);

  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ((*entries)[1].type, FileType::kDirectory);
  EXPECT_EQ((*entries)[2].type, FileType::kOther);
}

}  // namespace
}  // namespace oncelog
