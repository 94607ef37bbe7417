#include "image_objects.h"

#include <algorithm>

namespace squeak {
namespace {

// Words at the beginning of an object that refer to others, or are SmallIntegers.
std::uint32_t pointers_in(const object_memory& memory, const object& o) {
  if (memory.is_context(o)) {
    const std::int32_t depth = is_integer(o.body()[2]) ? std::max(integer_of(o.body()[2]), 0) : 0;
    return std::min(o.words, 6 + static_cast<std::uint32_t>(depth));
  }
  return pointer_words(format_of(o), o.words, o.words != 0 ? o.body()[0] : 0);
}

// As above, without weak fields.
std::uint32_t strong_pointers_in(const object_memory& memory, const object& o) {
  return format_of(o) == format::weak ? std::min(o.words, memory.named_fields(o.type)) : pointers_in(memory, o);
}

class tracer {
 public:
  explicit tracer(const object_memory& memory) : memory_{memory} {}
  void meet(oop o) {
    if (is_integer(o) || o == 0) return;
    if (o / 2 >= is_met_.size()) is_met_.resize(std::max<std::size_t>(o / 2 + 1, 2 * is_met_.size()));
    if (is_met_[o / 2]) return;
    is_met_[o / 2] = true;
    met_.push_back(o);
  }
  std::vector<oop> trace() {
    for (std::size_t i = 0; i < met_.size(); ++i) {
      const object& o = *memory_.at(met_[i]);
      meet(o.type);
      const std::uint32_t pointers = strong_pointers_in(memory_, o);
      for (std::uint32_t k = 0; k < pointers; ++k) meet(o.body()[k]);
    }
    return std::move(met_);
  }

 private:
  const object_memory& memory_;
  std::vector<bool> is_met_;
  std::vector<oop> met_;
};

}  // namespace

std::vector<oop> make_objects(object_memory& memory, const std::vector<object_shape>& shapes) {
  std::vector<oop> made;
  made.reserve(shapes.size());
  for (const object_shape& each : shapes) {
    object* const to = each.is_context ? memory.allocate_context(0, each.words)
                                       : memory.allocate(0, each.words, static_cast<std::uint8_t>(each.tag & 15), 0);
    to->tag = each.tag;
    made.push_back(to->self);
  }
  return made;
}

std::vector<oop> load_image(const image& of, object_memory& memory, const object_maker& make) {
  const auto context_class = [&](std::uint32_t number) { return of.word(of.special_objects, number) / 2; };
  const std::uint32_t method_context = context_class(special::class_method_context);
  const std::uint32_t block_context = context_class(special::class_block_context);
  std::vector<object_shape> shapes;
  for (const image_object& each : of.objects) {
    const bool is_context = each.of_class == method_context || each.of_class == block_context;
    shapes.push_back(
        {each.words, static_cast<std::uint16_t>(each.format | each.hash << 4), is_context && is_pointers(each.format)});
  }
  std::vector<oop> made = make(shapes);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const image_object& from = of.objects[i];
    object* const to = memory.at(made[i]);
    const std::uint32_t* const words = of.words.data() + from.first_word;
    const std::uint32_t pointers = pointer_words(from.format, from.words, from.words != 0 ? words[0] : 0);
    for (std::uint32_t k = 0; k < from.words; ++k)
      to->body()[k] = k >= pointers || is_integer(words[k]) ? words[k] : made[words[k] / 2];
    to->type = made[from.of_class];
  }
  memory.set_specials(made[of.special_objects]);
  return made;
}

std::vector<oop> reachable_objects(const object_memory& memory, const std::vector<oop>& also) {
  tracer all{memory};
  all.meet(memory.known().specials);
  for (const oop each : also) all.meet(each);
  return all.trace();
}

image take_image(const object_memory& memory, const image& like) {
  const std::vector<oop> all = reachable_objects(memory);
  std::vector<std::uint32_t> numbers(*std::max_element(all.begin(), all.end()) / 2 + 1, ~std::uint32_t{0});
  for (std::size_t i = 0; i < all.size(); ++i) numbers[all[i] / 2] = static_cast<std::uint32_t>(i);
  const std::uint32_t nil = 2 * numbers[memory.known().nil / 2];
  const auto word = [&](oop o) {
    if (is_integer(o)) return o;
    const bool is_there = o != 0 && o / 2 < numbers.size() && numbers[o / 2] != ~std::uint32_t{0};
    return is_there ? 2 * numbers[o / 2] : nil;
  };
  image made;
  made.window = like.window;
  made.flags = like.flags;
  made.last_hash = like.last_hash;
  made.special_objects = 0;
  for (const oop each : all) {
    const object& from = *memory.at(each);
    made.objects.push_back({static_cast<std::uint32_t>(made.words.size()), from.words, numbers[from.type / 2],
                            static_cast<std::uint16_t>(hash_of(from)), format_of(from)});
    const bool is_context = memory.is_context(from);
    const std::uint32_t pointers = pointers_in(memory, from);
    for (std::uint32_t k = 0; k < from.words; ++k)
      made.words.push_back(k < pointers ? word(from.body()[k]) : is_context ? nil : from.body()[k]);
  }
  return made;
}

}  // namespace squeak
