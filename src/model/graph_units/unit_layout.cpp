#include "model/graph_units/unit_layout.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace situ::model {
namespace {

using detail::object_kind;
using detail::op;
using detail::op_kind;
using detail::type_descriptor;

[[noreturn]] void refuse(const type_descriptor& type, std::string_view why) {
  throw_error(errc::not_supported,
              fmt::format("the graph units cannot copy a {}: {}; their pointer masks know data, pointers, transient "
                          "words and arrays of data, of pointers or of plain objects",
                          type.name, why));
}

void expect_describable(const type_descriptor& type) {
  for (const op& each : type.others) {
    if (each.kind == op_kind::choice) refuse(type, "it holds an optional or a variant");
    if (each.kind == op_kind::value) refuse(type, "it holds an object of the standard library");
  }
}

const op* array_op_at(const type_descriptor& type, std::uint32_t offset) {
  for (const op& each : type.others)
    if (each.kind == op_kind::array && each.offset == offset) return &each;
  return nullptr;
}

const type_descriptor* target_at(const type_descriptor& type, std::uint32_t offset) {
  for (const detail::simple_pointer& each : type.pointers)
    if (each.offset == offset) return each.target;
  return nullptr;
}

void fill_words(unit_layout& layout, const type_descriptor& type) {
  for (std::uint32_t word = 0; word < type.units;) {
    const std::uint32_t offset = word * 8;
    const auto kind = static_cast<word_kind>(type.mask[word]);
    layout_word entry{kind, false, offset, std::min<std::uint32_t>(8, type.size - offset), nullptr};
    if (kind == word_kind::pointer) entry.target = target_at(type, offset);
    if (kind == word_kind::array) {
      const op* const array = array_op_at(type, offset);
      entry.terminated = array->terminated;
      entry.bytes = 24;
      entry.target = array->target;
    }
    layout.words.push_back(entry);
    word += kind == word_kind::array ? 3 : 1;
  }
}

void fill_slots(unit_layout& layout, const type_descriptor& block) {
  if (block.kind == object_kind::pointer_block) layout.slots.push_back({word_kind::pointer, 0, 8, block.element});
  if (block.kind != object_kind::object_block) return;
  expect_describable(*block.element);
  if (block.element->is_tagged) refuse(block, "its elements are polymorphic");
  for (const detail::simple_pointer& each : block.element->pointers)
    layout.slots.push_back({word_kind::pointer, each.offset, 8, each.target});
  for (const op& each : block.element->others) {
    if (each.kind == op_kind::array) refuse(block, "its elements hold arrays");
    layout.slots.push_back({word_kind::transient, each.offset, each.bytes, nullptr});
  }
}

}  // namespace

const unit_layout& layout_table::of(const type_descriptor& type) {
  std::unique_ptr<unit_layout>& known = known_[&type];
  if (known == nullptr) {
    auto made = std::make_unique<unit_layout>();
    made->type = &type;
    if (type.kind == object_kind::object) {
      expect_describable(type);
      fill_words(*made, type);
    } else {
      fill_slots(*made, type);
    }
    known = std::move(made);
  }
  return *known;
}

const type_descriptor& layout_table::type_at(const void* object, const type_descriptor& declared) const {
  if (!declared.is_tagged) return declared;
  std::uint64_t tag = 0;
  std::memcpy(&tag, object, sizeof tag);
  const type_descriptor* const type = tagged_.find(tag);
  if (type == nullptr || !tagged_.derives(*type, declared))
    throw_error(errc::bad_argument,
                fmt::format("the object at {} has a header, {:#x}, that names no {}: it was never constructed, or is "
                            "gone",
                            object, tag, declared.name));
  return *type;
}

}  // namespace situ::model
