// The array that readers use while its one writer appends.
#include "index/append_only_array.h"

#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace oncelog {
namespace {

TEST(AppendOnlyArray, KeepsOrderAndPlaceAcrossChunks) {
  AppendOnlyArray<std::uint64_t> array;
  EXPECT_TRUE(array.empty());
  array.push_back(0);
  const std::uint64_t* const first = &array[0];

  for (std::uint64_t i = 1; i < 10000; ++i)
    array.push_back(i * i);

  EXPECT_EQ(array.size(), 10000U);
  EXPECT_EQ(first, &array[0]);
  for (std::uint64_t i = 0; i < 10000; ++i)
    ASSERT_EQ(array[i], i * i);
}

TEST(AppendOnlyArray, ShowsReadersOnlyFinishedElements) {
  constexpr std::uint64_t kCount = 50000;
  AppendOnlyArray<std::uint64_t> array;
  std::thread reader([&array] {
    std::size_t seen = 0;
    while (seen < kCount) {
      const std::size_t size = array.size();
      for (; seen < size; ++seen)
        ASSERT_EQ(array[seen], seen * 3);
    }
  });

  for (std::uint64_t i = 0; i < kCount; ++i)
    array.push_back(i * 3);

  reader.join();
}

TEST(AppendOnlyArrayDeathTest, AbortsBeyondItsEnd) {
  AppendOnlyArray<int> array;
  array.push_back(1);

  EXPECT_DEATH(static_cast<void>(array[1]), "invariant broken");
}

}  // namespace
}  // namespace oncelog
