// Layouts by number: those of a program at run time from 0 on, which each place adds for itself, and those of C++ types
// from 128 on, whose words all places read in the shared state.
#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "heap/heap_core.h"
#include "os/host.h"

namespace situ::detail {

// pre: layouts_lock_ is held.
const heap_layout& heap_core::publish_layout(std::uint8_t number, heap_layout made) {
  owned_layouts_.push_back(std::make_unique<const heap_layout>(std::move(made)));
  layouts_[number].store(owned_layouts_.back().get(), std::memory_order_release);
  return *owned_layouts_.back();
}

std::uint8_t heap_core::add_layout(heap_layout made) {
  const std::lock_guard hold{layouts_lock_};
  if (own_layouts_ == first_layout_of_types)
    throw_error(errc::bad_argument, fmt::format("an object heap has room for {} layouts", first_layout_of_types));
  if (made.references == heap_layout::kind::first && made.count == nullptr)
    throw_error(errc::bad_argument, fmt::format("the layout {} counts its references by no function", made.name));
  (void)publish_layout(own_layouts_, std::move(made));
  return own_layouts_++;
}

std::uint8_t layout_of_type(heap_core& core, std::uint64_t key, heap_layout (*make)()) {
  return core.layout_of_type(key, make);
}

// The slots are probed from the one that the key names, so that the first look finds most types.
std::uint8_t heap_core::layout_of_type(std::uint64_t key, heap_layout (*make)()) {
  const auto slot_at = [key](std::uint32_t i) { return static_cast<std::uint32_t>((key + i) % layouts_of_types); };
  for (std::uint32_t i = 0; i < layouts_of_types; ++i) {
    const std::uint64_t known = known_keys_[slot_at(i)].load(std::memory_order_acquire);
    if (known == key) return static_cast<std::uint8_t>(first_layout_of_types + slot_at(i));
    if (known == 0) break;
  }
  const std::lock_guard hold{layouts_lock_};
  for (std::uint32_t i = 0; i < layouts_of_types; ++i) {
    const std::uint32_t at = slot_at(i);
    shared_layout& slot = shared_->layouts[at];
    const auto number = static_cast<std::uint8_t>(first_layout_of_types + at);
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
        (void)publish_layout(number, std::move(its));
        found = key;
      }
    }
    known_keys_[at].store(found, std::memory_order_release);
    if (found == key) return number;
  }
  throw_error(errc::bad_argument, fmt::format("an object heap has room for {} types", layouts_of_types));
}

const heap_layout& heap_core::layout_of_another_place(std::uint8_t number) {
  const std::lock_guard hold{layouts_lock_};
  if (const heap_layout* const found = layouts_[number].load(std::memory_order_acquire)) return *found;
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
  return publish_layout(number, std::move(made));
}

}  // namespace situ::detail
