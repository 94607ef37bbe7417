#include "memory/heap_map.h"

#include <gtest/gtest.h>

namespace {

using namespace situ::detail;

TEST(size_class, literal_values) {
  EXPECT_EQ(size_classes[class_of(0)].bytes, 16u);
  EXPECT_EQ(size_classes[class_of(1)].bytes, 16u);
  EXPECT_EQ(size_classes[class_of(17)].bytes, 32u);
  EXPECT_EQ(size_classes[class_of(128)].bytes, 128u);
  EXPECT_EQ(size_classes[class_of(129)].bytes, 160u);
  EXPECT_EQ(size_classes[class_of(1000)].bytes, 1024u);
  EXPECT_EQ(size_classes[class_of(1025)].bytes, 1280u);
  EXPECT_EQ(size_classes[class_of(65536)].bytes, 65536u);
}

TEST(size_class, is_the_smallest_that_fits_and_wastes_at_most_a_fifth) {
  for (std::size_t bytes = 1; bytes <= largest_class_bytes; ++bytes) {
    const unsigned c = class_of(bytes);
    ASSERT_LT(c, class_count);
    ASSERT_GE(size_classes[c].bytes, bytes);
    if (c > 0) {
      ASSERT_LT(size_classes[c - 1].bytes, bytes);
    }
    if (bytes > 128) {
      ASSERT_LE(size_classes[c].bytes - bytes, size_classes[c].bytes / 5);
    }
  }
}

TEST(size_class, slabs_fit_their_bits) {
  for (const size_class_info& sizes : size_classes) {
    EXPECT_LE(sizes.blocks, 64u * 16);
    EXPECT_GE(sizes.blocks, 8u);
    EXPECT_LE(sizes.blocks * std::uint64_t{sizes.bytes}, sizes.chunks * chunk_bytes);
    EXPECT_EQ(sizes.bytes % 16, 0u);
  }
}

// Every offset of every class against the division that the reciprocal stands for.
TEST(size_class, index_of_divides) {
  for (const size_class_info& sizes : size_classes)
    for (std::uint64_t offset = 0; offset < sizes.chunks * chunk_bytes; ++offset) {
      const block_index where = index_of(offset, sizes.reciprocal);
      ASSERT_EQ(where.index, offset / sizes.bytes) << sizes.bytes << " " << offset;
      ASSERT_EQ(where.exact, offset % sizes.bytes == 0) << sizes.bytes << " " << offset;
    }
}

TEST(heap_map, metadata_is_whole_pages_and_three_percent_of_the_slice) {
  EXPECT_EQ(heap_map::metadata_bytes(40) % 4096, 0u);
  EXPECT_LT(heap_map::metadata_bytes(40), (std::uint64_t{1} << 40) / 30);  // 3%
}

}  // namespace
