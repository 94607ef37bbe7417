// Where pages of a region lie, by the kernel's moves and by a file.
#include "rmem/page_store.h"
#include "rmem/region_faults.h"

#include <situ/base/error.h>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
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
  [[nodiscard]] const std::byte* view(const page_store::held& which) { return store->view(which, copy.data()); }
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
  std::vector<std::byte> copy = std::vector<std::byte>(page);
};

TEST_P(rmem_page_store, pages_are_here_until_they_are_dropped) {
  for (const std::size_t count : {1, 3, 20}) {
    for (int round = 0; round < 3; ++round) {  // frames with memory and without
      const auto some = run(10, 5, count);
      const std::vector<std::byte> bytes = bytes_of(count, round);
      store->fill(some, bytes.data());
      EXPECT_EQ(std::memcmp(view(some.back()), bytes.data() + (count - 1) * page, page), 0);
      EXPECT_FALSE(can(10, false));
      ASSERT_EQ(store->map(some, true, {}), page_store::outcome::all);
      expect_mapped(10, bytes);
      EXPECT_FALSE(can(10, true));
      store->allow_writes(10, 10 + count);
      at(10)[9] = std::byte{77};
      EXPECT_EQ(view(some.front())[9], std::byte{77});
      store->hold(some);
      EXPECT_FALSE(can(10, true));
      store->unmap(some);
      EXPECT_FALSE(can(10, false));
      EXPECT_EQ(view(some.front())[9], std::byte{77});
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
  const bool has_file = GetParam() != kernel::this_one;
  EXPECT_EQ(store->is_gone(some[0]), !has_file);
  EXPECT_FALSE(store->is_gone(some[1]));
  EXPECT_EQ(view(some[0]) != nullptr, has_file);
  ASSERT_NE(view(some[1]), nullptr);
  EXPECT_EQ(std::memcmp(view(some[1]), bytes.data() + page, page), 0);
}

// Who maps pages compares them, and would wait for itself at one that the program gives back meanwhile.
TEST_P(rmem_page_store, pages_may_be_given_back_while_they_are_mapped) {
  if (GetParam() != kernel::this_one) GTEST_SKIP() << "the file has them";
  for (const user_faults::told how : {user_faults::told::by_signal, user_faults::told::by_descriptor}) {
    store.reset();
    faults.emplace(how);
    store = rmem::detail::make_page_store(*faults, pages, frames, true);
    const auto some = run(30, 8, 32);
    const std::vector<std::byte> bytes = bytes_of(32, 5);
    // Each page that goes in the moment of a look costs some milliseconds, where touches are told by descriptor.
    const auto ends = std::chrono::steady_clock::now() + std::chrono::seconds{3};
    const std::jthread program{[&](const std::stop_token& over) {
      for (std::uint64_t i = 0; !over.stop_requested(); i = (i + 7) % 32) ::madvise(at(30 + i), page, MADV_DONTNEED);
    }};
    for (int round = 0; round < 300 && std::chrono::steady_clock::now() < ends; ++round) {
      store->fill(some, bytes.data());
      ASSERT_EQ(store->map(some, true, [](const auto&, auto*) { ADD_FAILURE() << "nobody writes"; }),
                page_store::outcome::all);
      for (std::size_t i = 0; i < some.size(); ++i)
        if (const std::byte* const now = store->is_gone(some[i]) ? nullptr : view(some[i]))
          ASSERT_EQ(std::memcmp(now, bytes.data() + i * page, page), 0);
        else
          ASSERT_TRUE(store->is_gone(some[i]));
      store->drop(some);
    }
  }
}

// Of a page that nobody brings, and of one that takes long.
TEST(rmem_look, ends_where_who_looks_would_wait_for_itself) {
  for (const user_faults::told how : {user_faults::told::by_signal, user_faults::told::by_descriptor}) {
    std::optional<user_faults> faults;
    try {
      faults.emplace(how);
    } catch (const situ::error& refused) {
      GTEST_SKIP() << refused.what();
    }
    const rmem::detail::file_mapping absent{-1, page, PROT_READ | PROT_WRITE};
    faults->watch_private(absent.begin(), page);
    const auto read = [&] { (void)*static_cast<volatile std::byte*>(absent.begin()); };
    bool is_over = false;
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(rmem::detail::try_look(how, [&] {
        read();
        is_over = true;
      }));
      EXPECT_FALSE(is_over);
    }
    std::vector<std::byte> bytes(page, std::byte{7});
    ASSERT_EQ(faults->copy(absent.begin(), bytes.data(), page, false), page);
    EXPECT_TRUE(rmem::detail::try_look(how, read));
  }
}
TEST(rmem_look, ends_after_some_milliseconds_where_a_look_may_wait) {
  using namespace std::chrono_literals;
  const auto begin = std::chrono::steady_clock::now();
  const auto look = [&] {
    while (std::chrono::steady_clock::now() - begin < 200ms) {}
  };
  int tries = 1;
  while (!rmem::detail::try_look(user_faults::told::by_descriptor, look)) ++tries;
  EXPECT_GT(tries, 1);
}

INSTANTIATE_TEST_SUITE_P(, rmem_page_store, testing::Values(kernel::this_one, kernel::before_6_8),
                         [](const auto& info) { return info.param == kernel::this_one ? "moves" : "file"; });

}  // namespace
