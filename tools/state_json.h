// Producers, transactions and epochs of a log as JSON, with the names of Kafka's tools.
#pragma once

#include <span>

#include "oncelog/log_state.h"

#include "index/producer_state.h"
#include "index/txn_index.h"
#include "tools/json.h"

namespace oncelog::tools {

/// A producer as `state` and `dump` show it: its last batch, and all cached ones in "batches".
Json producer_json(const ProducerInfo& producer);
/// The same of an entry of the index layer, with its batches.
ProducerInfo producer_info(ProducerId producer_id, const ProducerEntry& entry);
/// All of a state, by producer id.
std::vector<ProducerInfo> producer_infos(const ProducerState& state);

Json leader_epochs_json(std::span<const LeaderEpochInfo> epochs);
Json open_txns_json(std::span<const OpenTxnInfo> txns);
Json aborted_txns_json(std::span<const AbortedTxnInfo> txns);

/// The object that scripts and `oncelog state --json` print.
Json state_json(const LogState& state);

}  // namespace oncelog::tools
