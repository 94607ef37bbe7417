// The descriptor of a type at run time: its layout, as the graph copy, the message decoder and the printer use it.
//
// descriptor_of<T>() (make_descriptor.h) makes it once for each type; then it is constant, and any thread may read it.
// Types are numbered in the order of their first use, so numbers differ between processes: data that leaves a process
// names types by tag and fingerprint.
//
// The pointer mask is that of NEMESYS (section 4.3): two bits for each word of 8 bytes.
//
//   00 data   01 pointer   10 transient: arrives zeroed   11 the first word of an array descriptor
//
// An array descriptor takes three words: the address of its elements; their number (its mask is 00 for data, 01 for
// pointers or objects); their capacity in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace situ {
class wire_writer;
class wire_reader;
}  // namespace situ

namespace situ::detail {

struct type_descriptor;
struct choice;

enum class op_kind : std::uint8_t { pointer, array, transient, choice, value };

// The operations on a value, such as a standard container, which is copied by writing and reading it
// (runtime/serialize.h).
struct value_functions {
  std::string_view type;  // name of the value's type
  std::size_t (*size)(const std::byte* value);
  void (*write)(wire_writer& writer, const std::byte* value);
  void (*construct)(wire_reader& reader, std::byte* at);
  void (*destroy)(std::byte* value) noexcept;
};

// How to copy a part of an object that is not plain data.
struct op {
  op_kind kind = op_kind::pointer;
  bool terminated = false;                  // array: its elements are followed by a zero that the count leaves out
  bool in_pool = false;                     // array: the container is a pool's
  std::uint32_t offset = 0;                 // within the object, bytes
  std::uint32_t bytes = 0;                  // transient
  const type_descriptor* target = nullptr;  // pointer: the type it points to. array: the block type of its elements
  detail::choice* cases = nullptr;          // choice
  const value_functions* value = nullptr;   // value
};

// A polymorphic object that is part of another: its header names its declared type.
struct part_header {
  std::uint32_t offset = 0;  // within the object, bytes
  const type_descriptor* type = nullptr;
};

// A run of bools. Reading a bool whose byte is neither 0 nor 1 is undefined behaviour.
struct bool_run {
  std::uint32_t offset = 0;  // within the object
  std::uint32_t count = 0;
};

// Bytes that belong to a value: all their bits, or, for bit-fields, some of them.
struct value_run {
  std::uint32_t offset = 0;  // within the object
  std::uint32_t bytes = 0;
  std::uint8_t bits = 0xff;
};
// Bytes of which only the given bits (perhaps none) belong to a value.
using gap = value_run;
// Adjacent words with the same gaps: the bits to keep of each word.
struct word_gap {
  std::uint32_t offset = 0;  // bytes, a multiple of 8
  std::uint32_t words = 0;
  std::uint64_t kept = 0;
};

// An optional or a variant: the alternative that it holds decides which parts follow.
struct choice {
  std::uint32_t flag_offset = 0;  // of the byte that holds the number of the alternative, within the object
  std::uint32_t offset = 0;       // of the optional or variant, within the object
  std::uint32_t bytes = 0;
  std::vector<std::vector<value_run>> values;  // of each alternative, as they are described
  // of each alternative: the bytes that are not values; set when the type is complete
  std::vector<std::vector<gap>> gaps;
  std::vector<std::vector<op>> alternatives;
  std::vector<std::vector<part_header>> headers;  // of each alternative
  std::vector<std::vector<bool_run>> bools;       // of each alternative
};

// The kind of a type: an object, or a block of elements that an array descriptor owns.
enum class object_kind : std::uint8_t { object, data_block, pointer_block, object_block };

struct field_description {
  std::string name;
  std::string type;
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
};

struct simple_pointer {
  std::uint32_t offset = 0;
  const type_descriptor* target = nullptr;
};

struct type_descriptor {
  object_kind kind = object_kind::object;
  bool is_tagged = false;       // derives from situ::object: the header of an object names its actual type
  bool has_containers = false;  // holds arrays or values, so freeing an object may have to free memory that it owns
  bool has_values = false;      // holds values, directly or as elements of a block
  bool reaches_values = false;  // this type, or one that its declared pointers reach, holds values
  // has bytes that belong to no value (padding, inactive alternatives): a message has zeroes for them
  bool has_gaps = false;
  bool has_choices = false;
  bool starts_with_class = false;  // an object of another class may have the same address: the first member, or a base
  std::uint16_t index = 0;         // in the table of types, from 1
  std::uint32_t size = 0;          // of an object, or of one element of a block
  std::uint32_t alignment = 1;
  std::uint32_t units = 0;  // size of an object in a copy, in units of 8 bytes
  std::uint32_t alignment_units = 1;
  std::vector<simple_pointer> pointers;  // the pointers that every object of the type has, in order of offset
  std::vector<op> others;
  std::vector<part_header> headers;  // of the parts that every object of the type has
  std::vector<bool_run> bools;       // of every object of the type; for a block of data: of each element
  // of every object, with all bytes of each choice; for a block of data: of each element
  std::vector<value_run> values;
  std::vector<word_gap> gaps;  // padding, in every `gap_period` bytes: an object, or elements up to a multiple of 8
  std::uint64_t gap_period = 0;
  // for a block of pointers: the type they point to; for a block of objects: their type
  const type_descriptor* element = nullptr;
  // the classes at offset 0, without the alternatives and the classes that lie within a first part
  std::vector<const type_descriptor*> first_parts;
  std::vector<const type_descriptor*>
      bases;              // for a tagged type: the types that a pointer to it may be declared as, itself included
  std::uint64_t tag = 0;  // of the name
  std::uint64_t fingerprint = 0;  // of the layout of this type alone
  std::string name;
  std::vector<field_description> fields;
  std::vector<std::uint8_t> mask;  // one entry for each word
};

// All types of the process by number; entry 0 is unused.
extern const type_descriptor* type_table[65536];
// Returns the tagged type whose name has this tag, or null.
[[nodiscard]] const type_descriptor* find_tagged(std::uint64_t tag) noexcept;
// Returns the fingerprint of the type and all types that its declared pointers reach.
[[nodiscard]] std::uint64_t deep_fingerprint(const type_descriptor& type);
// Pairs of names, or of their beginnings: the present name, and the name when the fingerprint was made: {"v1::", ""}.
using type_renaming = std::span<const std::pair<std::string, std::string>>;
// Returns the fingerprint that the type would have under the given names.
[[nodiscard]] std::uint64_t deep_fingerprint(const type_descriptor& type, type_renaming names);
[[nodiscard]] bool derives_from(const type_descriptor& type, const type_descriptor& base) noexcept;
// Returns whether every object of the type has a `part` at its address.
[[nodiscard]] bool starts_with(const type_descriptor& type, const type_descriptor& part) noexcept;

}  // namespace situ::detail
