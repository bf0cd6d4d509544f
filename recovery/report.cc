// The recovery report in words.
#include "oncelog/recovery_report.h"

namespace oncelog {
namespace {

void add_list(std::string& out, const char* title, const std::vector<std::string>& items) {
  if (items.empty()) return;
  out += '\n';
  out += title;
  out += ':';
  for (const std::string& item : items) {
    out += ' ';
    out += item;
  }
}

}  // namespace

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kNone:
      return "none";
    case Verdict::kTornTail:
      return "torn_tail";
    case Verdict::kHoledTail:
      return "holed_tail";
    case Verdict::kDamage:
      return "damage";
  }
  return "unknown";
}

std::string to_string(const RecoveryReport& report) {
  std::string out = std::string(report.clean ? "clean" : "unclean") + ", verdict " +
                    std::string(to_string(report.verdict));
  if (report.rule != '-') out += std::string(" (rule ") + report.rule + ")";
  out += ", durable below offset " + std::to_string(report.durable_floor);
  out += "\nscanned: " + std::to_string(report.batches_scanned) + " batches, " +
         std::to_string(report.bytes_scanned) + " bytes";
  if (report.truncated_bytes > 0) {
    out += "\ncut: " + std::to_string(report.truncated_bytes) + " bytes, " +
           std::to_string(report.kept_bytes) + " of them kept";
  }
  add_list(out, "kept in", report.kept_files);
  for (const DamageFinding& damage : report.damage) {
    out += "\ndamage: " + damage.file + " at byte " + std::to_string(damage.position) +
           ", offsets " + std::to_string(damage.first_offset) + " to " +
           (damage.last_offset < 0 ? "?" : std::to_string(damage.last_offset)) + ": " + damage.what;
  }
  for (const GapFinding& gap : report.gaps) {
    out += "\ngap: no segment holds offsets " + std::to_string(gap.first_offset) + " to " +
           std::to_string(gap.last_offset);
  }
  add_list(out, "rebuilt", report.rebuilt);
  add_list(out, "removed", report.removed);
  add_list(out, "left alone", report.foreign);
  out += "\nproducers: from ";
  if (report.sidecar_used) {
    out += "the sidecar";
  } else if (report.snapshot_used >= 0) {
    out += "the snapshot at " + std::to_string(report.snapshot_used);
  } else {
    out += "the log";
  }
  if (!report.duplicate_window_full) out += "; the duplicate window is reduced";
  for (const RecoveryPhase& phase : report.phases) {
    if (phase.duration_ns == 0) continue;
    out += "\nphase " + phase.name + ": " + std::to_string(phase.duration_ns / 1000) + " us, " +
           std::to_string(phase.bytes) + " bytes";
  }
  for (const std::string& note : report.notes)
    out += "\nnote: " + note;
  return out;
}

}  // namespace oncelog
