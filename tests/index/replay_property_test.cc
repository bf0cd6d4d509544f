// Replaying a history gives the same state whatever the place at which a snapshot is taken over.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "index/producer_snapshot.h"
#include "index/txn_index.h"
#include "tests/index/bytes.h"
#include "tests/index/producer_inputs.h"

namespace oncelog {
namespace {

using History = std::vector<ProducerInput>;
using Aborted = std::vector<AbortedTxn>;

constexpr ProducerId kProducers = 5;

// A batch that some producer might send next: mostly right, sometimes not.
ProducerInput random_batch(const ProducerState& state, std::mt19937_64& random, Offset offset) {
  const auto id = static_cast<ProducerId>(random() % kProducers);
  const ProducerEntry* const known = state.find(id);
  const auto epoch =
      static_cast<ProducerEpoch>(known == nullptr ? 0 : std::max<int>(known->epoch, 0));
  const auto bump = static_cast<ProducerEpoch>(random() % 6 == 0 ? 1 : 0);
  const auto timestamp = static_cast<TimestampMs>(random() % 1000);
  if (random() % 4 == 0) {
    return marker_batch({.producer_id = id,
                         .epoch = static_cast<ProducerEpoch>(epoch + bump),
                         .coordinator_epoch = static_cast<CoordinatorEpoch>(random() % 3),
                         .offset = offset,
                         .type = random() % 2 == 0 ? ControlType::kAbort : ControlType::kCommit,
                         .timestamp = timestamp});
  }
  const auto count = static_cast<std::int32_t>(random() % 3 + 1);
  if (random() % 6 == 0) return plain_batch(offset, count);
  const Sequence next = known == nullptr
                            ? 2147483646
                            : static_cast<Sequence>((known->last_sequence() + 1LL) & 0x7fffffff);
  return data_batch(
      {.producer_id = id,
       .epoch = static_cast<ProducerEpoch>(epoch + bump),
       .first = bump == 1 ? 0 : next,
       .count = count,
       .offset = offset,
       .transactional = (known != nullptr && known->has_open_txn()) || random() % 2 == 0,
       .timestamp = timestamp});
}

// Batches that a log accepted, with gaps in their offsets as compaction leaves them.
History random_history(std::mt19937_64& random, std::size_t size) {
  History history;
  ProducerState state;
  Offset offset = 0;
  while (history.size() < size) {
    const ProducerInput batch = random_batch(state, random, offset);
    const bool is_control = batch.header.is_control();
    const auto origin = is_control ? AppendOrigin::kCoordinator : AppendOrigin::kClient;
    if (try_append(state, batch, from(origin)) != "ok") continue;
    history.push_back(batch);
    offset = batch.header.next_offset() + static_cast<Offset>(random() % 4 == 0 ? 2 : 0);
  }
  return history;
}

void replay(ProducerState& state, std::span<const ProducerInput> batches, Aborted& aborted) {
  for (const ProducerInput& batch : batches) {
    const auto applied = state.replay(batch);
    EXPECT_TRUE(applied.notes.empty());
    for (const auto& entry : applied.aborted) {
      aborted.push_back({entry.txn.producer_id, entry.txn.first_offset, entry.txn.last_offset,
                         entry.last_stable_offset});
    }
  }
}

ProducerState load(const ProducerList& producers, Offset end) {
  ProducerState state;
  for (const auto& [id, entry] : producers)
    state.restore(id, entry);
  state.set_map_end(end);
  return state;
}

// Equal but for cached batches before the last one, which a snapshot does not hold, and for the
// timestamp of the last one, which is the producer's there.
void expect_same_but_for_the_window(const ProducerEntry& loaded, const ProducerEntry& full) {
  EXPECT_EQ(loaded.epoch, full.epoch);
  EXPECT_EQ(loaded.coordinator_epoch, full.coordinator_epoch);
  EXPECT_EQ(loaded.last_timestamp, full.last_timestamp);
  EXPECT_EQ(loaded.txn_first_offset, full.txn_first_offset);
  ASSERT_LE(loaded.batch_count, full.batch_count);
  ASSERT_EQ(loaded.batch_count == 0, full.batch_count == 0);
  const auto newest = full.cached().last(loaded.batch_count);
  for (std::size_t i = 0; i < newest.size(); ++i) {
    EXPECT_EQ(loaded.cached()[i].last_sequence, newest[i].last_sequence);
    EXPECT_EQ(loaded.cached()[i].last_offset, newest[i].last_offset);
    EXPECT_EQ(loaded.cached()[i].offset_delta, newest[i].offset_delta);
  }
}

void expect_same_txns(ProducerState loaded, ProducerState full) {
  EXPECT_EQ(loaded.map_end(), full.map_end());
  loaded.txns().on_high_watermark(loaded.map_end());
  full.txns().on_high_watermark(full.map_end());
  EXPECT_EQ(loaded.txns().first_unstable(0), full.txns().first_unstable(0));
  ASSERT_EQ(loaded.txns().open().size(), full.txns().open().size());
  for (std::size_t i = 0; i < full.txns().open().size(); ++i) {
    EXPECT_EQ(loaded.txns().open()[i].first_offset, full.txns().open()[i].first_offset);
    EXPECT_EQ(loaded.txns().open()[i].producer_id, full.txns().open()[i].producer_id);
  }
}

// replay(all) == snapshot + replay(tail), at every offset.
TEST(Replay, GivesTheSameStateFromASnapshotAtEveryOffset) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "ONCELOG_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 30; ++round) {
    const History history = random_history(random, 60);
    ProducerState full;
    Aborted all_aborted;
    replay(full, history, all_aborted);
    ProducerState prefix;
    Aborted prefix_aborted;
    for (std::size_t n = 0; n <= history.size(); ++n) {
      const auto snapshot =
          decode_producer_snapshot(encode_producer_snapshot(prefix), prefix.map_end());
      ASSERT_TRUE(snapshot.ok()) << to_string(snapshot.error());
      ProducerState from_snapshot = load(*snapshot, prefix.map_end());
      ProducerState from_list = load(list_producers(prefix), prefix.map_end());
      Aborted aborted = prefix_aborted;
      Aborted list_aborted = prefix_aborted;
      const auto rest = std::span(history).subspan(n);
      replay(from_snapshot, rest, aborted);
      replay(from_list, rest, list_aborted);

      ASSERT_EQ(aborted, all_aborted);
      ASSERT_EQ(list_aborted, all_aborted);
      ASSERT_EQ(from_list.producers(), full.producers());
      ASSERT_EQ(from_snapshot.producers().size(), full.producers().size());
      for (const auto& [id, entry] : full.producers()) {
        ASSERT_NE(from_snapshot.find(id), nullptr);
        expect_same_but_for_the_window(*from_snapshot.find(id), entry);
      }
      expect_same_txns(from_snapshot, full);
      expect_same_txns(from_list, full);
      if (n < history.size()) {
        replay(prefix, std::span(history).subspan(n, 1), prefix_aborted);
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

// A follower applies many batches at once; what it knows afterwards is the same.
TEST(Replay, GivesTheSameEntriesBatchByBatchAndAtOnce) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "ONCELOG_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    const History history = random_history(random, 40);
    ProducerState one_by_one;
    Aborted aborted;
    replay(one_by_one, history, aborted);
    ProducerState at_once;
    const std::size_t cut = random() % history.size();

    EXPECT_EQ(try_append(at_once, std::span(history).first(cut), from(AppendOrigin::kReplica)),
              "ok");
    const auto rest = at_once.check(std::span(history).subspan(cut), from(AppendOrigin::kReplica));
    at_once.apply(std::get<ProducerUpdate>(*rest));

    ASSERT_EQ(at_once.producers(), one_by_one.producers());
    expect_same_txns(at_once, one_by_one);
  }
}

// The last stable offset against its definition: nothing below it is undecided.
TEST(Replay, KeepsTheLastStableOffsetAtTheFirstUndecidedOffset) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "ONCELOG_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100; ++round) {
    ProducerState state;
    std::map<ProducerId, Offset> open;
    for (const ProducerInput& batch : random_history(random, 60)) {
      state.replay(batch);
      const BatchHeader& header = batch.header;
      if (batch.marker.has_value()) {
        open.erase(header.producer_id);
      } else if (header.is_transactional()) {
        open.emplace(header.producer_id, header.base_offset);
      }
      const Offset end = state.map_end();
      state.txns().on_high_watermark(end);
      Offset expected = end;
      for (const auto& [id, first] : open)
        expected = std::min(expected, first);
      ASSERT_EQ(state.txns().last_stable(0, end), expected);
    }
  }
}

