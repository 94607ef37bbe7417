// Own objects become shared: from then on other threads may have references to them, and no collection of one thread
// frees them.
#include <vector>

#include "heap/heap_core.h"
#include "heap/marked_entries.h"

namespace situ::detail {

void heap_core::share(thread_state& by, std::uint32_t raw) {
  std::vector<std::uint32_t> to_do;
  std::vector<stale_range> published;
  std::uint64_t bytes = 0, objects = 0;
  const auto reach = [&](std::uint32_t word) {
    const std::uint64_t its = entry(word);
    if ((its & entry_is_shared) != 0) return;
    store_entry(at_entry(word), its | entry_is_shared);
    if (must_publish_entries()) published.emplace_back(reinterpret_cast<std::uint64_t>(at_entry(word)), 8);
    bytes += object_bytes(object_of_entry(its)->words);
    ++objects;
    to_do.push_back(word);
  };
  reach(raw);
  while (!to_do.empty()) {
    const std::uint32_t next = to_do.back();
    to_do.pop_back();
    each_reference(*object_of_entry(entry(next)), [&](std::uint32_t& word) { reach(word); });
  }
  if (objects == 0) return;
  {
    const std::lock_guard hold{lock_};
    counts_.objects_shared += objects;
    shared_bytes_ += bytes;
  }
  publish_entries(by, published);
}

// If each place caches the entries that it uses, the cache of another place may hold the line of a new entry from
// before.
bool heap_core::must_publish_entries() const noexcept {
  return !has_coherent_places && options_.table == heap_table::replicated && places_ > 1;
}
void heap_core::publish_entries(thread_state& by, std::span<const stale_range> entries) {
  if (entries.empty()) return;
  for (const auto& [begin, bytes] : entries) write_back(reinterpret_cast<const void*>(begin), bytes);
  const bool was_in_section = by.is_in_section();
  if (was_in_section) by.leave();
  ask_all(by, entries);
  if (was_in_section) by.enter();
}

// A reference is stored with relaxed order, since it may be one of a field's many stores. A thread that
// loads the reference then loads the entry of its object, and must find the object there.
void heap_core::order_before_references() noexcept {
#if !defined(__SANITIZE_THREAD__)  // it does not know of fences; what it runs on needs none here
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

void heap_core::remember(thread_state& by, std::uint32_t raw) {
  const std::uint64_t before =
      std::atomic_ref<std::uint64_t>{*at_entry(raw)}.fetch_or(entry_is_remembered, std::memory_order_acq_rel);
  if ((before & entry_is_remembered) == 0) by.its().remembered.push_back(raw);
}

void heap_core::share_remembered(thread_state& by) {
  std::vector<std::uint32_t> words;
  for (const std::uint32_t each : by.its().remembered) {
    by.enter();  // others may move it
    const std::uint64_t its = changing(at_entry(each)).fetch_and(~entry_is_remembered, std::memory_order_acq_rel);
    if (object_of_entry(its) != nullptr)
      each_reference(*object_of_entry(its), [&](std::uint32_t& word) {
        if ((entry(word) & entry_is_shared) == 0) words.push_back(word);
      });
    by.leave();
  }
  by.its().remembered.clear();
  for (const std::uint32_t each : words) share(by, each);
  order_before_references();
}

}  // namespace situ::detail
