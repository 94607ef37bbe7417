// Framing of bytes: what is written is read again, and nothing else is.
#include "os/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace situ::os {
namespace {

static_assert(value_of_bytes<std::array<char, 4>> && !value_of_bytes<std::string_view> && !value_of_bytes<bool> &&
              !value_of_bytes<std::span<const std::byte>> && !value_of_bytes<const char*> &&
              !value_of_bytes<std::string>);

struct head {
  std::uint32_t bytes = 0;
  std::uint16_t kind = 0;
  std::uint16_t flags = 0;
  friend bool operator==(const head&, const head&) = default;
};

constexpr std::array<std::uint16_t, 3> numbers{7, 8, 9};

template <class Room>
void write(appending<Room>& to) {
  to.add(head{1, 2, 3}, std::uint64_t{4}).add_sized_text("text").add_sized({}).add_text("ab");
  to.add_count(numbers.size()).add_bytes(std::as_bytes(std::span{numbers}));
}
constexpr std::size_t written_bytes = 8 + 8 + (4 + 4) + 4 + 2 + (4 + 6);

std::vector<std::byte> written() {
  std::vector<std::byte> made;
  byte_writer to{made};
  write(to);
  return made;
}

struct fields {
  head first;
  std::uint64_t second = 0;
  std::string_view text;
  std::span<const std::byte> nothing;
  std::string_view letters;
  std::vector<std::uint16_t> list;
};

fields read(byte_reader& from) {
  fields all;
  from.take(all.first, all.second);
  all.text = from.take_sized_text();
  all.nothing = from.take_sized();
  all.letters = from.take_text(2);
  all.list.resize(from.take_count(sizeof(std::uint16_t)));
  from.fill(std::span{all.list});
  return all;
}

TEST(bytes, are_read_as_they_are_written) {
  const std::vector<std::byte> bytes = written();
  ASSERT_EQ(bytes.size(), written_bytes);
  byte_reader from{bytes};
  const fields all = read(from);
  EXPECT_TRUE(from.is_done());
  EXPECT_EQ(all.first, (head{1, 2, 3}));
  EXPECT_EQ(all.second, 4U);
  EXPECT_EQ(all.text, "text");
  EXPECT_TRUE(all.nothing.empty());
  EXPECT_EQ(all.letters, "ab");
  EXPECT_EQ(all.list, (std::vector<std::uint16_t>{7, 8, 9}));
}

TEST(bytes, lie_in_memory_order_without_anything_between) {
  std::vector<std::byte> made;
  for (const std::uint8_t each : {9, 1}) byte_writer{made}.add(each);
  byte_writer{made}.add(std::uint32_t{0x01020304}).add_sized_text("x");
  std::array<std::byte, 4> number;
  const std::uint32_t value = 0x01020304;
  std::memcpy(number.data(), &value, sizeof value);
  std::vector<std::byte> expected{std::byte{9}, std::byte{1}};
  expected.insert(expected.end(), number.begin(), number.end());
  for (const int each : {1, 0, 0, 0}) expected.push_back(static_cast<std::byte>(each));
  expected.push_back(static_cast<std::byte>('x'));
  EXPECT_EQ(made, expected);
}

TEST(bytes, are_the_same_in_a_short_message) {
  short_bytes<written_bytes> to;
  for (int i = 0; i < 2; ++i) {
    to.clear();
    EXPECT_TRUE(to.bytes().empty());
    write(to);
    const std::vector<std::byte> expected = written();
    EXPECT_EQ((std::vector<std::byte>{to.bytes().begin(), to.bytes().end()}), expected);
  }
  EXPECT_DEATH(to.add(std::uint8_t{0}), "room for fewer bytes");
}

TEST(bytes, that_are_truncated_fail_wherever_it_is) {
  for (std::size_t size = 0; size < written_bytes; ++size) {
    std::vector<std::byte> bytes = written();
    bytes.resize(size);
    bytes.shrink_to_fit();  // a byte too far is one that AddressSanitizer sees
    byte_reader from{bytes};
    const fields all = read(from);
    EXPECT_TRUE(from.has_failed()) << size;
    EXPECT_FALSE(from.is_done()) << size;
    EXPECT_TRUE(from.is_empty() && from.rest().empty()) << size;
    EXPECT_TRUE(all.list.empty() || all.list == (std::vector<std::uint16_t>(3))) << size;
  }
}

TEST(bytes, that_are_left_are_no_whole_message) {
  std::vector<std::byte> bytes = written();
  bytes.push_back(std::byte{0});
  byte_reader from{bytes};
  (void)read(from);
  EXPECT_FALSE(from.has_failed());
  EXPECT_FALSE(from.is_done());
  EXPECT_EQ(from.rest().size(), 1U);
}

TEST(bytes, a_value_that_is_not_whole_stays_as_it_is) {
  const std::array<std::byte, 7> bytes{std::byte{1}};
  byte_reader from{bytes};
  std::uint32_t first = 5;
  std::uint32_t second = 6;
  std::uint8_t third = 7;
  EXPECT_FALSE(from.take(first, second, third));
  EXPECT_EQ(first, 1U);
  EXPECT_EQ(second, 6U);
  EXPECT_EQ(third, 7U);
  EXPECT_FALSE(from.take(third)) << "a failure is remembered";
  EXPECT_EQ(from.take<std::uint8_t>(), 0U);
  EXPECT_TRUE(from.take_bytes(0).empty());
  EXPECT_TRUE(from.has_failed());
}

TEST(bytes, a_count_that_they_cannot_hold_is_0) {
  for (const std::uint32_t count : {3U, 1U << 30, std::numeric_limits<std::uint32_t>::max()}) {
    std::vector<std::byte> bytes;
    byte_writer{bytes}.add_count(count).add(std::uint64_t{1}, std::uint64_t{2}, std::uint32_t{3});
    byte_reader from{bytes};
    EXPECT_EQ(from.take_count(8), 0U);
    EXPECT_TRUE(from.has_failed());
    byte_reader again{bytes};
    EXPECT_TRUE(again.take_sized().size() == 3 || again.has_failed()) << count;
  }
  std::vector<std::byte> bytes;
  byte_writer{bytes}.add_count(2).add(std::uint64_t{1}, std::uint64_t{2});
  byte_reader from{bytes};
  EXPECT_EQ(from.take_count(8), 2U);
  EXPECT_TRUE(from.can_hold(2, 8));
  EXPECT_FALSE(from.can_hold(3, 8));
  EXPECT_FALSE(from.can_hold(std::numeric_limits<std::uint64_t>::max(), 8));
  EXPECT_TRUE(from.take_bytes(std::numeric_limits<std::uint64_t>::max()).empty());
  EXPECT_TRUE(from.has_failed());
}

TEST(bytes, that_are_none_hold_empty_ranges_only) {
  byte_reader from{{}};
  EXPECT_TRUE(from.is_done());
  EXPECT_TRUE(from.take_bytes(0).empty());
  EXPECT_EQ(from.take_text(0), "");
  EXPECT_TRUE(from.fill(std::span<std::uint64_t>{}));
  EXPECT_TRUE(from.can_hold(0, 1));
  EXPECT_TRUE(from.is_done());
  EXPECT_TRUE(from.take_sized().empty());
  EXPECT_TRUE(from.has_failed());

  std::vector<std::byte> made;
  byte_writer{made}.add_bytes({}).add_text({});
  EXPECT_TRUE(made.empty());
  short_bytes<1> none;
  none.add_bytes({}).add_text({});
  EXPECT_TRUE(none.bytes().empty());
}

TEST(bytes, of_one_value_are_neither_more_nor_fewer) {
  const head value{1, 2, 3};
  EXPECT_EQ(whole_value<head>(bytes_of(value)), value);
  EXPECT_EQ(whole_value<head>(bytes_of(value).first(7)), std::nullopt);
  EXPECT_EQ(whole_value<std::uint32_t>(bytes_of(value)), std::nullopt);
  EXPECT_EQ(whole_value<head>({}), std::nullopt);
}

TEST(bytes, of_values_are_a_list) {
  const auto bytes = std::as_bytes(std::span{numbers});
  EXPECT_EQ(values_of<std::uint16_t>(bytes), (std::vector<std::uint16_t>{7, 8, 9}));
  EXPECT_EQ(values_of<std::uint16_t>(bytes.first(5)), (std::vector<std::uint16_t>{7, 8}));
  EXPECT_TRUE(values_of<std::uint16_t>({}).empty());
}

}  // namespace
}  // namespace situ::os
