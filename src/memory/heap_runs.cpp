// The part of the heap that manages runs of chunks.

#include "memory/heap.h"

#include <algorithm>
#include <utility>

namespace situ::detail {
namespace {

// Number of runs to examine in a list of mixed sizes before a larger run is split.
constexpr std::uint32_t patience = 32;
constexpr std::uint32_t unlimited = no_chunk;

constexpr std::uint32_t kept_part_of_use = 8;  // free memory up to this part of the memory in use is kept
// The least number of chunks that is worth a system call.
constexpr std::uint32_t least_given_back = (1u << 20) >> chunk_shift;
// A placed arena takes this many chunks at once, or a multiple: a huge page.
constexpr std::uint32_t placed_at_once = huge_page_bytes >> chunk_shift;

}  // namespace

std::uint32_t heap::take_run(arena& in, std::uint32_t chunks, std::uint64_t alignment) noexcept {
  if (!reserve(chunks)) return no_chunk;
  const auto slack = static_cast<std::uint32_t>(alignment > chunk_bytes ? alignment / chunk_bytes - 1 : 0);
  const std::uint32_t run = find_run(in, chunks, slack);
  if (run == no_chunk) {
    unreserve(chunks);
    return no_chunk;
  }
  return carve(in, run, chunks, alignment);
}

bool heap::reserve(std::uint32_t chunks) noexcept {
  const std::uint64_t bytes = std::uint64_t{chunks} << chunk_shift;
  if (!backing_.charge(bytes)) {
    release_idle();
    clean_all();
    if (!backing_.charge(bytes)) return false;
  }
  needed_chunks_ += chunks;
  return true;
}

void heap::unreserve(std::uint32_t chunks) noexcept {
  if (chunks == 0) return;
  needed_chunks_ -= chunks;
  backing_.uncharge(std::uint64_t{chunks} << chunk_shift);
}

// Finds a free run of `chunks` and the slack for the alignment. pre: the chunks are reserved.
std::uint32_t heap::find_run(arena& in, std::uint32_t chunks, std::uint32_t slack) noexcept {
  const std::uint32_t wanted = chunks + slack;
  const std::uint32_t run = in.runs.find(wanted, patience);
  if (run != no_chunk) return run;
  if (in.number == plain) {
    if (!extend(wanted)) release_idle();
  } else if (!place_more(in, chunks, slack)) {
    release_idle();
    clean_placed_runs();  // arenas may keep the missing room
    if (in.runs.find(wanted, unlimited) == no_chunk) place_more(in, chunks, slack);
  }
  return in.runs.find(wanted, unlimited);
}

// Takes a run from the plain arena and places its pages for this arena. They count as dirty, except the chunks that
// are reserved and about to be carved out.
bool heap::place_more(arena& in, std::uint32_t chunks, std::uint32_t slack) noexcept {
  const std::uint32_t wanted = chunks + slack;
  if (wanted > no_chunk - 2 * placed_at_once) return false;
  const std::uint32_t all = (wanted + placed_at_once - 1) / placed_at_once * placed_at_once;
  if (!reserve(all - chunks)) return false;
  const std::uint32_t run = find_run(plain_, all, placed_at_once - 1);
  if (run == no_chunk) {
    unreserve(all - chunks);
    return false;
  }
  const std::uint32_t first = carve(plain_, run, all, huge_page_bytes);
  if (!backing_.place(in.number, std::uint64_t{first} << chunk_shift, std::uint64_t{all} << chunk_shift)) {
    join_free(plain_, first, all, 0);
    unreserve(all - chunks);
    return false;
  }
  join_free(in, first, all, all - chunks);
  return true;
}

// Opens the chunks that the free run at the end of the heap lacks.
bool heap::extend(std::uint32_t chunks) noexcept {
  std::uint64_t end = open_chunks_;
  if (open_chunks_ != 0) {
    const map_entry last = map_.entry(open_chunks_ - 1);
    if (last.kind == chunk_kind::free && last.arena == plain) end = last.first;
  }
  return backing_.open((end + chunks) << chunk_shift);
}

void heap::opened(std::uint32_t chunks) noexcept {
  const std::uint32_t before = open_chunks_;
  open_chunks_ = chunks;
  ASAN_POISON_MEMORY_REGION(reinterpret_cast<void*>(map_.address(before)), (chunks - before) * chunk_bytes);
  std::uint32_t first = before;
  std::uint32_t dirty = 0;
  const map_entry last = before != 0 ? map_.entry(before - 1) : map_entry{};
  if (last.kind == chunk_kind::free && last.arena == plain) {
    first = last.first;
    dirty = map_.states[first].dirty;
    remove_free(plain_, first);
  }
  insert_free(plain_, first, chunks - first, dirty);
}

// Takes `chunks`, aligned, out of a free run; the rest before and after stays free. The dirty chunks are assumed to be
// in the rest: so the charge is never too low, and cleaning the rest corrects it.
std::uint32_t heap::carve(arena& in, std::uint32_t run, std::uint32_t chunks, std::uint64_t alignment) noexcept {
  const std::uint32_t total = map_.states[run].chunks.load(std::memory_order_relaxed);
  const std::uint32_t dirty = map_.states[run].dirty;
  const std::uintptr_t start = map_.address(run);
  const std::uintptr_t aligned = alignment > chunk_bytes ? (start + alignment - 1) & ~(alignment - 1) : start;
  const auto before = static_cast<std::uint32_t>((aligned - start) >> chunk_shift);
  const std::uint32_t after = total - before - chunks;
  remove_free(in, run);
  const std::uint32_t dirty_before = std::min(dirty, before);
  const std::uint32_t dirty_after = std::min(dirty - dirty_before, after);
  if (before != 0) insert_free(in, run, before, dirty_before);
  if (after != 0) insert_free(in, run + before + chunks, after, dirty_after);
  unreserve(dirty - dirty_before - dirty_after);  // these were charged as dirty and are charged as taken now
  return run + before;
}

// Joins the run with adjacent free runs; returns the first chunk of the result. pre: no map entry is set within the
// run.
std::uint32_t heap::join_free(arena& to, std::uint32_t first, std::uint32_t chunks, std::uint32_t dirty) noexcept {
  const auto is_free = [&](const map_entry& entry) {
    return entry.kind == chunk_kind::free && entry.arena == to.number;
  };
  if (first != 0 && is_free(map_.entry(first - 1))) {
    const std::uint32_t neighbour = map_.entry(first - 1).first;
    dirty += map_.states[neighbour].dirty;
    remove_free(to, neighbour);
    chunks += first - neighbour;
    first = neighbour;
  }
  const std::uint32_t next = first + chunks;
  if (next < open_chunks_ && is_free(map_.entry(next))) {
    dirty += map_.states[next].dirty;
    chunks += map_.states[next].chunks.load(std::memory_order_relaxed);
    remove_free(to, next);
  }
  insert_free(to, first, chunks, dirty);
  return first;
}

// pre: no map entry is set within the run.
void heap::give_run(arena& to, std::uint32_t first, std::uint32_t chunks, bool is_kept) noexcept {
  first = join_free(to, first, chunks, chunks);
  if (!is_kept && to.number != plain && clean_placed(to, first)) return;
  const std::uint32_t dirty = map_.states[first].dirty;
  const std::uint32_t in_use = needed_chunks_ - dirty_chunks_;
  const std::uint32_t kept = std::max(kept_chunks_, in_use / kept_part_of_use);
  if (dirty < least_given_back || dirty_chunks_ <= kept) return;
  // The run that was freed last is the most likely to be reused, and warm: the others are cleaned first.
  plain_.runs.for_each([&](std::uint32_t run) {
    if (run != first && dirty_chunks_ > kept && map_.states[run].dirty >= least_given_back) clean(run);
  });
  if (dirty_chunks_ <= kept) return;
  if (to.number == plain)
    clean(first);
  else
    clean_placed(to, first);
}

void heap::insert_free(arena& to, std::uint32_t first, std::uint32_t chunks, std::uint32_t dirty) noexcept {
  map_.states[first].dirty = dirty;
  dirty_chunks_ += dirty;
  to.runs.insert(first, chunks);
  set_entry(first, {chunk_kind::free, 0, first, to.number});
  set_entry(first + chunks - 1, {chunk_kind::free, 0, first, to.number});
}

void heap::remove_free(arena& from, std::uint32_t first) noexcept {
  const chunk_state& state = map_.states[first];
  dirty_chunks_ -= state.dirty;
  set_entry(first, {});
  set_entry(first + state.chunks.load(std::memory_order_relaxed) - 1, {});
  from.runs.remove(first);
}

// Gives the pages of a free run of the plain arena back to the system.
void heap::clean(std::uint32_t first) noexcept {
  chunk_state& state = map_.states[first];
  const std::uint64_t bytes = std::uint64_t{state.chunks.load(std::memory_order_relaxed)} << chunk_shift;
  if (state.dirty == 0 || !backing_.give_back(std::uint64_t{first} << chunk_shift, bytes)) return;
  dirty_chunks_ -= state.dirty;
  unreserve(state.dirty);
  state.dirty = 0;
}

// Returns the part of a placed run that can be returned: whole 2 MiB units. {first, first} if there is none.
std::pair<std::uint32_t, std::uint32_t> heap::whole_pages_of(std::uint32_t run) const noexcept {
  const std::uint32_t end = run + map_.states[run].chunks.load(std::memory_order_relaxed);
  const std::uint32_t from = (run + placed_at_once - 1) / placed_at_once * placed_at_once;
  return {from, std::max(from, end / placed_at_once * placed_at_once)};
}

// Gives pages of a placed arena's free run back to the system, and the chunks to the plain arena. Returns false if
// there are none to return.
bool heap::clean_placed(arena& of, std::uint32_t run) noexcept {
  const auto [from, to] = whole_pages_of(run);
  const std::uint64_t offset = std::uint64_t{from} << chunk_shift;
  const std::uint64_t bytes = std::uint64_t{to - from} << chunk_shift;
  if (from == to || !backing_.give_back(offset, bytes)) return false;
  backing_.unplace(offset, bytes);
  const std::uint32_t end = run + map_.states[run].chunks.load(std::memory_order_relaxed);
  remove_free(of, run);
  if (run != from) insert_free(of, run, from - run, from - run);
  if (to != end) insert_free(of, to, end - to, end - to);
  unreserve(to - from);
  join_free(plain_, from, to - from, 0);
  return true;
}

void heap::clean_placed_runs() noexcept {
  for (const std::unique_ptr<arena>& placed : placed_) {
    std::uint32_t found = no_chunk;
    do {  // one run per round, since cleaning changes the lists
      found = no_chunk;
      placed->runs.for_each([&](std::uint32_t run) {
        const auto [from, to] = whole_pages_of(run);
        if (found == no_chunk && from != to) found = run;
      });
    } while (found != no_chunk && clean_placed(*placed, found));
  }
}

void heap::clean_all() noexcept {
  clean_placed_runs();
  plain_.runs.for_each([this](std::uint32_t run) { clean(run); });
}

void heap::mark_large(const arena& of, std::uint32_t first, std::uint32_t chunks, std::uint64_t bytes) noexcept {
  chunk_state& state = map_.states[first];
  state.chunks.store(chunks, std::memory_order_relaxed);
  state.bytes.store(bytes, std::memory_order_relaxed);
  block_word& word = map_.bits[first].words[0];
  word.live.store(1, std::memory_order_relaxed);
  word.remote.store(0, std::memory_order_relaxed);
  for (std::uint64_t region = first / region_chunks + 1; region * region_chunks < std::uint64_t{first} + chunks;
       ++region)
    map_.regions[region].store(first, std::memory_order_release);
  set_entry(first, {chunk_kind::large, 0, first, of.number});
}

}  // namespace situ::detail
