// A type as the graph units see it: word by word, after its pointer mask (graph/detail/descriptor.h).
//
// A word of NEMESYS has 4 bytes, one of ours 8. So data counts as two words of theirs; pointers and the words of array
// descriptors count as `word_sizes` says. Types that the mask cannot describe are refused: optional and variant fields,
// standard containers, arrays of elements that hold arrays.
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

// Bytes of a pointer, of a state word and of a copy map's entry: 4 as in the paper, 8 as they are here.
struct word_sizes {
  std::uint64_t word_bytes = 4;
  std::uint64_t pointer_bytes = 4;
};

enum class word_kind : std::uint8_t { data = 0, pointer = 1, transient = 2, array = 3 };

// A word of an object; of an array descriptor, all three.
struct layout_word {
  word_kind kind = word_kind::data;
  bool terminated = false;                          // array: one element more than its count says
  std::uint32_t offset = 0;                         // within the object, bytes
  std::uint32_t bytes = 0;                          // that lie there
  const detail::type_descriptor* target = nullptr;  // pointer: what it points to; array: the block of its elements
};

// A place in the element of an array that is not plain data.
struct element_slot {
  word_kind kind = word_kind::pointer;
  std::uint32_t offset = 0;  // within the element
  std::uint32_t bytes = 0;
  const detail::type_descriptor* target = nullptr;
};

struct unit_layout {
  const detail::type_descriptor* type = nullptr;
  std::vector<layout_word> words;   // in order; of an object
  std::vector<element_slot> slots;  // of a block: in each element
};

// Finds the types of polymorphic objects: of the program whose graphs they are, which may have another registry than
// who models it.
struct tagged_types {
  const detail::type_descriptor* (*find)(std::uint64_t tag) noexcept = &detail::find_tagged;
  bool (*derives)(const detail::type_descriptor& type,
                  const detail::type_descriptor& base) noexcept = &detail::derives_from;
};

// The layouts of the types that a unit has met.
class layout_table {
 public:
  explicit layout_table(tagged_types tagged) noexcept : tagged_{tagged} {}
  // Of an object, or of a block of elements. Throws not_supported for a type that the mask cannot describe.
  const unit_layout& of(const detail::type_descriptor& type);
  // The type of the object at an address: where it is polymorphic, its header says which. Throws bad_argument for a
  // header that names no type, or none that derives from the declared one.
  [[nodiscard]] const detail::type_descriptor& type_at(const void* object,
                                                       const detail::type_descriptor& declared) const;

 private:
  tagged_types tagged_;
  std::unordered_map<const detail::type_descriptor*, std::unique_ptr<unit_layout>> known_;
};

// What lies in a word, or in the three of an array descriptor.
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
