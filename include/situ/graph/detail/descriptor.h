// What is known of a type at run time: its layout, as the graph copy, the message decoder and the printer use it.
//
// Made once for each type by descriptor_of<T>() (make_descriptor.h), then constant; any thread may read it. Types are
// numbered in the order in which they are first used, so numbers differ between processes: what leaves a process names
// types by tag and fingerprint.
//
// The pointer mask is that of NEMESYS (section 4.3): two bits for each word of 8 bytes.
//
//   00 data   01 pointer   10 transient: arrives zeroed   11 the first word of an array descriptor
//
// An array descriptor takes three words: where its elements lie; how many there are (its mask is 00 for data, 01 for
// pointers or objects); their capacity in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace situ {
class wire_writer;
class wire_reader;
}  // namespace situ

namespace situ::detail {

struct type_descriptor;
struct choice;

enum class op_kind : std::uint8_t { pointer, array, transient, choice, value };

// What to do with a value: an object of the standard library's, which is copied by writing and reading it
// (runtime/serialize.h).
struct value_functions {
  std::string_view type;  // its name
  std::size_t (*size)(const std::byte* value);
  void (*write)(wire_writer& writer, const std::byte* value);
  void (*construct)(wire_reader& reader, std::byte* at);
  void (*destroy)(std::byte* value) noexcept;
};

// What to do with a part of an object that is not plain data.
struct op {
  op_kind kind = op_kind::pointer;
  bool terminated = false;                  // array: one element more than its count says, which is zero
  bool in_pool = false;                     // array: of a pool's container
  std::uint32_t offset = 0;                 // within the object, bytes
  std::uint32_t bytes = 0;                  // transient
  const type_descriptor* target = nullptr;  // pointer: what it points to. array: the block of its elements
  detail::choice* cases = nullptr;          // choice
  const value_functions* value = nullptr;   // value
};

// A polymorphic object that is part of another: its header names the type that it is declared as.
struct part_header {
  std::uint32_t offset = 0;  // within the object, bytes
  const type_descriptor* type = nullptr;
};

// Bytes that hold bools: other values than 0 and 1 are undefined behaviour wherever they are read.
struct bool_run {
  std::uint32_t offset = 0;  // within the object
  std::uint32_t count = 0;
};

// Bytes that belong to a value: all their bits, or, of bit-fields, some.
struct value_run {
  std::uint32_t offset = 0;  // within the object
  std::uint32_t bytes = 0;
  std::uint8_t bits = 0xff;
};
// Bytes of which only these bits belong to a value, if any.
using gap = value_run;
// The same by words: what to keep of each.
struct word_gap {
  std::uint32_t offset = 0;  // bytes, a multiple of 8
  std::uint32_t words = 0;
  std::uint64_t kept = 0;
};

// An optional or a variant: which of its alternatives is there decides what follows.
struct choice {
  std::uint32_t flag_offset = 0;  // within the object, of the byte that holds the number of the alternative
  std::uint32_t offset = 0;       // of the whole, within the object
  std::uint32_t bytes = 0;
  std::vector<std::vector<value_run>> values;  // of each alternative; once the type is known,
  std::vector<std::vector<gap>> gaps;          // what else there is
  std::vector<std::vector<op>> alternatives;
  std::vector<std::vector<part_header>> headers;  // likewise
  std::vector<std::vector<bool_run>> bools;       // likewise
};

// An object, or a block of elements that an array descriptor owns.
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
  bool is_tagged = false;       // derives from situ::object: the type of the object itself is in its header
  bool has_containers = false;  // holds arrays or values, so something may have to be given back with it
  bool has_values = false;      // holds values, also as elements of a block
  bool reaches_values = false;  // it, or what its declared pointers lead to
  // has bytes that are no value (padding, alternatives that are not there): a message has zeroes for them
  bool has_gaps = false;
  bool has_choices = false;
  bool starts_with_class = false;  // an object of another class may have the same address: the first member, or a base
  std::uint16_t index = 0;         // in the table of types, from 1
  std::uint32_t size = 0;          // of an object, or of one element of a block
  std::uint32_t alignment = 1;
  std::uint32_t units = 0;  // of 8 bytes, of an object in a copy
  std::uint32_t alignment_units = 1;
  std::vector<simple_pointer> pointers;  // in every object of the type, in order of offset
  std::vector<op> others;
  std::vector<part_header> headers;  // of parts that are in every object of the type
  std::vector<bool_run> bools;       // likewise; of a block of data: in each element
  std::vector<value_run> values;     // in every object, with all of each choice; of a block of data: in each element
  std::vector<word_gap> gaps;  // padding, in every `gap_period` bytes: an object, or elements up to a multiple of 8
  std::uint64_t gap_period = 0;
  const type_descriptor* element = nullptr;  // of a block of pointers: what they point to; of objects: their type
  // the classes at offset 0, but those that lie within a first part, and alternatives
  std::vector<const type_descriptor*> first_parts;
  std::vector<const type_descriptor*>
      bases;                      // of a tagged type: what pointers to it may be declared as, itself included
  std::uint64_t tag = 0;          // of the name
  std::uint64_t fingerprint = 0;  // of the layout of this type alone
  std::string name;
  std::vector<field_description> fields;
  std::vector<std::uint8_t> mask;  // one entry for each word
};

// All types of the process by number; entry 0 is none.
extern const type_descriptor* type_table[65536];
// The tagged type of this name's tag, or null.
[[nodiscard]] const type_descriptor* find_tagged(std::uint64_t tag) noexcept;
// Of the type and all that can be reached from it by declared pointers.
[[nodiscard]] std::uint64_t deep_fingerprint(const type_descriptor& type);
[[nodiscard]] bool derives_from(const type_descriptor& type, const type_descriptor& base) noexcept;
// Whether there is a `part` at the address of every object of the type.
[[nodiscard]] bool starts_with(const type_descriptor& type, const type_descriptor& part) noexcept;

}  // namespace situ::detail
