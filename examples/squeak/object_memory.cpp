#include "object_memory.h"

#include <situ/base/detail/assert.h>

#include <algorithm>
#include <bit>

namespace squeak {
namespace {

// A context's references: its six fields, and the stack up to its stack pointer.
std::uint32_t words_of_context(const std::uint32_t* body, std::uint32_t words) noexcept {
  if (words < 6) return words;
  const std::int32_t depth = is_integer(body[2]) ? integer_of(body[2]) : 0;
  return depth < 0 ? 6 : std::min(words, 6 + static_cast<std::uint32_t>(depth));
}

std::uint32_t words_of_method(const std::uint32_t* body, std::uint32_t words) noexcept {
  return words == 0 ? 0 : std::min(words, method_header{body[0]}.literals() + 1);
}

situ::heap_layout layout(const char* name, situ::heap_layout::kind references) {
  situ::heap_layout made;
  made.name = name;
  made.references = references;
  return made;
}

}  // namespace

image_layouts::image_layouts(situ::object_heap& heap) {
  using kind = situ::heap_layout::kind;
  situ::heap_layout of_context = layout("Squeak context", kind::first);
  of_context.count = words_of_context;
  of_context.never_read_mostly = true;
  situ::heap_layout of_method = layout("Squeak method", kind::first);
  of_method.count = words_of_method;
  const auto add_all = [&] {
    pointers = heap.add_layout(layout("Squeak pointers", kind::all));
    context = heap.add_layout(of_context);
    method = heap.add_layout(of_method);
    data = heap.add_layout(layout("Squeak data", kind::none));
  };
  add_all();
  const image_layouts usual = *this;
  add_all();
  SITU_ASSERT(1, pointers == usual.pointers + without_baton, "layouts have other numbers than in turn");
  *this = usual;
}

bool object_memory::store_behind_barrier(oop o, std::uint32_t index, oop value) {
  const std::uint64_t entry = state_.entry(o);
  if ((entry & changing) == 0 && (state_.entry(value) & situ::detail::entry_is_shared) != 0) {
    situ::detail::object_of_entry(entry)->body()[index] = value;
    return false;
  }
  with_others([&] {
    object* const to = is_integer(value) ? section_->object_to_change(o) : section_->object_for_reference(o, value);
    to->body()[index] = value;
  });
  // The value may have led to the active context, which then is shared, and is stored into without a barrier.
  remember_active();
  addresses_changed_ = true;
  return true;
}

object* object_memory::change_behind_barrier(oop o) {
  addresses_changed_ = true;
  object* found = nullptr;
  with_others([&] { found = section_->object_to_change(o); });
  return found;
}

oop object_memory::make_bytes(oop of_class, std::string_view bytes) {
  const auto words = static_cast<std::uint32_t>((bytes.size() + 3) / 4);
  const auto unused = static_cast<std::uint8_t>(words * 4 - bytes.size());
  object* const made = allocate(of_class, words, static_cast<std::uint8_t>(format::bytes + unused), 0);
  std::copy(bytes.begin(), bytes.end(), bytes_of(*made));
  return made->self;
}

// The words of a Float are in the order of a big-endian machine, each in this machine's order.
oop object_memory::make_float(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  object* const made = allocate(known_.class_float, 2, format::words, 0);
  made->body()[0] = static_cast<std::uint32_t>(bits >> 32);
  made->body()[1] = static_cast<std::uint32_t>(bits);
  return made->self;
}

double object_memory::float_value(oop o) const {
  const std::uint32_t* const words = at(o)->body();
  return std::bit_cast<double>(std::uint64_t{words[0]} << 32 | words[1]);
}

oop object_memory::make_unsigned(std::uint32_t value) {
  if (value < (1U << 30)) return word_of(static_cast<std::int32_t>(value));
  return make_bytes(known_.class_large_positive, {reinterpret_cast<const char*>(&value), 4});
}

std::optional<std::uint32_t> object_memory::unsigned_value(oop o) const {
  if (is_integer(o)) {
    if (integer_of(o) < 0) return std::nullopt;
    return static_cast<std::uint32_t>(integer_of(o));
  }
  const object& large = *at(o);
  if (large.type != known_.class_large_positive || byte_size(large) > 4) return std::nullopt;
  std::uint32_t value = 0;
  std::memcpy(&value, large.body(), byte_size(large));
  return value;
}

void object_memory::set_specials(oop specials) {
  const auto known = [&](std::uint32_t number) {
    return number < at(specials)->words ? field(specials, number) : field(specials, special::nil);
  };
  known_.specials = specials;
  known_.nil = known(special::nil);
  known_.false_object = known(special::false_object);
  known_.true_object = known(special::true_object);
  known_.class_small_integer = known(special::class_small_integer);
  known_.class_string = known(special::class_string);
  known_.class_array = known(special::class_array);
  known_.class_float = known(special::class_float);
  known_.class_method_context = known(special::class_method_context);
  known_.class_block_context = known(special::class_block_context);
  known_.class_point = known(special::class_point);
  known_.class_large_positive = known(special::class_large_positive_integer);
  known_.class_large_negative = known(special::class_large_negative_integer);
  known_.class_message = known(special::class_message);
  known_.class_semaphore = known(special::class_semaphore);
  known_.class_character = known(special::class_character);
}

void object_memory::visit_roots(const situ::heap_thread::root_visitor& visit) {
  for (oop& each : active_) visit(each);
  visit(known_.specials);
  for (oop* each :
       {&known_.nil, &known_.false_object, &known_.true_object, &known_.class_small_integer, &known_.class_string,
        &known_.class_array, &known_.class_float, &known_.class_method_context, &known_.class_block_context,
        &known_.class_point, &known_.class_large_positive, &known_.class_large_negative, &known_.class_message,
        &known_.class_semaphore, &known_.class_character})
    visit(*each);
}

}  // namespace squeak
