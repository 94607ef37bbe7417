#include <situ/base/error.h>
#include <situ/pim/geometry.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using situ::pim::geometry;

TEST(pim_geometry, counts_granules_and_bytes) {
  const geometry paper{.rows = 1024, .columns = 65536, .subarrays = 16, .banks = 8};
  check(paper);
  EXPECT_EQ(paper.all_subarrays(), 128u);
  EXPECT_EQ(paper.granules(), 131072u);
  EXPECT_EQ(paper.bytes(), std::uint64_t{1} << 30);
}

TEST(pim_geometry, refuses_shapes_that_no_device_has) {
  EXPECT_THROW(situ::pim::check({.rows = 0, .columns = 64, .subarrays = 1, .banks = 1}), situ::error);
  EXPECT_THROW(situ::pim::check({.rows = 8, .columns = 65, .subarrays = 1, .banks = 1}), situ::error);
  EXPECT_THROW(situ::pim::check({.rows = 8, .columns = 64, .subarrays = 4096, .banks = 8}), situ::error);
  EXPECT_THROW(situ::pim::check({.rows = 65536, .columns = 64, .subarrays = 1, .banks = 1}), situ::error);
}

}  // namespace
