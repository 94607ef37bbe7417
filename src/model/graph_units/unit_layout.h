// The layout of a type as the graph units see it: word by word, from its pointer mask (graph/detail/descriptor.h).
//
// A word of NEMESYS has 4 bytes, a word of this process 8. So a data word counts as two words of NEMESYS; pointers and
// the words of array descriptors count as `word_sizes` says. Types that the mask cannot describe are refused: optional
// and variant fields, standard containers, arrays of elements that hold arrays.
#pragma once

#include <situ/graph/containers.h>
#include <situ/graph/detail/descriptor.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

namespace situ::model {

// Bytes of a word, and of a pointer, a state word or a copy map entry: 4 as in the paper, 8 as in this process.
struct word_sizes {
  std::uint64_t word_bytes = 4;
  std::uint64_t pointer_bytes = 4;
};

enum class word_kind : std::uint8_t { data = 0, pointer = 1, transient = 2, array = 3 };

// A word of an object, or the three words of an array descriptor.
struct layout_word {
  word_kind kind = word_kind::data;
  bool terminated = false;                          // array: has one element more than its count says
  std::uint32_t offset = 0;                         // in bytes, within the object
  std::uint32_t bytes = 0;                          // size of the word or descriptor
  const detail::type_descriptor* target = nullptr;  // pointer: type of its target; array: block of its elements
};

// A slot in the element of an array that is not plain data.
struct element_slot {
  word_kind kind = word_kind::pointer;
  std::uint32_t offset = 0;  // in bytes, within the element
  std::uint32_t bytes = 0;
  const detail::type_descriptor* target = nullptr;
};

struct unit_layout {
  const detail::type_descriptor* type = nullptr;
  std::vector<layout_word> words;   // of an object, in order
  std::vector<element_slot> slots;  // of a block: in each element
};

// Finds the types of polymorphic objects in the registry of the program that owns the graphs. The program may have
// another registry than the model.
struct tagged_types {
  const detail::type_descriptor* (*find)(std::uint64_t tag) noexcept = &detail::find_tagged;
  bool (*derives)(const detail::type_descriptor& type,
                  const detail::type_descriptor& base) noexcept = &detail::derives_from;
};

// The layouts of the types that a unit has met so far.
class layout_table {
 public:
  explicit layout_table(tagged_types tagged) noexcept : tagged_{tagged} {}
  // Returns the layout of an object, or of a block of elements. Throws not_supported for a type that the mask cannot
  // describe.
  const unit_layout& of(const detail::type_descriptor& type);
  // Returns the type of the object at an address: the type in its header if `declared` is polymorphic, else `declared`.
  // Throws bad_argument if the header names no type, or a type that does not derive from the declared one.
  [[nodiscard]] const detail::type_descriptor& type_at(const void* object,
                                                       const detail::type_descriptor& declared) const;

 private:
  tagged_types tagged_;
  std::unordered_map<const detail::type_descriptor*, std::unique_ptr<unit_layout>> known_;
};

// Read a word, or the three words of an array descriptor.
[[nodiscard]] inline std::uintptr_t address_of(const void* at) noexcept { return reinterpret_cast<std::uintptr_t>(at); }
[[nodiscard]] inline const std::byte* pointer_at(const std::byte* at) noexcept {
  const std::byte* pointer = nullptr;
  std::memcpy(&pointer, at, sizeof pointer);
  return pointer;
}
[[nodiscard]] inline detail::array_descriptor array_at(const std::byte* at) noexcept {
  detail::array_descriptor array;
  std::memcpy(static_cast<void*>(&array), at, sizeof array);
  return array;
}

}  // namespace situ::model
