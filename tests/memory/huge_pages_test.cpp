// Huge pages ahead of writing: which ranges, when they are given up, and that the kernel here does what is said of it.
#include "pages/huge_pages.h"

#include "memory/heap_map.h"
#include "memory/places_fixture.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace situ {
namespace {

using detail::huge_page_bytes;
using detail::huge_page_maker;
using detail::write_front;
using testing::ElementsAre;

constexpr std::uint64_t MiB = 1 << 20;
constexpr int populate = 23;  // MADV_POPULATE_WRITE
constexpr int collapse = 25;  // MADV_COLLAPSE

// A kernel that does as it is told. Ranges are numbers of 2 MiB.
struct imagined_kernel {
  std::vector<std::pair<std::uintptr_t, int>> asked;  // range and advice
  int populate_error = 0;
  int collapse_error = 0;
  std::uint64_t populate_ns = 2'000;
  std::uint64_t collapse_ns = 130'000;
  std::uint64_t now_ns = 0;
  std::size_t resident_pages = 0;  // of 512, the first of them

  std::vector<std::uintptr_t> tried() const {
    std::vector<std::uintptr_t> ranges;
    for (const auto& [range, advice] : asked)
      if (advice == populate) ranges.push_back(range);
    return ranges;
  }
};
imagined_kernel* kernel = nullptr;

const detail::page_calls imagined_calls{
    .advise =
        [](void* address, std::size_t bytes, int advice) noexcept {
          EXPECT_EQ(bytes, advice == populate ? 4096 : huge_page_bytes);
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % huge_page_bytes, 0u);
          kernel->asked.emplace_back(reinterpret_cast<std::uintptr_t>(address) / huge_page_bytes, advice);
          kernel->now_ns += advice == populate ? kernel->populate_ns : kernel->collapse_ns;
          errno = advice == populate ? kernel->populate_error : kernel->collapse_error;
          return errno == 0 ? 0 : -1;
        },
    .residence =
        [](void* address, std::size_t bytes, unsigned char* resident) noexcept {
          EXPECT_EQ(bytes, 4096u);
          *resident =
              reinterpret_cast<std::uintptr_t>(address) % huge_page_bytes / 4096 < kernel->resident_pages ? 1 : 0;
          return 0;
        },
    .now_ns = []() noexcept { return kernel->now_ns; }};

class huge_pages : public testing::Test {
 protected:
  huge_pages() { kernel = &told; }
  ~huge_pages() override { kernel = nullptr; }
  static std::byte* range(std::uintptr_t n) { return reinterpret_cast<std::byte*>(n * huge_page_bytes); }
  imagined_kernel told;
  huge_page_maker maker{imagined_calls};
};

TEST_F(huge_pages, a_range_is_made_of_one_page) {
  maker.make(range(5));
  EXPECT_THAT(told.asked, ElementsAre(std::pair{5u, populate}, std::pair{5u, collapse}));
  EXPECT_EQ(maker.made_bytes(), 2 * MiB);
}

TEST_F(huge_pages, what_exists_mostly_is_left_alone) {
  told.resident_pages = 512;
  maker.make(range(1));
  told.resident_pages = 300;
  maker.make(range(2));
  EXPECT_THAT(told.asked, ElementsAre());
  told.resident_pages = 200;
  maker.make(range(3));
  EXPECT_THAT(told.tried(), ElementsAre(3));
}

TEST_F(huge_pages, a_kernel_that_cannot_is_asked_once) {
  for (int* const error : {&told.populate_error, &told.collapse_error}) {
    huge_page_maker each{imagined_calls};
    *error = EINVAL;
    told.asked.clear();
    EXPECT_TRUE(each.is_supported());
    for (std::uintptr_t i = 1; i < 10; ++i) each.make(range(i));
    EXPECT_THAT(told.tried(), ElementsAre(1));
    EXPECT_FALSE(each.is_supported());
    EXPECT_EQ(each.made_bytes(), 0u);
    *error = 0;
  }
}

TEST_F(huge_pages, refusals_are_met_with_longer_and_longer_rows_of_faults) {
  told.collapse_error = ENOMEM;
  for (std::uintptr_t i = 0; i < 200; ++i) maker.make(range(i));
  EXPECT_THAT(told.tried(), ElementsAre(0, 2, 5, 10, 19, 36, 69, 134, 199));
  EXPECT_TRUE(maker.is_supported());
  EXPECT_EQ(maker.made_bytes(), 0u);
  told.collapse_error = 0;
  for (std::uintptr_t i = 200; i < 268; ++i) maker.make(range(i));
  EXPECT_EQ(maker.made_bytes(), 4 * huge_page_bytes) << "after one that succeeds, each is made again";
}

TEST_F(huge_pages, ranges_that_take_longer_than_their_faults_are_refusals_too) {
  told.collapse_ns = 512 * told.populate_ns + 1;
  for (std::uintptr_t i = 0; i < 20; ++i) maker.make(range(i));
  EXPECT_THAT(told.tried(), ElementsAre(0, 2, 5, 10, 19));
  EXPECT_EQ(maker.made_bytes(), 5 * huge_page_bytes) << "made they are";
}

