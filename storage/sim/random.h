// The only source of chance in the simulator: SplitMix64 from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace oncelog::sim {

/// Same seed, same numbers, on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  /// 0 .. end - 1; 0 when `end` is 0. The bias of the remainder does not matter here.
  std::uint64_t below(std::uint64_t end) { return end == 0 ? 0 : next() % end; }
  bool percent(std::uint64_t chance) { return below(100) < chance; }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t left = items.size(); left > 1; --left)
      std::swap(items[left - 1], items[below(left)]);
  }

  std::uint64_t state() const { return state_; }

 private:
  std::uint64_t state_;
};

}  // namespace oncelog::sim
