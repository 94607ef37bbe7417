#include "pim/cell_storage.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "pim/transpose.h"

namespace {

using situ::pim::block;
using situ::pim::cell_storage;
using situ::pim::dimension;
using situ::pim::element_form;
using situ::pim::geometry;

constexpr geometry small{.rows = 80, .columns = 2176, .subarrays = 3, .banks = 2};

bool cell(const cell_storage& cells, std::uint32_t subarray, std::uint32_t row, std::uint32_t column) {
  std::vector<std::uint64_t> bits(cells.shape().columns / 64);
  cells.read_row(subarray, row, bits);
  return ((bits[column / 64] >> (column % 64)) & 1) != 0;
}

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const situ::error& refused) {
    EXPECT_EQ(refused.code(), situ::errc::bad_argument);
    return refused.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(pim_cell_storage, is_zero_until_it_is_written) {
  const cell_storage cells{small};
  std::vector<std::uint64_t> row(34, 1);
  cells.read_row(5, 79, row);
  EXPECT_THAT(row, testing::Each(0u));
  EXPECT_EQ(cells.tiles(), 2u);
}

TEST(pim_cell_storage, puts_a_vertical_element_in_a_column) {
  cell_storage cells{small};
  const block where{2, 7, 2, 12};
  EXPECT_EQ(cells.capacity(where, {dimension::vertical, 12, 8}), 4352u);
  cells.write(where, dimension::vertical, 12, 2176 + 2050, std::vector<std::uint64_t>{0xF802});
  for (std::uint32_t row = 0; row < 80; ++row)
    EXPECT_EQ(cell(cells, 3, row, 2050), row == 8 || row == 18) << row;  // bits 1 and 11 of 0x802
  EXPECT_FALSE(cell(cells, 2, 8, 2050));
  EXPECT_FALSE(cell(cells, 3, 8, 2049));
}

TEST(pim_cell_storage, puts_a_horizontal_element_in_a_row) {
  cell_storage cells{small};
  const block where{1, 4, 2, 3};
  EXPECT_EQ(cells.capacity(where, {dimension::horizontal, 12, 8}), 2 * 3 * 181u);
  // Element 545 is in granule 3, row 1 of subarray 1, at 2 * 12; element 170 of a row at 2040 lies in two tiles.
  cells.write(where, dimension::horizontal, 12, 3 * 181 + 2, std::vector<std::uint64_t>{0x801});
  cells.write(where, dimension::horizontal, 12, 170, std::vector<std::uint64_t>{0x801});
  EXPECT_TRUE(cell(cells, 2, 5, 24));
  EXPECT_TRUE(cell(cells, 2, 5, 35));
  EXPECT_FALSE(cell(cells, 2, 5, 30));
  EXPECT_TRUE(cell(cells, 1, 4, 2040));
  EXPECT_TRUE(cell(cells, 1, 4, 2051));
}

// Random stretches against plain vectors: all widths, both directions, all sizes of the host's elements.
TEST(pim_cell_storage, keeps_elements_as_a_vector_does) {
  std::mt19937_64 random{5};
  for (unsigned bits = 1; bits <= 64; ++bits) {
    for (const dimension direction : {dimension::vertical, dimension::horizontal}) {
      cell_storage cells{small};
      const block where{1, 9, 2, 66};
      const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
      std::vector<std::uint64_t> model(cells.capacity(where, {direction, bits, 8}));
      for (int stretch = 0; stretch < 4; ++stretch) {
        const std::uint64_t first = random() % model.size();
        std::vector<std::uint64_t> values(std::min<std::size_t>(random() % 300, model.size() - first));
        for (std::uint64_t& value : values) value = random();
        cells.write(where, direction, bits, first, values);
        for (std::size_t i = 0; i < values.size(); ++i) model[first + i] = values[i] & mask;
      }
      std::vector<std::uint64_t> found(model.size());
      cells.read(where, direction, bits, 0, found);
      EXPECT_EQ(found, model) << bits;
      std::vector<std::uint64_t> part(100);
      cells.read(where, direction, bits, 37, part, true);
      for (std::size_t i = 0; i < part.size(); ++i)
        ASSERT_EQ(part[i],
                  static_cast<std::uint64_t>(static_cast<std::int64_t>(model[37 + i] << (64 - bits)) >> (64 - bits)))
            << bits;
    }
  }
}

template <class Element>
void expect_kept(dimension direction, unsigned bits) {
  cell_storage cells{small};
  const block where{0, 1, 1, 70};
  std::vector<Element> values(1000), found(1000);
  for (int i = 0; i < 1000; ++i) values[i] = static_cast<Element>(i % 7 - 3);
  const element_form form{direction, bits, sizeof(Element), true};
  cells.write(where, form, 13, std::as_bytes(std::span{values}));
  cells.read(where, form, 13, std::as_writable_bytes(std::span{found}));
  EXPECT_EQ(found, values);
}

TEST(pim_cell_storage, takes_elements_of_any_size_of_the_host) {
  for (const dimension direction : {dimension::vertical, dimension::horizontal}) {
    expect_kept<std::int8_t>(direction, 8);
    expect_kept<std::int8_t>(direction, 3);
    expect_kept<std::int16_t>(direction, 11);
    expect_kept<std::int32_t>(direction, 32);
    expect_kept<std::int64_t>(direction, 3);
    expect_kept<std::int64_t>(direction, 64);
  }
}

TEST(pim_cell_storage, copies_blocks_that_overlap) {
  for (const std::uint32_t to : {0U, 2U}) {
    cell_storage cells{small};
    std::vector<std::uint64_t> values(3 * 2176);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i & 0xfff;
    cells.write({1, 5, 3, 12}, dimension::vertical, 12, 0, values);
    cells.copy({1, 5, 3, 12}, {to, 7, 3, 12});
    std::vector<std::uint64_t> found(values.size());
    cells.read({to, 7, 3, 12}, dimension::vertical, 12, 0, found);
    EXPECT_EQ(found, values) << to;
  }
}

TEST(pim_cell_storage, refuses_what_is_outside) {
  cell_storage cells{small};
  const std::vector<std::uint64_t> values(5);
  const auto write = [&](const block& where, unsigned bits, std::uint64_t first) {
    return refusal([&] { cells.write(where, dimension::vertical, bits, first, values); });
  };
  EXPECT_THAT(write({6, 0, 1, 8}, 8, 0), testing::HasSubstr("subarray 6, row 0 is not in the device of 6 subarrays"));
  EXPECT_THAT(write({0, 73, 1, 8}, 8, 0), testing::HasSubstr("row 73 is not in the device"));
  EXPECT_THAT(write({0, 0, 0, 8}, 8, 0), testing::HasSubstr("not in the device"));
  EXPECT_THAT(write({0, 0, 1, 8}, 8, 2172), testing::HasSubstr("elements 2172 to 2177 of 8 bits"));
  EXPECT_THAT(write({0, 0, 1, 8}, 9, 0), testing::HasSubstr("holds 0"));
  EXPECT_THAT(write({0, 0, 1, 70}, 65, 0), testing::HasSubstr("1 to 64 bits"));
  EXPECT_THAT(refusal([&] { cells.write({0, 0, 1, 8}, {dimension::vertical, 8, 3}, 0, {}); }),
              testing::HasSubstr("of 3 bytes"));
  EXPECT_THAT(refusal([&] { cells.write_row(0, 0, values); }), testing::HasSubstr("5 words for a row"));
  EXPECT_THAT(refusal([&] { cells.copy({0, 0, 1, 8}, {0, 8, 1, 7}); }), testing::HasSubstr("differ in shape"));
  EXPECT_THAT(refusal([&] { (void)cell_storage{{.rows = 1, .columns = 65, .subarrays = 1, .banks = 1}}; }),
              testing::HasSubstr("multiple of 64"));
}

TEST(pim_transpose, is_the_same_with_all_instructions) {
  using situ::pim::instruction_set;
  std::mt19937_64 random{1};
  for (const auto set : {instruction_set::avx2, instruction_set::avx512}) {
    if (!has(set)) continue;
    for (const unsigned bytes : {1U, 2U, 4U, 8U}) {
      std::vector<std::byte> elements(64 * bytes), back(64 * bytes), other_back(64 * bytes);
      for (std::byte& one : elements) one = static_cast<std::byte>(random());
      for (unsigned bits = 1; bits <= 8 * bytes; ++bits) {
        std::vector<std::uint64_t> plain(64), other(64);
        to_planes(instruction_set::portable, elements.data(), bytes, bits, plain.data(), 1);
        to_planes(set, elements.data(), bytes, bits, other.data(), 1);
        ASSERT_EQ(plain, other) << bytes << ", " << bits;
        from_planes(instruction_set::portable, plain.data(), 1, bits, true, bytes, back.data());
        from_planes(set, plain.data(), 1, bits, true, bytes, other_back.data());
        ASSERT_EQ(back, other_back) << bytes << ", " << bits;
      }
      EXPECT_EQ(back, elements);  // of all bits
    }
  }
}

}  // namespace
