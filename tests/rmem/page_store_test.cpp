// Where pages of a region lie, by the kernel's moves and by a file.
#include "rmem/page_store.h"

#include <situ/base/error.h>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

namespace {

namespace rmem = situ::rmem;
using rmem::detail::kernel;
using rmem::detail::page_store;
using rmem::detail::user_faults;

constexpr std::size_t page = 4096;
constexpr std::uint64_t pages = 256;
constexpr std::uint32_t frames = 64;

// Nobody serves a touch here: it would be a signal, and of a system call an error.
class rmem_page_store : public testing::TestWithParam<kernel> {
 protected:
  void SetUp() override {
    rmem::detail::pretended_kernel = GetParam();
    try {
      faults.emplace(user_faults::told::by_signal);
    } catch (const situ::error& refused) {
      GTEST_SKIP() << refused.what();
    }
    if (GetParam() == kernel::this_one && !faults->can_move()) GTEST_SKIP() << "this kernel moves no pages";
    store = rmem::detail::make_page_store(*faults, pages, frames, true);
  }
  ~rmem_page_store() override { rmem::detail::pretended_kernel = kernel::this_one; }

  static std::vector<page_store::held> run(std::uint64_t first_page, std::uint32_t first_frame, std::size_t count) {
    std::vector<page_store::held> all;
    for (std::uint32_t i = 0; i < count; ++i) all.push_back({first_page + i, first_frame + i});
    return all;
  }
  static std::vector<std::byte> bytes_of(std::size_t count, int seed) {
    std::vector<std::byte> all(count * page);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i / page * 7 + i + seed);
    return all;
  }
  [[nodiscard]] std::byte* at(std::uint64_t which) const { return store->program() + which * page; }
  void expect_mapped(std::uint64_t first, std::span<const std::byte> wanted) const {
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), at(first)));
  }
  // Whether a page is there to be read, or written.
  [[nodiscard]] bool can(std::uint64_t which, bool write) const {
    std::byte one{};
    iovec local{&one, 1};
    iovec there{at(which), 1};
    if (::process_vm_readv(::getpid(), &local, 1, &there, 1, 0) != 1) return false;
    return !write || ::process_vm_writev(::getpid(), &local, 1, &there, 1, 0) == 1;
  }

  std::optional<user_faults> faults;
  std::unique_ptr<page_store> store;
};

TEST_P(rmem_page_store, pages_are_here_until_they_are_dropped) {
  for (const std::size_t count : {1, 3, 20}) {
    for (int round = 0; round < 3; ++round) {  // frames with memory and without
      const auto some = run(10, 5, count);
      const std::vector<std::byte> bytes = bytes_of(count, round);
      store->fill(some, bytes.data());
      EXPECT_EQ(std::memcmp(store->view(some.back()), bytes.data() + (count - 1) * page, page), 0);
      EXPECT_FALSE(can(10, false));
      ASSERT_EQ(store->map(some, true, {}), page_store::outcome::all);
      expect_mapped(10, bytes);
      EXPECT_FALSE(can(10, true));
      store->allow_writes(10, 10 + count);
      at(10)[9] = std::byte{77};
      EXPECT_EQ(store->view(some.front())[9], std::byte{77});
      store->hold(some);
      EXPECT_FALSE(can(10, true));
      store->unmap(some);
      EXPECT_FALSE(can(10, false));
      EXPECT_EQ(store->view(some.front())[9], std::byte{77});
      ASSERT_EQ(store->map(some, false, {}), page_store::outcome::all);
      EXPECT_TRUE(can(10, true));
      store->drop(some);
      EXPECT_FALSE(can(10, false));
    }
  }
}

TEST_P(rmem_page_store, what_is_kept_is_no_more_the_callers) {
  const auto some = run(40, 0, 4);
  std::vector<std::byte> bytes = bytes_of(4, 1);
  const std::vector<std::byte> wanted = bytes;
  store->fill(some, bytes.data());
  store->keep();
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  ASSERT_EQ(store->map(some, true, {}), page_store::outcome::all);
  expect_mapped(40, wanted);
}

// A page that somebody writes to in the moment before it is protected is told, with what it held.
TEST_P(rmem_page_store, no_write_before_the_protection_is_lost) {
  constexpr std::size_t count = 32;
  const auto some = run(100, 8, count);
  const std::vector<std::byte> bytes = bytes_of(count, 3);
  const std::jthread writer{[&](const std::stop_token& over) {
    std::byte value{0xee};
    iovec local{&value, 1};
    iovec there{at(100) + 11, 1};
    while (!over.stop_requested()) (void)::process_vm_writev(::getpid(), &local, 1, &there, 1, 0);
  }};
  int hits = 0;
  for (int round = 0; round < 2000 && hits < 20; ++round) {
    store->fill(some, bytes.data());
    if (round % 2 == 1) store->keep();
    int told = 0;
    ASSERT_EQ(store->map(some, true,
                         [&](const page_store::held& which, const std::byte* before) {
                           ++told;
                           EXPECT_EQ(which.page, 100U);
                           EXPECT_EQ(std::memcmp(before, bytes.data(), page), 0);
                         }),
              page_store::outcome::all);
    const bool is_written = at(100)[11] == std::byte{0xee};
    ASSERT_EQ(told, is_written ? 1 : 0) << round;
    hits += told;
    store->drop(some);
  }
  if (GetParam() == kernel::this_one && hits == 0) GTEST_SKIP() << "nobody wrote in that moment";
  if (GetParam() != kernel::this_one) {
    EXPECT_EQ(hits, 0);  // there is none
  }
}

TEST_P(rmem_page_store, what_the_program_gives_back_is_gone_where_it_has_no_file) {
  const auto some = run(7, 1, 2);
  const std::vector<std::byte> bytes = bytes_of(2, 4);
  store->fill(some, bytes.data());
  ASSERT_EQ(store->map(some, false, {}), page_store::outcome::all);
  EXPECT_FALSE(store->is_gone(some[0]));
  ASSERT_EQ(::madvise(at(7), page, MADV_DONTNEED), 0);
  EXPECT_EQ(store->is_gone(some[0]), GetParam() == kernel::this_one);
  EXPECT_FALSE(store->is_gone(some[1]));
}

INSTANTIATE_TEST_SUITE_P(, rmem_page_store, testing::Values(kernel::this_one, kernel::before_6_8),
                         [](const auto& info) { return info.param == kernel::this_one ? "moves" : "file"; });

}  // namespace
