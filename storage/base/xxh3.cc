// XXH3 and XXH32 by the xxHash library.
#include "storage/base/xxh3.h"

#include <xxhash.h>

namespace oncelog {

std::uint32_t xxh32(std::span<const std::byte> bytes) noexcept {
  return XXH32(bytes.data(), bytes.size(), 0);
}

std::uint64_t xxh3_64(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Hash128 xxh3_128(std::span<const std::byte> bytes) noexcept {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

}  // namespace oncelog
