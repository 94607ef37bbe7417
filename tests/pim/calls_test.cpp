// compat/bmem: the paper's calls, from C and from C++.
#include <bmem.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <limits>
#include <string>

#include "pim/paper_example.h"

namespace {

using testing::HasSubstr;

// Ends the device that a test has left.
class PimBmemCalls : public testing::Test {
 protected:
  void TearDown() override { (void)bmem_dtor(); }
};

std::ptrdiff_t bytes_between(void* from, void* to) {
  return static_cast<std::byte*>(to) - static_cast<std::byte*>(from);
}

TEST_F(PimBmemCalls, the_papers_example_runs_as_c) {
  void* pointers[3]{};
  ASSERT_EQ(run_paper_example(pointers), 0) << bmem_error();
  // Row 0 of subarray 0; all of subarray 1, and as 2 x 17 rows, the first of subarrays 2 and 3.
  EXPECT_EQ(bytes_between(pointers[0], pointers[1]), std::ptrdiff_t{1024} * 8192);
  EXPECT_EQ(bytes_between(pointers[0], pointers[2]), std::ptrdiff_t{2048} * 8192);
}

TEST_F(PimBmemCalls, without_a_device_each_call_says_so) {
  EXPECT_EQ(bmem_malloc(1, HORI), nullptr);
  EXPECT_EQ(errno, ENODEV);
  EXPECT_THAT(bmem_error(), HasSubstr("call bmem_init() first"));
  EXPECT_EQ(bmem_malloc_raw(1, 1), nullptr);
  EXPECT_EQ(bmem_free(nullptr), -1);
  EXPECT_EQ(bmem_dtor(), -1);
  EXPECT_EQ(errno, ENODEV);
}

TEST_F(PimBmemCalls, a_process_has_one_device) {
  ASSERT_EQ(bmem_init(8, 64, 4, 2), 0) << bmem_error();
  void* const at = bmem_malloc_raw(1, 1);
  EXPECT_EQ(bmem_init(8, 64, 4, 2), -1);
  EXPECT_EQ(errno, EBUSY);
  EXPECT_EQ(bmem_free(at), 0) << bmem_error();
  ASSERT_EQ(bmem_dtor(), 0);
  EXPECT_EQ(bmem_init(8, 65, 4, 2), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_THAT(bmem_error(), HasSubstr("multiple of 64"));
  ASSERT_EQ(bmem_init(16, 128, 2, 1), 0) << bmem_error();
  EXPECT_NE(bmem_malloc_raw(2, 16), nullptr);
}

TEST_F(PimBmemCalls, failures_set_errno_and_the_sentence) {
  ASSERT_EQ(bmem_init(8, 64, 4, 2), 0) << bmem_error();
  EXPECT_EQ(bmem_malloc(2, VERT), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_THAT(bmem_error(), HasSubstr("a subarray has 8 rows"));
  EXPECT_EQ(bmem_malloc(std::numeric_limits<std::size_t>::max(), HORI), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(bmem_malloc(1, static_cast<BMEM_DIM>(2)), nullptr);
  EXPECT_EQ(errno, EINVAL);
  void* const at = bmem_malloc_raw(2, 3);
  EXPECT_EQ(bmem_free(static_cast<std::byte*>(at) + 8), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_THAT(bmem_error(), HasSubstr("lies within the block of 2 subarrays x 3 rows"));
  EXPECT_EQ(bmem_free(nullptr), 0);
  EXPECT_EQ(bmem_free(at), 0);
  EXPECT_EQ(bmem_free(at), -1);
  EXPECT_EQ(errno, EFAULT);
  while (bmem_malloc(1, VERT) != nullptr) continue;
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_THAT(bmem_error(), HasSubstr("no room for 1 subarray x 8 rows: nothing is free"));
}

}  // namespace