TEST_F(huge_pages, one_slow_fault_is_no_measure) {
  for (std::uintptr_t i = 0; i < 100; ++i) maker.make(range(i));
  told.populate_ns = 8'000;  // an interruption
  maker.make(range(100));
  told.populate_ns = 2'000;
  told.collapse_ns = 512 * 3'000;  // less than 512 such faults, more than 512 usual ones
  maker.make(range(101));
  maker.make(range(102));
  EXPECT_EQ(told.tried().back(), 101);
}

TEST_F(huge_pages, a_front_prepares_whole_ranges_within_its_block_as_they_are_reached) {
  constexpr std::size_t lead = huge_page_bytes - 4096;
  constexpr std::size_t bytes = lead + 2 * huge_page_bytes + 1000;
  write_front front{&maker, range(7) + 4096, bytes};
  EXPECT_EQ(front.prepare(0), 0u);
  EXPECT_EQ(front.prepare(1), lead);
  EXPECT_EQ(front.prepare(lead), lead);
  EXPECT_THAT(told.tried(), ElementsAre());
  EXPECT_EQ(front.prepare(lead + 1), lead + huge_page_bytes);
  EXPECT_THAT(told.tried(), ElementsAre(8));
  EXPECT_EQ(front.prepare(100), lead + huge_page_bytes);
  EXPECT_EQ(front.prepare(bytes), bytes);
  EXPECT_THAT(told.tried(), ElementsAre(8, 9));
}

TEST_F(huge_pages, a_front_of_less_than_a_range_prepares_nothing) {
  EXPECT_EQ((write_front{&maker, range(1), huge_page_bytes - 1}.prepare(1)), huge_page_bytes - 1);
  EXPECT_EQ((write_front{&maker, range(1) + 4096, huge_page_bytes}.prepare(1)), huge_page_bytes);
  EXPECT_GE(write_front{}.prepare(100 * MiB), 100 * MiB);
  EXPECT_THAT(told.asked, ElementsAre());
}

TEST_F(huge_pages, writing_goes_behind_the_front) {
  constexpr std::size_t bytes = 5 * MiB;
  std::vector<std::pair<std::size_t, std::size_t>> parts;
  const auto note = [&](std::size_t begin, std::size_t end) {
    EXPECT_EQ(told.tried().size(), parts.size()) << "a part is prepared just before it is written";
    parts.emplace_back(begin, end);
  };
  detail::write_behind(write_front{&maker, range(3) + MiB, bytes}, bytes, note);
  EXPECT_THAT(parts, ElementsAre(std::pair{0, MiB}, std::pair{MiB, 3 * MiB}, std::pair{3 * MiB, 5 * MiB}));
  parts.clear();
  told.asked.clear();
  const auto take = [&](std::size_t begin, std::size_t end) { parts.emplace_back(begin, end); };
  detail::write_behind(write_front{}, bytes, take);
  EXPECT_THAT(parts, ElementsAre(std::pair{0ul, std::size_t{bytes}}));
  parts.clear();
  detail::write_behind(write_front{&maker, range(3), 0}, 0, take);
  EXPECT_THAT(parts, ElementsAre());
}

// --- the kernel here ---

std::uint64_t file_bytes(const test::local_places& places) {
  struct stat status{};
  EXPECT_EQ(::fstat(const_cast<test::local_places&>(places).job().descriptor(), &status), 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

TEST(huge_pages_of_a_segment, hold_no_more_than_the_block_and_go_with_it) {
  test::local_places places{1};
  detail::segment& here = places.segment(0);
  auto* const block = static_cast<std::byte*>(here.allocate(9 * MiB, 16));
  ASSERT_NE(block, nullptr);
  const std::uint64_t before = file_bytes(places);
  here.front_of(block, 9 * MiB).prepare(9 * MiB);
  const std::uint64_t made = here.statistics().made_huge_bytes;
  if (made == 0) GTEST_SKIP() << "this kernel makes no huge pages of shared memory";
  EXPECT_TRUE(here.statistics().huge_pages_available);
  EXPECT_LE(made, 8 * MiB);
  // Where a range was dear the next is left out, so not all need be there.
  EXPECT_GE(file_bytes(places), before + made);
  EXPECT_LE(file_bytes(places), before + 9 * MiB);
  std::memset(block, 1, 9 * MiB);
  EXPECT_EQ(here.deallocate(block), detail::free_status::done);

  // More than is kept free: the pages go back, huge ones too.
  void* const large = here.allocate_huge(200 * MiB, 16);
  ASSERT_NE(large, nullptr);
  EXPECT_GT(here.statistics().made_huge_bytes, made);
  EXPECT_EQ(here.deallocate(large), detail::free_status::done);
  EXPECT_LE(file_bytes(places), before + 10 * MiB);
  EXPECT_TRUE(here.is_valid());
}

TEST(huge_pages_of_a_segment, are_not_made_of_memory_elsewhere) {
  test::local_places places{2};
  auto* const theirs = static_cast<std::byte*>(places.segment(1).allocate(9 * MiB, 16));
  std::vector<std::byte> own(9 * MiB);
  for (std::byte* const memory : {theirs, own.data()})
    EXPECT_GE(places.segment(0).front_of(memory, 9 * MiB).prepare(9 * MiB), 9 * MiB);
  EXPECT_EQ(places.segment(0).statistics().made_huge_bytes, 0u);
  EXPECT_EQ(places.segment(1).statistics().made_huge_bytes, 0u);
}

}  // namespace
}  // namespace situ
