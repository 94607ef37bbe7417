// The part of the heap that deals in runs of chunks.

#include "memory/heap.h"

#include <algorithm>

namespace situ::detail {
namespace {

// Runs looked at in a list of unlike sizes before a larger run is split.
constexpr std::uint32_t patience = 32;
constexpr std::uint32_t unlimited = no_chunk;

constexpr std::uint32_t kept_part_of_use = 8;  // of what is in use may stay when it is freed
// What is worth a system call.
constexpr std::uint32_t least_given_back = (1u << 20) >> chunk_shift;

}  // namespace

std::uint32_t heap::take_run(std::uint32_t chunks, std::uint64_t alignment) noexcept {
  if (!reserve(chunks)) return no_chunk;
  const auto slack = static_cast<std::uint32_t>(alignment > chunk_bytes ? alignment / chunk_bytes - 1 : 0);
  const std::uint32_t run = find_run(chunks + slack);
  if (run == no_chunk) {
    unreserve(chunks);
    return no_chunk;
  }
  return carve(run, chunks, alignment);
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

std::uint32_t heap::find_run(std::uint32_t chunks) noexcept {
  const std::uint32_t run = free_runs_.find(chunks, patience);
  if (run != no_chunk) return run;
  if (!extend(chunks)) release_idle();
  return free_runs_.find(chunks, unlimited);
}

// Opens as much as the free run at the end of the heap lacks.
bool heap::extend(std::uint32_t chunks) noexcept {
  std::uint64_t end = open_chunks_;
  if (open_chunks_ != 0) {
    const map_entry last = map_.entry(open_chunks_ - 1);
    if (last.kind == chunk_kind::free) end = last.first;
  }
  return backing_.open((end + chunks) << chunk_shift);
}

void heap::opened(std::uint32_t chunks) noexcept {
  const std::uint32_t before = open_chunks_;
  open_chunks_ = chunks;
  ASAN_POISON_MEMORY_REGION(reinterpret_cast<void*>(map_.address(before)), (chunks - before) * chunk_bytes);
  std::uint32_t first = before;
  std::uint32_t dirty = 0;
  if (before != 0 && map_.entry(before - 1).kind == chunk_kind::free) {
    first = map_.entry(before - 1).first;
    dirty = map_.states[first].dirty;
    remove_free(first);
  }
  insert_free(first, chunks - first, dirty);
}

// Takes `chunks`, aligned, out of a free run; what is left before and after stays free. The dirty chunks are thought to
// lie in what is left: so the charge is never too low, and cleaning what is left corrects it.
std::uint32_t heap::carve(std::uint32_t run, std::uint32_t chunks, std::uint64_t alignment) noexcept {
  const std::uint32_t total = map_.states[run].chunks.load(std::memory_order_relaxed);
  const std::uint32_t dirty = map_.states[run].dirty;
  const std::uintptr_t start = map_.address(run);
  const std::uintptr_t aligned = alignment > chunk_bytes ? (start + alignment - 1) & ~(alignment - 1) : start;
  const auto before = static_cast<std::uint32_t>((aligned - start) >> chunk_shift);
  const std::uint32_t after = total - before - chunks;
  remove_free(run);
  const std::uint32_t dirty_before = std::min(dirty, before);
  const std::uint32_t dirty_after = std::min(dirty - dirty_before, after);
  if (before != 0) insert_free(run, before, dirty_before);
  if (after != 0) insert_free(run + before + chunks, after, dirty_after);
  unreserve(dirty - dirty_before - dirty_after);  // these were charged as dirty and are charged as taken now
  return run + before;
}

// pre: no map entry is set within the run.
void heap::give_run(std::uint32_t first, std::uint32_t chunks) noexcept {
  std::uint32_t dirty = chunks;
  if (first != 0 && map_.entry(first - 1).kind == chunk_kind::free) {
    const std::uint32_t neighbour = map_.entry(first - 1).first;
    dirty += map_.states[neighbour].dirty;
    remove_free(neighbour);
    chunks += first - neighbour;
    first = neighbour;
  }
  const std::uint32_t next = first + chunks;
  if (next < open_chunks_ && map_.entry(next).kind == chunk_kind::free) {
    dirty += map_.states[next].dirty;
    chunks += map_.states[next].chunks.load(std::memory_order_relaxed);
    remove_free(next);
  }
  insert_free(first, chunks, dirty);
  const std::uint32_t in_use = needed_chunks_ - dirty_chunks_;
  const std::uint32_t kept = std::max(kept_chunks_, in_use / kept_part_of_use);
  if (dirty < least_given_back || dirty_chunks_ <= kept) return;
  // What was freed last is the likeliest to be wanted again, and warm: the others go first.
  free_runs_.for_each([&](std::uint32_t run) {
    if (run != first && dirty_chunks_ > kept && map_.states[run].dirty >= least_given_back) clean(run);
  });
  if (dirty_chunks_ > kept) clean(first);
}

void heap::insert_free(std::uint32_t first, std::uint32_t chunks, std::uint32_t dirty) noexcept {
  map_.states[first].dirty = dirty;
  dirty_chunks_ += dirty;
  free_runs_.insert(first, chunks);
  set_entry(first, {chunk_kind::free, 0, first});
  set_entry(first + chunks - 1, {chunk_kind::free, 0, first});
}

void heap::remove_free(std::uint32_t first) noexcept {
  const chunk_state& state = map_.states[first];
  dirty_chunks_ -= state.dirty;
  set_entry(first, {});
  set_entry(first + state.chunks.load(std::memory_order_relaxed) - 1, {});
  free_runs_.remove(first);
}

// Gives a free run's pages back to the system.
void heap::clean(std::uint32_t first) noexcept {
  chunk_state& state = map_.states[first];
  const std::uint64_t bytes = std::uint64_t{state.chunks.load(std::memory_order_relaxed)} << chunk_shift;
  if (state.dirty == 0 || !backing_.give_back(std::uint64_t{first} << chunk_shift, bytes)) return;
  dirty_chunks_ -= state.dirty;
  unreserve(state.dirty);
  state.dirty = 0;
}

void heap::clean_all() noexcept {
  free_runs_.for_each([this](std::uint32_t run) { clean(run); });
}

void heap::mark_large(std::uint32_t first, std::uint32_t chunks, std::uint64_t bytes) noexcept {
  chunk_state& state = map_.states[first];
  state.chunks.store(chunks, std::memory_order_relaxed);
  state.bytes.store(bytes, std::memory_order_relaxed);
  block_word& word = map_.bits[first].words[0];
  word.live.store(1, std::memory_order_relaxed);
  word.remote.store(0, std::memory_order_relaxed);
  for (std::uint64_t region = first / region_chunks + 1; region * region_chunks < std::uint64_t{first} + chunks;
       ++region)
    map_.regions[region].store(first, std::memory_order_release);
  set_entry(first, {chunk_kind::large, 0, first});
}

}  // namespace situ::detail
