#include "os/mapping.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <utility>

#include "os/host.h"
#include "os/pages.h"

namespace {

using situ::detail::huge_page_bytes;
using situ::detail::page_bytes;
namespace os = situ::os;
using os::backing;
using os::mapping;

constexpr int reads_and_writes = PROT_READ | PROT_WRITE;

// Asks the kernel for the range without replacing anything, so it is told if a page of it is mapped.
bool is_mapped(const void* begin, std::size_t bytes) {
  return !mapping::at_free(const_cast<void*>(begin), bytes, PROT_NONE, backing::zeros());
}

// Whether the kernel reads or writes the page for us: a pipe does, and reports a page without the right as EFAULT.
bool is_readable(const std::byte* at) {
  const auto ends = os::pipe_ends::make();
  return ::write(ends.write.number(), at, 1) == 1;
}
bool is_writable(std::byte* at) {
  const auto ends = os::pipe_ends::make();
  const char one = 1;
  return ::write(ends.write.number(), &one, 1) == 1 && ::read(ends.read.number(), at, 1) == 1;
}

mapping anonymous(std::size_t pages) {
  return mapping::anywhere(pages * page_bytes, reads_and_writes, backing::zeros());
}

os::descriptor file_of(std::size_t bytes) {
  os::descriptor made = os::memory_file("mapping_test");
  EXPECT_EQ(::ftruncate(made.number(), static_cast<off_t>(bytes)), 0);
  return made;
}

TEST(os_mapping, is_empty_until_it_maps_and_zero_then) {
  const mapping none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.begin(), nullptr);
  EXPECT_EQ(none.bytes(), 0U);
  EXPECT_FALSE((mapping{nullptr, page_bytes}));
  const mapping some = anonymous(2);
  ASSERT_TRUE(some);
  EXPECT_EQ(some.bytes(), 2 * page_bytes);
  EXPECT_TRUE(std::all_of(some.begin(), some.begin() + some.bytes(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST(os_mapping, unmaps_at_its_end_and_leaves_errno) {
  const std::byte* begin = nullptr;
  {
    const mapping some = anonymous(1);
    begin = some.begin();
    EXPECT_TRUE(is_mapped(begin, page_bytes));
    errno = ENOENT;
  }
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(is_mapped(begin, page_bytes));
}

TEST(os_mapping, moves_its_range) {
  mapping first = anonymous(1);
  std::byte* const begin = first.begin();
  *begin = std::byte{7};
  mapping second{std::move(first)};
  EXPECT_FALSE(first);
  EXPECT_EQ(first.bytes(), 0U);
  ASSERT_EQ(second.begin(), begin);
  EXPECT_EQ(*begin, std::byte{7});

  mapping third = anonymous(1);
  const std::byte* const replaced = third.begin();
  third = std::move(second);
  EXPECT_FALSE(is_mapped(replaced, page_bytes)) << "the range that it had ends at once";
  EXPECT_EQ(third.begin(), begin);
  mapping& itself = third;
  third = std::move(itself);
  EXPECT_EQ(third.begin(), begin);
  EXPECT_EQ(*begin, std::byte{7});
  third = {};
  EXPECT_FALSE(is_mapped(begin, page_bytes));
}

TEST(os_mapping, releases_what_it_is_not_to_unmap) {
  std::byte* begin = nullptr;
  {
    mapping some = anonymous(1);
    begin = some.release();
    EXPECT_FALSE(some);
    EXPECT_EQ(some.bytes(), 0U);
  }
  EXPECT_TRUE(is_mapped(begin, page_bytes));
  { const mapping taken_over{begin, page_bytes}; }
  EXPECT_FALSE(is_mapped(begin, page_bytes));
  begin = anonymous(1).release();
  os::unmap(begin, page_bytes);
  EXPECT_FALSE(is_mapped(begin, page_bytes));
}

TEST(os_mapping, at_free_addresses_replaces_nothing) {
  mapping room = mapping::reserve(4 * page_bytes);
  std::byte* const begin = room.begin();
  room = {};
  const mapping in_the_middle = mapping::at_free(begin + page_bytes, page_bytes, reads_and_writes, backing::zeros());
  ASSERT_EQ(in_the_middle.begin(), begin + page_bytes);
  *in_the_middle.begin() = std::byte{9};
  errno = 0;
  const mapping over_it = mapping::at_free(begin, 4 * page_bytes, reads_and_writes, backing::zeros());
  EXPECT_FALSE(over_it);
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(*in_the_middle.begin(), std::byte{9});
  EXPECT_FALSE(is_mapped(begin, page_bytes)) << "nor does it map the part that is free";
}

TEST(os_mapping, of_a_reservation_has_no_access_until_it_is_opened) {
  const mapping range = mapping::reserve(8 * page_bytes);
  ASSERT_TRUE(range);
  EXPECT_FALSE(is_readable(range.begin()));
  ASSERT_TRUE(os::open_reserved(range.begin() + page_bytes, page_bytes));
  EXPECT_TRUE(is_writable(range.begin() + page_bytes));
  EXPECT_FALSE(is_readable(range.begin()));
  EXPECT_FALSE(is_readable(range.begin() + 2 * page_bytes));
}

TEST(os_mapping, of_a_reservation_stays_reserved_after_its_pages_are_taken) {
  const mapping range = mapping::reserve(4 * page_bytes);
  std::byte* const part = range.begin() + page_bytes;
  ASSERT_TRUE(os::open_reserved(part, page_bytes));
  *part = std::byte{1};
  ASSERT_TRUE(os::reserve_over(part, page_bytes));
  EXPECT_FALSE(is_readable(part));
  EXPECT_TRUE(is_mapped(part, page_bytes)) << "no other mapping gets these addresses";
  ASSERT_TRUE(os::open_reserved(part, page_bytes));
  EXPECT_EQ(*part, std::byte{0});
}

TEST(os_mapping, shows_a_file_shared_or_as_a_copy) {
  const os::descriptor file = file_of(3 * page_bytes);
  const auto bytes = 2 * page_bytes;
  const mapping first = mapping::anywhere(bytes, reads_and_writes, backing::shared(file.number(), page_bytes));
  const mapping second = mapping::anywhere(bytes, PROT_READ, backing::shared(file.number(), page_bytes).uncommitted());
  const mapping copy = mapping::anywhere(bytes, reads_and_writes, backing::private_copy(file.number(), page_bytes));
  ASSERT_TRUE(first && second && copy);
  first.begin()[5] = std::byte{3};
  EXPECT_EQ(second.begin()[5], std::byte{3});
  EXPECT_EQ(copy.begin()[5], std::byte{3});
  copy.begin()[5] = std::byte{4};
  EXPECT_EQ(first.begin()[5], std::byte{3});
  EXPECT_FALSE(is_writable(second.begin()));
  std::byte in_file{};
  EXPECT_EQ(::pread(file.number(), &in_file, 1, page_bytes + 5), 1);
  EXPECT_EQ(in_file, std::byte{3});
}

TEST(os_mapping, of_a_reservation_takes_a_file_at_a_fixed_address) {
  const os::descriptor file = file_of(page_bytes);
  const mapping range = mapping::reserve(3 * page_bytes);
  for (const std::size_t page : {std::size_t{0}, std::size_t{2}})
    ASSERT_TRUE(
        os::map_over(range.begin() + page * page_bytes, page_bytes, reads_and_writes, backing::shared(file.number())));
  range.begin()[1] = std::byte{6};
  EXPECT_EQ(range.begin()[2 * page_bytes + 1], std::byte{6});
  EXPECT_FALSE(is_readable(range.begin() + page_bytes));
}

TEST(os_mapping, changes_rights) {
  const mapping some = anonymous(2);
  ASSERT_TRUE(os::protect(some.begin(), page_bytes, PROT_READ));
  EXPECT_TRUE(is_readable(some.begin()));
  EXPECT_FALSE(is_writable(some.begin()));
  EXPECT_TRUE(is_writable(some.begin() + page_bytes));
  ASSERT_TRUE(os::protect(some.begin(), page_bytes, PROT_NONE));
  EXPECT_FALSE(is_readable(some.begin()));
}

void write_numbers(std::byte* to, std::size_t pages) {
  for (std::size_t i = 0; i < pages; ++i) std::memset(to + i * page_bytes, static_cast<int>(i + 1), page_bytes);
}
bool are_numbers(const std::byte* from, std::size_t pages, std::size_t first = 0) {
  for (std::size_t i = 0; i < pages; ++i)
    if (!std::all_of(from + i * page_bytes, from + (i + 1) * page_bytes,
                     [&](std::byte b) { return b == static_cast<std::byte>(first + i + 1); }))
      return false;
  return true;
}

TEST(os_mapping, moves_pages_that_keep_their_contents) {
  const mapping from = anonymous(4);
  const mapping to = mapping::reserve(4 * page_bytes);
  write_numbers(from.begin(), 4);
  ASSERT_TRUE(os::move_pages_over(to.begin() + page_bytes, from.begin() + page_bytes, 2 * page_bytes));
  EXPECT_TRUE(are_numbers(to.begin() + page_bytes, 2, 1));
  EXPECT_TRUE(is_writable(to.begin() + page_bytes)) << "the rights move with the pages";
  EXPECT_FALSE(is_readable(to.begin()));
  EXPECT_TRUE(are_numbers(from.begin(), 1));
  EXPECT_EQ(from.begin()[page_bytes], std::byte{0}) << "the addresses stay, without pages";
}

TEST(os_mapping, gives_its_first_pages_to_a_larger_range) {
  mapping small = anonymous(4);
  std::byte* const before = small.begin();
  write_numbers(before, 4);
  const mapping large = mapping::reserve(16 * page_bytes);
  ASSERT_TRUE(os::open_reserved(large.begin(), 4 * page_bytes));
  small.move_front(large.begin(), page_bytes);
  EXPECT_FALSE(is_mapped(before, page_bytes));
  EXPECT_EQ(small.begin(), before + page_bytes);
  EXPECT_EQ(small.bytes(), 3 * page_bytes);
  small.move_front(large.begin() + page_bytes, 2 * page_bytes);
  EXPECT_TRUE(are_numbers(large.begin(), 3));
  EXPECT_TRUE(are_numbers(small.begin(), 1, 3));
  small.move_front(large.begin() + 3 * page_bytes, page_bytes);
  EXPECT_FALSE(small);
  EXPECT_EQ(small.bytes(), 0U);
  EXPECT_TRUE(are_numbers(large.begin(), 4));
  EXPECT_FALSE(is_mapped(before, 4 * page_bytes));
}

TEST(os_mapping, leaves_the_reason_of_a_failure_and_maps_nothing) {
  const mapping room = mapping::reserve(2 * page_bytes);
  errno = 0;
  EXPECT_FALSE(mapping::anywhere(std::size_t{1} << 60, PROT_NONE, backing::zeros()));
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_FALSE(mapping::anywhere(page_bytes, PROT_READ, backing::shared(-1)));
  EXPECT_EQ(errno, EBADF);
  const os::descriptor file = file_of(page_bytes);
  errno = 0;
  EXPECT_FALSE(mapping::anywhere(page_bytes, PROT_READ, backing::shared(file.number(), 1)));
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_FALSE(os::map_over(room.begin() + 1, page_bytes, PROT_READ, backing::zeros()));
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_FALSE(os::move_pages_over(room.begin() + 1, room.begin() + page_bytes, page_bytes));
  EXPECT_EQ(errno, EINVAL);
  std::byte* gone = nullptr;
  { gone = anonymous(1).begin(); }
  errno = 0;
  EXPECT_FALSE(os::protect(gone, page_bytes, PROT_READ));
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_FALSE(is_readable(room.begin()));
}

sigjmp_buf before_touch;
std::byte* touched = nullptr;
void open_touched_page(int /*number*/) {
  if (!os::protect(touched, page_bytes, reads_and_writes)) ::siglongjmp(before_touch, 1);
}

TEST(os_mapping, may_be_protected_by_a_handler_of_faults) {
  const mapping range = mapping::reserve(page_bytes);
  touched = range.begin();
  struct sigaction ours{};
  ours.sa_handler = &open_touched_page;
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGSEGV, &ours, &before), 0);
  const bool is_served =
      sigsetjmp(before_touch, 1) == 0 && (*const_cast<volatile std::byte*>(touched) = std::byte{1}, true);
  ::sigaction(SIGSEGV, &before, nullptr);
  EXPECT_TRUE(is_served);
  EXPECT_EQ(*range.begin(), std::byte{1});
}

TEST(os_mapping, of_pages_is_whole_huge_pages_from_there_on) {
  const situ::detail::pages small{page_bytes + 1};
  EXPECT_EQ(small.size(), 2 * page_bytes);
  situ::detail::pages large{huge_page_bytes + 1};
  EXPECT_EQ(large.size(), 2 * huge_page_bytes);
  const std::byte* const at = large.data();
  const situ::detail::pages moved{std::move(large)};
  EXPECT_TRUE(large.empty());
  EXPECT_EQ(moved.data(), at);
  EXPECT_TRUE(situ::detail::pages{mapping{}}.empty());
  EXPECT_TRUE(situ::detail::pages{std::size_t{1} << 60}.empty());
}

TEST(os_memory_file, is_closed_on_exec_unless_it_is_to_be_inherited_and_may_be_sealed) {
  const os::descriptor file = os::memory_file("mapping_test");
  ASSERT_TRUE(file);
  EXPECT_EQ(::fcntl(file.number(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(file.number(), F_ADD_SEALS, F_SEAL_GROW), 0);
  EXPECT_NE(::ftruncate(file.number(), page_bytes), 0);
  EXPECT_EQ(::fcntl(os::memory_file("mapping_test", 0).number(), F_GETFD), 0);
  errno = 0;
  EXPECT_FALSE(os::memory_file("mapping_test", 1U << 20));
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
