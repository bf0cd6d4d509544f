// Recovery reports to JSON.
#include "tools/report_json.h"

#include <string>

namespace oncelog::tools {
namespace {

Json damage_json(const RecoveryReport& report) {
  Json::Array out;
  for (const DamageFinding& finding : report.damage) {
    out.push_back(
        Json::object({{"file", finding.file},
                      {"position", finding.position},
                      {"kind", finding.kind == DamageFinding::Kind::kShort ? "short" : "bad"},
                      {"firstOffset", finding.first_offset},
                      {"lastOffset", finding.last_offset}}));
  }
  return out;
}

Json gaps_json(const RecoveryReport& report) {
  Json::Array out;
  for (const GapFinding& gap : report.gaps)
    out.push_back(
        Json::object({{"firstOffset", gap.first_offset}, {"lastOffset", gap.last_offset}}));
  return out;
}

}  // namespace

Json report_json(const RecoveryReport& report) {
  return Json::object({{"clean", report.clean},
                       {"verdict", to_string(report.verdict)},
                       {"truncatedBytes", report.truncated_bytes},
                       {"keptBytes", report.kept_bytes},
                       {"damage", damage_json(report)},
                       {"gaps", gaps_json(report)},
                       {"rebuilt", Json::array_of(report.rebuilt)},
                       {"snapshotUsed", report.snapshot_used},
                       {"duplicateWindow", report.duplicate_window_full ? "full" : "reduced"},
                       {"bytesScanned", report.bytes_scanned},
                       {"rule", std::string(1, report.rule)},
                       {"keptFiles", Json::array_of(report.kept_files)},
                       {"removed", Json::array_of(report.removed)},
                       {"foreign", Json::array_of(report.foreign)},
                       {"durableFloor", report.durable_floor},
                       {"notes", Json::array_of(report.notes)}});
}

}  // namespace oncelog::tools
