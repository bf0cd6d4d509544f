// An independent model of what Apache Kafka does on loading a partition directory.
//
// It follows RECOVERY.md 2-6 and 8, PRODUCER_STATE.md 11, FETCH.md 2-4 and SEEN.md 18-32 literally,
// weaknesses included, and shares no code with the library's recovery. Tests use it in three ways:
// the golden directories prove the model; a directory that oncelog left is given to it to learn
// what a broker would make of it; a full replay of a log is the oracle of oncelog's own recovery.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oncelog/types.h"

#include "tests/support/directory_image.h"
#include "tests/support/kafka_producer_state.h"
#include "tests/support/kafka_segment.h"

namespace oncelog::test::kafka {

struct ServedBatch {
  Offset segment = 0;
  std::int64_t position = 0;
  std::int64_t size = 0;
  Offset base_offset = 0;
  Offset last_offset = 0;
  std::uint32_t crc = 0;
  friend bool operator==(const ServedBatch&, const ServedBatch&) = default;
};

struct SegmentEntry {
  Offset segment = 0;
  std::int64_t first = 0;   ///< offset or timestamp
  std::int64_t second = 0;  ///< position or offset
  friend bool operator==(const SegmentEntry&, const SegmentEntry&) = default;
};

/// One answer of a read_committed fetch loop.
struct CommittedFetch {
  Offset offset = 0;
  std::int64_t bytes = 0;
  std::int64_t batches = 0;
  Offset last_offset = 0;
  std::vector<std::pair<ProducerId, Offset>> aborted;
  friend bool operator==(const CommittedFetch&, const CommittedFetch&) = default;
};

struct Loaded {
  bool refused = false;
  std::string reason;     ///< why it refused
  bool overflow = false;  ///< refused because a batch's offset does not fit its segment

  FileMap files;          ///< behind the load and a clean close
  FileMap files_running;  ///< behind the load, indexes of the active segment grown
  Offset log_start = 0;
  Offset log_end = 0;
  Offset high_watermark_checkpoint = 0;  ///< bounded by log start and end
  Offset last_stable_offset = 0;         ///< with the high watermark at the log end
  Offset first_unstable_offset = kNoOffset;
  Offset recovery_point = 0;
  Offset producer_map_end = 0;
  Producers producers;
  std::map<LeaderEpoch, Offset> leader_epochs;
  std::vector<Offset> segment_bases;
  std::vector<Offset> segments_dropped;  ///< with everything in them
  std::int64_t bytes_cut = 0;            ///< from the segment that was cut
  std::vector<std::string> removed;      ///< files that were there and are gone
  std::vector<std::string> created;
  std::vector<AbortedTxn> aborted;  ///< by segment, in file order
  std::vector<SegmentEntry> offset_index;
  std::vector<SegmentEntry> time_index;
  std::vector<ServedBatch> batches;
  /// A consumer's fetch loop from the log start with the high watermark at the log end.
  std::vector<CommittedFetch> committed_fetches;
  std::vector<Offset> read_committed_offsets;
  std::vector<Offset> read_uncommitted_offsets;
};

/// This partition's line of a root checkpoint; nothing when it or the file is missing or bad.
std::optional<Offset> checkpoint_entry(const DirectoryImage& image, const std::string& file);

/// Loads the image as a broker with this configuration would. Never throws.
Loaded load(const DirectoryImage& image, const LoaderConfig& config);

/// The same, but from the .log files alone: nothing derived is believed. The oracle of what a log's
/// bytes say. Keeps only `leader_epochs` from the epoch file when `image` has one.
Loaded load_from_logs(const DirectoryImage& image, const LoaderConfig& config);

}  // namespace oncelog::test::kafka
