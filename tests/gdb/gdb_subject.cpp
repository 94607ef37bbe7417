// What the gdb test looks at: an address space with known numbers (four slices of 4 KiB, seen from place 1), and
// pointers into it.
#include <situ/memory/detail/place_context.h>
#include <situ/memory/place.h>
#include <situ/memory/ptr.h>

#include <new>

namespace {

struct pair_of_ints {
  int first;
  int second;
};

alignas(4096) std::byte slices[4 * 4096];

[[gnu::noinline]] void look_here() { asm volatile("" ::: "memory"); }

void outside(situ::ptr<int> unknown) {
  look_here();
  static_cast<void>(unknown);
}

void inside() {
  situ::detail::place_context context;
  context.base = reinterpret_cast<std::uintptr_t>(slices);
  context.slice_shift = 12;
  context.slice_mask = 4095;
  context.heap_offset = 0x40;
  context.place_count = 4;
  context.place = 1;
  situ::detail::place_context* const before = situ::detail::current;
  situ::detail::current = &context;

  int elsewhere = 7;
  const situ::ptr<int> remote{new (slices + 2 * 4096 + 0x50) int{42}};
  const situ::ptr<pair_of_ints> mine{new (slices + 4096 + 0x140) pair_of_ints{3, 4}};
  const situ::ptr<void> untyped{slices + 3 * 4096 + 0x40};
  const situ::ptr<int> below_heap{reinterpret_cast<int*>(slices)};
  const situ::ptr<int> foreign{&elsewhere};
  const situ::ptr<int> nothing;
  const situ::place there{3};
  look_here();
  static_cast<void>(remote == foreign && below_heap == nothing && mine && untyped && there == situ::place{});
  situ::detail::current = before;
}

}  // namespace

int main() {
  outside(situ::ptr<int>{new (slices + 0x80) int{5}});
  inside();
}
