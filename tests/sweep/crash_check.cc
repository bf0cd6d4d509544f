// Checks of a disk after a crash.
#include "tests/sweep/crash_check.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "oncelog/fetch.h"
#include "oncelog/record_batch.h"

#include "tests/support/directory_image.h"
#include "tests/support/kafka_loader.h"

namespace oncelog::test {
namespace {

using Violations = std::vector<std::string>;

const std::string kCrashed = "crashed";

kafka::LoaderConfig broker_config() {
  const LogOptions options = sweep_log_options();
  kafka::LoaderConfig config;
  config.index_interval_bytes = options.index_interval_bytes;
  config.segment_index_bytes = options.segment_index_bytes;
  config.now_ms = SimClock::kStartMs;
  return config;
}

bool may_be_shown(const History& history, std::uint32_t crc) {
  const auto fate = history.fates.find(crc);
  return fate != history.fates.end() &&
         (fate->second == Fate::kPlain || fate->second == Fate::kCommitted);
}

/// The state that the first `count` batches of the history amount to.
struct Replayed {
  kafka::Producers producers;
  std::map<Offset, ProducerId> open;
  std::vector<kafka::AbortedTxn> aborted;
  Offset last_stable = 0;
};

Replayed replay(const History& history, std::size_t count) {
  FileMap no_files;
  kafka::ProducerStates states(no_files, 0, 1);
  Replayed out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<std::byte>& bytes = history.sent[i].bytes;
    const kafka::FileBatch batch =
        *kafka::FileBatches(bytes, 0, static_cast<std::int64_t>(bytes.size())).next();
    if (!batch.has_producer()) continue;
    kafka::AppendInfo info = states.prepare(batch.producer_id);
    const std::optional<kafka::CompletedTxn> done = info.append(batch);
    states.update(info);
    if (!done) continue;
    if (done->aborted) {
      out.aborted.push_back({done->producer_id, done->first_offset, done->last_offset,
                             states.last_stable_offset(*done)});
    }
    states.complete(*done);
  }
  out.producers = states.producers();
  out.open = states.ongoing();
  out.last_stable = out.open.empty() ? history.end_of(count) : out.open.begin()->first;
  return out;
}

/// Entries that begin at or above `log_start`. A segment below it that a crash took out of its
/// removal comes back without its neighbours, so nobody can tell what lay there; the last stable
/// offset of an entry may lie there too. What readers are shown is checked on its own.
std::vector<kafka::AbortedTxn> from(Offset log_start, const std::vector<kafka::AbortedTxn>& all) {
  std::vector<kafka::AbortedTxn> out;
  for (kafka::AbortedTxn txn : all) {
    if (txn.first_offset < log_start) continue;
    txn.last_stable_offset = std::max(txn.last_stable_offset, log_start);
    out.push_back(txn);
  }
  return out;
}

/// Batches as a broker would serve them hold every acknowledged one above the log start.
void check_broker_has_all(const kafka::Loaded& loaded, const History& history, Violations& out) {
  std::map<Offset, kafka::ServedBatch> served;
  for (const kafka::ServedBatch& batch : loaded.batches)
    served[batch.base_offset] = batch;
  for (std::size_t i = 0; i < history.acknowledged; ++i) {
    const SentBatch& sent = history.sent[i];
    if (sent.last_offset < history.log_start_pending) continue;
    const auto found = served.find(sent.first_offset);
    if (found == served.end()) {
      out.push_back("a broker misses acknowledged offset " + std::to_string(sent.first_offset));
      return;
    }
    const FileMap& files = loaded.files;
    const std::vector<std::byte>& log = files.at(kafka::file_name(found->second.segment, ".log"));
    const auto at = static_cast<std::size_t>(found->second.position);
    if (log.size() < at + sent.bytes.size() ||
        std::memcmp(log.data() + at, sent.bytes.data(), sent.bytes.size()) != 0) {
      out.push_back("a broker has other bytes at offset " + std::to_string(sent.first_offset));
      return;
    }
  }
}

void check_broker_shows_only_committed(const kafka::Loaded& loaded, const History& history,
                                       Violations& out) {
  std::size_t at = 0;
  for (const Offset offset : loaded.read_committed_offsets) {
    while (at < loaded.batches.size() && loaded.batches[at].last_offset < offset)
      ++at;
    if (at < loaded.batches.size() && may_be_shown(history, loaded.batches[at].crc)) continue;
    out.push_back("a broker shows offset " + std::to_string(offset) +
                  " of an aborted or open transaction");
    return;
  }
}

void check_broker(const DirectoryImage& image, const History& history, const std::string& when,
                  Violations& out) {
  const kafka::Loaded loaded = kafka::load(image, broker_config());
  Violations found;
  // Eight bytes in front of a batch are outside its CRC. Where exactly they end a disk sector and
  // only the next one was written, the batch checks and has offset 0: no writer of the format can
  // prevent it, and a broker tries to split the segment. Our recovery cuts there.
  if (loaded.overflow && when == kCrashed) return;
  if (loaded.refused) {
    found.push_back("a broker refuses the log: " + loaded.reason);
  } else {
    if (!loaded.segments_dropped.empty()) {
      found.push_back("a broker drops segment " + std::to_string(loaded.segments_dropped[0]));
    }
    check_broker_has_all(loaded, history, found);
    check_broker_shows_only_committed(loaded, history, found);
  }
  for (const std::string& what : found)
    out.push_back(when + ": " + what);
}

/// Reads everything; returns how many of the history's batches are there, or nothing on trouble.
std::optional<std::size_t> check_served(const Log& log, const History& history, Violations& out) {
  const LogOffsets offsets = log.offsets();
  if (offsets.log_start < history.log_start || offsets.log_start > history.log_start_pending) {
    out.push_back("log start is " + std::to_string(offsets.log_start));
    return std::nullopt;
  }
  std::size_t count = 0;
  while (count < history.sent.size() && history.sent[count].last_offset < offsets.log_start) {
    ++count;
  }
  FetchBuffer buffer;
  FetchRequest request;
  request.isolation = Isolation::kLogEnd;
  request.offset = offsets.log_start;
  while (request.offset < offsets.log_end) {
    const Result<FetchPage> page = log.fetch(request, buffer);
    if (!page.ok()) {
      out.push_back("fetch at " + std::to_string(request.offset) + ": " + to_string(page.error()));
      return std::nullopt;
    }
    for (const RecordBatchView& batch : page->batches()) {
      if (count == history.sent.size() ||
          !std::equal(batch.bytes().begin(), batch.bytes().end(), history.sent[count].bytes.begin(),
                      history.sent[count].bytes.end())) {
        out.push_back("served at offset " + std::to_string(batch.header().base_offset) +
                      " is not what was sent");
        return std::nullopt;
      }
      ++count;
    }
    if (page->next_offset <= request.offset) {
      out.push_back("a fetch does not move on at " + std::to_string(request.offset));
      return std::nullopt;
    }
    request.offset = page->next_offset;
  }
  if (count < history.acknowledged) {
    out.push_back("acknowledged offset " + std::to_string(history.sent[count].first_offset) +
                  " is lost");
    return std::nullopt;
  }
  if (offsets.log_end != history.end_of(count)) {
    out.push_back("log end is " + std::to_string(offsets.log_end));
  }
  return count;
}

void check_committed_reads(const Log& log, const History& history, Violations& out) {
  FetchBuffer buffer;
  FetchRequest request;
  request.isolation = Isolation::kReadCommitted;
  request.offset = log.offsets().log_start;
  const Offset end = log.offsets().last_stable;
  while (request.offset < end) {
    const Result<FetchPage> page = log.fetch(request, buffer);
    if (!page.ok() || page->next_offset <= request.offset) {
      out.push_back("a committed fetch fails at " + std::to_string(request.offset));
      return;
    }
    std::vector<Records> storage;
    const auto records = visible_records(*page, request.offset, request.isolation, storage);
    if (!records.ok()) {
      out.push_back("records cannot be read: " + to_string(records.error()));
      return;
    }
    for (const VisibleRecord& record : *records) {
      if (may_be_shown(history, record.batch->header().crc)) continue;
      out.push_back("offset " + std::to_string(record.record.offset) +
                    " of an aborted or open transaction is shown");
      return;
    }
    request.offset = page->next_offset;
  }
}

bool same_producer(const ProducerInfo& ours, const kafka::ProducerEntry& theirs) {
  if (ours.epoch != theirs.epoch || ours.coordinator_epoch != theirs.coordinator_epoch ||
      ours.last_timestamp != theirs.last_timestamp ||
      ours.txn_first_offset != theirs.txn_first_offset.value_or(kNoOffset) ||
      ours.batches.empty() != theirs.batches.empty()) {
    return false;
  }
  if (ours.batches.empty()) return true;
  const ProducerInfo::Batch& last = ours.batches.back();
  const kafka::ProducerBatch& expected = theirs.batches.back();
  return last.last_sequence == expected.last_sequence && last.last_offset == expected.last_offset &&
         last.first_sequence == expected.first_sequence();
}

void check_state(const LogState& state, const History& history, std::size_t count,
                 Violations& out) {
  const Replayed expected = replay(history, count);
  if (state.last_stable_offset != expected.last_stable) {
    out.push_back("last stable offset is " + std::to_string(state.last_stable_offset) + ", not " +
                  std::to_string(expected.last_stable));
  }
  std::map<Offset, ProducerId> open;
  for (const OpenTxnInfo& txn : state.open_txns)
    open[txn.first_offset] = txn.producer_id;
  if (open != expected.open) out.emplace_back("open transactions differ");
  for (const ProducerInfo& producer : state.producers) {
    const auto found = expected.producers.find(producer.producer_id);
    if (found == expected.producers.end() || !same_producer(producer, found->second)) {
      out.push_back("producer " + std::to_string(producer.producer_id) + " differs");
    }
  }
  if (state.producers.size() != expected.producers.size()) {
    out.push_back(std::to_string(state.producers.size()) + " producers, not " +
                  std::to_string(expected.producers.size()));
  }
  std::vector<kafka::AbortedTxn> aborted;
  for (const AbortedTxnInfo& txn : state.aborted_txns) {
    aborted.push_back({txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset});
  }
  if (from(state.log_start, aborted) != from(state.log_start, expected.aborted)) {
    out.emplace_back("aborted transactions differ");
  }
}

/// Every index entry names a batch; without truncations it is also exactly Kafka's entry.
void check_indexes(const DirectoryImage& image, const History& history, std::size_t count,
                   Violations& out) {
  const kafka::Loaded loaded = kafka::load(image, broker_config());
  const kafka::Loaded rebuilt = kafka::load_from_logs(image, broker_config());
  if (loaded.refused || rebuilt.refused) return;
  std::map<std::pair<Offset, std::int64_t>, Offset> batches;
  for (const kafka::ServedBatch& batch : loaded.batches) {
    batches[{batch.segment, batch.position}] = batch.last_offset;
  }
  for (const kafka::SegmentEntry& entry : loaded.offset_index) {
    const auto found = batches.find({entry.segment, entry.second});
    if (found == batches.end() || found->second != entry.first) {
      out.push_back("an index entry of segment " + std::to_string(entry.segment) +
                    " names no batch");
      return;
    }
  }
  if (from(loaded.log_start, loaded.aborted) !=
      from(loaded.log_start, replay(history, count).aborted)) {
    out.emplace_back("transaction indexes differ");
  }
  if (history.was_truncated) return;
  if (loaded.offset_index != rebuilt.offset_index) out.emplace_back("offset indexes differ");
  if (loaded.time_index != rebuilt.time_index) out.emplace_back("time indexes differ");
}

/// The log opened again; the store must outlive it.
struct Opened {
  std::shared_ptr<Store> store;
  std::shared_ptr<Log> log;
};

std::optional<Opened> open_again(const std::shared_ptr<Io>& io, Violations& out) {
  Opened opened;
  Result<std::shared_ptr<Store>> store = Store::open(sweep_store_options(io));
  if (!store.ok()) {
    out.push_back("the store does not open: " + to_string(store.error()));
    return std::nullopt;
  }
  opened.store = *store;
  Result<std::shared_ptr<Log>> log = opened.store->open_log(kSweepLog, sweep_log_options());
  if (!log.ok()) {
    out.push_back("the log does not open: " + to_string(log.error()));
    return std::nullopt;
  }
  opened.log = *log;
  return opened;
}

void check_ours(const std::shared_ptr<SimDisk>& disk, const History& history, Violations& out) {
  const std::optional<Opened> opened = open_again(std::make_shared<SimIo>(disk), out);
  if (!opened) return;
  const std::optional<std::size_t> count = check_served(*opened->log, history, out);
  if (!count) return;
  check_committed_reads(*opened->log, history, out);
  const Result<LogState> state = opened->log->state();
  if (!state.ok()) {
    out.push_back("no state: " + to_string(state.error()));
    return;
  }
  check_state(*state, history, *count, out);
  const Status closed = opened->store->close();
  if (!closed.ok()) out.push_back("close: " + to_string(closed.error()));
  SimIo reader(disk);
  const Result<DirectoryImage> image = image_of(reader.files(), kSweepRoot, to_string(kSweepLog));
  if (!image.ok()) {
    out.push_back("no image: " + to_string(image.error()));
    return;
  }
  check_broker(*image, history, "closed", out);
  check_indexes(*image, history, *count, out);
}

}  // namespace

