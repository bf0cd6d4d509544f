// `oncelog produce`: lines of standard input become records of a partition.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "oncelog/control_record.h"
#include "oncelog/record_batch.h"

#include "tools/commands.h"
#include "tools/json.h"
#include "tools/partition_writer.h"
#include "tools/system_files.h"
#include "tools/text.h"

namespace oncelog::tools {
namespace {

struct Options {
  std::string directory;
  std::string key_separator;
  std::string codec;
  std::string durability;
  std::int64_t batch_records = 100;
  bool transaction = false;
  bool abort = false;
  std::optional<std::int64_t> producer_id;
  std::int64_t producer_epoch = 0;
  bool json = false;
};

Codec codec_of(const std::string& name) {
  for (const Codec codec : {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    if (to_string(codec) == name) return codec;
  }
  return Codec::kNone;
}

/// Who writes: none, or a producer that goes on where the log knows it.
struct Writer {
  ProducerIdentity identity;
  Sequence next_sequence = kNoSequence;
};

/// Without an id a transaction takes the one above all that the log knows.
Result<Writer> make_writer(const Log& log, const Options& options) {
  Writer writer;
  if (!options.transaction && !options.producer_id) return writer;
  ONCELOG_TRY_ASSIGN(const LogState state, log.state());
  writer.identity.epoch = static_cast<ProducerEpoch>(options.producer_epoch);
  writer.identity.id = options.producer_id.value_or(0);
  writer.next_sequence = 0;
  for (const ProducerInfo& producer : state.producers) {
    if (!options.producer_id) {
      writer.identity.id = std::max(writer.identity.id, producer.producer_id + 1);
    } else if (producer.producer_id == *options.producer_id &&
               producer.epoch == writer.identity.epoch && !producer.batches.empty()) {
      writer.next_sequence = static_cast<Sequence>(
          (std::int64_t{producer.batches.back().last_sequence} + 1) & INT32_MAX);
    }
  }
  return writer;
}

/// Collects lines into batches and appends them one by one.
class LineAppender {
 public:
  LineAppender(Log& log, const Options& options, const Writer& writer, Clock& clock)
      : log_(log), options_(options), writer_(writer), clock_(clock) {}

  Status run(std::istream& in) {
    std::string line;
    while (std::getline(in, line)) {
      add(line);
      if (builder_->record_count() >= options_.batch_records) ONCELOG_TRY(flush());
    }
    return flush();
  }

  Status end_transaction() {
    const EndTxnMarker marker{options_.abort ? ControlType::kAbort : ControlType::kCommit, 0};
    AppendOptions append;
    append.origin = AppendOrigin::kCoordinator;
    ONCELOG_TRY_ASSIGN(
        const AppendResult result,
        log_.append(make_end_txn_marker(writer_.identity, marker, clock_.wall_ms()), append));
    marker_offset_ = result.first_offset;
    return {};
  }

  std::int64_t records() const { return records_; }
  Json summary() const {
    return Json::object({{"ok", true},
                         {"records", records_},
                         {"firstOffset", first_offset_},
                         {"lastOffset", last_offset_},
                         {"producerId", writer_.identity.id},
                         {"producerEpoch", writer_.identity.epoch},
                         {"markerOffset", marker_offset_}});
  }

 private:
  void add(const std::string& line) {
    if (!builder_) {
      RecordBatchOptions batch;
      batch.producer = writer_.identity;
      batch.base_sequence = writer_.next_sequence;
      batch.transactional = options_.transaction;
      batch.codec = codec_of(options_.codec);
      builder_.emplace(batch);
    }
    RecordInput record;
    record.timestamp_ms = clock_.wall_ms();
    const std::string_view text = line;
    const std::size_t at =
        options_.key_separator.empty() ? std::string_view::npos : text.find(options_.key_separator);
    if (at != std::string_view::npos) record.key = text.substr(0, at);
    record.value =
        at == std::string_view::npos ? text : text.substr(at + options_.key_separator.size());
    builder_->add(record);
  }

  Status flush() {
    if (!builder_) return {};
    const std::int32_t count = builder_->record_count();
    Buffer batch = std::move(*builder_).finish();
    builder_.reset();
    ONCELOG_TRY_ASSIGN(const AppendResult result, log_.append(std::move(batch)));
    if (writer_.next_sequence != kNoSequence)
      writer_.next_sequence =
          static_cast<Sequence>((std::int64_t{writer_.next_sequence} + count) & INT32_MAX);
    if (first_offset_ == kNoOffset) first_offset_ = result.first_offset;
    last_offset_ = result.last_offset;
    records_ += count;
    return {};
  }

  Log& log_;
  const Options& options_;
  Writer writer_;
  Clock& clock_;
  std::optional<RecordBatchBuilder> builder_;
  std::int64_t records_ = 0;
  Offset first_offset_ = kNoOffset;
  Offset last_offset_ = kNoOffset;
  Offset marker_offset_ = kNoOffset;
};

Result<Json> produce(Store& store, const TopicPartition& name, const Options& options,
                     Clock& clock) {
  LogOptions log_options;
  if (options.durability == "written") log_options.durability = Durability::kWritten;
  ONCELOG_TRY_ASSIGN(const auto log, store.open_log(name, log_options));
  ONCELOG_TRY_ASSIGN(const Writer writer, make_writer(*log, options));
  LineAppender appender(*log, options, writer, clock);
  ONCELOG_TRY(appender.run(std::cin));
  if (options.transaction && appender.records() > 0) ONCELOG_TRY(appender.end_transaction());
  Json summary = appender.summary();
  ONCELOG_TRY(log->close());
  ONCELOG_TRY(store.close());
  return summary;
}

int run(const Options& options) {
  if (options.abort && !options.transaction) {
    print_error("--abort needs --transaction");
    return kExitTrouble;
  }
  const auto place = partition_place(options.directory);
  if (!place.ok()) return fail(place.error());
  const auto io = system_io();
  if (!io.ok()) return fail(io.error());
  const auto store = open_store(place->root);
  if (!store.ok()) return fail(store.error());
  const auto summary = produce(**store, place->name, options, (*io)->clock());
  if (!summary.ok()) return fail(summary.error());
  if (options.json) {
    print_line("{}", to_text(*summary));
  } else if ((*summary)["records"].as_integer() > 0) {
    print_line("{} records at offsets {} to {}{}", (*summary)["records"].as_integer(),
               (*summary)["firstOffset"].as_integer(), (*summary)["lastOffset"].as_integer(),
               !options.transaction ? ""
               : options.abort      ? ", aborted"
                                    : ", committed");
  } else {
    print_line("0 records");
  }
  return kExitFine;
}

}  // namespace

void add_produce(Cli& cli) {
  const auto options = std::make_shared<Options>();
  cli.add("produce",
          "Append the lines of standard input to a partition; each batch is on the disk before\n"
          "the next one is written. DIR is <data directory>/<topic>-<partition> and is made when\n"
          "missing. Takes the lock of the data directory.",
          "seq 1000 | oncelog produce data/orders-0 --transaction")
      .path("DIR", options->directory, "partition directory")
      .text("--key-separator", options->key_separator,
            "what stands before this text in a line is the key")
      .choice("--codec", options->codec, {"none", "gzip", "snappy", "lz4", "zstd"}, "compression")
      .number("--batch-records", options->batch_records, "records per batch", 1, 1'000'000)
      .choice("--durability", options->durability, {"durable", "written"},
              "wait for fsync, or for the write only")
      .flag("--transaction", options->transaction, "one transaction around the input")
      .flag("--abort", options->abort, "end the transaction by an abort")
      .number("--producer-id", options->producer_id,
              "write as this producer; by default none, in a transaction a new one", 0)
      .number("--producer-epoch", options->producer_epoch, "its epoch", 0, INT16_MAX)
      .flag("--json", options->json, "print a JSON summary")
      .action([options] { return run(*options); });
}

}  // namespace oncelog::tools
