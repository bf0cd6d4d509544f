// What one power cut has decided for the whole disk; files and names read it.
#pragma once

#include <cstdint>

#include "oncelog/sim_disk.h"

#include "storage/sim/random.h"

namespace oncelog::sim {

inline constexpr std::uint64_t kNoSequence = 0;

struct CutPlan {
  MetadataMode metadata = MetadataMode::kStrict;
  bool any_subset = false;  ///< each page, size and name on its own; else a prefix
  bool tear_pages = false;  ///< with any_subset: sectors on their own
  /// Changes up to this one are kept whole: of everything in a prefix, of names and truncations in
  /// journalled mode.
  std::uint64_t kept_through = kNoSequence;
  std::uint64_t torn = kNoSequence;  ///< the write of which a part is kept, in a prefix
  std::uint64_t newest_percent = 0;  ///< with any_subset: how often the newest version is kept
  std::uint64_t oldest_percent = 0;
  Random* random = nullptr;
};

}  // namespace oncelog::sim
