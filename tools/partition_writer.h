// Opens partitions for writing on behalf of a command: a store on the data root, closed cleanly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oncelog/log.h"
#include "oncelog/log_options.h"
#include "oncelog/result.h"
#include "oncelog/store.h"
#include "oncelog/types.h"

namespace oncelog::tools {

/// Where a DIR of `produce` or `recover` lies: <root>/<topic>-<partition>.
struct PartitionPlace {
  std::string root;
  TopicPartition name;
};
/// kInvalidArgument when the last component is no partition's name.
Result<PartitionPlace> partition_place(const std::string& directory);

/// A store without background work, driven by its callers.
Result<std::shared_ptr<Store>> open_store(const std::string& root);

}  // namespace oncelog::tools
