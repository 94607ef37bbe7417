// A Squeak image in memory, apart from any heap: what a file of format 6502 holds, checked, in this machine's byte
// order.
//
// A word of an object that is a reference holds twice the number of an object in `image::objects`, so it is even; a
// word that is a SmallInteger is odd, as in the file. Words that hold bytes have the bytes in their order in memory.
#pragma once

#include <cstdint>
#include <vector>

namespace squeak {

// The format of an object: four bits of its header, which say what its memory holds. From `bytes` and `method` on, the
// low two bits are the number of bytes at the end of the last word that are not used.
namespace format {
inline constexpr std::uint8_t none = 0;               // no fields
inline constexpr std::uint8_t fixed = 1;              // named fields
inline constexpr std::uint8_t indexed = 2;            // fields by index
inline constexpr std::uint8_t fixed_and_indexed = 3;  // both; contexts, too
inline constexpr std::uint8_t weak = 4;               // both; the indexed ones keep nothing alive
inline constexpr std::uint8_t words = 6;              // 32-bit data
inline constexpr std::uint8_t bytes = 8;              // 8 to 11
inline constexpr std::uint8_t method = 12;            // 12 to 15: a header, literals, then bytes
}  // namespace format

[[nodiscard]] constexpr bool is_pointers(std::uint8_t format) { return format <= format::weak; }
[[nodiscard]] constexpr bool is_bytes(std::uint8_t format) {
  return format >= format::bytes && format < format::method;
}
[[nodiscard]] constexpr bool is_method(std::uint8_t format) { return format >= format::method; }

// SmallIntegers: 31 bits, and a low bit that is set.
[[nodiscard]] constexpr bool is_integer(std::uint32_t word) { return (word & 1) != 0; }
[[nodiscard]] constexpr std::int32_t integer_of(std::uint32_t word) { return static_cast<std::int32_t>(word) >> 1; }
[[nodiscard]] constexpr std::uint32_t word_of(std::int32_t integer) {
  return (static_cast<std::uint32_t>(integer) << 1) | 1;
}

// The header of a method, which is its first word.
struct method_header {
  std::uint32_t value;
  explicit constexpr method_header(std::uint32_t word) : value{static_cast<std::uint32_t>(integer_of(word))} {}
  [[nodiscard]] constexpr std::uint32_t primitive() const { return (value & 511) | ((value >> 28 & 1) << 9); }
  [[nodiscard]] constexpr std::uint32_t literals() const { return value >> 9 & 255; }
  [[nodiscard]] constexpr bool has_large_frame() const { return (value >> 17 & 1) != 0; }
  [[nodiscard]] constexpr std::uint32_t temporaries() const { return value >> 18 & 63; }  // with the arguments
  [[nodiscard]] constexpr std::uint32_t arguments() const { return value >> 24 & 15; }
};

// Words at the beginning of an object that are references or SmallIntegers.
[[nodiscard]] constexpr std::uint32_t pointer_words(std::uint8_t format, std::uint32_t words,
                                                    std::uint32_t first_word) {
  if (is_pointers(format)) return words;
  return is_method(format) ? method_header{first_word}.literals() + 1 : 0;
}

// Numbers of elements in the array of special objects.
namespace special {
inline constexpr std::uint32_t nil = 0, false_object = 1, true_object = 2, scheduler = 3, class_bitmap = 4,
                               class_small_integer = 5, class_string = 6, class_array = 7, smalltalk = 8,
                               class_float = 9, class_method_context = 10, class_block_context = 11, class_point = 12,
                               class_large_positive_integer = 13, display = 14, class_message = 15,
                               class_compiled_method = 16, low_space_semaphore = 17, class_semaphore = 18,
                               class_character = 19, does_not_understand = 20, cannot_return = 21,
                               special_selectors = 23, characters = 24, must_be_boolean = 25, class_byte_array = 26,
                               compact_classes = 28, timer_semaphore = 29, class_large_negative_integer = 42;
// The interpreter reads this many elements, at least.
inline constexpr std::uint32_t least = 38;
}  // namespace special

// One object of an image.
struct image_object {
  std::uint32_t first_word = 0;  // in image::words
  std::uint32_t words = 0;
  std::uint32_t of_class = 0;  // number of an object
  std::uint16_t hash = 0;      // 12 bits
  std::uint8_t format = 0;     // 4 bits
  friend bool operator==(const image_object&, const image_object&) = default;
};

struct image {
  std::vector<image_object> objects;
  std::vector<std::uint32_t> words;
  std::uint32_t special_objects = 0;  // number of an object
  std::uint32_t last_hash = 0;
  std::uint32_t window = 0;  // width and height of the display
  std::uint32_t flags = 0;
  friend bool operator==(const image&, const image&) = default;

  [[nodiscard]] std::uint32_t word(std::uint32_t object, std::uint32_t index) const {
    return words[objects[object].first_word + index];
  }
};

}  // namespace squeak
