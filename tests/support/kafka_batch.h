// The model's reader of .log files: batches as Kafka's file scanner finds them.
//
// FORMAT  FORMAT.md 1, 8, 10. The scanner stops quietly 17 bytes before the end and where a batch
// reaches beyond it, fails on a size below 14, and looks at no checksum: `ensure_valid` does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "oncelog/types.h"

#include "tests/support/kafka_bytes.h"

namespace oncelog::test::kafka {

struct FileBatch {
  std::int64_t position = 0;
  std::int64_t size = 0;
  ByteSpan bytes;
  std::int8_t magic = 2;
  Offset base_offset = 0;  ///< of a legacy wrapper: its last offset
  Offset last_offset = 0;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  std::uint32_t crc = 0;
  std::int16_t attributes = 0;
  TimestampMs base_timestamp = kNoTimestamp;
  TimestampMs max_timestamp = kNoTimestamp;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = kNoProducerEpoch;
  Sequence base_sequence = kNoSequence;
  std::int32_t record_count = 0;

  bool is_transactional() const { return (attributes & 0x10) != 0; }
  bool is_control() const { return (attributes & 0x20) != 0; }
  bool has_producer() const { return producer_id > kNoProducerId; }
  Sequence last_sequence() const;
  /// Throws CorruptRecord unless the size is possible and the CRC is that of the bytes.
  void ensure_valid() const;
};

/// Walks the batches in [start, end) of a file.
class FileBatches {
 public:
  FileBatches(ByteSpan file, std::int64_t start, std::int64_t end);
  /// The next batch, or nothing at the end. Throws CorruptRecord on an impossible size.
  std::optional<FileBatch> next();

 private:
  ByteSpan file_;
  std::int64_t position_;
  std::int64_t end_;
};

struct Marker {
  bool abort = false;
  CoordinatorEpoch coordinator_epoch = kNoCoordinatorEpoch;
  TimestampMs timestamp = kNoTimestamp;
};
/// The end-transaction marker of a control batch; nothing when it is empty. Throws InvalidRecord
/// when key or value cannot be read, Refused for other control types.
std::optional<Marker> marker_of(const FileBatch& batch);
/// Type of a control batch's first record (0: abort), -1 when there is none or it is unreadable.
int control_type_of(const FileBatch& batch);

/// Offsets of a batch's records. Compressed ones are opened with the library's reader; those of a
/// legacy wrapper are not known: only its last offset is given.
std::vector<Offset> record_offsets(const FileBatch& batch);

}  // namespace oncelog::test::kafka
