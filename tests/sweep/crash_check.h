// What must hold of a disk after power was lost, for oncelog and for a broker that opens it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "oncelog/sim_disk.h"

#include "tests/sweep/workload.h"

namespace oncelog::test {

/// Opens the log on `disk` (which it changes) and compares with `history`. Each broken promise is
/// one sentence; none: all held.
///  - a broker's load (kafka_loader.h) of the disk as it is drops no segment, has every
///    acknowledged batch, and shows no record of an aborted or open transaction;
///  - oncelog serves the acknowledged batches, then a prefix of the unanswered ones, byte for byte;
///  - its producers, open and aborted transactions and last stable offset are those of a replay of
///    the history up to its log end; its indexes point at batches;
///  - after a clean close a broker sees the same log.
std::vector<std::string> check_after_crash(const std::shared_ptr<SimDisk>& disk,
                                           const History& history);

/// The same without the broker's look at the disk as it is.
std::vector<std::string> check_recovery(const std::shared_ptr<SimDisk>& disk,
                                        const History& history);

/// Power is lost again while oncelog recovers `disk`, at an operation drawn from `seed`, and again
/// after it served: then the same must hold, what was served is there, and what recovery cut away
/// never comes back.
std::vector<std::string> check_crashes_of_recovery(const std::shared_ptr<SimDisk>& disk,
                                                   const History& history, std::uint64_t seed);

}  // namespace oncelog::test
