// Codec of oncelog.sidecar. Byte table: index/FORMAT.md.
#include "index/sidecar.h"

#include <algorithm>
#include <string>

#include "index/damaged.h"
#include "storage/base/endian.h"

namespace oncelog {
namespace {

constexpr std::array<char, 8> kMagic{'O', 'N', 'C', 'E', 'L', 'O', 'G', '1'};
constexpr std::int32_t kVersion = 1;
constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kHashAt = 12;  // covers the bytes from kBodyAt to the end of the file
constexpr std::size_t kBodyAt = 20;

constexpr std::size_t kSegmentBytes = 56 + kBatchHeaderBytes + 16 + 4;
constexpr std::size_t kProducerBytesMin = 8 + 2 + 4 + 8 + 8 + 1;
constexpr std::size_t kBatchBytes = 4 + 8 + 4 + 8;
constexpr std::size_t kSnapshotBytes = 8;
static_assert(kSegmentBytes == 137 && kProducerBytesMin == 31 && kBatchBytes == 24);

class Writer {
 public:
  explicit Writer(std::size_t size_hint) { bytes_.reserve(size_hint); }

  template <std::integral T>
  void put(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    store_be(bytes_, at, value);
  }
  void put_count(std::size_t count) {
    ONCELOG_ASSERT(count <= UINT32_MAX);
    put(static_cast<std::uint32_t>(count));
  }
  void put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte> take() && { return std::move(bytes_); }
  std::span<std::byte> written() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Reads forward. A read beyond the end gives zeros and sets `failed`, so that a group of fields is
// checked once behind it.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::size_t position)
      : bytes_(bytes), position_(position) {}

  template <std::integral T>
  T get() {
    if (!has(sizeof(T))) return T{};
    const T value = load_be<T>(bytes_, position_);
    position_ += sizeof(T);
    return value;
  }
  template <std::size_t N>
  void get_bytes(std::array<std::byte, N>& into) {
    if (!has(N)) return;
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(position_), N, into.begin());
    position_ += N;
  }
  /// A count of elements of at least `element_bytes`; fails when they cannot be there.
  std::size_t get_count(std::size_t element_bytes) {
    const auto count = std::size_t{get<std::uint32_t>()};
    if (count > remaining() / element_bytes) failed_ = true;
    return failed_ ? 0 : count;
  }

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }
  bool failed() const { return failed_; }

 private:
  bool has(std::size_t count) {
    if (remaining() < count) failed_ = true;
    return !failed_;
  }

  std::span<const std::byte> bytes_;
  std::size_t position_;
  bool failed_ = false;
};

void put_segment(Writer& out, const SidecarSegment& segment) {
  out.put(segment.base_offset);
  out.put(segment.size);
  out.put(segment.last_offset);
  out.put(segment.largest_timestamp);
  out.put(segment.largest_timestamp_offset);
  out.put(segment.first_batch_timestamp);
  out.put(segment.last_batch_position);
  out.put_bytes(segment.last_batch_header);
  out.put(segment.headers_hash.high);
  out.put(segment.headers_hash.low);
  out.put(segment.aborted_count);
}

SidecarSegment get_segment(Reader& in) {
  SidecarSegment segment;
  segment.base_offset = in.get<Offset>();
  segment.size = in.get<std::int64_t>();
  segment.last_offset = in.get<Offset>();
  segment.largest_timestamp = in.get<TimestampMs>();
  segment.largest_timestamp_offset = in.get<Offset>();
  segment.first_batch_timestamp = in.get<TimestampMs>();
  segment.last_batch_position = in.get<std::int64_t>();
  in.get_bytes(segment.last_batch_header);
  segment.headers_hash.high = in.get<std::uint64_t>();
  segment.headers_hash.low = in.get<std::uint64_t>();
  segment.aborted_count = in.get<std::uint32_t>();
  return segment;
}