Violations check_after_crash(const std::shared_ptr<SimDisk>& disk, const History& history) {
  Violations out;
  {
    SimIo reader(disk);
    const Result<DirectoryImage> image = image_of(reader.files(), kSweepRoot, to_string(kSweepLog));
    // The root itself may be lost as long as nothing was acknowledged.
    if (image.ok()) check_broker(*image, history, kCrashed, out);
  }
  check_ours(disk, history, out);
  return out;
}

Violations check_recovery(const std::shared_ptr<SimDisk>& disk, const History& history) {
  Violations out;
  check_ours(disk, history, out);
  return out;
}

Violations check_crashes_of_recovery(const std::shared_ptr<SimDisk>& disk, const History& history,
                                     std::uint64_t seed) {
  constexpr std::uint64_t kOperations = 120;  // about as many as a recovery has
  std::uint64_t random = seed * 6364136223846793005U + 1442695040888963407U;
  Violations out;
  for (int crash = 0; crash < 2; ++crash) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const auto io = std::make_shared<SimIo>(disk);
    io->crash_at((random >> 33) % kOperations);
    Violations expected;
    (void)open_again(io, expected);
    disk->power_cut(PowerCut::kSubset, random);
  }
  History rest = history;
  {
    const std::optional<Opened> opened = open_again(std::make_shared<SimIo>(disk), out);
    if (!opened) return out;
    const std::optional<std::size_t> count = check_served(*opened->log, history, out);
    if (!count) return out;
    rest.sent.resize(*count);
    rest.acknowledged = *count;
    rest.log_start = opened->log->offsets().log_start;
    disk->power_cut(PowerCut::kNoneKept, random);
  }
  for (const std::string& what : check_after_crash(disk, rest)) {
    out.push_back("crashed again: " + what);
  }
  return out;
}

}  // namespace oncelog::test
