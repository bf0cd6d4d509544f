// What an append asks for and what it is answered.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "oncelog/log_state.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

namespace oncelog {

struct AppendOptions {
  AppendOrigin origin = AppendOrigin::kClient;
  /// Raises the log's durability for this append; it cannot lower it.
  std::optional<Durability> durability = {};
  /// Client and coordinator: must equal the log's leader epoch when given (kFencedLeaderEpoch,
  /// kUnknownLeaderEpoch). Replica: batches with a newer epoch than this are dropped, with all
  /// that follow them.
  std::optional<LeaderEpoch> leader_epoch = {};
  VerificationToken guard = 0;  ///< from `start_verification`; 0: none
  int transaction_version = 1;  ///< of a marker: 2 demands an epoch above the producer's
};

struct AppendResult {
  Offset first_offset = kNoOffset;
  Offset last_offset = kNoOffset;
  bool duplicate = false;                      ///< a retry: the offsets are those of the original
  bool durable = false;                        ///< synced before this answer
  TimestampMs log_append_time = kNoTimestamp;  ///< with LogAppendTime, else -1
  Offset log_start = 0;
};

using AppendCallback = std::function<void(Result<AppendResult>)>;

}  // namespace oncelog
