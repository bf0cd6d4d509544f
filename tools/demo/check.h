// What `oncelog demo` proves after the kill: every acknowledgement against the recovered logs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "oncelog/log.h"
#include "oncelog/result.h"
#include "oncelog/store.h"

#include "tools/demo/workload.h"

namespace oncelog::tools::demo {

/// All acknowledgements of the killed process, by partition and producer, in order.
class AckBook {
 public:
  void add(const Acknowledgement& acknowledgement);
  struct Producer {
    std::vector<Acknowledgement> batches;
    std::vector<Acknowledgement> markers;
  };
  /// Null when nothing of it was acknowledged.
  const Producer* find(std::int32_t partition, ProducerId producer) const;
  const std::map<std::pair<std::int32_t, ProducerId>, Producer>& producers() const {
    return producers_;
  }
  std::int64_t records() const { return records_; }
  std::int64_t batches() const { return batches_; }

 private:
  std::map<std::pair<std::int32_t, ProducerId>, Producer> producers_;
  std::int64_t records_ = 0;
  std::int64_t batches_ = 0;
};

struct CheckResult {
  std::int64_t records_found = 0;           ///< acknowledged, at their offset, with their bytes
  std::int64_t records_unacknowledged = 0;  ///< stored although the answer never came
  std::int64_t duplicates_answered = 0;     ///< retries of acknowledged batches
  std::int64_t retries_stored = 0;          ///< retries of the batch in flight that were new
  std::int64_t retries_in_flight_duplicates = 0;  ///< ... that had been stored before the kill
  std::int64_t visible = 0;                       ///< records that read_committed shows
  std::int64_t aborted_hidden = 0;
  std::int64_t open_hidden = 0;
  std::vector<std::string> broken;  ///< promises that were not kept
};

/// Checks one recovered partition and adds to `result`. An error: it could not be read.
Status check_partition(Log& log, std::int32_t partition, const AckBook& book, CheckResult& result);
/// Sends the last batches of every producer again, as a client does that lost the answers.
Status check_retries(Log& log, std::int32_t partition, const AckBook& book, CheckResult& result);

}  // namespace oncelog::tools::demo
