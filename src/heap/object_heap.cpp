#include <situ/heap/object_heap.h>

#include <situ/base/error_code.h>
#include <situ/runtime/runtime.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "heap/heap_core.h"

namespace situ {

object_heap::object_heap(const heap_options& options) : core_{std::make_unique<detail::heap_core>(options)} {}
object_heap::~object_heap() = default;

std::uint8_t object_heap::add_layout(heap_layout layout) { return core_->add_layout(std::move(layout)); }
const heap_options& object_heap::options() const noexcept { return core_->options(); }
heap_counts object_heap::counts() const { return core_->counts(); }
std::uint64_t object_heap::bytes_held() const { return core_->bytes_held(); }

heap_thread::heap_thread(object_heap& heap, place_threads* threads, heap_objects makes)
    : heap_{&heap}, state_{heap.core(), threads, makes == heap_objects::shared} {}
heap_thread::~heap_thread() = default;

ref<> heap_thread::allocate_at(place home, std::uint8_t layout, std::uint32_t words, ref<> type, std::uint16_t tag,
                               std::uint32_t fill) {
  if (home.index() >= situ::place_count())
    throw_error(errc::bad_argument,
                fmt::format("there is no place {} for an object: the job has {}", home.index(), situ::place_count()));
  return heap_->core().make_at(state_, home.index(), layout, words, type.raw(), tag, fill);
}

place heap_thread::home(ref<> of) const {
  return place{heap_->core().home_of(detail::object_of_entry(heap_->core().checked_entry(of)))};
}

namespace {

std::vector<std::uint32_t> raw_numbers(const std::vector<ref<>>& of) {
  std::vector<std::uint32_t> raws;
  raws.reserve(of.size());
  for (const ref<> each : of) raws.push_back(each.raw());
  std::ranges::sort(raws);
  raws.erase(std::unique(raws.begin(), raws.end()), raws.end());
  return raws;
}

}  // namespace

void heap_thread::move(const std::vector<ref<>>& of, place to) {
  if (to.index() >= situ::place_count())
    throw_error(errc::bad_argument,
                fmt::format("objects cannot move to place {}: the job has {}", to.index(), situ::place_count()));
  (void)heap_->core().relocate(state_, raw_numbers(of), {to.index(), detail::chunk_kind::ordinary});
}

std::uint64_t heap_thread::make_read_mostly(const std::vector<ref<>>& of) {
  detail::heap_core& core = heap_->core();
  std::vector<std::uint32_t> raws = raw_numbers(of);
  std::erase_if(
      raws, [&](std::uint32_t raw) { return (core.checked_entry(ref<>{raw}) & detail::entry_is_read_mostly) != 0; });
  if (!core.replicates()) return 0;
  return core.relocate(state_, raws, {0, detail::chunk_kind::read_mostly}, detail::copy_which::at_their_home);
}

std::uint64_t heap_thread::make_all_read_mostly() { return heap_->core().make_all_read_mostly(state_); }

void heap_thread::exchange(ref<> a, ref<> b, std::uint16_t tag_bits_that_stay) {
  heap_->core().exchange(state_, a.raw(), b.raw(), tag_bits_that_stay);
}

void heap_thread::collect_own() { heap_->core().collect_own(state_); }
void heap_thread::collect(const heap_collection& how) { heap_->core().collect(state_, how); }
void heap_thread::wait_at_safe_point() { heap_->core().wait_at_safe_point(state_); }
void heap_thread::remember_shared(std::uint32_t raw) { heap_->core().remember(state_, raw); }
void heap_thread::begin_idle() { heap_->core().park(state_); }
void heap_thread::end_idle() { heap_->core().unpark(state_); }

std::size_t heap_thread::add_roots(std::function<void(const root_visitor& visit)> roots) {
  state_.its().root_functions.push_back(std::move(roots));
  return state_.its().root_functions.size() - 1;
}
void heap_thread::remove_roots(std::size_t number) { state_.its().root_functions.at(number) = nullptr; }

}  // namespace situ