// A checked append that was refused leaves no trace.
TEST(Replay, IsNotChangedByCheck) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "ONCELOG_SEED=" << seed);
  std::mt19937_64 random(seed);
  ProducerState state;
  Offset offset = 0;
  for (int i = 0; i < 3000; ++i) {
    const ProducerInput batch = random_batch(state, random, offset);
    const auto before = state.producers();
    const Offset end_before = state.map_end();
    const auto decision = state.check(std::span(&batch, 1), {});
    ASSERT_EQ(state.producers(), before);
    ASSERT_EQ(state.map_end(), end_before);
    if (decision.ok() && std::holds_alternative<ProducerUpdate>(*decision)) {
      state.apply(std::get<ProducerUpdate>(*decision));
      offset = state.map_end();
    }
  }
}

std::vector<ProducerInput> read_log(const std::filesystem::path& file) {
  std::vector<ProducerInput> out;
  const auto bytes = read_bytes(file);
  std::span<const std::byte> rest(bytes);
  while (!rest.empty()) {
    const auto batch = RecordBatchView::parse(rest);
    if (!batch.ok()) return {};  // legacy formats
    ProducerInput input;
    input.header = batch->header();
    if (input.header.is_control() && input.header.record_count > 0) {
      input.marker = *decode_end_txn_marker(read_records(*batch)->records.at(0));
    }
    out.push_back(input);
    rest = rest.subspan(batch->bytes().size());
  }
  return out;
}

