// The simulated disk: what readers see, what a power cut may leave of it, and cheap copies of both.
//
// Per file it keeps the live pages (the page cache), the durable pages and every un-synced change
// in order; per directory the live and the durable names and every un-synced change of a name.
//
// FAULT MODEL  after a power cut
//   pages   each 4 KiB page holds any of its versions since the last sync, on its own; in a torn
//           cut each 512-byte sector does. A page never seen by a sync reads as zeros.
//   size    any size the file had since the last sync, or less of what one write added; it comes
//           with or without the pages.
//   names   strict: any subset of the un-synced changes, but the changes of one name in order, and
//           a rename is atomic. Only sync_directory makes names durable (of the target directory
//           for a rename between two); an undone unlink brings the file back.
//           journalled: a prefix of all name changes and truncations. sync of a file or directory
//           forces the journal through the last change of its own names and size, like ext4.
//   flight  a queued write whose completion was not polled may be on the disk too.
//   A failed sync marks the pages clean: they stay readable, and no later sync writes them.
// THREADS  one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncelog/result.h"

namespace oncelog {

namespace sim {
class DiskState;
}  // namespace sim

enum class MetadataMode : std::uint8_t {
  kStrict,      ///< what POSIX promises and no more
  kJournalled,  ///< names and truncations are kept in order, as ext4 and xfs do
};

/// What a power cut keeps of what was not synced.
enum class PowerCut : std::uint8_t {
  kNoneKept,
  kAllKept,
  kPrefix,  ///< the first changes of the whole disk, whole ones
  kSubset,  ///< any pages, sizes and names the fault model allows
  kTorn,    ///< a prefix whose last write is torn, or a subset with torn pages
};

/// "none_kept", "all_kept", "prefix", "subset", "torn".
std::string_view to_string(PowerCut mode) noexcept;
std::optional<PowerCut> power_cut_of(std::string_view name) noexcept;

/// One disk. Processes (`SimIo`) come and go on it; a crash ends all that are running: their
/// handles, queues and locks are gone and their later calls fail.
class SimDisk {
 public:
  explicit SimDisk(MetadataMode metadata = MetadataMode::kStrict);
  SimDisk(const SimDisk&) = delete;
  SimDisk& operator=(const SimDisk&) = delete;
  ~SimDisk();

  /// An independent disk with the same live, durable and un-synced content and the same writes in
  /// flight, but no processes. Costs a pointer per file; pages are shared until written.
  std::shared_ptr<SimDisk> clone() const;

  /// The machine loses power and comes back. Deterministic in (content, mode, seed).
  void power_cut(PowerCut mode, std::uint64_t seed);
  /// Every process dies, the page cache lives. The seed picks which writes in flight happened.
  void kill(std::uint64_t seed);

  /// Bytes of file data the disk holds, in whole pages; -1 (the default): no limit.
  void set_capacity(std::int64_t bytes);
  /// Live file data in whole pages, files that are unlinked but open included.
  std::int64_t used_bytes() const;
  MetadataMode metadata() const noexcept;
  /// Changes that a power cut may lose; 0 when live and durable content agree.
  std::size_t unsynced_changes() const;
  /// A hash of the live names and bytes: equal for equal trees.
  std::uint64_t digest() const;

  // For tests that damage or inspect files from outside: not counted as operations, and durable
  // at once (un-synced changes of that file are superseded).
  Result<std::vector<std::byte>> read_file(const std::string& path) const;
  /// Replaces or creates the file, and its directories.
  Status write_file(const std::string& path, std::span<const std::byte> bytes);
  Status remove_file(const std::string& path);
  /// All live files and directories by path, sorted; directories end in '/'.
  std::vector<std::string> paths() const;

  /// For the simulator itself.
  sim::DiskState& state() noexcept { return *state_; }

 private:
  explicit SimDisk(std::unique_ptr<sim::DiskState> state);

  std::unique_ptr<sim::DiskState> state_;
};

}  // namespace oncelog
