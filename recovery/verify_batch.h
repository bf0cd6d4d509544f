// What can be said of one batch by itself, beyond its CRC. Internal to recovery.
#pragma once

#include <string>
#include <vector>

#include "storage/segment_scanner.h"

namespace oncelog {

/// What is wrong with a valid batch; empty when nothing is. `deep` decompresses.
std::vector<std::string> check_batch(const ScannedBatch& batch, bool deep);

}  // namespace oncelog
