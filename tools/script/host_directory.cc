// A script on a real directory: the engine runs in a child process, so that `kill` is SIGKILL.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "tools/script/clocked_io.h"
#include "tools/script/engine.h"
#include "tools/script/host.h"
#include "tools/script/line_socket.h"

namespace oncelog::tools::script {
namespace {

namespace fs = std::filesystem;

Error file_error(const std::string& what, const std::string& path, const std::error_code& error) {
  Error out = make_error(error == std::errc::no_such_file_or_directory ? ErrorCode::kNotFound
                                                                       : ErrorCode::kIo,
                         what)
                  .at(path);
  out.sys_errno = error.value();
  return out;
}

class DirectoryDisk final : public Disk {
 public:
  explicit DirectoryDisk(std::string root) : root_(std::move(root)) {}

  Result<std::vector<Entry>> list(const std::string& directory) override {
    std::vector<Entry> out;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root_ + "/" + directory, error)) {
      std::error_code ignored;
      if (entry.is_regular_file(ignored))
        out.push_back(Entry{entry.path().filename().string(),
                            static_cast<std::int64_t>(entry.file_size(ignored))});
    }
    if (error && error != std::errc::no_such_file_or_directory)
      return file_error("cannot list the directory", directory, error);
    std::sort(out.begin(), out.end(),
              [](const Entry& a, const Entry& b) { return a.name < b.name; });
    return out;
  }

  Result<std::vector<std::byte>> read(const std::string& path) override {
    std::error_code error;
    const auto size = fs::file_size(root_ + "/" + path, error);
    if (error) return file_error("cannot read the file", path, error);
    std::vector<std::byte> out(size);
    std::ifstream in(root_ + "/" + path, std::ios::binary);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes are read as characters.
    in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(size));
    if (!in)
      return file_error("cannot read the file", path,
                        std::error_code(EIO, std::generic_category()));
    return out;
  }

  /// In place, so that a file keeps its inode as under a real fault.
  Status write(const std::string& path, const std::vector<std::byte>& bytes) override {
    std::error_code ignored;
    fs::create_directories(fs::path(root_ + "/" + path).parent_path(), ignored);
    std::ofstream out(root_ + "/" + path, std::ios::binary | std::ios::trunc);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes are written as characters.
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out)
      return file_error("cannot write the file", path,
                        std::error_code(EIO, std::generic_category()));
    return {};
  }

  Status remove(const std::string& path) override {
    std::error_code error;
    if (fs::remove(root_ + "/" + path, error)) return {};
    if (!error) error = std::make_error_code(std::errc::no_such_file_or_directory);
    return file_error("cannot remove the file", path, error);
  }

 private:
  std::string root_;
};

class DirectoryHost final : public Host {
 public:
  explicit DirectoryHost(const std::string& directory) : directory_(directory), disk_(directory) {}
  DirectoryHost(const DirectoryHost&) = delete;
  DirectoryHost& operator=(const DirectoryHost&) = delete;
  ~DirectoryHost() override { kill(); }

  Result<Json> execute(const std::string& op, const Json& fields) override {
    if (child_ < 0) ONCELOG_TRY(start());
    Json request = Json::object({{"op", op}, {"clock", clock_ms_}, {"fields", fields}});
    Json::Array faults;
    for (const FaultRule& rule : faults_)
      faults.push_back(fault_fields(rule));
    request.set("faults", std::move(faults));
    if (!socket_.send(to_text(request))) return ended();
    const auto line = socket_.receive();
    if (!line) return ended();
    ONCELOG_TRY_ASSIGN(const Json reply, parse_json(*line));
    faults_.clear();
    for (const Json& rule : reply["faults"].items()) {
      ONCELOG_TRY_ASSIGN(FaultRule left, parse_fault(rule));
      faults_.push_back(std::move(left));
    }
    return reply["result"];
  }

  void kill() override {
    if (child_ < 0) return;
    ::kill(child_, SIGKILL);
    reap();
  }

  void set_clock(std::int64_t wall_ms) override { clock_ms_ = wall_ms; }
  void add_fault(const FaultRule& rule) override { faults_.push_back(rule); }
  void clear_faults() override { faults_.clear(); }
  Disk& disk() override { return disk_; }
  bool simulated() const override { return false; }
  void power_cut(const std::string& /*mode*/, std::uint64_t /*seed*/) override {}
  void set_capacity(std::int64_t /*bytes*/) override {}

 private:
  Status start();
  int reap() {
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    socket_.close();
    return status;
  }
  /// The engine ended by itself: an assertion, a signal.
  Error ended() {
    const int status = reap();
    const std::string how = WIFSIGNALED(status)
                                ? "by signal " + std::to_string(WTERMSIG(status))
                                : "with exit code " + std::to_string(WEXITSTATUS(status));
    return make_error(ErrorCode::kIo, "the engine ended " + how);
  }

  std::string directory_;
  DirectoryDisk disk_;
  std::int64_t clock_ms_ = kClockStartMs;
  std::vector<FaultRule> faults_;  ///< what is left of each rule
  pid_t child_ = -1;
  LineSocket socket_;
};

constexpr int kWorkerSocket = 3;

/// Becomes the worker. Only async-signal-safe calls: the parent may have threads.
[[noreturn]] void become_worker(int socket, const char* directory) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (socket == kWorkerSocket) {
    ::fcntl(socket, F_SETFD, 0);
  } else {
    ::dup2(socket, kWorkerSocket);
  }
  ::execl("/proc/self/exe", "oncelog", "script-worker", directory, static_cast<char*>(nullptr));
  ::_exit(127);
}

Status DirectoryHost::start() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return file_error("cannot make a socket", "", std::error_code(errno, std::generic_category()));
  const pid_t child = ::fork();
  if (child == 0) become_worker(ends[1], directory_.c_str());
  ::close(ends[1]);
  socket_ = LineSocket(ends[0]);
  if (child < 0)
    return file_error("cannot start a process", "",
                      std::error_code(errno, std::generic_category()));
  child_ = child;
  return {};
}

}  // namespace

Result<std::unique_ptr<Host>> make_directory_host(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return file_error("cannot make the directory", directory, error);
  return std::unique_ptr<Host>(std::make_unique<DirectoryHost>(directory));
}

int run_worker(int descriptor, const std::string& directory) {
  auto system = make_system_io();
  if (!system.ok()) return 2;
  const auto clock = std::make_shared<ScriptClock>(kClockStartMs);
  const auto plan = std::make_shared<FaultPlan>();
  const auto clocked = std::make_shared<ClockedIo>(std::move(system).value(), clock);
  Engine engine(std::make_shared<FaultIo>(clocked, plan), directory,
                [&] { return clocked->executor().wait_idle(); });
  LineSocket socket(descriptor);
  while (const auto line = socket.receive()) {
    auto request = parse_json(*line);
    if (!request.ok()) return 2;
    clock->set((*request)["clock"].as_integer());
    plan->clear();
    for (const Json& fields : (*request)["faults"].items()) {
      const auto rule = parse_fault(fields);
      if (!rule.ok() || !plan->add(*rule).ok()) return 2;
    }
    Json reply = Json::object(
        {{"result", engine.execute((*request)["op"].as_string(), (*request)["fields"])}});
    Json::Array left;
    for (const FaultRule& rule : plan->remaining())
      left.push_back(fault_fields(rule));
    reply.set("faults", std::move(left));
    if (!socket.send(to_text(reply))) return 2;
  }
  // The runner is gone: end like a process that is killed, without closing anything.
  ::_exit(0);
}

}  // namespace oncelog::tools::script
