// The verdict on the place where a segment's chain of valid batches ends: a pure decision table.
//
// Used by recovery and by the read-only tools alike. The facts are measured elsewhere; what they
// mean is decided here and nowhere else (ARCHITECTURE.md, "Open").
//
//   D  the durable floor: the highest offset below which everything was proved durable by something
//      that was synced later.
//   W  the window: the most bytes that the run which wrote this tail may have had submitted and not
//      yet synced.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "oncelog/recovery_report.h"

namespace oncelog {

/// What stands where the chain of valid batches of a segment ends.
enum class ChainEnd : std::uint8_t {
  kLogEnd,     ///< the last segment, nothing or only zeros behind
  kContinued,  ///< an earlier segment, nothing or only zeros behind; its successor goes on exactly
  kGap,        ///< an earlier segment, nothing behind; its successor begins later
  kBadSpot,    ///< bytes that are no batch; or zeros where batches are missing; or a loss known
};

struct ChainEndFacts {
  bool garbage_behind = false;       ///< bytes that are neither a valid batch nor all zero
  bool zeros_behind = false;         ///< at least one byte, all zero
  bool last_segment = true;          ///< no later segment
  bool successor_continues = false;  ///< the next segment's base is the next offset
  bool loss_is_known = false;        ///< a trusted sidecar lists batches that are missing here
};

constexpr ChainEnd chain_end_of(const ChainEndFacts& facts) {
  if (facts.garbage_behind || (facts.loss_is_known && !facts.last_segment)) {
    return ChainEnd::kBadSpot;
  }
  if (facts.last_segment) return ChainEnd::kLogEnd;
  if (facts.successor_continues) return ChainEnd::kContinued;
  return facts.zeros_behind ? ChainEnd::kBadSpot : ChainEnd::kGap;
}

struct VerdictFacts {
  ChainEnd end = ChainEnd::kLogEnd;
  bool below_floor = false;    ///< the next offset expected there is below D
  bool valid_behind = false;   ///< a valid batch stands behind, here or in a later segment
  bool within_window = false;  ///< all of those end within W bytes of the spot
};

enum class Ruling : std::uint8_t {
  kSound,        ///< nothing is wrong here
  kTorn,         ///< cut
  kHoled,        ///< cut, the bytes kept
  kDamageBad,    ///< durable bytes do not check
  kDamageShort,  ///< the log ends below what was proved durable
};

struct VerdictRule {
  enum class Is : std::uint8_t { kNo, kYes, kAny };

  char label = '-';  ///< named in reports and test names
  ChainEnd end = ChainEnd::kLogEnd;
  Is below_floor = Is::kAny;
  Is valid_behind = Is::kAny;
  Is within_window = Is::kAny;
  Ruling ruling = Ruling::kSound;

  constexpr bool matches(const VerdictFacts& facts) const {
    return end == facts.end && holds(below_floor, facts.below_floor) &&
           holds(valid_behind, facts.valid_behind) && holds(within_window, facts.within_window);
  }

 private:
  static constexpr bool holds(Is want, bool have) {
    return want == Is::kAny || (want == Is::kYes) == have;
  }
};

namespace verdict_internal {
inline constexpr VerdictRule::Is kN = VerdictRule::Is::kNo;
inline constexpr VerdictRule::Is kY = VerdictRule::Is::kYes;
inline constexpr VerdictRule::Is kX = VerdictRule::Is::kAny;
}  // namespace verdict_internal

inline constexpr std::array<VerdictRule, 8> kVerdictRules{{
    // label  where                 below D                valid behind           within W
    {'1', ChainEnd::kBadSpot, verdict_internal::kY, verdict_internal::kX, verdict_internal::kX,
     Ruling::kDamageBad},
    {'2', ChainEnd::kLogEnd, verdict_internal::kY, verdict_internal::kX, verdict_internal::kX,
     Ruling::kDamageShort},
    {'3', ChainEnd::kBadSpot, verdict_internal::kN, verdict_internal::kN, verdict_internal::kX,
     Ruling::kTorn},
    {'4', ChainEnd::kBadSpot, verdict_internal::kN, verdict_internal::kY, verdict_internal::kY,
     Ruling::kHoled},
    {'5', ChainEnd::kBadSpot, verdict_internal::kN, verdict_internal::kY, verdict_internal::kN,
     Ruling::kDamageBad},
    {'c', ChainEnd::kContinued, verdict_internal::kX, verdict_internal::kX, verdict_internal::kX,
     Ruling::kSound},
    {'e', ChainEnd::kLogEnd, verdict_internal::kN, verdict_internal::kX, verdict_internal::kX,
     Ruling::kSound},
    {'g', ChainEnd::kGap, verdict_internal::kX, verdict_internal::kX, verdict_internal::kX,
     Ruling::kSound},
}};

constexpr std::size_t matching_rules(const VerdictFacts& facts) {
  std::size_t count = 0;
  for (const VerdictRule& rule : kVerdictRules) {
    if (rule.matches(facts)) ++count;
  }
  return count;
}

constexpr bool verdict_table_is_exact() {
  for (const ChainEnd end :
       {ChainEnd::kLogEnd, ChainEnd::kContinued, ChainEnd::kGap, ChainEnd::kBadSpot}) {
    for (unsigned bits = 0; bits < 8; ++bits) {
      if (matching_rules({end, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}) != 1) {
        return false;
      }
    }
  }
  return true;
}
static_assert(verdict_table_is_exact(), "every combination of facts must match exactly one rule");

/// The one rule that matches.
constexpr const VerdictRule& rule_for(const VerdictFacts& facts) {
  for (const VerdictRule& rule : kVerdictRules) {
    if (rule.matches(facts)) return rule;
  }
  return kVerdictRules.front();  // not reached: the table is exact
}

constexpr Verdict verdict_of(Ruling ruling) {
  switch (ruling) {
    case Ruling::kSound:
      return Verdict::kNone;
    case Ruling::kTorn:
      return Verdict::kTornTail;
    case Ruling::kHoled:
      return Verdict::kHoledTail;
    case Ruling::kDamageBad:
    case Ruling::kDamageShort:
      return Verdict::kDamage;
  }
  return Verdict::kNone;
}

}  // namespace oncelog