void put_producer(Writer& out, ProducerId producer_id, const ProducerEntry& entry) {
  out.put(producer_id);
  out.put(entry.epoch);
  out.put(entry.coordinator_epoch);
  out.put(entry.last_timestamp);
  out.put(entry.txn_first_offset);
  out.put(entry.batch_count);
  for (const ProducerBatch& batch : entry.cached()) {
    out.put(batch.last_sequence);
    out.put(batch.last_offset);
    out.put(batch.offset_delta);
    out.put(batch.timestamp);
  }
}

// False when there are more batches than a producer keeps.
bool get_producer(Reader& in, ProducerList& into) {
  const auto producer_id = in.get<ProducerId>();
  ProducerEntry entry;
  entry.epoch = in.get<ProducerEpoch>();
  entry.coordinator_epoch = in.get<CoordinatorEpoch>();
  entry.last_timestamp = in.get<TimestampMs>();
  entry.txn_first_offset = in.get<Offset>();
  const auto batch_count = in.get<std::uint8_t>();
  if (batch_count > kProducerBatchesMax) return false;
  for (std::uint8_t i = 0; i < batch_count; ++i) {
    ProducerBatch batch;
    batch.last_sequence = in.get<Sequence>();
    batch.last_offset = in.get<Offset>();
    batch.offset_delta = in.get<std::int32_t>();
    batch.timestamp = in.get<TimestampMs>();
    entry.add(batch);
  }
  into.emplace_back(producer_id, entry);
  return true;
}

// What is wrong with a segment's own numbers; nothing when they can be.
const char* fault_of(const SidecarSegment& segment) {
  if (segment.base_offset < 0) return "segment with a negative base offset";
  if (segment.size < 0 || segment.size > kSegmentBytesMax) return "segment with a wrong size";
  if (segment.last_offset == kNoOffset) {
    return segment.last_batch_position == -1 ? nullptr : "last batch without its offset";
  }
  if (segment.last_offset < segment.base_offset) return "segment ends below its base";
  if (segment.last_batch_position < 0 || segment.last_batch_position >= segment.size) {
    return "last batch outside its segment";
  }
  return nullptr;
}

Status get_sealed(Reader& in, Sidecar& into) {
  const std::size_t count = in.get_count(kSegmentBytes);
  into.sealed.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = in.position();
    into.sealed.push_back(get_segment(in));
    if (const char* const fault = fault_of(into.sealed.back())) return damaged_at(at, fault);
    if (i > 0 && into.sealed[i - 1].base_offset >= into.sealed[i].base_offset) {
      return damaged_at(at, "segments do not rise");
    }
  }
  return {};
}

Status get_active(Reader& in, Sidecar& into) {
  const std::size_t at = in.position();
  SidecarCheckpoint& active = into.active;
  active.segment = get_segment(in);
  active.offset = in.get<Offset>();
  active.last_stable_offset = in.get<Offset>();
  active.unsynced_bytes_max = in.get<std::int64_t>();
  active.recovery_point = in.get<Offset>();
  if (const char* const fault = fault_of(active.segment)) return damaged_at(at, fault);
  if (!into.sealed.empty() && into.sealed.back().base_offset >= active.segment.base_offset) {
    return damaged_at(at, "segments do not rise");
  }
  if (active.offset < active.segment.base_offset || active.segment.last_offset >= active.offset) {
    return damaged_at(at, "checkpoint is not behind its last batch");
  }
  if (active.unsynced_bytes_max < kUnsyncedUnlimited || active.recovery_point < 0 ||
      active.last_stable_offset < 0) {
    return damaged_at(at, "checkpoint with a negative number");
  }
  return {};
}

Status get_producers(Reader& in, Sidecar& into) {
  const std::size_t begin = in.position();
  const std::size_t count = in.get_count(kProducerBytesMin);
  into.producers.reserve(count);
  for (std::size_t i = 0; i < count && !in.failed(); ++i) {
    const std::size_t at = in.position();
    if (!get_producer(in, into.producers)) return damaged_at(at, "producer with too many batches");
  }
  if (in.failed()) return {};  // said by the caller
  if (Status status = check_producers(into.producers, into.active.offset); !status.ok()) {
    return damaged_at(begin, status.error().message);
  }
  return {};
}

