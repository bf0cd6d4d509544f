// A transactional workload on a simulated machine, and the history that recovery is held against.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "oncelog/fault_io.h"
#include "oncelog/sim.h"
#include "oncelog/store.h"

namespace oncelog::test {

inline const std::string kSweepRoot = "data";
inline const TopicPartition kSweepLog{"sweep", 0};

/// Options of every log in the sweep: segments and index intervals of a few batches.
LogOptions sweep_log_options();
StoreOptions sweep_store_options(std::shared_ptr<Io> io);

/// A batch that was handed to the log.
struct SentBatch {
  Offset first_offset = 0;
  Offset last_offset = 0;
  std::vector<std::byte> bytes;  ///< as they must be stored
  std::uint32_t crc = 0;         ///< names the batch: all contents differ
};

/// What became of the transaction of a batch, as far as markers were handed to the log.
enum class Fate : std::uint8_t { kPlain, kCommitted, kAborted, kOpen };

/// What the log was asked and what it promised, at one moment.
struct History {
  std::vector<SentBatch> sent;          ///< in offset order; what a truncation removed is gone
  std::size_t acknowledged = 0;         ///< how many of them must survive
  Offset log_start = 0;                 ///< acknowledged
  Offset log_start_pending = 0;         ///< asked for and not answered yet; else log_start
  bool was_truncated = false;           ///< ever; an active index then starts anew in mid-segment
  std::map<std::uint32_t, Fate> fates;  ///< by CRC, of every batch ever sent

  Offset end_of(std::size_t count) const {
    return count == 0 ? 0 : sent[count - 1].last_offset + 1;
  }
};

/// Runs steps drawn from a seed against a log.
class Workload {
 public:
  /// Operations of `sim` are what a crash can hit; `io` is it, or a wrapper with faults.
  Workload(std::shared_ptr<SimIo> sim, std::shared_ptr<Io> io, std::uint64_t seed);

  /// Opens the store and the log. Errors end the run.
  Status open();
  Status step();
  Status close();
  const History& history() const { return history_; }

 private:
  struct Producer {
    ProducerIdentity identity;
    bool transactional = false;
    Sequence next_sequence = 0;
    std::vector<std::uint32_t> open_txn;  ///< CRCs of its batches in the open transaction
  };

  std::int64_t draw(std::int64_t low, std::int64_t high);
  Status append_some();
  Status truncate();
  Status delete_records();
  Status drain(const std::function<bool()>& done);
  void send_data(Producer& producer);
  void send_marker(Producer& producer, bool commit);
  void send(Buffer bytes, Fate fate, const AppendOptions& options);
  void rebuild_producers();

  std::shared_ptr<SimIo> sim_;
  std::shared_ptr<Io> io_;
  std::mt19937_64 random_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Log> log_;
  std::vector<Producer> producers_;
  History history_;
  std::optional<Error> failure_;
  std::int64_t counter_ = 0;
};

}  // namespace oncelog::test
