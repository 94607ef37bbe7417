// Own objects become shared: from then on other threads may have references to them, and no collection of one thread
// frees them.
#include <vector>

#include "heap/heap_core.h"

namespace situ::detail {

void heap_core::share(std::uint32_t raw) {
  std::vector<std::uint32_t> to_do;
  std::uint64_t bytes = 0, objects = 0;
  const auto reach = [&](std::uint32_t word) {
    const std::uint64_t its = entry(word);
    if ((its & entry_is_shared) != 0) return;
    __atomic_store_n(at_entry(word), its | entry_is_shared, __ATOMIC_RELEASE);
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
  const std::lock_guard hold{lock_};
  counts_.objects_shared += objects;
  shared_bytes_ += bytes;
}

void heap_core::remember(thread_state& by, std::uint32_t raw) {
  const std::uint64_t before =
      std::atomic_ref<std::uint64_t>{*at_entry(raw)}.fetch_or(entry_is_remembered, std::memory_order_acq_rel);
  if ((before & entry_is_remembered) == 0) by.its().remembered.push_back(raw);
}

}  // namespace situ::detail
