// `oncelog demo`: a transactional load, kill -9, recovery, and the proof that it lost nothing.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <poll.h>

#include "tools/commands.h"
#include "tools/demo/check.h"
#include "tools/demo/workload.h"
#include "tools/io_files.h"
#include "tools/json.h"
#include "tools/text.h"

namespace oncelog::tools {
namespace {

using demo::AckBook;
using demo::CheckResult;
using SteadyClock = std::chrono::steady_clock;

constexpr int kReportDescriptor = 3;

struct Options {
  std::string directory;
  std::int64_t seconds = 5;
  bool json = false;
};

Error os_error(const char* what) {
  Error error = make_error(ErrorCode::kIo, what);
  error.sys_errno = errno;
  return error;
}

/// The process that writes, and the acknowledgements that it reports.
class Writer {
 public:
  explicit Writer(const std::string& directory) : directory_(directory) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    kill();
    if (reports_ >= 0) ::close(reports_);
  }

  Status start() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os_error("cannot make a pipe");
    child_ = ::fork();
    if (child_ == 0) become_writer(ends[1]);
    ::close(ends[1]);
    reports_ = ends[0];
    if (child_ < 0) return os_error("cannot start a process");
    return {};
  }

  /// Collects reports until `deadline` or until the process is gone; true when it still runs.
  bool collect_until(SteadyClock::time_point deadline, AckBook& book) {
    while (true) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now())
              .count();
      if (left <= 0) return true;
      pollfd ready{reports_, POLLIN, 0};
      if (::poll(&ready, 1, static_cast<int>(left)) <= 0) continue;
      if (!read_some(book)) return false;
    }
  }

  /// SIGKILL, then what was still in the pipe.
  void kill_and_drain(AckBook& book) {
    kill();
    while (read_some(book)) {
    }
  }

 private:
  [[noreturn]] void become_writer(int descriptor) const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (descriptor == kReportDescriptor) {
      ::fcntl(descriptor, F_SETFD, 0);
    } else {
      ::dup2(descriptor, kReportDescriptor);
    }
    ::execl("/proc/self/exe", "oncelog", "demo-writer", directory_.c_str(),
            static_cast<char*>(nullptr));
    ::_exit(127);
  }

  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
  }

  bool read_some(AckBook& book) {
    std::array<char, 65536> chunk{};
    const ssize_t n = ::read(reports_, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) return false;
    buffered_.append(chunk.data(), static_cast<std::size_t>(n));
    std::size_t begin = 0;
    for (std::size_t end = buffered_.find('\n'); end != std::string::npos;
         end = buffered_.find('\n', begin)) {
      if (const auto one = demo::decode(std::string_view(buffered_).substr(begin, end - begin)))
        book.add(*one);
      begin = end + 1;
    }
    buffered_.erase(0, begin);
    return true;
  }

  std::string directory_;
  pid_t child_ = -1;
  int reports_ = -1;
  std::string buffered_;
};

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

/// Where the LSO of a partition stands and why.
std::string explain_stable(const LogState& state) {
  if (state.open_txns.empty()) return text("{} (nothing is open)", state.last_stable_offset);
  const OpenTxnInfo& oldest = state.open_txns.front();
  return text("{} of {}: producer {} has a transaction open since offset {}",
              state.last_stable_offset, state.log_end, oldest.producer_id, oldest.first_offset);
}

struct Report {
  std::int64_t batches = 0;
  std::int64_t records = 0;
  double recovery_seconds = 0;
  CheckResult check;
  std::vector<std::string> stable;
};

/// Opens what the kill left and checks it.
Result<Report> recover_and_check(const std::string& directory, const AckBook& book) {
  Report report;
  report.batches = book.batches();
  report.records = book.records();
  const auto start = SteadyClock::now();
  StoreOptions options;
  options.data_dirs = {directory};
  ONCELOG_TRY_ASSIGN(const auto store, Store::open(options));
  std::vector<std::shared_ptr<Log>> logs;
  for (std::int32_t partition = 0; partition < demo::kPartitions; ++partition) {
    ONCELOG_TRY_ASSIGN(auto log,
                       store->open_log(demo::partition_name(partition), demo::demo_log_options()));
    logs.push_back(std::move(log));
  }
  report.recovery_seconds = seconds_since(start);
  for (std::int32_t partition = 0; partition < demo::kPartitions; ++partition) {
    Log& log = *logs[static_cast<std::size_t>(partition)];
    ONCELOG_TRY(check_partition(log, partition, book, report.check));
    ONCELOG_TRY_ASSIGN(const LogState state, log.state());
    report.stable.push_back(explain_stable(state));
    const AckBook::Producer* hanging = book.find(0, demo::kHangingProducer);
    if (partition == 0 && hanging != nullptr &&
        state.last_stable_offset > hanging->batches.front().first_offset)
      report.check.broken.push_back(
          text("partition 0: the last stable offset {} has passed the open transaction at {}",
               state.last_stable_offset, hanging->batches.front().first_offset));
    ONCELOG_TRY(check_retries(log, partition, book, report.check));
  }
  logs.clear();
  ONCELOG_TRY(store->close());
  return report;
}

