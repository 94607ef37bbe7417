// The public interface: types, errors and their words.

#include <situ/memory/allocate.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <situ/base/error.h>

#include <limits>

#include "memory/places_fixture.h"

namespace {

using namespace situ;
using situ::test::acting_as;
using situ::test::local_places;
using testing::AllOf;
using testing::HasSubstr;

template <class Body>
std::string message_of(errc code, Body body) {
  try {
    body();
  } catch (const error& caught) {
    EXPECT_EQ(caught.code(), code) << caught.what();
    return caught.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

struct alignas(128) wide {
  double values[20];
};

std::string hex(std::uintptr_t address) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%zx", address);
  return text;
}

TEST(allocate, in_the_place_that_asks) {
  local_places places{3};
  const acting_as place{places.context(2)};
  const ptr<wide> many = allocate<wide>(10);
  EXPECT_EQ(many.place().index(), 2u);
  EXPECT_TRUE(many.is_here());
  EXPECT_EQ(many.address() % 128, 0u);
  EXPECT_EQ(allocate<char>(1, {.alignment = 4096}).address() % 4096, 0u);
  EXPECT_EQ(allocate_bytes(5).address() % 16, 0u);
  deallocate(many);
  deallocate(ptr<wide>{});
  deallocate(ptr<const int>{allocate<int>()});
  const memory_usage usage = memory_statistics();
  EXPECT_EQ(usage.allocations, 4u);
  EXPECT_EQ(usage.deallocations, 2u);
  EXPECT_EQ(usage.live_blocks, 2u);
  EXPECT_EQ(usage.live_bytes, 4096u + 16u);
  EXPECT_GE(usage.peak_bytes, 1920u);
}

TEST(allocate, deallocates_at_any_place) {
  local_places places{2};
  ptr<int> made;
  {
    const acting_as place{places.context(0)};
    made = allocate<int>(100);
  }
  const acting_as place{places.context(1)};
  EXPECT_FALSE(made.is_here());
  deallocate(made);
  EXPECT_EQ(places.segment(0).statistics().live_blocks, 0u);
}

TEST(allocate, running_out_says_what_to_do_and_the_place_goes_on) {
  local_places places{2, 8u << 20};
  const acting_as place{places.context(1)};
  const ptr<char> kept = allocate<char>(3u << 20);
  const std::string message = message_of(errc::out_of_memory, [] { (void)allocate<double>(1'000'000); });
  EXPECT_THAT(message, AllOf(HasSubstr("place 1"), HasSubstr("8000000 bytes"), HasSubstr("5242880 bytes are left"),
                             HasSubstr("budget of 8388608"), HasSubstr("larger memory budget")));
  EXPECT_NE(allocate<char>(4u << 20), nullptr);
  deallocate(kept);
}

TEST(allocate, overflowing_counts_are_refused) {
  local_places places{1};
  const acting_as place{places.context(0)};
  EXPECT_THAT(
      message_of(errc::out_of_memory, [] { (void)allocate<double>(std::numeric_limits<std::size_t>::max() / 4); }),
      HasSubstr("objects of 8 bytes"));
  EXPECT_THAT(message_of(errc::out_of_memory, [] { (void)allocate<char>(std::numeric_limits<std::size_t>::max()); }),
              HasSubstr("cannot allocate"));
}

TEST(allocate, alignment_must_be_a_power_of_two) {
  local_places places{1};
  const acting_as place{places.context(0)};
  EXPECT_THAT(message_of(errc::bad_argument, [] { (void)allocate<char>(1, {.alignment = 24}); }), HasSubstr("24"));
}

TEST(allocate, outside_a_runtime_is_an_error) {
  EXPECT_THAT(message_of(errc::no_runtime, [] { (void)allocate<int>(); }), HasSubstr("situ::runtime"));
  EXPECT_THAT(message_of(errc::no_runtime, [] { (void)memory_statistics(); }), HasSubstr("situ::runtime"));
  int local = 0;
  EXPECT_THAT(message_of(errc::no_runtime, [&] { deallocate(ptr<int>{&local}); }), HasSubstr("situ::runtime"));
  EXPECT_THAT(message_of(errc::no_runtime, [&] { (void)ptr<int>{&local}.place(); }), HasSubstr("situ::runtime"));
  EXPECT_FALSE(ptr<int>{&local}.is_here());
  deallocate(ptr<int>{});
}

TEST(deallocate, twice_is_an_error_that_names_the_block) {
  local_places places{2};
  const acting_as place{places.context(0)};
  const ptr<int> block = allocate<int>(10);
  deallocate(block);
  EXPECT_THAT(
      message_of(errc::bad_address, [&] { deallocate(block); }),
      AllOf(HasSubstr(hex(block.address())), HasSubstr("place 0"), HasSubstr("48 bytes"), HasSubstr("already free")));
  const ptr<int> far = allocate<int>(10);
  const acting_as other{places.context(1)};
  deallocate(far);
  EXPECT_THAT(message_of(errc::bad_address, [&] { deallocate(far); }),
              AllOf(HasSubstr(hex(far.address())), HasSubstr("at place 1"), HasSubstr("at place 0 is already free")));
}

TEST(deallocate, within_a_block_names_its_start) {
  local_places places{2};
  const acting_as place{places.context(0)};
  for (const std::size_t n : {10u, 100'000u}) {
    const ptr<int> block = allocate<int>(n);
    for (std::uint32_t from = 0; from < 2; ++from) {
      const acting_as freeing{places.context(from)};
      EXPECT_THAT(message_of(errc::bad_address, [&] { deallocate(block + 3); }),
                  AllOf(HasSubstr(hex(block.address() + 12)), HasSubstr("12 bytes into a live block"),
                        HasSubstr(hex(block.address()))));
    }
    deallocate(block);
  }
}

TEST(deallocate, foreign_addresses_are_errors) {
  local_places places{2};
  const acting_as place{places.context(0)};
  int local = 0;
  EXPECT_THAT(message_of(errc::bad_address, [&] { deallocate(ptr<int>{&local}); }),
              AllOf(HasSubstr(hex(reinterpret_cast<std::uintptr_t>(&local))), HasSubstr("no place")));
  for (const std::uint32_t target : {0u, 1u}) {
    const auto nowhere = reinterpret_cast<int*>(places.heap(target) + 123'456);
    EXPECT_THAT(message_of(errc::bad_address, [&] { deallocate(ptr<int>{nowhere}); }),
                HasSubstr("no live block of place " + std::to_string(target)));
  }
}

#if defined(__SANITIZE_ADDRESS__)
TEST(allocate_death, address_sanitizer_sees_use_after_free) {
  local_places places{1};
  const acting_as place{places.context(0)};
  volatile char* const block = allocate<char>(100).local();
  block[99] = 1;
  EXPECT_DEATH(block[100] = 1, "AddressSanitizer");
  deallocate(ptr<char>{const_cast<char*>(block)});
  EXPECT_DEATH(block[0] = 1, "AddressSanitizer");
}
#endif

}  // namespace
