// Commits the blocks that a transaction has allocated and freed; finds blocks; checks a whole heap.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "pool/pool_heap.h"

namespace situ::detail {

// --- the commit ---

void pool_heap::plan(std::vector<heap_word>& words) {
  words.clear();
  emptied_.clear();
  new_heads_.clear();
  touched_.clear();
  if (!is_changed()) return;
  for (const block_ref& each : fresh_) {
    if (each.of != nullptr) {
      touch(each);
    } else if (large_.at(each.first).state != large_state::going) {
      words.push_back({map_word(each.first), run_entry{run_kind::large, 0, each.index}.pack(each.first, file_.salt())});
    }
  }
  for (const block_ref& each : going_) {
    if (each.of != nullptr) {
      touch(each);
    } else if (large_.at(each.first).is_published) {
      words.push_back({map_word(each.first), 0});
    }
  }
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  for (std::size_t i = 0; i < touched_.size();) {
    const std::size_t begin = i;
    const auto first = static_cast<std::uint32_t>(touched_[i] / 16);
    while (i < touched_.size() && touched_[i] / 16 == first) ++i;
    plan_slab(*slabs_[first], {touched_.data() + begin, i - begin}, words);
  }
  std::sort(words.begin(), words.end(), [](const heap_word& a, const heap_word& b) { return a.at < b.at; });
}

void pool_heap::touch(const block_ref& blocks) {
  for (std::uint32_t word = blocks.index / 64; word <= (blocks.index + blocks.count - 1) / 64; ++word)
    touched_.push_back(std::uint64_t{blocks.first} * 16 + word);
}

void pool_heap::plan_slab(slab& of, std::span<const std::uint64_t> touched, std::vector<heap_word>& words) {
  slab_header* const header = header_of(of.first);
  if (of.used == of.going) {
    // The slab is empty: remove it from the map, unless it is the last of its class, which the next block would need
    // again.
    const auto others =
        static_cast<std::uint32_t>(std::count_if(emptied_.begin(), emptied_.end(), [&](std::uint32_t each) {
          return slabs_[each]->size_class == of.size_class;
        }));
    if (!of.is_published || slab_count_[of.size_class] - others > 1) {
      emptied_.push_back(of.first);
      if (of.is_published) words.push_back({map_word(of.first), 0});
      return;
    }
  }
  if (of.is_published) {
    for (const std::uint64_t each : touched) {
      const std::uint64_t word = each % 16;
      words.push_back({&header->live[word], of.taken[word] & ~of.leaving[word]});
    }
    return;
  }
  slab_header made{};
  made.check = slab_header::right_check(file_.salt(), of.first, of.size_class);
  for (std::size_t word = 0; word < of.taken.size(); ++word) made.live[word] = of.taken[word] & ~of.leaving[word];
  *header = made;
  new_heads_.push_back(of.first);
  const run_entry entry{run_kind::slab, of.size_class, size_classes[of.size_class].chunks};
  words.push_back({map_word(of.first), entry.pack(of.first, file_.salt())});
}

void pool_heap::for_each_fresh(const std::function<void(const std::byte*, std::size_t)>& visit) const {
  for (const std::uint32_t first : new_heads_) visit(address(first), sizeof(slab_header));
  // Blocks that were allocated in sequence are mostly adjacent.
  for (std::size_t i = 0; i < fresh_.size();) {
    const std::byte* const begin = fresh_[i].at;
    const std::byte* end = begin + fresh_[i].bytes;
    for (++i; i < fresh_.size() && fresh_[i].at >= end && fresh_[i].at - end < 64; ++i)
      end = fresh_[i].at + fresh_[i].bytes;
    visit(begin, static_cast<std::size_t>(end - begin));
  }
}

void pool_heap::complete_all() {
  for (const std::uint32_t first : new_heads_) slabs_[first]->is_published = true;
  for (const block_ref& each : fresh_) {
    if (each.of != nullptr) continue;
    large_run& run = large_.at(each.first);
    run.is_published = true;
    if (run.state == large_state::taken) run.state = large_state::live;
  }
  for (const block_ref& each : going_) {
    if (each.of == nullptr) {
      large_.erase(each.first);
      free_.insert(each.first, each.index);
      continue;
    }
    slab& in = *each.of;
    const std::uint64_t bit = std::uint64_t{1} << each.index % 64;
    in.taken[each.index / 64] &= ~bit;
    in.leaving[each.index / 64] &= ~bit;
    in.hint = std::min(in.hint, each.index / 64);
    --in.used;
    --in.going;
    list(in);
  }
  for (const std::uint32_t first : emptied_) free_slab(*slabs_[first]);
  emptied_.clear();
  new_heads_.clear();
  fresh_.clear();
  may_join_ = false;
  going_.clear();
}

// --- finding ---

// Sets each field by itself: a place that is read as a whole right after its parts were stored would wait for those
// stores.
inline void pool_heap::set_place(place& into, std::uint32_t first, std::uint32_t index) const noexcept {
  const std::uint64_t run = file_.heap_offset() + std::uint64_t{first} * chunk_bytes;
  into.first = first;
  if (first_of_[first] == 0) {
    const std::uint64_t chunks = large_.at(first).chunks;
    into.index = 0;
    into.offset = run;
    into.bytes = large_block_bytes(chunks, file_.has_checks());
    into.run_end = run + chunks * chunk_bytes;
    return;
  }
  const size_class_info& sizes = size_classes[class_of_slab_[first]];
  into.index = index;
  into.offset = run + sizeof(slab_header) + std::uint64_t{index} * sizes.bytes;
  into.bytes = sizes.bytes;
  into.run_end = run + sizes.chunks * chunk_bytes;
}

pool_heap::place pool_heap::block_of(std::uint32_t first, std::uint32_t index) const noexcept {
  place block;
  set_place(block, first, index);
  return block;
}

bool pool_heap::locate(std::uint64_t offset, place& into) const noexcept {
  const std::uint64_t in_heap = offset - file_.heap_offset();
  const std::uint64_t chunk = in_heap / chunk_bytes;
  if (chunk >= first_of_.size()) return false;  // an offset before the heap wraps around to a large number
  if (first_of_[chunk] == 0) {
    const auto after = large_.upper_bound(static_cast<std::uint32_t>(chunk));
    if (after == large_.begin()) return false;
    const auto& [first, run] = *std::prev(after);
    if (chunk - first >= run.chunks) return false;
    set_place(into, first, 0);
    return offset - into.offset < into.bytes;
  }
  const std::uint32_t first = first_of_[chunk] - 1;
  const std::uint64_t in_run = in_heap - std::uint64_t{first} * chunk_bytes;
  if (in_run < sizeof(slab_header)) return false;
  const unsigned size_class = class_of_slab_[first];
  const std::uint64_t index = index_of(in_run - sizeof(slab_header), size_classes[size_class].reciprocal).index;
  if (index >= pool_slab_blocks(size_class, file_.has_checks())) return false;
  set_place(into, first, static_cast<std::uint32_t>(index));
  return true;
}

bool pool_heap::is_live(const place& block) const noexcept {
  if (first_of_[block.first] == 0) return true;
  return (header_of(block.first)->live[block.index / 64] >> block.index % 64 & 1) != 0;
}

bool pool_heap::stays_live(const place& block) const noexcept {
  if (first_of_[block.first] == 0) {
    const large_run& run = large_.at(block.first);
    return run.is_published && run.state == large_state::live;
  }
  const slab* const read = slabs_[block.first].get();
  if (read == nullptr) return is_live(block);  // no block of this slab was allocated or freed
  return read->is_published && is_live(block) && (read->leaving[block.index / 64] >> block.index % 64 & 1) == 0;
}

std::uint32_t pool_heap::most_blocks(std::uint32_t chunk) const noexcept {
  if (first_of_[chunk] == chunk + 1) return pool_slab_blocks(class_of_slab_[chunk], file_.has_checks());
  return first_of_[chunk] == 0 && large_.contains(chunk) ? 1 : 0;
}

// --- looking ---

void pool_heap::look(pool_findings& into, std::uint32_t chunks,
                     const std::function<void(void*, std::size_t)>* visit) const {
  const auto add = [&](void* block, std::size_t bytes) {
    ++into.blocks;
    into.block_bytes += bytes;
    if (visit != nullptr) (*visit)(block, bytes);
  };
  for (std::uint32_t i = 0; i < chunks;) {
    run_entry entry;
    if (*map_word(i) == 0) {
      ++i;
      continue;
    }
    if (!run_entry::unpack(*map_word(i), i, file_.salt(), entry) || entry.chunks > chunks - i) {
      into.damage.push_back(fmt::format("byte {}: the entry of chunk {} is damaged", file_.offset_of(map_word(i)), i));
      ++i;
      continue;
    }
    if (entry.kind == run_kind::large) {
      add(address(i), large_block_bytes(entry.chunks, file_.has_checks()));
    } else {
      look_at_slab(into, i, entry.size_class, add);
    }
    for (std::uint32_t within = i + 1; within < i + entry.chunks; ++within)
      if (*map_word(within) != 0)
        into.damage.push_back(fmt::format("byte {}: there is an entry of chunk {}, which lies in the run of chunk {}",
                                          file_.offset_of(map_word(within)), within, i));
    i += entry.chunks;
  }
}

std::uint64_t pool_heap::used_chunks() const noexcept {
  for (std::uint32_t i = file_.chunks(); i-- > 0;) {
    run_entry entry;
    if (*map_word(i) != 0 && run_entry::unpack(*map_word(i), i, file_.salt(), entry)) return i + entry.chunks;
  }
  return 0;
}

std::uint64_t pool_heap::count_free(std::uint32_t chunks) const noexcept {
  std::uint64_t free = 0;
  for (std::uint32_t i = 0; i < chunks;) {
    run_entry entry;
    const bool is_free = *map_word(i) == 0;
    const bool is_run = !is_free && run_entry::unpack(*map_word(i), i, file_.salt(), entry);
    free += is_free ? 1 : 0;
    i += is_run ? entry.chunks : 1;
  }
  return free;
}

void pool_heap::look_at_slab(pool_findings& into, std::uint32_t first, std::uint8_t size_class,
                             const std::function<void(void*, std::size_t)>& add) const {
  ++into.slabs;
  const slab_header& header = *header_of(first);
  const std::uint32_t blocks = pool_slab_blocks(size_class, file_.has_checks());
  if (header.check != slab_header::right_check(file_.salt(), first, size_class))
    into.damage.push_back(
        fmt::format("byte {}: the head of the slab in chunk {} is damaged", file_.offset_of(&header), first));
  for (std::uint32_t word = 0; word < 16; ++word) {
    if ((header.live[word] & ~blocks_in_word(blocks, word)) != 0)
      into.damage.push_back(fmt::format("byte {}: the slab in chunk {} has blocks that it has no room for",
                                        file_.offset_of(&header.live[word]), first));
    for (std::uint64_t bits = header.live[word] & blocks_in_word(blocks, word); bits != 0; bits &= bits - 1) {
      const std::uint32_t index = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
      const std::size_t bytes = size_classes[size_class].bytes;
      add(address(first) + sizeof(slab_header) + index * bytes, bytes);
    }
  }
}

}  // namespace situ::detail
