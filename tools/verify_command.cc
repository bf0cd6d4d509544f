// `oncelog verify`: checks partitions against themselves without changing anything.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "recovery/verify.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/partition.h"
#include "tools/report_json.h"
#include "tools/system_files.h"
#include "tools/text.h"

namespace oncelog::tools {
namespace {

struct Options {
  std::vector<std::string> paths;
  bool deep = false;
  bool json = false;
};

struct Totals {
  std::int64_t partitions = 0, segments = 0, batches = 0, records = 0, bytes = 0;
  std::int64_t errors = 0, notes = 0;
};

std::int64_t count(const VerifyReport& report, Severity severity) {
  return std::count_if(report.findings.begin(), report.findings.end(),
                       [&](const VerifyFinding& finding) { return finding.severity == severity; });
}

Json finding_json(const VerifyFinding& finding) {
  return Json::object({{"file", finding.file},
                       {"position", finding.position},
                       {"offset", finding.offset},
                       {"severity", to_string(finding.severity)},
                       {"what", finding.what}});
}

Json partition_json(const Partition& partition, const VerifyReport& report) {
  Json::Array findings;
  for (const VerifyFinding& finding : report.findings)
    findings.push_back(finding_json(finding));
  return Json::object({{"directory", partition.directory},
                       {"ok", !report.has_errors()},
                       {"inUse", partition.in_use},
                       {"fromDataDirectory", partition.facts_json()},
                       {"logStartOffset", report.log_start},
                       {"logEndOffset", report.log_end},
                       {"segments", report.segments},
                       {"batches", report.batches},
                       {"records", report.records},
                       {"bytes", report.bytes},
                       {"verdict", to_string(report.recovery.verdict)},
                       {"findings", std::move(findings)},
                       {"findingsDropped", report.findings_dropped},
                       {"notes", Json::array_of(partition.notes)}});
}

class Verification {
 public:
  explicit Verification(const Options& options) : options_(options) {}

  int run(FileSystem& files) {
    for (const std::string& path : options_.paths) {
      const auto partitions = find_partitions(files, path);
      if (!partitions.ok()) {
        raise(fail(partitions.error()));
        continue;
      }
      for (const Partition& partition : *partitions)
        verify_one(files, partition);
    }
    clear_progress();
    print_summary();
    return code_;
  }

 private:
  /// I/O trouble outranks damage: then the check did not see everything.
  void raise(int code) { code_ = std::max(code_, code); }

  void verify_one(FileSystem& files, const Partition& partition) {
    show_progress(partition);
    VerifyOptions how;
    how.deep = options_.deep;
    const auto report = verify_partition(files, partition.directory, partition.facts, how);
    clear_progress();
    if (!report.ok()) {
      raise(fail(report.error()));
      return;
    }
    ++totals_.partitions;
    totals_.segments += report->segments;
    totals_.batches += report->batches;
    totals_.records += report->records;
    totals_.bytes += report->bytes;
    totals_.errors += count(*report, Severity::kError);
    totals_.notes += count(*report, Severity::kNote);
    if (report->has_errors()) raise(kExitDamaged);
    if (options_.json) json_.push_back(partition_json(partition, *report));
    print_findings(partition, *report);
  }

  void print_findings(const Partition& partition, const VerifyReport& report) const {
    for (const VerifyFinding& finding : report.findings) {
      const std::string line =
          partition.directory + (finding.file.empty() ? ": " : "/") + to_string(finding);
      if (finding.severity == Severity::kError) {
        print_error(line);
      } else if (!options_.json) {
        print_line("note: {}", line);
      }
    }
    if (report.findings_dropped != 0)
      print_error(text("{}: {} more findings", partition.directory, report.findings_dropped));
    if (options_.json) return;
    print_line("{}: {}: offsets {} to {}, {} segments, {} batches, {} records, {} bytes{}",
               partition.directory, report.has_errors() ? "DAMAGED" : "ok", report.log_start,
               report.log_end, report.segments, report.batches, report.records, report.bytes,
               partition.in_use ? "; in use" : "");
    print_line("  from the data directory: {}", partition.facts_used());
    for (const std::string& note : partition.notes)
      print_line("note: {}", note);
  }

  void print_summary() {
    if (options_.json) {
      print_line("{}", to_text(Json::object({{"ok", code_ == kExitFine},
                                             {"partitions", std::move(json_)},
                                             {"segments", totals_.segments},
                                             {"batches", totals_.batches},
                                             {"records", totals_.records},
                                             {"bytes", totals_.bytes},
                                             {"errors", totals_.errors},
                                             {"noteCount", totals_.notes}})));
    } else if (totals_.partitions != 1) {
      print_line("{} partitions, {} batches, {} errors, {} notes", totals_.partitions,
                 totals_.batches, totals_.errors, totals_.notes);
    }
  }

  void show_progress(const Partition& partition) const {
    if (::isatty(STDERR_FILENO) == 0) return;
    std::fprintf(stderr, "\r\033[K%s ...", partition.directory.c_str());
  }
  static void clear_progress() {
    if (::isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
  }

  const Options& options_;
  Totals totals_;
  Json::Array json_;
  int code_ = kExitFine;
};

int run(const Options& options) {
  const auto io = system_io();
  if (!io.ok()) return fail(io.error());
  return Verification(options).run((*io)->files());
}

}  // namespace

void add_verify(Cli& cli) {
  const auto options = std::make_shared<Options>();
  cli.add("verify",
          "Check partitions: every batch, and each index, transaction index, snapshot and epoch\n"
          "file against the log. Read-only. A torn tail that opening would cut is a note; damage\n"
          "is an error, with exit code 1 and one line per finding on stderr.",
          "oncelog verify /var/lib/kafka/data --deep")
      .paths("PATH", options->paths, "partition directories or data directories")
      .flag("--deep", options->deep, "decompress batches and check their records")
      .flag("--json", options->json, "print a JSON object")
      .action([options] { return run(*options); });
}

}  // namespace oncelog::tools
