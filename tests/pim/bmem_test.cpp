// The bit-contiguous allocator: the paper's pictures, extents, placement, and each error by its message.
#include <situ/base/error.h>
#include <situ/pim/bmem.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pim/exact_bmem.h"

namespace {

using situ::errc;
using situ::pim::block;
using situ::pim::bmem;
using situ::pim::dimension;
using situ::pim::geometry;
using situ_pim_test::exact_bmem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr geometry of_table_3{.rows = 1024, .columns = 65536, .subarrays = 16, .banks = 8};
constexpr geometry small{.rows = 128, .columns = 128, .subarrays = 4, .banks = 2};

// The paper's figure 3: rows down, subarrays across.
constexpr geometry of_figure_3{.rows = 8, .columns = 64, .subarrays = 8, .banks = 1};
constexpr std::array<std::string_view, 8> figure_3{"11100011", "11101111", "11101111", "11100000",
                                                   "11100000", "00000000", "00000000", "00000000"};

// Allocates each granule and frees those that the picture has free.
std::vector<void*> draw_figure_3(bmem& on) {
  std::vector<void*> all;
  for (int i = 0; i < 64; ++i) all.push_back(on.allocate_block(1, 1));
  std::vector<void*> taken;
  for (void* const each : all) {
    const block at = on.find(each);
    if (figure_3[at.row][at.subarray] == '1')
      taken.push_back(each);
    else
      on.free(each);
  }
  return taken;
}

void draw_figure_3(exact_bmem& on) {
  for (std::uint32_t row = 0; row < 8; ++row)
    for (std::uint32_t s = 0; s < 8; ++s)
      if (figure_3[row][s] == '1') on.set({s, row, 1, 1}, true);
}

// Returns the message of the error that a call throws, after a look at its code.
std::string refusal(errc code, const std::function<void()>& call) {
  try {
    call();
  } catch (const situ::error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return std::string{error.message()};
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

// --- the paper ---

TEST(pim_bmem_paper, figure_3_has_the_contig_vectors_of_the_paper) {
  exact_bmem exact{8, 8};
  draw_figure_3(exact);
  EXPECT_THAT(exact.subarray_contig(), ElementsAre(3, 1, 1, 5, 5, 8, 8, 8));
  EXPECT_THAT(exact.row_contig(), ElementsAre(3, 3, 3, 8, 5, 5, 5, 5));
}

TEST(pim_bmem_paper, two_rows_of_four_subarrays_are_found_at_row_3_subarray_3) {
  exact_bmem exact{8, 8};
  draw_figure_3(exact);
  bmem ours{of_figure_3};
  (void)draw_figure_3(ours);
  const block expected{.subarray = 3, .row = 3, .subarrays = 4, .rows = 2};
  EXPECT_EQ(exact.allocate(4, 2), expected);
  EXPECT_EQ(ours.find(ours.allocate_block(4, 2)), expected);
  EXPECT_THAT(exact.subarray_contig(), ElementsAre(3, 1, 1, 1, 1, 8, 8, 8));
  EXPECT_THAT(exact.row_contig(), ElementsAre(3, 3, 3, 3, 3, 3, 3, 5));
}

// Equation 1: p q + S + R. Stage 1 passes over rows 0, 1, 2 and finds 3 and 4; of the subarrays it tries 0 (too short
// for none, so the stage 2 looks at row 3 there), and finds 3 .. 6.
TEST(pim_bmem_paper, a_search_looks_at_what_equation_1_says) {
  exact_bmem empty{8, 8};
  (void)empty.allocate(4, 2);
  EXPECT_EQ(empty.looked(), (exact_bmem::looks{.entries = 2 + 4, .granules = 8}));

  exact_bmem exact{8, 8};
  draw_figure_3(exact);
  (void)exact.allocate(4, 2);
  // Rows 0, 1, 2, then 3 and 4; four entries for each of the subarrays 0 .. 3. Stage 2: one granule at each of the
  // subarrays 0 .. 2, then p q.
  EXPECT_EQ(exact.looked(), (exact_bmem::looks{.entries = 3 + 2 + 4 * 4, .granules = 3 + 8}));
}

// A device of one word of rows is searched in the paper's order, so any sequence finds the same places.
TEST(pim_bmem_paper, a_small_device_is_filled_as_the_paper_fills_it) {
  for (std::uint32_t subarrays = 1; subarrays <= 8; ++subarrays)
    for (std::uint32_t rows = 1; rows <= 8; ++rows) {
      exact_bmem exact{8, 8};
      draw_figure_3(exact);
      bmem ours{of_figure_3, {.thread_caches = false}};
      (void)draw_figure_3(ours);
      for (;;) {
        const auto expected = exact.allocate(subarrays, rows);
        void* const at = ours.try_allocate_block(subarrays, rows);
        ASSERT_EQ(at != nullptr, expected.has_value()) << subarrays << " x " << rows;
        if (at == nullptr) break;
        ASSERT_EQ(ours.find(at), *expected);
      }
    }
}

TEST(pim_bmem_paper, table_1_fills_the_device_without_a_gap) {
  for (const bool is_across_banks : {false, true}) {
    bmem device{of_table_3, {.across_banks = is_across_banks}};
    for (int round = 0; round < 2; ++round) {
      std::vector<void*> blocks;
      for (int i = 0; i < 1024; ++i) blocks.push_back(device.allocate(1048576, dimension::horizontal));
      EXPECT_EQ(device.usage().free_granules, 0u);
      for (void* const each : blocks) device.free(each);
      blocks.clear();
      for (int i = 0; i < 128; ++i) blocks.push_back(device.allocate(128, dimension::vertical));
      EXPECT_EQ(device.usage().free_granules, 0u);
      for (void* const each : blocks) device.free(each);
    }
    EXPECT_EQ(device.usage().free_granules, of_table_3.granules());
  }
}

// --- extents and places ---

TEST(pim_bmem, bytes_become_rows_across_subarrays_or_down_a_column) {
  const bmem device{of_table_3};
  EXPECT_EQ(device.extent_of(1, dimension::horizontal), (block{0, 0, 1, 1}));
  EXPECT_EQ(device.extent_of(8192, dimension::horizontal), (block{0, 0, 1, 1}));
  EXPECT_EQ(device.extent_of(8193, dimension::horizontal), (block{0, 0, 2, 1}));
  EXPECT_EQ(device.extent_of(std::size_t{16} * 8192 + 1, dimension::horizontal), (block{0, 0, 16, 2}));
  EXPECT_EQ(device.extent_of(1048576, dimension::horizontal), (block{0, 0, 16, 8}));
  EXPECT_EQ(device.extent_of(1, dimension::vertical), (block{0, 0, 1, 8}));
  EXPECT_EQ(device.extent_of(128, dimension::vertical), (block{0, 0, 1, 1024}));
  const bmem wide{of_table_3, {.across_banks = true}};
  EXPECT_EQ(wide.extent_of(1048576, dimension::horizontal), (block{0, 0, 128, 1}));
  const bmem odd{{.rows = 100, .columns = 192, .subarrays = 3, .banks = 1}};  // rows of 24 bytes
  EXPECT_EQ(odd.extent_of(25, dimension::horizontal), (block{0, 0, 2, 1}));
  EXPECT_EQ(odd.extent_of(12, dimension::vertical), (block{0, 0, 1, 96}));
}

TEST(pim_bmem, a_handle_is_its_blocks_place) {
  for (const std::uint32_t columns : {128u, 192u}) {
    bmem device{{.rows = 128, .columns = columns, .subarrays = 4, .banks = 2}};
    const auto* const base = static_cast<std::byte*>(device.allocate_block(1, 128));
    EXPECT_EQ(device.find(base), (block{0, 0, 1, 128}));
    const auto* const next = static_cast<std::byte*>(device.allocate_block(2, 100));
    EXPECT_EQ(device.find(next), (block{1, 0, 2, 100}));
    EXPECT_EQ(next - base, 128 * static_cast<int>(columns / 8));
    const auto* const lower = static_cast<std::byte*>(device.allocate_block(3, 28));
    EXPECT_EQ(device.find(lower), (block{1, 100, 3, 28}));
    EXPECT_EQ(lower - base, (128 + 100) * static_cast<int>(columns / 8));
  }
}

TEST(pim_bmem, a_block_lies_within_a_bank_unless_asked) {
  bmem within{small};
  (void)within.allocate_block(2, 128);
  EXPECT_EQ(within.find(within.allocate_block(4, 1)).subarray, 4u);
  bmem across{small, {.across_banks = true}};
  (void)across.allocate_block(2, 128);
  (void)across.allocate_block(1, 64);
  EXPECT_EQ(across.find(across.allocate_block(6, 64)), (block{2, 64, 6, 64}));
  EXPECT_EQ(across.find(across.allocate_block(5, 60)), (block{3, 0, 5, 60}));
}

TEST(pim_bmem, beside_is_the_same_subarrays) {
  bmem device{small};
  void* const first = device.allocate_block(2, 60);
  void* const beside = device.allocate_beside(first, 60);
  EXPECT_EQ(device.find(beside), (block{0, 60, 2, 60}));
  EXPECT_EQ(device.try_allocate_beside(first, 9), nullptr);
  EXPECT_EQ(device.usage().refused, 1u);
  device.free(first);
  EXPECT_EQ(device.find(device.allocate_beside(beside, 61 - 1)), (block{0, 0, 2, 60}));
}

// The third block of an extent is taken with those that follow, which the thread keeps until they are asked for, or
// until there is no room.
TEST(pim_bmem, a_thread_that_repeats_an_extent_takes_several_blocks_at_once) {
  bmem device{small};
  std::vector<void*> blocks;
  for (std::uint32_t i = 0; i < 20; ++i) {
    blocks.push_back(device.allocate_block(4, 2));
    EXPECT_EQ(device.find(blocks.back()).subarrays, 4u);
    EXPECT_EQ(device.find(blocks.back()).rows, 2u);
  }
  auto* const kept = static_cast<std::byte*>(device.allocate_block(4, 2)) + 2 * 16;
  EXPECT_THAT(refusal(errc::bad_address, [&] { (void)device.find(kept); }),
              HasSubstr("the block of 4 subarrays x 2 rows at subarray 0 (bank 0), row "));
  EXPECT_EQ(device.usage().live_granules, 21u * 8);
  EXPECT_EQ(device.largest_free(), (block{4, 0, 4, 128}));
  EXPECT_NE(device.try_allocate_block(4, 128), nullptr);
  EXPECT_NE(device.try_allocate_block(4, 128 - 42), nullptr);
  EXPECT_EQ(device.usage().free_granules, 0u);
  for (void* const each : blocks) device.free(each);
}

TEST(pim_bmem, usage_counts_what_is_free_live_and_refused) {
  bmem device{small};
  void* const first = device.allocate_block(2, 3);
  (void)device.allocate(16 * 5, dimension::horizontal);  // 4 subarrays x 2 rows
  EXPECT_EQ(device.usage().live_granules, 6u + 8u);
  device.free(first);
  EXPECT_EQ(device.usage().live_granules, 8u);
  EXPECT_EQ(device.usage().free_granules, small.granules() - 8);
  for (int i = 0; i < 4; ++i) (void)device.allocate_block(1, 128);  // the other bank
  EXPECT_EQ(device.try_allocate_block(1, 128), nullptr);
  EXPECT_EQ(device.usage().refused, 1u);
}

TEST(pim_bmem, the_largest_rectangle_and_the_map_are_those_of_the_picture) {
  bmem device{of_figure_3};
  (void)draw_figure_3(device);
  EXPECT_EQ(device.largest_free(), (block{3, 3, 5, 5}));
  EXPECT_EQ(device.draw(),
            "8 rows down, 1 banks of 8 subarrays across; # taken, . free\n"
            "###...##\n###.####\n###.####\n###.....\n###.....\n........\n........\n........\n");
}

TEST(pim_bmem, a_large_device_is_drawn_in_tenths) {
  bmem device{{.rows = 1024, .columns = 64, .subarrays = 128, .banks = 2}};
  (void)device.allocate_block(1, 1024);
  (void)device.allocate_block(2, 32);
  const std::string map = device.draw();
  EXPECT_THAT(map,
              HasSubstr("1024 rows down, 2 banks of 128 subarrays across; # taken, . free; a character is 2 x 64, a "
                        "digit the tenths taken\n72...."));
  EXPECT_THAT(map, HasSubstr("...|..."));
  EXPECT_THAT(map, HasSubstr("\n5..."));
  const bmem narrow{{.rows = 2, .columns = 64, .subarrays = 1, .banks = 200}};
  EXPECT_THAT(narrow.draw(), HasSubstr("2 rows down, 200 banks of 1 subarrays across; # taken, . free; the first 128 "
                                       "banks\n.|.|"));
  bmem full{of_table_3};
  EXPECT_EQ(full.largest_free(), (block{0, 0, 16, 1024}));
}

// --- errors ---

TEST(pim_bmem_errors, a_block_freed_twice_is_named) {
  for (const bool is_kept : {true, false}) {
    bmem device{small, {.thread_caches = is_kept}};
    (void)device.allocate_block(4, 100);
    (void)device.allocate_block(4, 100);
    void* const twice = device.allocate_block(2, 3);
    device.free(twice);
    const std::string message = refusal(errc::bad_address, [&] { device.free(twice); });
    EXPECT_EQ(message, std::string{"bmem: "} + (is_kept ? "the block of 2 subarrays x 3 rows at " : "") +
                           "subarray 0 (bank 0), row 100 is free: it was freed before, or never allocated; forget a "
                           "handle when its block is freed");
    EXPECT_THROW((void)device.find(twice), situ::error);
    EXPECT_THROW((void)device.allocate_beside(twice, 1), situ::error);
  }
}

TEST(pim_bmem_errors, an_address_within_a_block_is_named) {
  bmem device{small};
  (void)device.allocate_block(4, 128);
  auto* const at = static_cast<std::byte*>(device.allocate_block(2, 3));
  const std::string block_text = "lies within the block of 2 subarrays x 3 rows at subarray 4 (bank 1), row 0: pass";
  EXPECT_THAT(refusal(errc::bad_address, [&] { device.free(at + 2 * 16); }),
              AllOf(HasSubstr("(byte 0 of subarray 4 (bank 1), row 2)"), HasSubstr(block_text)));
  EXPECT_THAT(refusal(errc::bad_address, [&] { device.free(at + 5); }),
              AllOf(HasSubstr("(byte 5 of subarray 4 (bank 1), row 0)"), HasSubstr(block_text)));
  EXPECT_THAT(refusal(errc::bad_address, [&] { (void)device.find(at + (128 + 1) * 16); }),
              AllOf(HasSubstr("(byte 0 of subarray 5 (bank 1), row 1)"), HasSubstr(block_text)));
  device.free(at);
}

TEST(pim_bmem_errors, another_devices_handle_is_named) {
  bmem one{small};
  bmem other{small};
  void* const at = one.allocate_block(1, 1);
  EXPECT_THAT(refusal(errc::bad_address, [&] { other.free(at); }),
              AllOf(HasSubstr("is no handle of this device, whose handles lie from 0x"),
                    HasSubstr("pass it to the device that allocated it")));
  int local = 0;
  EXPECT_THROW(one.free(&local), situ::error);
  one.free(nullptr);
  one.free(at);
}

TEST(pim_bmem_errors, extents_that_no_block_has_are_refused) {
  bmem device{small};
  const auto extent = [&](std::uint32_t subarrays, std::uint32_t rows) {
    return refusal(errc::bad_argument, [&] { (void)device.try_allocate_block(subarrays, rows); });
  };
  EXPECT_EQ(extent(1, 129), "bmem: 1 subarray x 129 rows: a subarray has 128 rows: allocate several blocks");
  EXPECT_EQ(extent(5, 1),
            "bmem: 5 subarrays x 1 row: a bank has 4 subarrays: allocate several blocks, or set across_banks");
  EXPECT_EQ(extent(9, 1), "bmem: 9 subarrays x 1 row: the device has 8 subarrays: allocate several blocks");
  EXPECT_EQ(extent(0, 1), "bmem: 0 subarrays x 1 row: a block has at least 1 subarray and 1 row");
  EXPECT_EQ(extent(1, 0), "bmem: 1 subarray x 0 rows: a block has at least 1 subarray and 1 row");
  EXPECT_EQ(refusal(errc::bad_argument, [&] { (void)device.allocate(17, dimension::vertical); }),
            "bmem: 17 bytes down a column, a row for each bit, and a subarray has 128 rows: allocate several blocks");
  EXPECT_EQ(refusal(errc::bad_argument, [&] { (void)device.allocate(8193, dimension::horizontal); }),
            "bmem: 8193 bytes, and 4 subarrays of 128 rows of 16 bytes have 8192: allocate several blocks, or set "
            "across_banks");
  EXPECT_EQ(refusal(errc::bad_argument, [&] { (void)device.allocate(0, dimension::vertical); }),
            "bmem: 0 bytes: a block has at least 1");
  void* const at = device.allocate_block(1, 1);
  EXPECT_THROW((void)device.allocate_beside(at, 129), situ::error);
  EXPECT_THROW((void)device.allocate_beside(at, 0), situ::error);
  EXPECT_EQ(device.usage().refused, 0u);
}

TEST(pim_bmem_errors, want_of_room_names_the_largest_rectangle_and_draws_a_map) {
  bmem device{{.rows = 8, .columns = 64, .subarrays = 4, .banks = 2}};
  (void)device.allocate_block(4, 5);
  (void)device.allocate_block(4, 6);
  EXPECT_EQ(refusal(errc::out_of_memory, [&] { (void)device.allocate_block(2, 4); }),
            "bmem: no room for 2 subarrays x 4 rows: the largest free rectangle is 4 subarrays x 3 rows at subarray 0 "
            "(bank 0), row 5, and 20 of 64 granules are free. Free blocks, or allocate smaller ones.\n"
            "8 rows down, 2 banks of 4 subarrays across; # taken, . free\n"
            "####|####\n####|####\n####|####\n####|####\n####|####\n....|####\n....|....\n....|....\n");
  void* const first = device.allocate(8, dimension::horizontal);
  EXPECT_THAT(
      refusal(errc::out_of_memory, [&] { (void)device.allocate_beside(first, 3); }),
      HasSubstr("no room for 3 rows beside the block of 1 subarray x 1 row at subarray 0 (bank 0), row 5: the"));
  while (device.try_allocate_block(1, 1) != nullptr) continue;
  EXPECT_THAT(refusal(errc::out_of_memory, [&] { (void)device.allocate(8, dimension::horizontal); }),
              HasSubstr("no room for 1 subarray x 1 row: nothing is free. Free blocks"));
}

TEST(pim_bmem_errors, shapes_that_no_device_has_are_refused) {
  EXPECT_THROW(bmem({.rows = 8, .columns = 65, .subarrays = 1, .banks = 1}), situ::error);
  // 2^60 bytes of handles.
  EXPECT_THAT(refusal(errc::out_of_memory, [] { bmem({1024, 4294967232u, 32767, 1}); }),
              HasSubstr("bytes of addresses for handles"));
}

}  // namespace