// A broker's snapshot at the log end is what its log replays to, and so are its aborted entries.
TEST(Replay, AgreesWithTheSnapshotsOfABroker) {
  std::map<std::filesystem::path, std::vector<std::filesystem::path>> logs;
  for (const auto& file : golden_files(".log"))
    logs[file.parent_path()].push_back(file);
  if (logs.empty()) GTEST_SKIP() << "no golden data in " << golden_cases();
  for (const auto& [directory, files] : logs) {
    const std::string name = directory.parent_path().filename().string();
    SCOPED_TRACE(name);
    ProducerState state;
    Aborted aborted;
    for (const auto& file : files)
      replay(state, read_log(file), aborted);
    Aborted stored;
    ProducerList expected;
    for (const auto& file : golden_files(".txnindex")) {
      if (file.parent_path() != directory) continue;
      const auto index = TxnIndex::decode(read_bytes(file), std::stoll(file.stem().string()));
      for (std::size_t i = 0; i < (*index)->size(); ++i)
        stored.push_back((*index)->entry(i));
    }
    for (const auto& file : golden_files(".snapshot")) {
      if (file.parent_path() == directory) expected = *decode_producer_snapshot(read_bytes(file));
    }
    ASSERT_EQ(state.producers().size(), expected.size());
    for (const auto& [id, entry] : expected) {
      ASSERT_NE(state.find(id), nullptr);
      expect_same_but_for_the_window(entry, *state.find(id));
    }
    if (name.find("compacted") == std::string::npos) {
      EXPECT_EQ(aborted, stored);
    }
  }
}

}  // namespace
}  // namespace oncelog
