// What a power cut leaves of one file: the fault model of oncelog/sim_disk.h, "pages" and "size".
#include <algorithm>
#include <map>
#include <utility>

#include "storage/sim/file_node.h"

namespace oncelog::sim {
namespace {

/// The versions of one page, oldest first: the durable one, then one per change.
struct Version {
  const FileChange* change = nullptr;  // none: durable
  PagePtr bytes;
};

/// Whether the journal holds the truncation after this cut.
bool is_committed(const FileChange& truncation, const CutPlan& plan) {
  return truncation.committed || truncation.stamp.sequence <= plan.kept_through;
}

/// In journalled mode cuts the choice down to what lies between the last truncation that is
/// committed and the first that is not: blocks change hands only with the journal.
template <class ChangeOf>
std::pair<std::size_t, std::size_t> allowed_range(std::size_t count, const CutPlan& plan,
                                                  const ChangeOf& change_of) {
  std::size_t begin = 0;
  std::size_t end = count;
  if (plan.metadata == MetadataMode::kStrict) return {begin, end};
  for (std::size_t i = 1; i < end; ++i) {
    const FileChange& change = change_of(i);
    if (!change.truncation) continue;
    if (!is_committed(change, plan)) {
      end = i;
    } else {
      begin = i;
    }
  }
  return {begin, end};
}

std::size_t pick(std::size_t begin, std::size_t end, const CutPlan& plan) {
  const std::uint64_t roll = plan.random->below(100);
  if (roll < plan.newest_percent) return end - 1;
  if (roll < plan.newest_percent + plan.oldest_percent) return begin;
  return begin + plan.random->below(end - begin);
}

/// Sectors of the newer version over the older one: the first few, or any.
PagePtr torn_page(const PagePtr& older, const PagePtr& newer, Random& random) {
  constexpr std::int64_t kSectors = kPageBytes / kSectorBytes;
  const bool in_order = random.percent(50);
  const auto first_kept = static_cast<std::int64_t>(random.below(kSectors + 1));
  auto page = older ? std::make_shared<Page>(*older) : std::make_shared<Page>();
  for (std::int64_t sector = 0; sector < kSectors; ++sector) {
    if (in_order ? sector >= first_kept : random.percent(50)) continue;
    const auto target = page->begin() + sector * kSectorBytes;
    if (newer) {
      std::copy_n(newer->begin() + sector * kSectorBytes, kSectorBytes, target);
    } else {
      std::fill_n(target, kSectorBytes, std::byte{0});
    }
  }
  return page;
}

/// The first bytes of one write, up to a sector or a page: a write cut short by the power.
void apply_torn(const FileChange& change, FileImage& image, Random& random) {
  const std::int64_t grain = random.percent(50) ? kSectorBytes : kPageBytes;
  const std::int64_t units = (change.end - 1) / grain - change.begin / grain + 1;
  const std::int64_t kept_units =
      static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(units)));
  const std::int64_t kept_end = std::max(change.begin, (change.begin / grain + kept_units) * grain);
  for (const PageVersion& version : change.pages) {
    const std::int64_t page_begin = version.index * kPageBytes;
    if (page_begin >= kept_end) break;
    const PagePtr old = image.page(version.index);
    auto page = old ? std::make_shared<Page>(*old) : std::make_shared<Page>();
    const std::int64_t count = std::min(kPageBytes, kept_end - page_begin);
    std::copy_n(version.bytes->begin(), count, page->begin());
    image.set_page(version.index, std::move(page));
  }
  // The size may already cover what did not arrive.
  if (random.percent(50)) {
    image.resize(std::max(image.size, change.size_after));
  } else {
    image.resize(std::max(image.size, kept_end));
  }
}

}  // namespace

void FileNode::power_cut(const CutPlan& plan) {
  live_ = plan.any_subset ? subset_of(plan) : prefix_of(plan);
  durable_ = live_;
  pending_.clear();
  lost_pages_ = false;
}

FileImage FileNode::prefix_of(const CutPlan& plan) const {
  FileImage image = durable_;
  for (const FileChange& change : pending_) {
    if (change.stamp.sequence == plan.torn && !change.truncation) {
      apply_torn(change, image, *plan.random);
      continue;
    }
    const bool kept = change.stamp.sequence <= plan.kept_through;
    if (!kept && !change.committed) continue;
    for (const PageVersion& version : change.pages)
      image.set_page(version.index, version.bytes);
    image.resize(change.size_after);
    image.modified_ms = change.stamp.modified_ms;
  }
  return image;
}

std::int64_t FileNode::any_size(const CutPlan& plan) const {
  const auto [begin, end] =
      allowed_range(pending_.size() + 1, plan,
                    [&](std::size_t i) -> const FileChange& { return pending_[i - 1]; });
  const std::size_t chosen = pick(begin, end, plan);
  if (chosen == 0) return durable_.size;
  const FileChange& change = pending_[chosen - 1];
  const std::int64_t added = change.size_after - change.size_before;
  if (change.truncation || added <= 0 || !plan.random->percent(25)) return change.size_after;
  // Shorter: only some of the blocks that this write added had arrived.
  const std::int64_t grain = plan.tear_pages ? kSectorBytes : kPageBytes;
  const auto more =
      static_cast<std::int64_t>(plan.random->below(static_cast<std::uint64_t>(added / grain + 1)));
  const std::int64_t shorter = (change.size_before + more * grain) / grain * grain;
  return std::clamp(shorter, change.size_before, change.size_after);
}

FileImage FileNode::subset_of(const CutPlan& plan) const {
  std::map<std::int64_t, std::vector<Version>> versions;
  for (const FileChange& change : pending_) {
    for (const PageVersion& page : change.pages) {
      std::vector<Version>& list = versions[page.index];
      if (list.empty()) list.push_back({nullptr, durable_.page(page.index)});
      list.push_back({&change, page.bytes});
    }
  }
  FileImage image = durable_;
  for (const auto& [index, list] : versions) {
    const std::vector<Version>& of_page = list;
    const auto [begin, end] =
        allowed_range(of_page.size(), plan,
                      [&](std::size_t i) -> const FileChange& { return *of_page[i].change; });
    const std::size_t chosen = pick(begin, end, plan);
    if (plan.tear_pages && chosen > begin && plan.random->percent(50)) {
      const std::size_t older = begin + plan.random->below(chosen - begin);
      image.set_page(index, torn_page(of_page[older].bytes, of_page[chosen].bytes, *plan.random));
    } else {
      image.set_page(index, of_page[chosen].bytes);
    }
  }
  if (!pending_.empty()) {
    image.resize(any_size(plan));
    image.modified_ms = live_.modified_ms;
  }
  return image;
}

}  // namespace oncelog::sim
