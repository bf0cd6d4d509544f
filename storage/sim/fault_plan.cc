// Which operation a fault rule hits.
#include <algorithm>
#include <array>
#include <utility>

#include "oncelog/fault_io.h"

#include "storage/base/assert.h"

namespace oncelog {
namespace {

constexpr std::array<std::string_view, 8> kPointNames{"write",  "fsync",    "read",   "create",
                                                      "rename", "truncate", "unlink", "fsync_dir"};
static_assert(static_cast<std::size_t>(FaultPoint::kFsyncDir) + 1 == kPointNames.size());

struct ErrnoName {
  std::string_view name;
  int sys_errno;
};
constexpr std::array<ErrnoName, 6> kErrnoNames{{{"EIO", EIO},
                                                {"ENOSPC", ENOSPC},
                                                {"EROFS", EROFS},
                                                {"EINTR", EINTR},
                                                {"EAGAIN", EAGAIN},
                                                {"ECANCELED", ECANCELED}}};

std::string_view base_name(std::string_view path) {
  while (path.size() > 1 && path.back() == '/')
    path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

/// Goes back to the last '*' on a mismatch: linear in practice, quadratic at worst.
bool glob_matches(std::string_view glob, std::string_view text) {
  std::size_t in_glob = 0;
  std::size_t in_text = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (in_text < text.size()) {
    if (in_glob < glob.size() && glob[in_glob] == '*') {
      star = in_glob++;
      star_text = in_text;
    } else if (in_glob < glob.size() && (glob[in_glob] == '?' || glob[in_glob] == text[in_text])) {
      ++in_glob;
      ++in_text;
    } else if (star != std::string_view::npos) {
      in_glob = star + 1;
      in_text = ++star_text;
    } else {
      return false;
    }
  }
  return glob.substr(in_glob).find_first_not_of('*') == std::string_view::npos;
}

bool hits_now(const FaultRule& rule, std::int64_t matched) {
  return matched >= rule.nth && (rule.times < 0 || matched - rule.nth < rule.times);
}

}  // namespace

std::string_view to_string(FaultPoint point) noexcept {
  const auto index = static_cast<std::size_t>(point);
  ONCELOG_ASSERT(index < kPointNames.size());
  return kPointNames[index];
}

std::optional<FaultPoint> fault_point_of(std::string_view name) noexcept {
  const auto found = std::find(kPointNames.begin(), kPointNames.end(), name);
  if (found == kPointNames.end()) return std::nullopt;
  return static_cast<FaultPoint>(found - kPointNames.begin());
}

std::optional<int> fault_errno_of(std::string_view name) noexcept {
  for (const ErrnoName& row : kErrnoNames) {
    if (row.name == name) return row.sys_errno;
  }
  return std::nullopt;
}

Status FaultPlan::add(FaultRule rule) {
  const auto invalid = [](const char* what) {
    return make_error(ErrorCode::kInvalidArgument, what);
  };
  if (rule.nth < 1) return invalid("a fault's nth counts from 1");
  if (rule.times < -1 || rule.times == 0) return invalid("a fault's times is positive or -1");
  if (rule.sys_errno <= 0) return invalid("a fault's errno is positive");
  const bool is_sync = rule.on == FaultPoint::kFsync || rule.on == FaultPoint::kFsyncDir;
  if (rule.lie && !is_sync) return invalid("only a sync can lie");
  if (rule.short_bytes >= 0) {
    if (rule.lie) return invalid("a fault has one effect");
    // A read of no bytes would be the end of the file.
    const bool possible =
        rule.on == FaultPoint::kWrite || (rule.on == FaultPoint::kRead && rule.short_bytes >= 1);
    if (!possible) return invalid("only a write, or a read of at least one byte, can be short");
  }
  const std::lock_guard lock(mutex_);
  rules_.push_back({std::move(rule), 0});
  return {};
}

void FaultPlan::clear() {
  const std::lock_guard lock(mutex_);
  rules_.clear();
}

std::vector<FaultRule> FaultPlan::remaining() const {
  const std::lock_guard lock(mutex_);
  std::vector<FaultRule> out;
  for (const Armed& armed : rules_) {
    FaultRule rule = armed.rule;
    const std::int64_t hit = std::max<std::int64_t>(0, armed.matched - (rule.nth - 1));
    rule.nth = std::max<std::int64_t>(1, rule.nth - armed.matched);
    if (rule.times >= 0) rule.times -= std::min(hit, rule.times);
    if (rule.times != 0) out.push_back(std::move(rule));
  }
  return out;
}

std::int64_t FaultPlan::hits() const {
  const std::lock_guard lock(mutex_);
  return hits_;
}

bool FaultPlan::watches(FaultPoint point) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(rules_.begin(), rules_.end(),
                     [&](const Armed& armed) { return armed.rule.on == point; });
}

std::optional<FaultRule> FaultPlan::next(FaultPoint point, std::string_view path,
                                         std::string_view second_path) {
  const std::lock_guard lock(mutex_);
  std::optional<FaultRule> hit;
  for (Armed& armed : rules_) {
    const FaultRule& rule = armed.rule;
    if (rule.on != point) continue;
    const bool named = glob_matches(rule.file, base_name(path)) ||
                       (!second_path.empty() && glob_matches(rule.file, base_name(second_path)));
    if (!named) continue;
    ++armed.matched;
    if (!hit && hits_now(rule, armed.matched)) hit = rule;
  }
  if (hit) ++hits_;
  return hit;
}

}  // namespace oncelog
