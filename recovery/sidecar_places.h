// What the sidecar found in a partition directory is worth (ARCHITECTURE.md, "Open").
//
// Each place that it names is compared with the log. Equal: trusted. Stale: another valid batch
// stands there, or a broker cut the log and left a trace of it: ignored. Neither: bytes are bad or
// missing, and what it says about durability still holds; then the log is damaged.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "oncelog/file_system.h"
#include "oncelog/result.h"
#include "oncelog/types.h"

#include "index/sidecar.h"
#include "recovery/behind.h"
#include "recovery/classify.h"

namespace oncelog {

enum class SidecarPlace : std::uint8_t { kEqual, kStale, kNeither };

struct SidecarFindings {
  std::optional<Sidecar> sidecar;  ///< nothing: missing, unreadable or stale
  bool foreign_writer = false;     ///< someone else wrote to the log since
  /// It may mislead the next opening: what tells that now (a clean marker) will be gone then.
  bool must_go = false;
  SidecarPlace checkpoint = SidecarPlace::kStale;
  /// Every segment below the checkpoint's is listed and equal, so a scan may begin at the
  /// checkpoint.
  bool covers = false;
  std::vector<std::string> notes;

  /// The offset below which it proves everything durable; 0 without one that is believed.
  Offset floor() const;
  std::int64_t window_bytes() const;
};

struct SidecarQuery {
  const DirectoryPlan* plan = nullptr;
  std::span<const OpenSegment> segments;
  bool clean = false;
  std::optional<Offset> recovery_point;  ///< of the root
};

/// Reads and weighs `directory`/oncelog.sidecar. Errors are those of reading.
Result<SidecarFindings> weigh_sidecar(FileSystem& files, const std::string& directory,
                                      const SidecarQuery& query);

}  // namespace oncelog
