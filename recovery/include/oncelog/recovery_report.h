// What opening a log found and did: the recovery report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oncelog/types.h"

namespace oncelog {

/// What the bytes behind the last good batch are (ARCHITECTURE.md, "Verdicts").
enum class Verdict : std::uint8_t {
  kNone,       ///< the log ends with its last batch, or with zeros
  kTornTail,   ///< never acknowledged, nothing valid behind: cut
  kHoledTail,  ///< never acknowledged, later writes survived an earlier one: cut, bytes kept
  kDamage,     ///< bytes that were durable once are bad or missing
};
/// "none", "torn_tail", "holed_tail", "damage".
std::string_view to_string(Verdict verdict) noexcept;

/// One place where durable bytes are bad or missing.
struct DamageFinding {
  enum class Kind : std::uint8_t {
    kBad,    ///< bytes that do not check
    kShort,  ///< the log ends below what was proved durable
  };
  Kind kind = Kind::kBad;
  std::string file;                 ///< name inside the partition directory
  std::int64_t position = 0;        ///< first bad byte
  Offset first_offset = kNoOffset;  ///< first offset that cannot be served
  Offset last_offset = kNoOffset;   ///< last one, -1 when not known
  std::string what;                 ///< a sentence
};

/// Offsets for which no segment exists.
struct GapFinding {
  Offset first_offset = 0;
  Offset last_offset = 0;
};

/// A range of a log that answers kDamaged (a log opened read-only with damage).
struct DamagedRange {
  Offset first_offset = 0;
  Offset last_offset = 0;
};

struct RecoveryPhase {
  std::string name;  ///< "list", "scan", "indexes", "producers", "effects", "sync"
  std::int64_t files = 0;
  std::int64_t bytes = 0;
  std::int64_t duration_ns = 0;
};

struct RecoveryReport {
  bool clean = false;  ///< the clean-shutdown marker was there and believed
  Verdict verdict = Verdict::kNone;
  char rule = '-';                   ///< label of the verdict table's row
  std::int64_t truncated_bytes = 0;  ///< cut from .log files, zeros behind the last batch included
  std::int64_t kept_bytes = 0;       ///< of those, kept in oncelog-damaged-* files
  std::vector<std::string> kept_files;
  std::vector<DamageFinding> damage;
  std::vector<GapFinding> gaps;
  std::vector<std::string> rebuilt;  ///< names of derived files that were missing or wrong
  std::vector<std::string> removed;  ///< files removed or set aside
  std::vector<std::string> foreign;  ///< names left alone
  Offset snapshot_used = kNoOffset;  ///< -1: producer state came from the log or the sidecar
  bool sidecar_used = false;
  bool duplicate_window_full = true;  ///< false: only replayed batches are recognised again
  std::int64_t bytes_scanned = 0;
  std::int64_t batches_scanned = 0;
  Offset durable_floor = 0;  ///< D: what was proved durable before
  std::vector<RecoveryPhase> phases;
  std::vector<std::string> notes;
};

/// Several lines for people; no final newline.
std::string to_string(const RecoveryReport& report);

}  // namespace oncelog
