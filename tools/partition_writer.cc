// Opening stores for commands that write.
#include "tools/partition_writer.h"

#include <utility>

#include "tools/partition.h"

namespace oncelog::tools {

Result<PartitionPlace> partition_place(const std::string& directory) {
  const std::string path = absolute_path(directory);
  const std::size_t slash = path.rfind('/');
  auto name = parse_partition_name(path.substr(slash + 1));
  if (!name)
    return make_error(ErrorCode::kInvalidArgument,
                      "a partition directory is called <topic>-<partition>")
        .at(path);
  return PartitionPlace{slash == 0 ? "/" : path.substr(0, slash), *std::move(name)};
}

Result<std::shared_ptr<Store>> open_store(const std::string& root) {
  StoreOptions options;
  options.data_dirs = {root};
  options.driver = Driver::kCaller;
  options.background = false;
  return Store::open(options);
}

}  // namespace oncelog::tools
