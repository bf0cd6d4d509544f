// `oncelog consume`: the records of a partition as lines, read from its files.
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "tools/commands.h"
#include "tools/json.h"
#include "tools/offline_reader.h"
#include "tools/system_files.h"
#include "tools/text.h"

namespace oncelog::tools {
namespace {

constexpr std::chrono::milliseconds kFollowInterval{200};

struct Options {
  std::string directory;
  std::string from = "earliest";
  std::optional<std::int64_t> count_max;
  std::optional<std::int64_t> high_watermark;
  bool read_committed = false;
  bool follow = false;
  bool keys = false;
  bool offsets = false;
  bool json = false;
};

std::string as_text(const OptionalBytes& bytes) {
  std::string out;
  if (!bytes) return out;
  out.reserve(bytes->size());
  for (const std::byte byte : *bytes)
    out += static_cast<char>(byte);
  return out;
}

Json text_or_null(const OptionalBytes& bytes) {
  return bytes ? Json(as_text(bytes)) : Json();
}

void print_record(const RecordView& record, const Options& options) {
  std::string line;
  if (options.json) {
    Json::Array headers;
    for (const RecordHeaderView& header : record.headers)
      headers.push_back(Json::array({header.key, text_or_null(header.value)}));
    line = to_text(Json::object({{"offset", record.offset},
                                 {"timestamp", record.timestamp},
                                 {"key", text_or_null(record.key)},
                                 {"value", text_or_null(record.value)},
                                 {"headers", std::move(headers)}}));
  } else {
    if (options.offsets) line += std::to_string(record.offset) + '\t';
    if (options.keys) line += (record.key ? as_text(record.key) : "null") + '\t';
    line += record.value ? as_text(record.value) : "null";
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
}

Result<Offset> start_of(const OfflineReader& reader, const Options& options) {
  if (options.from == "earliest") return reader.log_start();
  if (options.from == "latest") return reader.bound();
  std::int64_t offset = 0;
  const char* const end = options.from.data() + options.from.size();
  const auto parsed = std::from_chars(options.from.data(), end, offset);
  if (parsed.ec != std::errc{} || parsed.ptr != end || offset < 0)
    return make_error(ErrorCode::kInvalidArgument,
                      "--from is an offset, earliest or latest, not " + options.from);
  return offset;
}

struct Progress {
  Offset next = kNoOffset;
  std::int64_t records = 0;
};

/// Prints what there is from `progress.next` on. True when --max is reached.
Result<bool> print_new(OfflineReader& reader, const Options& options, Progress& progress) {
  const auto wanted = [&] { return !options.count_max || progress.records < *options.count_max; };
  const auto next = reader.read(progress.next, [&](const RecordView& record) {
    if (!wanted()) return false;
    print_record(record, options);
    ++progress.records;
    return wanted();
  });
  if (!next.ok()) return next.error();
  progress.next = *next;
  return !wanted();
}

int consume(FileSystem& files, const Options& options) {
  OfflineReader::Options reading;
  reading.read_committed = options.read_committed;
  reading.high_watermark = options.high_watermark;
  Progress progress;
  while (true) {
    auto reader = OfflineReader::open(files, options.directory, reading);
    if (!reader.ok()) return fail(reader.error());
    if (progress.next == kNoOffset) {
      const auto start = start_of(*reader, options);
      if (!start.ok()) return fail(start.error());
      progress.next = *start;
    }
    const auto done = print_new(*reader, options, progress);
    std::fflush(stdout);
    if (!done.ok()) return fail(done.error());
    if (*done || !options.follow || std::ferror(stdout) != 0) {
      if (options.json)
        print_line("{}", to_text(Json::object({{"records", progress.records},
                                               {"nextOffset", progress.next},
                                               {"facts", reader->facts()}})));
      return kExitFine;
    }
    std::this_thread::sleep_for(kFollowInterval);
  }
}

int run(const Options& options) {
  if (options.count_max && *options.count_max == 0) return kExitFine;
  const auto io = system_io();
  if (!io.ok()) return fail(io.error());
  return consume((*io)->files(), options);
}

}  // namespace

void add_consume(Cli& cli) {
  const auto options = std::make_shared<Options>();
  cli.add("consume",
          "Print the records of a partition, one line each. Reads the files and takes no lock, so\n"
          "it works beside a running broker or store: then it shows what is in the files at that\n"
          "moment, up to the high watermark that the data directory holds (checkpointed every few\n"
          "seconds), else up to the log end, which may be ahead of what was acknowledged.\n"
          "--follow looks again five times a second.",
          "oncelog consume data/orders-0 --read-committed --from 1200 --max 10")
      .path("DIR", options->directory, "partition directory")
      .text("--from", options->from, "first offset, or earliest or latest")
      .number("--max", options->count_max, "stop after so many records", 0)
      .flag("--read-committed", options->read_committed,
            "leave out aborted records, stop at the last stable offset")
      .flag("--follow", options->follow, "wait for more records at the end")
      .flag("--keys", options->keys, "print the key and a tab before the value")
      .flag("--offsets", options->offsets, "print the offset and a tab first")
      .flag("--json", options->json, "print a JSON object per record, a summary last")
      .number("--high-watermark", options->high_watermark, "in place of the data directory's", 0)
      .action([options] { return run(*options); });
}

}  // namespace oncelog::tools
