// What a log needs from its store. Everything outlives the log.
#pragma once

#include <functional>
#include <string>

#include "oncelog/io.h"
#include "oncelog/store.h"

#include "txn/data_dir.h"
#include "txn/log_segment.h"
#include "txn/shard.h"

namespace oncelog {

struct LogEnvironment {
  Shard* shard = nullptr;
  SegmentCache* cache = nullptr;
  DataDir* root = nullptr;
  FileSystem* files = nullptr;
  Clock* clock = nullptr;
  std::function<void(StoreEvent::Kind, const TopicPartition&, std::string)> notify;
};

}  // namespace oncelog
