// Applies the transactions of other processes to this process's tables, word by word: a word of the map stands for a
// run that was freed or allocated, or both; a word of a slab for its blocks. Only the current value of a word counts,
// not the values in between.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "pool/pool_heap.h"

namespace situ::detail {

void pool_heap::drop_run(std::uint32_t first) {
  if (const auto found = large_.find(first); found != large_.end()) {
    free_.insert(first, found->second.chunks);
    large_.erase(found);
  } else if (first_of_[first] == first + 1) {
    // A slab that was not read has only its entry in the list.
    if (slabs_[first] == nullptr) {
      auto& listed = partial_[class_of_slab_[first]];
      listed.erase(std::find(listed.begin(), listed.end(), first));
      const std::uint32_t chunks = size_classes[class_of_slab_[first]].chunks;
      --slab_count_[class_of_slab_[first]];
      std::fill_n(first_of_.begin() + first, chunks, 0);
      free_.insert(first, chunks);
    } else {
      free_slab(*slabs_[first]);
    }
  }
}

void pool_heap::follow_slab(std::uint64_t offset) {
  const std::uint64_t in_heap = offset - file_.heap_offset();
  const auto first = static_cast<std::uint32_t>(in_heap / chunk_bytes);
  if (first >= slabs_.size() || slabs_[first] == nullptr) return;  // it will be read when it is needed
  slab& in = *slabs_[first];
  const std::uint64_t word = (in_heap % chunk_bytes - offsetof(slab_header, live)) / 8;
  if (word >= in.taken.size()) return;
  const std::uint64_t live = __atomic_load_n(&header_of(first)->live[word], __ATOMIC_RELAXED);
  in.used += static_cast<std::uint32_t>(std::popcount(live));
  in.used -= static_cast<std::uint32_t>(std::popcount(in.taken[word]));
  in.taken[word] = live;
  in.hint = std::min(in.hint, static_cast<std::uint32_t>(word));
  if (in.used != in.blocks) list(in);
}

void pool_heap::follow(std::vector<std::uint64_t>& offsets) {
  if (file_.chunks() != first_of_.size()) lengthen(file_.chunks());
  std::sort(offsets.begin(), offsets.end());
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  const auto of_slabs = std::lower_bound(offsets.begin(), offsets.end(), file_.heap_offset());
  const auto chunk_of = [&](std::uint64_t offset) {
    return static_cast<std::uint32_t>((offset - file_.map_offset()) / sizeof(std::uint64_t));
  };
  // Drops all runs that may be gone first, because a new run may overlap old ones.
  for (auto each = offsets.begin(); each != of_slabs; ++each) drop_run(chunk_of(*each));
  for (auto each = offsets.begin(); each != of_slabs; ++each) {
    const std::uint32_t chunk = chunk_of(*each);
    if (*map_word(chunk) == 0) continue;
    const run_entry entry = entry_of(chunk);
    if (!free_.take_at(chunk, entry.chunks))
      throw_damaged(file_.path(), file_.offset_of(map_word(chunk)),
                    fmt::format("the run of chunk {} lies where another one is", chunk));
    if (entry.kind == run_kind::slab) {
      note_slab(chunk, entry);
      partial_[entry.size_class].push_back(chunk);
    } else {
      large_.emplace(chunk, large_run{entry.chunks});
    }
  }
  for (auto each = of_slabs; each != offsets.end(); ++each) follow_slab(*each);
}

}  // namespace situ::detail
