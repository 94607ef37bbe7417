// Layouts by number: those of a program at run time from 0 on, which each place adds for itself, and those of C++ types
// from 128 on, whose words all places read in the shared state.
#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "heap/heap_core.h"
#include "os/host.h"

namespace situ::detail {

std::uint8_t heap_core::add_layout(heap_layout made) {
  if (own_layouts_ == first_layout_of_types)
    throw_error(errc::bad_argument, fmt::format("an object heap has room for {} layouts", first_layout_of_types));
  if (made.references == heap_layout::kind::first && made.count == nullptr)
    throw_error(errc::bad_argument, fmt::format("the layout {} counts its references by no function", made.name));
  layouts_[own_layouts_] = std::move(made);
  return own_layouts_++;
}

std::uint8_t layout_of_type(heap_core& core, std::uint64_t key, heap_layout (*make)()) {
  return core.layout_of_type(key, make);
}

std::uint8_t heap_core::layout_of_type(std::uint64_t key, heap_layout (*make)()) {
  const std::lock_guard hold{lock_};
  for (std::uint32_t i = 0; i < layouts_of_types; ++i) {
    shared_layout& slot = shared_->layouts[i];
    const auto number = static_cast<std::uint8_t>(first_layout_of_types + i);
    std::uint64_t found = slot.key.load(std::memory_order_acquire);
    if (found == 0) {
      heap_layout its = make();
      if (its.words.size() > slot.words.size() || (!its.words.empty() && its.words.back() > 0xffff))
        throw_error(errc::bad_argument,
                    fmt::format("the type {} has more than {} references: add a layout of its own by "
                                "object_heap::add_layout",
                                its.name, slot.words.size()));
      if (slot.key.compare_exchange_strong(found, key)) {
        slot.words_listed = static_cast<std::uint32_t>(its.words.size());
        std::ranges::copy(its.words, slot.words.begin());
        write_back(&slot.words_listed, sizeof slot.words_listed + sizeof slot.words);
        slot.is_ready.store(1, std::memory_order_release);
        layouts_[number] = std::move(its);
        return number;
      }
    }
    if (found == key) return number;
  }
  throw_error(errc::bad_argument, fmt::format("an object heap has room for {} types", layouts_of_types));
}

const heap_layout& heap_core::layout(std::uint8_t number) {
  std::optional<heap_layout>& found = layouts_[number];
  if (found) [[likely]]
    return *found;
  if (number < first_layout_of_types || number >= layout_of_references)
    throw_error(errc::bad_argument,
                fmt::format("layout {} of an object heap has not been added at place {}: every place "
                            "adds the same layouts, in the same order",
                            number, here_));
  const shared_layout& slot = shared_->layouts[number - first_layout_of_types];
  while (slot.is_ready.load(std::memory_order_acquire) == 0) give_way();
  invalidate(&slot.words_listed, sizeof slot.words_listed + sizeof slot.words);
  heap_layout made;
  made.name = "a type of another place";
  made.words.assign(slot.words.begin(), slot.words.begin() + slot.words_listed);
  made.references = made.words.empty() ? heap_layout::kind::none : heap_layout::kind::listed;
  found = std::move(made);
  return *found;
}

}  // namespace situ::detail
