#include <situ/base/error.h>
#include <situ/graph/clone.h>

#include <cstring>
#include <new>

#include "graph/plan.h"
#include "graph/store.h"

namespace situ::detail {
namespace {

// If the last 12 bits of their addresses agree, a processor mistakes a load for one of the data that it has just
// stored, and waits: a list copied from page start to page start takes 1.2 to 1.6 times as long (measured: up to 128
// bytes apart).
constexpr std::uintptr_t aliasing_bytes = 4096;
constexpr std::uintptr_t distance_bytes = 256;
constexpr std::uint16_t lead_bytes = 2 * distance_bytes;

void end_values(std::byte* object, const std::vector<op>& ops) noexcept {
  visit_values_of(object, ops, [](std::byte* value, const value_functions& functions) { functions.destroy(value); });
}

// Frees the memory that the object's containers have allocated since the copy was made.
void finalize(std::byte* object, const std::vector<op>& ops) noexcept;

void finalize_store(std::byte* descriptor, const op& each) noexcept {
  array_descriptor array;
  std::memcpy(&array, descriptor, sizeof array);
  if (array.data == nullptr) return;
  const type_descriptor& block = *each.target;
  // Elements in the arena have finalizers of their own; those of a store that has grown are found here. Only the
  // container knows which elements still exist, so their values are destroyed here in either case.
  if (block.has_containers && (array.capacity & array_descriptor::in_arena) == 0)
    for (std::uint64_t i = 0; i < array.count; ++i) finalize(array.data + i * block.size, block.element->others);
  if (block.has_values)
    for (std::uint64_t i = 0; i < array.count; ++i) end_values(array.data + i * block.size, block.element->others);
  free_store(array);
}

void finalize(std::byte* object, const std::vector<op>& ops) noexcept {
  for (const op& each : ops) {
    if (each.kind == op_kind::array) {
      finalize_store(object + each.offset, each);
    } else if (each.kind == op_kind::choice) {
      const auto flag = static_cast<std::size_t>(object[each.offset]);
      if (flag < each.cases->alternatives.size()) finalize(object, each.cases->alternatives[flag]);
    }
  }
}

void run_finalizers(arena& a) noexcept {
  auto* const memory = reinterpret_cast<std::byte*>(&a);
  for (const std::uint64_t* at = a.finalizers; *at != 0; ++at) {
    std::byte* const object = memory + (*at & address_mask) * 8;
    const type_descriptor& type = *type_table[*at >> type_shift];
    if (type.kind == object_kind::object) {
      finalize(object, type.others);
      if (type.has_values) end_values(object, type.others);
    } else {
      const std::uint64_t count = *++at;
      for (std::uint64_t i = 0; i < count; ++i) finalize(object + i * type.size, type.element->others);
    }
  }
}

}  // namespace

void free_arena(arena* a) noexcept {
  const bool in_segment = (a->flags & arena::in_segment) != 0;
  if (a->finalizers != nullptr) {
    run_finalizers(*a);
    free_bytes_anywhere(reinterpret_cast<std::byte*>(a->finalizers), in_segment);
  }
  free_bytes_anywhere(reinterpret_cast<std::byte*>(a) - a->lead_bytes, in_segment);
}

namespace {
void list_finalizers(arena& a, std::uint64_t words) {
  if (words == 0) return;
  const store list = allocate_bytes_anywhere((words + 1) * sizeof(std::uint64_t), alignof(std::uint64_t));
  a.finalizers = reinterpret_cast<std::uint64_t*>(list.bytes);
  a.finalizers[0] = a.finalizers[words] = 0;  // ends the list, also while it is not written yet
}
}  // namespace

arena_reference make_arena(std::uint64_t bytes, std::size_t alignment, std::uint64_t objects,
                           std::uint64_t finalizer_words, const void* source) {
  const bool may_lead = source != nullptr && bytes >= aliasing_bytes && lead_bytes % alignment == 0;
  const store memory = allocate_bytes_anywhere(bytes + (may_lead ? lead_bytes : 0), alignment);
  const std::uintptr_t apart =
      reinterpret_cast<std::uintptr_t>(memory.bytes) - reinterpret_cast<std::uintptr_t>(source) + distance_bytes;
  const std::uint16_t lead = may_lead && apart % aliasing_bytes < 2 * distance_bytes ? lead_bytes : std::uint16_t{0};
  arena_reference made{new (memory.bytes + lead)
                           arena{.bytes = bytes,
                                 .objects = objects,
                                 .flags = memory.in_segment ? arena::in_segment : std::uint16_t{0},
                                 .lead_bytes = lead}};
  list_finalizers(*made.get(), finalizer_words);
  return made;
}

arena_reference make_arena(const graph_plan& plan) {
  return make_arena(plan.copy_bytes(), plan.alignment_bytes(), plan.size().objects, plan.finalizer_words());
}

namespace {

void copy_values(const graph_plan& plan, arena& to) {
  if (plan.has_values()) without_finalizers(to, [&] { plan.copy_values(reinterpret_cast<std::byte*>(&to)); });
}

arena_reference write_arena(const graph_plan& plan) {
  arena_reference made = make_arena(plan);
  auto* const memory = reinterpret_cast<std::byte*>(made.get());
  front_of(memory, plan.copy_bytes()).prepare(plan.copy_bytes());
  plan.write(memory, reinterpret_cast<std::uintptr_t>(memory), made.get()->finalizers);
  copy_values(plan, *made.get());
  return made;
}

// Memory for the next copy. A program that often copies graphs of one kind mostly copies graphs of one size. If the
// last two were about equal, this allocates an arena beforehand, and the copy is made in it directly instead of being
// moved there; if it does not fit, only the allocation was wasted.
class expected_arena {
 public:
  expected_arena(graph_plan::expectation& expected, const void* source) : expected_{expected} {
    if (!expected.is_stable) return;
    const std::uint64_t bytes = (expected.bytes + expected.bytes / 16 + 7) & ~std::uint64_t{7};
    try {
      arena_ = make_arena(bytes, expected.alignment_bytes, 0, 0, source);
      bytes_ = bytes;
    } catch (const error&) {  // the copy goes on without it, or reports the error itself
    }
  }
  [[nodiscard]] std::span<std::byte> place() const noexcept {
    return {reinterpret_cast<std::byte*>(arena_.get()), bytes_};
  }
  [[nodiscard]] write_front front() const noexcept { return front_of(place().data(), bytes_); }
  [[nodiscard]] bool suits(const graph_plan& plan) const noexcept {
    return plan.is_in_place() && plan.alignment_bytes() <= expected_.alignment_bytes &&
           is_about(plan.copy_bytes(), bytes_);
  }
  [[nodiscard]] arena_reference take(const graph_plan& plan) {
    arena& a = *arena_.get();
    a.bytes = plan.copy_bytes();
    a.objects = plan.size().objects;
    list_finalizers(a, plan.finalizer_words());
    plan.write(reinterpret_cast<std::byte*>(&a), reinterpret_cast<std::uintptr_t>(&a), a.finalizers);
    copy_values(plan, a);
    return std::move(arena_);
  }
  void learn(const graph_plan& plan) noexcept {
    const bool is_same = is_about(expected_.bytes, plan.copy_bytes()) || is_about(plan.copy_bytes(), expected_.bytes);
    expected_ = {plan.copy_bytes(), plan.alignment_bytes(), is_same, expected_.pulls_ahead};
  }

 private:
  // Returns whether the difference is small enough.
  static bool is_about(std::uint64_t less, std::uint64_t bytes) noexcept {
    return less <= bytes && bytes - less <= bytes / 8 + 64;
  }

  graph_plan::expectation& expected_;
  arena_reference arena_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

arena_reference copy_graph(std::span<graph_root> roots, copy_map map, source_check check) {
  const borrowed_plan plan;
  expected_arena ahead{plan->expected(*roots[0].type), roots[0].object};
  plan->discover(roots.data(), roots.size(), map, check, ahead.place(), ahead.front());
  arena_reference copy = ahead.suits(*plan) ? ahead.take(*plan) : write_arena(*plan);
  ahead.learn(*plan);
  for (std::size_t i = 0; i < roots.size(); ++i) roots[i].object = object_at(*copy.get(), plan->root(i));
  return copy;
}

cloned clone_graph(graph_root root, copy_map map) {
  arena_reference memory = copy_graph({&root, 1}, map, source_check::none);
  return {std::move(memory), const_cast<void*>(root.object)};
}

graph_size measure_graph(graph_root root, copy_map map) {
  const borrowed_plan plan;
  plan->discover(&root, 1, map, source_check::none);
  return plan->size();
}

}  // namespace situ::detail
