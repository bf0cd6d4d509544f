// Small log contents for tests of scanning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "oncelog/record_batch.h"

namespace oncelog::test {

struct SampleBatch {
  Offset base_offset = 0;
  int records = 1;
  std::size_t value_bytes = 20;
  LeaderEpoch leader_epoch = 1;
};

inline std::vector<std::byte> make_batch(const SampleBatch& sample) {
  RecordBatchBuilder builder(
      {.base_offset = sample.base_offset, .leader_epoch = sample.leader_epoch});
  const std::string value(sample.value_bytes, 'v');
  for (int i = 0; i < sample.records; ++i) {
    builder.add({.timestamp_ms = 1700000000000 + i, .key = "k", .value = value});
  }
  const Buffer bytes = std::move(builder).finish();
  return {bytes.bytes().begin(), bytes.bytes().end()};
}

inline void append_to(std::vector<std::byte>& log, const std::vector<std::byte>& bytes) {
  log.insert(log.end(), bytes.begin(), bytes.end());
}

/// `count` batches of one record each, from `base_offset` on.
inline std::vector<std::byte> make_log(int count, Offset base_offset = 0,
                                       std::size_t value_bytes = 20) {
  std::vector<std::byte> out;
  for (int i = 0; i < count; ++i) {
    append_to(out, make_batch({.base_offset = base_offset + i, .value_bytes = value_bytes}));
  }
  return out;
}

/// Bytes that look like nothing in particular, the same on every run.
inline std::vector<std::byte> random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> out(size);
  for (std::byte& b : out)
    b = static_cast<std::byte>(random());
  return out;
}

}  // namespace oncelog::test