Status get_snapshots(Reader& in, Sidecar& into) {
  const std::size_t count = in.get_count(kSnapshotBytes);
  into.snapshots.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = in.position();
    into.snapshots.push_back(in.get<Offset>());
    if (into.snapshots[i] < 0 || (i > 0 && into.snapshots[i - 1] >= into.snapshots[i])) {
      return damaged_at(at, "snapshots do not rise");
    }
  }
  return {};
}

}  // namespace

std::vector<std::byte> encode_sidecar(const Sidecar& sidecar) {
  Writer out(kBodyAt + (sidecar.sealed.size() + 2) * kSegmentBytes +
             sidecar.producers.size() * (kProducerBytesMin + kBatchBytes) +
             sidecar.snapshots.size() * kSnapshotBytes);
  out.put_bytes(std::as_bytes(std::span(kMagic)));
  out.put(kVersion);
  out.put(std::uint64_t{0});  // the hash, set below
  out.put(sidecar.log_start);
  out.put_count(sidecar.sealed.size());
  for (const SidecarSegment& segment : sidecar.sealed)
    put_segment(out, segment);
  put_segment(out, sidecar.active.segment);
  out.put(sidecar.active.offset);
  out.put(sidecar.active.last_stable_offset);
  out.put(sidecar.active.unsynced_bytes_max);
  out.put(sidecar.active.recovery_point);
  out.put_count(sidecar.producers.size());
  for (const auto& [producer_id, entry] : sidecar.producers)
    put_producer(out, producer_id, entry);
  out.put_count(sidecar.snapshots.size());
  for (const Offset offset : sidecar.snapshots)
    out.put(offset);
  store_be(out.written(), kHashAt, xxh3_64(out.written().subspan(kBodyAt)));
  return std::move(out).take();
}

Result<Sidecar> decode_sidecar(std::span<const std::byte> bytes) {
  if (bytes.size() < kBodyAt) return damaged_at(bytes.size(), "sidecar is cut short");
  const auto magic = std::as_bytes(std::span(kMagic));
  if (!std::equal(magic.begin(), magic.end(), bytes.begin())) {
    return damaged_at(0, "not a sidecar");
  }
  if (load_be<std::int32_t>(bytes, kVersionAt) != kVersion) {
    return damaged_at(kVersionAt, "sidecar has an unknown version");
  }
  if (load_be<std::uint64_t>(bytes, kHashAt) != xxh3_64(bytes.subspan(kBodyAt))) {
    return damaged_at(kHashAt, "sidecar has a wrong checksum");
  }
  Sidecar sidecar;
  Reader in(bytes, kBodyAt);
  sidecar.log_start = in.get<Offset>();
  if (sidecar.log_start < 0) return damaged_at(kBodyAt, "log start is negative");
  ONCELOG_TRY(get_sealed(in, sidecar));
  ONCELOG_TRY(get_active(in, sidecar));
  ONCELOG_TRY(get_producers(in, sidecar));
  if (!in.failed()) ONCELOG_TRY(get_snapshots(in, sidecar));
  if (in.failed()) return damaged_at(in.position(), "sidecar counts more than it holds");
  if (in.remaining() != 0) return damaged_at(in.position(), "sidecar has bytes behind its end");
  return sidecar;
}

Hash128 chain_header(const Hash128& previous, std::span<const std::byte> header) {
  ONCELOG_ASSERT(header.size() == kBatchHeaderBytes);
  std::array<std::byte, 16 + kBatchHeaderBytes> bytes{};
  store_be(std::span(bytes), 0, previous.high);
  store_be(std::span(bytes), 8, previous.low);
  std::copy(header.begin(), header.end(), bytes.begin() + 16);
  return xxh3_128(bytes);
}

}  // namespace oncelog