void print_report(const Report& report, const std::string& directory) {
  const CheckResult& check = report.check;
  print_line("acknowledged before the kill: {} records in {} batches", report.records,
             report.batches);
  print_line("found after recovery:         {} of them, same offset, same bytes",
             check.records_found);
  print_line("stored, answer lost:          {} records", check.records_unacknowledged);
  print_line("duplicates answered on retry: {}, with their original offsets",
             check.duplicates_answered);
  print_line("batches in flight, sent again: {} were stored before the kill, {} now",
             check.retries_in_flight_duplicates, check.retries_stored);
  print_line("read_committed shows {} records; hides {} aborted and {} undecided ones",
             check.visible, check.aborted_hidden, check.open_hidden);
  for (std::size_t i = 0; i < report.stable.size(); ++i)
    print_line("last stable offset of demo-{}: {}", i, report.stable[i]);
  print_line("recovery took {:.1f} ms", report.recovery_seconds * 1000);
  if (!directory.empty()) print_line("kept in {}", directory);
}

Json report_json(const Report& report) {
  const CheckResult& check = report.check;
  return Json::object({{"ok", check.broken.empty()},
                       {"acknowledgedRecords", report.records},
                       {"acknowledgedBatches", report.batches},
                       {"foundRecords", check.records_found},
                       {"unacknowledgedRecords", check.records_unacknowledged},
                       {"duplicatesAnswered", check.duplicates_answered},
                       {"inFlightDuplicates", check.retries_in_flight_duplicates},
                       {"inFlightStored", check.retries_stored},
                       {"visibleRecords", check.visible},
                       {"abortedHidden", check.aborted_hidden},
                       {"openHidden", check.open_hidden},
                       {"lastStableOffsets", Json::array_of(report.stable)},
                       {"recoveryMs", report.recovery_seconds * 1000},
                       {"broken", Json::array_of(check.broken)}});
}

/// Every kind of record must have been there, or the run proved nothing.
void check_coverage(const AckBook& book, Report& report) {
  if (book.find(0, demo::kHangingProducer) == nullptr)
    report.check.broken.emplace_back("the load never opened the hanging transaction");
  if (report.check.aborted_hidden == 0)
    report.check.broken.emplace_back("the load never aborted a transaction");
  if (report.check.duplicates_answered == 0) report.check.broken.emplace_back("no retry was tried");
}

int run_in(const std::string& directory, const Options& options) {
  AckBook book;
  {
    Writer writer(directory);
    if (const Status started = writer.start(); !started.ok()) return fail(started.error());
    std::random_device random;
    const auto extra = std::chrono::milliseconds(random() % 200);
    const auto deadline = SteadyClock::now() + std::chrono::seconds(options.seconds) + extra;
    if (!options.json)
      print_line("writing to {} partitions in {} for {} s, then kill -9 ...", demo::kPartitions,
                 directory, options.seconds);
    std::fflush(stdout);
    if (!writer.collect_until(deadline, book)) {
      print_error("the writing process ended by itself");
      return kExitDamaged;
    }
    writer.kill_and_drain(book);
  }
  auto report = recover_and_check(directory, book);
  if (!report.ok()) {
    print_error(report.error());
    return kExitDamaged;
  }
  check_coverage(book, *report);
  if (options.json) {
    print_line("{}", to_text(report_json(*report)));
  } else {
    print_report(*report, options.directory);
  }
  for (const std::string& what : report->check.broken)
    print_error(what);
  if (report->check.broken.empty() && !options.json)
    print_line("nothing acknowledged was lost, nothing aborted is visible");
  return report->check.broken.empty() ? kExitFine : kExitDamaged;
}

int run(const Options& options) {
  if (options.directory.empty()) {
    const auto temporary = TemporaryDirectory::make("oncelog-demo");
    return temporary.ok() ? run_in(temporary->path(), options) : fail(temporary.error());
  }
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (!error && !std::filesystem::is_empty(options.directory, error) && !error) {
    print_error(options.directory + ": the directory for the demo is not empty");
    return kExitTrouble;
  }
  if (error) {
    print_error(options.directory + ": " + error.message());
    return kExitTrouble;
  }
  return run_in(options.directory, options);
}

}  // namespace

void add_demo(Cli& cli) {
  const auto options = std::make_shared<Options>();
  cli.add("demo",
          "Show what this is about: write with idempotent and transactional producers, kill the\n"
          "process with SIGKILL in the middle of an append, recover, and check that nothing that\n"
          "was acknowledged is lost, nothing aborted is visible and retries are duplicates.",
          "oncelog demo --seconds 3")
      .text("--dir", options->directory, "an empty directory; kept (default: a temporary one)")
      .number("--seconds", options->seconds, "how long to write", 1, 3600)
      .flag("--json", options->json, "print a JSON object")
      .action([options] { return run(*options); });

  const auto writer_directory = std::make_shared<std::string>();
  cli.add_hidden("demo-writer")
      .path("DIR", *writer_directory, "data directory")
      .action(
          [writer_directory] { return demo::run_writer(*writer_directory, kReportDescriptor); });
}

}  // namespace oncelog::tools
