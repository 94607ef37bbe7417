// The sums that objects are checked by: against known answers, both ways, and by their own definition.
#include "pool/crc32c.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string_view>
#include <vector>

using namespace situ::detail;

namespace {

constexpr crc32c_way ways[] = {crc32c_way::tables, crc32c_way::instructions};
bool is_there(crc32c_way way) { return way == crc32c_way::tables || best_crc32c_way() == way; }

// As protocols have it: inverted before and behind.
std::uint32_t as_sent(const void* from, std::size_t bytes, crc32c_way way) {
  return ~add_to_crc32c(~std::uint32_t{0}, from, bytes, way);
}
std::vector<std::uint8_t> random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 random{seed};
  std::vector<std::uint8_t> bytes(count);
  for (auto& each : bytes) each = static_cast<std::uint8_t>(random());
  return bytes;
}

// RFC 3720, B.4, and the check value of the catalogue of parametrised CRCs.
TEST(crc32c, gives_known_answers) {
  std::vector<std::uint8_t> rising(32);
  std::iota(rising.begin(), rising.end(), std::uint8_t{0});
  const std::vector<std::uint8_t> falling(rising.rbegin(), rising.rend());
  const std::vector<std::uint8_t> zeroes(32, 0);
  const std::vector<std::uint8_t> ones(32, 0xff);
  for (const crc32c_way way : ways) {
    if (!is_there(way)) continue;
    EXPECT_EQ(as_sent("123456789", 9, way), 0xe3069283);
    EXPECT_EQ(as_sent(zeroes.data(), 32, way), 0x8a9136aa);
    EXPECT_EQ(as_sent(ones.data(), 32, way), 0x62a8ab43);
    EXPECT_EQ(as_sent(rising.data(), 32, way), 0x46dd794e);
    EXPECT_EQ(as_sent(falling.data(), 32, way), 0x113fdb5c);
    EXPECT_EQ(add_to_crc32c(77, nullptr, 0, way), 77);
  }
}

TEST(crc32c, is_the_same_by_tables_and_by_instructions) {
  if (!is_there(crc32c_way::instructions)) GTEST_SKIP() << "this processor has no such instructions";
  const auto bytes = random_bytes(700, 1);
  for (std::size_t from = 0; from < 9; ++from)
    for (std::size_t count = 0; from + count <= bytes.size(); count += 1 + count / 9)
      EXPECT_EQ(add_to_crc32c(5, bytes.data() + from, count, crc32c_way::tables),
                add_to_crc32c(5, bytes.data() + from, count, crc32c_way::instructions));
}

TEST(crc32c, of_a_part_that_changes_is_the_difference_of_the_wholes) {
  for (const crc32c_way way : ways) {
    if (!is_there(way)) continue;
    for (const std::size_t whole : {1, 8, 16, 63, 64, 255, 256, 257, 512, 1000, 4096, 70000}) {
      const auto before = random_bytes(whole, 2);
      for (const std::size_t part : {std::size_t{1}, std::size_t{3}, std::size_t{8}, whole / 2, whole}) {
        if (part > whole) continue;
        for (const std::size_t at : {std::size_t{0}, (whole - part) / 3, whole - part}) {
          auto after = before;
          const auto changed = random_bytes(part, 3);
          std::copy(changed.begin(), changed.end(), after.begin() + static_cast<std::ptrdiff_t>(at));
          EXPECT_EQ(crc32c_change(before.data() + at, after.data() + at, part, whole - at - part, way),
                    add_to_crc32c(9, before.data(), whole, way) ^ add_to_crc32c(9, after.data(), whole, way))
              << part << " bytes at " << at << " of " << whole;
        }
      }
    }
  }
}

// Of more than memory has: twice as many zeroes are those many, twice.
TEST(crc32c, of_a_part_far_before_the_end_is_what_two_steps_make) {
  const std::uint8_t before[4] = {};
  const std::uint8_t after[4] = {1, 2, 3, 4};
  for (const crc32c_way way : ways) {
    if (!is_there(way)) continue;
    for (std::uint64_t behind = 1 << 20; behind <= std::uint64_t{1} << 45; behind *= 8) {
      // A sum is the four bytes before so many zeroes, less the four that the sum is of.
      const std::uint32_t near = crc32c_change(before, after, 4, behind, way);
      EXPECT_EQ(crc32c_change(before, &near, 4, behind - 4, way), crc32c_change(before, after, 4, 2 * behind, way));
    }
  }
}

TEST(crc32c, finds_the_bit_that_has_changed) {
  for (const std::size_t whole : {1, 16, 100, 3000}) {
    const auto before = random_bytes(whole, 4);
    for (std::size_t bit = 0; bit < whole * 8; bit += 1 + whole / 30) {
      auto after = before;
      after[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
      const std::uint32_t difference = add_to_crc32c(9, before.data(), whole) ^ add_to_crc32c(9, after.data(), whole);
      EXPECT_EQ(find_bit_by_crc32c(difference, whole), bit);
      after[0] ^= 0x42;
      const std::uint32_t of_three = add_to_crc32c(9, before.data(), whole) ^ add_to_crc32c(9, after.data(), whole);
      if (bit != 1 && bit != 6) {
        EXPECT_EQ(find_bit_by_crc32c(of_three, whole), std::nullopt);
      }
    }
  }
}

}  // namespace
