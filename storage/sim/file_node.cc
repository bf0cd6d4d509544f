// Reads, writes and syncs of one simulated file; what a power cut leaves is in file_cut.cc.
#include "storage/sim/file_node.h"

#include <algorithm>
#include <utility>

namespace oncelog::sim {
namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

const PagePtr& zero_page() {
  static const PagePtr zeros = std::make_shared<Page>();
  return zeros;
}

std::int64_t pages_for(std::int64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes;
}

void apply(const FileChange& change, FileImage& image) {
  for (const PageVersion& version : change.pages)
    image.set_page(version.index, version.bytes);
  image.resize(change.size_after);
  image.modified_ms = change.stamp.modified_ms;
}

}  // namespace

PagePtr FileImage::page(std::int64_t index) const {
  return at(index) < pages.size() ? pages[at(index)] : nullptr;
}

void FileImage::set_page(std::int64_t index, PagePtr bytes) {
  if (at(index) >= pages.size()) {
    if (!bytes) return;
    pages.resize(at(index) + 1);
  }
  pages[at(index)] = std::move(bytes);
}

void FileImage::resize(std::int64_t bytes) {
  size = bytes;
  if (at(pages_for(bytes)) < pages.size()) pages.resize(at(pages_for(bytes)));
  const std::int64_t tail = bytes % kPageBytes;
  if (tail == 0) return;
  const PagePtr last = page(bytes / kPageBytes);
  if (!last) return;
  const auto behind = last->begin() + tail;
  if (std::all_of(behind, last->end(), [](std::byte b) { return b == std::byte{0}; })) return;
  auto cut = std::make_shared<Page>(*last);
  std::fill(cut->begin() + tail, cut->end(), std::byte{0});
  set_page(bytes / kPageBytes, std::move(cut));
}

std::size_t FileNode::read(std::int64_t position, std::span<std::byte> into) const {
  if (position >= live_.size) return 0;
  const std::size_t total = std::min(into.size(), at(live_.size - position));
  for (std::size_t done = 0; done < total;) {
    const std::int64_t here = position + static_cast<std::int64_t>(done);
    const std::int64_t in_page = here % kPageBytes;
    const std::size_t count = std::min(total - done, at(kPageBytes - in_page));
    const auto target = into.subspan(done, count);
    if (const PagePtr page = live_.page(here / kPageBytes)) {
      std::copy_n(page->begin() + in_page, count, target.begin());
    } else {
      std::fill(target.begin(), target.end(), std::byte{0});
    }
    done += count;
  }
  return total;
}

std::size_t FileNode::write(std::int64_t position, std::span<const std::byte> bytes, Stamp stamp,
                            std::int64_t new_pages_max) {
  FileChange change;
  change.stamp = stamp;
  change.begin = position;
  change.size_before = live_.size;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::int64_t here = position + static_cast<std::int64_t>(done);
    const std::int64_t in_page = here % kPageBytes;
    const std::size_t count = std::min(bytes.size() - done, at(kPageBytes - in_page));
    const PagePtr old = live_.page(here / kPageBytes);
    if (!old && new_pages_max-- <= 0) break;
    auto page = old ? std::make_shared<Page>(*old) : std::make_shared<Page>();
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(done), count, page->begin() + in_page);
    live_.set_page(here / kPageBytes, page);
    change.pages.push_back({here / kPageBytes, std::move(page)});
    done += count;
  }
  if (done == 0) return 0;
  change.end = position + static_cast<std::int64_t>(done);
  live_.size = std::max(live_.size, change.end);
  live_.modified_ms = stamp.modified_ms;
  change.size_after = live_.size;
  pending_.push_back(std::move(change));
  return done;
}

void FileNode::truncate(std::int64_t size, Stamp stamp) {
  FileChange change;
  change.stamp = stamp;
  change.truncation = true;
  change.size_before = live_.size;
  change.size_after = size;
  const auto pages_before = static_cast<std::int64_t>(live_.pages.size());
  live_.resize(size);
  live_.modified_ms = stamp.modified_ms;
  // The page that is cut changes, and those behind it turn to zeros; it need not be exact to list
  // a page that stays the same.
  if (size % kPageBytes != 0 && size < change.size_before)
    change.pages.push_back({size / kPageBytes, live_.page(size / kPageBytes)});
  for (std::int64_t index = pages_for(size); index < pages_before; ++index)
    change.pages.push_back({index, nullptr});
  pending_.push_back(std::move(change));
}

bool FileNode::allocate(std::int64_t position, std::int64_t bytes, std::int64_t new_pages_max) {
  std::vector<std::int64_t> missing;
  for (std::int64_t index = position / kPageBytes; index < pages_for(position + bytes); ++index) {
    if (!live_.page(index)) missing.push_back(index);
  }
  if (static_cast<std::int64_t>(missing.size()) > new_pages_max) return false;
  // A reserved page reads as zeros before and after, so it is no change that a crash could undo.
  for (const std::int64_t index : missing)
    live_.set_page(index, zero_page());
  return true;
}

void FileNode::sync(std::uint64_t sequence) {
  auto change = pending_.begin();
  for (; change != pending_.end() && change->stamp.sequence <= sequence; ++change)
    apply(*change, durable_);
  pending_.erase(pending_.begin(), change);
}

void FileNode::lose_unsynced(std::uint64_t sequence) {
  const auto kept = std::find_if(pending_.begin(), pending_.end(), [&](const FileChange& change) {
    return change.stamp.sequence > sequence;
  });
  lost_pages_ = lost_pages_ || kept != pending_.begin();
  pending_.erase(pending_.begin(), kept);
}

void FileNode::replace(std::span<const std::byte> bytes, std::int64_t modified_ms) {
  live_ = {};
  pending_.clear();
  write(0, bytes, {kNoSequence, modified_ms}, kNoPageLimit);
  pending_.clear();
  durable_ = live_;
  lost_pages_ = false;
}

std::uint64_t FileNode::last_metadata_change(std::uint64_t sequence) const {
  std::uint64_t last = kNoSequence;
  for (const FileChange& change : pending_) {
    if (change.stamp.sequence > sequence) break;
    if (change.truncation || change.size_after != change.size_before) last = change.stamp.sequence;
  }
  return last;
}

bool FileNode::has_uncommitted_truncation(std::uint64_t sequence) const {
  return std::any_of(pending_.begin(), pending_.end(), [&](const FileChange& change) {
    return change.truncation && !change.committed && change.stamp.sequence <= sequence;
  });
}

void FileNode::commit_truncations(std::uint64_t sequence) {
  for (FileChange& change : pending_) {
    if (change.truncation && change.stamp.sequence <= sequence) change.committed = true;
  }
}

std::int64_t FileNode::page_count() const {
  return std::count_if(live_.pages.begin(), live_.pages.end(),
                       [](const PagePtr& page) { return page != nullptr; });
}

}  // namespace oncelog::sim
