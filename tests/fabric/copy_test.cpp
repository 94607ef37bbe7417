// The copy of put and get at every alignment of both ends, and around the size from which it is another one.
#include <situ/fabric/detail/copy.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

namespace situ::detail {
namespace {

constexpr std::size_t margin = 128;

// Copies and looks at what must have changed, and at what must not.
void expect_copies(std::size_t bytes, std::size_t to_offset, std::size_t from_offset) {
  std::mt19937_64 random{bytes + to_offset * 64 + from_offset};
  std::vector<std::byte> from(from_offset + bytes);
  for (std::byte& each : from) each = static_cast<std::byte>(random());
  std::vector<std::byte> to(margin + to_offset + bytes + margin, std::byte{0xa5});
  std::vector<std::byte> expected = to;
  std::copy(from.begin() + static_cast<std::ptrdiff_t>(from_offset), from.end(),
            expected.begin() + static_cast<std::ptrdiff_t>(margin + to_offset));
  if (bytes < long_copy_bytes && bytes >= 64) {
    copy_long(to.data() + margin + to_offset, from.data() + from_offset, bytes);
  } else {
    copy_bytes(to.data() + margin + to_offset, from.data() + from_offset, bytes);
  }
  EXPECT_TRUE(to == expected) << bytes << " bytes, to + " << to_offset << ", from + " << from_offset;
}

TEST(copy, of_few_lines_at_every_alignment) {
  for (const std::size_t bytes : {64, 65, 127, 128, 129, 191, 200, 1000})
    for (std::size_t to = 0; to < 64; ++to)
      for (const std::size_t from : {0, 1, 8, 63}) expect_copies(bytes, to, from);
}

TEST(copy, around_the_size_from_which_it_is_another_one) {
  for (const std::ptrdiff_t more : {-65, -1, 0, 1, 63, 64, 65})
    for (const std::size_t to : {0, 1, 16, 63})
      expect_copies(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(long_copy_bytes) + more), to, 63 - to);
}

TEST(copy, of_less_than_a_line) {
  for (std::size_t bytes = 1; bytes < 64; ++bytes) expect_copies(bytes, bytes % 7, bytes % 3);
}

}  // namespace
}  // namespace situ::detail
