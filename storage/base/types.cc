// Names of the shared types.
#include "oncelog/types.h"

namespace oncelog {

std::string to_string(const TopicPartition& name) {
  return name.topic + '-' + std::to_string(name.partition);
}

std::string_view to_string(Codec codec) noexcept {
  switch (codec) {
    case Codec::kNone:
      return "none";
    case Codec::kGzip:
      return "gzip";
    case Codec::kSnappy:
      return "snappy";
    case Codec::kLz4:
      return "lz4";
    case Codec::kZstd:
      return "zstd";
  }
  return "unknown";
}

}  // namespace oncelog
