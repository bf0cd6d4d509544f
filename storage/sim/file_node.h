// One regular file of the simulated disk: live pages, durable pages, and the changes in between.
//
// INVARIANTS
//   S1  a page is never changed once made; a write makes a new one, so versions are kept by
//   pointer. S2  `pending` rises in sequence; durable + pending in order gives live, except for
//   what
//       `lose_unsynced` made unreachable.
//   S3  bytes of a page behind the size of its image are zero.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "storage/sim/cut_plan.h"

namespace oncelog::sim {

inline constexpr std::int64_t kPageBytes = 4096;
inline constexpr std::int64_t kSectorBytes = 512;
inline constexpr std::int64_t kFileBytesMax = std::int64_t{1} << 32;

using Page = std::array<std::byte, kPageBytes>;
using PagePtr = std::shared_ptr<const Page>;  // none: zeros, takes no space

/// When a change was made: its place in the order of all changes of the disk, and the wall clock.
struct Stamp {
  std::uint64_t sequence = kNoSequence;
  std::int64_t modified_ms = 0;
};

struct FileImage {
  std::int64_t size = 0;
  std::int64_t modified_ms = 0;
  std::vector<PagePtr> pages;  // may be shorter than the size: the rest is zero

  PagePtr page(std::int64_t index) const;
  void set_page(std::int64_t index, PagePtr bytes);
  /// Cuts or extends with zeros.
  void resize(std::int64_t bytes);
};

struct PageVersion {
  std::int64_t index = 0;
  PagePtr bytes;
};

struct FileChange {
  Stamp stamp;
  bool truncation = false;
  bool committed = false;  // a truncation that the journal holds
  std::int64_t begin = 0;  // the bytes written
  std::int64_t end = 0;
  std::int64_t size_before = 0;
  std::int64_t size_after = 0;
  std::vector<PageVersion> pages;  // the changed pages as they are after it
};

class FileNode {
 public:
  static constexpr std::int64_t kNoPageLimit = std::numeric_limits<std::int64_t>::max();

  const FileImage& live() const { return live_; }
  std::size_t unsynced_changes() const { return pending_.size(); }
  const std::vector<FileChange>& pending() const { return pending_; }
  /// Whether a power cut can change it.
  bool dirty() const { return !pending_.empty() || lost_pages_; }

  std::size_t read(std::int64_t position, std::span<std::byte> into) const;
  /// Writes until `new_pages_max` pages were added; returns the bytes written.
  std::size_t write(std::int64_t position, std::span<const std::byte> bytes, Stamp stamp,
                    std::int64_t new_pages_max);
  void truncate(std::int64_t size, Stamp stamp);
  /// Gives the range pages; false when that would take more than `new_pages_max`.
  bool allocate(std::int64_t position, std::int64_t bytes, std::int64_t new_pages_max);
  /// Makes the changes through `sequence` durable.
  void sync(std::uint64_t sequence);
  /// The failed sync: marks the pages of those changes clean.
  void lose_unsynced(std::uint64_t sequence);
  /// Makes `bytes` the live and durable content.
  void replace(std::span<const std::byte> bytes, std::int64_t modified_ms);

  /// The last truncation or change of size at or before `sequence`, kNoSequence when none.
  std::uint64_t last_metadata_change(std::uint64_t sequence) const;
  bool has_uncommitted_truncation(std::uint64_t sequence) const;
  void commit_truncations(std::uint64_t sequence);

  void power_cut(const CutPlan& plan);

  /// Pages that take space.
  std::int64_t page_count() const;

 private:
  FileImage prefix_of(const CutPlan& plan) const;
  FileImage subset_of(const CutPlan& plan) const;
  std::int64_t any_size(const CutPlan& plan) const;

  FileImage live_;
  FileImage durable_;
  std::vector<FileChange> pending_;
  bool lost_pages_ = false;
};

}  // namespace oncelog::sim
