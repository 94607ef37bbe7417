// The reader and the writer of images: both byte orders, and files that are damaged.
#include "examples/command.h"
#include "examples/squeak_builder.h"
#include "image_file.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace {

using namespace squeak;
using squeak::test::image_builder;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::byte> small_image(std::endian order = std::endian::little) {
  return image_bytes(image_builder{}.build(), order);
}

void set_word(std::vector<std::byte>& bytes, std::size_t at, std::uint32_t word) {
  std::memcpy(bytes.data() + at, &word, 4);
}
std::uint32_t word_at(const std::vector<std::byte>& bytes, std::size_t at) {
  std::uint32_t word;
  std::memcpy(&word, bytes.data() + at, 4);
  return word;
}

// Returns the message with which it is refused.
std::string refusal(const std::vector<std::byte>& bytes) {
  try {
    (void)read_image(bytes, "small.image");
  } catch (const situ::error& refused) {
    EXPECT_EQ(refused.code(), situ::errc::bad_file);
    return std::string{refused.message()};
  }
  return "it was read";
}

TEST(squeak_image, is_read_as_it_was_written_in_both_byte_orders) {
  const image built = image_builder{}.build();
  EXPECT_EQ(read_image(image_bytes(built, std::endian::little), "little"), built);
  EXPECT_EQ(read_image(image_bytes(built, std::endian::big), "big"), built);
}

TEST(squeak_image, words_of_a_big_endian_file_are_turned_and_bytes_are_not) {
  image_builder builder;
  const std::uint32_t text = builder.add_bytes(builder.known("String"), "abcde");
  const std::uint32_t words = builder.add(builder.known("Bitmap"), format::words, {0x01020304});
  const std::vector<std::byte> bytes = image_bytes(builder.build(), std::endian::big);
  EXPECT_EQ(word_at(bytes, 0), 0x66190000U);
  const std::string file{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  EXPECT_NE(file.find("abcde"), std::string::npos);
  EXPECT_NE(file.find("\1\2\3\4"), std::string::npos);
  const image read = read_image(bytes, "big");
  EXPECT_EQ(read.word(words, 0), 0x01020304U);
  EXPECT_EQ(read.objects[text].format, format::bytes + 3);
}

TEST(squeak_image, an_object_of_more_than_63_words_has_its_size_ahead) {
  image_builder builder;
  const std::uint32_t large = builder.add(builder.known("Bitmap"), format::words, std::vector<std::uint32_t>(100, 5));
  const image built = builder.build();
  const image read = read_image(image_bytes(built), "large");
  EXPECT_EQ(read.objects[large].words, 100U);
  EXPECT_EQ(read, built);
}

TEST(squeak_image, each_truncated_file_is_refused_with_an_offset) {
  const std::vector<std::byte> whole = small_image();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string message = refusal({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    ASSERT_THAT(message, StartsWith("small.image: byte ")) << size;
  }
}

TEST(squeak_image, no_flipped_bit_does_harm) {
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    std::vector<std::byte> bytes = small_image(order);
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += 5) {
      bytes[bit / 8] ^= std::byte(1U << bit % 8);
      const std::string message = refusal(bytes);
      if (message != "it was read") {
        EXPECT_THAT(message, StartsWith("small.image: byte "));
        ++refused;
      }
      bytes[bit / 8] ^= std::byte(1U << bit % 8);
    }
    EXPECT_GT(refused, bytes.size() / 10);
  }
}

TEST(squeak_image, another_format_is_refused) {
  std::vector<std::byte> bytes = small_image();
  set_word(bytes, 0, 6504);
  EXPECT_EQ(refusal(bytes), "small.image: byte 0: the image's format is 6504; 6502 is the one that is read");
}

TEST(squeak_image, a_size_that_the_file_does_not_have_is_refused_before_memory_is_taken) {
  std::vector<std::byte> bytes = small_image();
  set_word(bytes, 8, 0xffff'fff0);
  EXPECT_THAT(refusal(bytes), HasSubstr("byte 8: the objects have 4294967280 bytes"));
}

TEST(squeak_image, a_reference_between_objects_is_refused) {
  std::vector<std::byte> bytes = small_image();
  set_word(bytes, 16, word_at(bytes, 16) + 4);
  EXPECT_THAT(refusal(bytes), HasSubstr("byte 16: a reference to"));
}

TEST(squeak_image, a_free_block_is_refused) {
  std::vector<std::byte> bytes = small_image();
  set_word(bytes, 64, 2);
  EXPECT_THAT(refusal(bytes), HasSubstr("byte 64: a free block"));
}

TEST(squeak_image, an_object_longer_than_the_file_is_refused) {
  std::vector<std::byte> bytes = small_image();
  set_word(bytes, 64, 0xffff'fffc);  // form 0: the size
  set_word(bytes, 72, word_at(bytes, 72) & ~3U);
  EXPECT_THAT(refusal(bytes), HasSubstr("byte 72: an object of 1073741823 words"));
}

TEST(squeak_image, a_method_with_more_literals_than_words_is_refused) {
  image_builder builder;
  const std::uint32_t method = builder.add(builder.known("CompiledMethod"), format::method, {word_of(255 << 9), 0});
  (void)method;
  EXPECT_THAT(refusal(image_bytes([&] {
                image broken = builder.build();
                broken.words[broken.objects[method].first_word] = word_of(1 << 9);
                return broken;
              }())),
              HasSubstr("it was read"));
  image_builder other;
  image broken = other.build();
  for (const image_object& each : broken.objects)
    if (is_method(each.format)) broken.words[each.first_word + 1] = word_of(0);
  std::vector<std::byte> bytes = image_bytes(broken);
  for (std::size_t at = 64; at + 4 <= bytes.size(); at += 4)  // the header of the process's method
    if (word_at(bytes, at) == word_of(1 << 9)) set_word(bytes, at, word_of(200 << 9));
  EXPECT_THAT(refusal(bytes), HasSubstr("with 200 literals"));
}

TEST(squeak_image, objects_that_an_interpreter_needs_are_checked) {
  image broken = image_builder{}.build();
  broken.words[broken.objects[broken.special_objects].first_word + special::characters] = word_of(3);
  EXPECT_THAT(refusal(image_bytes(broken)), HasSubstr("special object 24 is no array of the characters"));
}

TEST(squeak_image, a_file_is_replaced_as_a_whole) {
  const package_rank::test::scratch_folder folder;
  const std::string path = folder.write("a.image", "an older file");
  const image built = image_builder{}.build();
  write_image_file(built, path);
  EXPECT_EQ(read_image_file(path), built);
  std::size_t files = 0;
  for (const auto& each : std::filesystem::directory_iterator{folder.path()}) files += each.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 1U);
}

TEST(squeak_image, a_file_that_cannot_be_written_or_read_is_named) {
  const package_rank::test::scratch_folder folder;
  const std::string path = folder.path() + "/none/a.image";
  EXPECT_THROW(write_image_file(image_builder{}.build(), path), situ::error);
  try {
    (void)read_image_file(path);
    FAIL();
  } catch (const situ::error& failed) {
    EXPECT_THAT(std::string{failed.message()}, HasSubstr("none/a.image cannot be read: No such file"));
  }
}

}  // namespace
