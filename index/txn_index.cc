// Search in the aborted-transaction index and its file form.
//
// FORMAT  FORMAT.md 13: version (2 bytes, 0), producer id, first offset, last offset, last stable
// offset (8 bytes each).
#include "index/txn_index.h"

#include "index/damaged.h"
#include "storage/base/endian.h"

namespace oncelog {
namespace {

constexpr std::size_t kVersionAt = 0;
constexpr std::size_t kProducerIdAt = 2;
constexpr std::size_t kFirstOffsetAt = 10;
constexpr std::size_t kLastOffsetAt = 18;
constexpr std::size_t kLastStableOffsetAt = 26;
static_assert(kLastStableOffsetAt + 8 == kTxnIndexEntryBytes);

}  // namespace

void TxnIndex::append(const AbortedTxn& txn) {
  ONCELOG_ASSERT(txn.last_offset >= base_offset_);
  ONCELOG_ASSERT(empty() || txn.last_offset > entries_[size() - 1].last_offset);
  entries_.push_back(txn);
}

bool TxnIndex::collect(Offset from, Offset to, std::vector<AbortedTxn>& into) const {
  const std::size_t count = size();
  std::size_t low = 0;
  std::size_t high = count;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (entries_[middle].last_offset < from) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  // Stable offsets do not fall, so of the entries below `from` the last one tells for all.
  if (low > 0 && entries_[low - 1].last_stable_offset >= to) return true;
  for (std::size_t i = low; i < count; ++i) {
    const AbortedTxn& txn = entries_[i];
    if (txn.first_offset < to) into.push_back(txn);
    if (txn.last_stable_offset >= to) return true;
  }
  return false;
}

std::unique_ptr<TxnIndex> TxnIndex::copy_below(Offset end) const {
  auto out = std::make_unique<TxnIndex>(base_offset_);
  const std::size_t count = size();
  for (std::size_t i = 0; i < count && entries_[i].last_offset < end; ++i) {
    out->entries_.push_back(entries_[i]);
  }
  return out;
}

std::vector<std::byte> TxnIndex::encode() const {
  const std::size_t count = size();
  std::vector<std::byte> bytes(count * kTxnIndexEntryBytes);
  for (std::size_t i = 0; i < count; ++i) {
    const auto entry = std::span(bytes).subspan(i * kTxnIndexEntryBytes, kTxnIndexEntryBytes);
    const AbortedTxn& txn = entries_[i];
    store_be<std::int16_t>(entry, kVersionAt, 0);
    store_be(entry, kProducerIdAt, txn.producer_id);
    store_be(entry, kFirstOffsetAt, txn.first_offset);
    store_be(entry, kLastOffsetAt, txn.last_offset);
    store_be(entry, kLastStableOffsetAt, txn.last_stable_offset);
  }
  return bytes;
}

Result<std::unique_ptr<TxnIndex>> TxnIndex::decode(std::span<const std::byte> bytes,
                                                   Offset base_offset) {
  if (bytes.size() % kTxnIndexEntryBytes != 0) {
    return damaged_at(bytes.size() / kTxnIndexEntryBytes * kTxnIndexEntryBytes,
                      "transaction index ends inside an entry");
  }
  auto index = std::make_unique<TxnIndex>(base_offset);
  Offset last_offset = base_offset - 1;
  for (std::size_t at = 0; at < bytes.size(); at += kTxnIndexEntryBytes) {
    const auto entry = bytes.subspan(at, kTxnIndexEntryBytes);
    // Both bytes: a broker looks at the first only and misses versions 1-255.
    if (load_be<std::int16_t>(entry, kVersionAt) != 0) {
      return damaged_at(at, "transaction index entry has an unknown version");
    }
    const AbortedTxn txn{
        load_be<ProducerId>(entry, kProducerIdAt), load_be<Offset>(entry, kFirstOffsetAt),
        load_be<Offset>(entry, kLastOffsetAt), load_be<Offset>(entry, kLastStableOffsetAt)};
    if (txn.last_offset <= last_offset) {
      return damaged_at(at + kLastOffsetAt,
                        at == 0 ? "transaction index entry ends below its segment"
                                : "last offsets of the transaction index do not rise");
    }
    if (txn.first_offset < 0 || txn.first_offset > txn.last_offset) {
      return damaged_at(at + kFirstOffsetAt, "transaction begins behind its end");
    }
    index->entries_.push_back(txn);
    last_offset = txn.last_offset;
  }
  return index;
}

}  // namespace oncelog
