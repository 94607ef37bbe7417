// A JSON document as a graph of objects, made to travel.
//
//   document --> record --> members | name, value | name, value | ...
//                                      |     |
//                                      v     v
//                                 member_name  text, integer, natural, real, constant, list, record
//
// Names are objects of their own: all members of one name share it, as all nulls share one constant.
//
// Values are tagged objects, known by pointers to their base. Everything lies in the place's segment, so that other
// places can fetch it. Nothing here recurses: a document may be as deep as it is long.
#pragma once

#include <situ/graph/clone.h>
#include <situ/memory/allocate.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace json_ship {

// These types lie in no anonymous namespace: their names are their identity in every process.

struct value : situ::derived<value> {
  SITU_DESCRIBE_DERIVED(value, (situ::object))
};
struct constant : situ::derived<constant, value> {
  enum kind : std::uint8_t { null, no, yes };
  kind what = null;
  SITU_DESCRIBE_DERIVED(constant, (value), what)
};
struct integer : situ::derived<integer, value> {
  std::int64_t number = 0;
  SITU_DESCRIBE_DERIVED(integer, (value), number)
};
// What exceeds an integer, up to 2^64 - 1.
struct natural : situ::derived<natural, value> {
  std::uint64_t number = 0;
  SITU_DESCRIBE_DERIVED(natural, (value), number)
};
struct real : situ::derived<real, value> {
  double number = 0;
  SITU_DESCRIBE_DERIVED(real, (value), number)
};
struct text : situ::derived<text, value> {
  situ::string characters;
  SITU_DESCRIBE_DERIVED(text, (value), characters)
};
struct list : situ::derived<list, value> {
  situ::vector<value*> elements;
  SITU_DESCRIBE_DERIVED(list, (value), elements)
};
struct member_name {  // an aggregate: nothing to declare
  situ::string characters;
};
struct member {
  member_name* name = nullptr;
  value* content = nullptr;
};
struct record : situ::derived<record, value> {
  situ::vector<member> members;  // in the order of the text, repeated names and all
  SITU_DESCRIBE_DERIVED(record, (value), members)
};

// The root object. The stamp is what a visit adds to every record: made with the document, so that the visit allocates
// no object.
struct document {
  value* top = nullptr;
  situ::vector<member_name*> names;  // each once
  member_name* stamp_name = nullptr;
  integer* stamp = nullptr;
  // Of the last visit, by the clock that all processes of a host share.
  std::int64_t arrived_ns = 0;
  std::int64_t left_ns = 0;
  std::uint32_t came_by = 0;  // situ::transfer
};

// Objects of one type, in blocks of the place's segment; destroyed together.
template <class T>
class slab {
 public:
  slab() = default;
  slab(const slab&) = delete;
  slab& operator=(const slab&) = delete;
  ~slab() {
    for (std::size_t i = 0; i < made_; ++i) std::destroy_at(at(i));
    for (const situ::ptr<std::byte> block : blocks_) situ::deallocate(block);
  }
  // A value-initialised object. Throws out_of_memory.
  [[nodiscard]] T* make() {
    if (made_ == blocks_.size() * per_block) {
      blocks_.reserve(blocks_.size() + 1);
      blocks_.push_back(situ::allocate_bytes(per_block * sizeof(T), {.alignment = alignof(T)}));
    }
    T* const object = new (at(made_)) T{};
    ++made_;
    return object;
  }
  [[nodiscard]] std::size_t size() const noexcept { return made_; }

 private:
  static constexpr std::size_t per_block = 1024;
  [[nodiscard]] T* at(std::size_t i) const noexcept {
    return reinterpret_cast<T*>(blocks_[i / per_block].local()) + i % per_block;
  }
  std::vector<situ::ptr<std::byte>> blocks_;
  std::size_t made_ = 0;
};

struct census {
  std::uint64_t records = 0, members = 0, names = 0, lists = 0, texts = 0, integers = 0, naturals = 0, reals = 0,
                constants = 0;  // constants: uses
  std::uint64_t depth = 0;
  friend bool operator==(const census&, const census&) = default;
};

// A document and what it is made of. Belongs to the place that made it, within the life of its runtime.
class stored_document {
 public:
  [[nodiscard]] document* get() const noexcept { return root_; }
  [[nodiscard]] const json_ship::census& census() const noexcept { return census_; }

 private:
  friend class builder;
  slab<document> documents_;
  slab<constant> constants_;
  slab<integer> integers_;
  slab<natural> naturals_;
  slab<real> reals_;
  slab<text> texts_;
  slab<list> lists_;
  slab<record> records_;
  slab<member_name> names_;
  document* root_ = nullptr;
  json_ship::census census_;
};

// Changes a document all over: every record gets a last member, the stamp, whose value is `place`; ASCII letters of all
// texts and names swap case.
void change(document& d, std::uint32_t place);
// Undoes it. Returns how many stamps it took off; throws bad_message where a record has none of `place`, and has
// changed a part of `d` then.
std::uint64_t undo_change(document& d, std::uint32_t place);

// Where two documents differ first: "" where they are equal in structure, order, kinds, values (reals bit by bit) and
// sharing of names.
[[nodiscard]] std::string difference(const document& a, const document& b);

// As compact JSON text. Reals are written so that they read back as they were.
[[nodiscard]] std::string to_text(const document& d);

}  // namespace json_ship
