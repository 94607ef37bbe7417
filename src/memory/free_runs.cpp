#include "memory/free_runs.h"

namespace situ::detail {

void free_runs::insert(std::uint32_t first, std::uint32_t chunks) noexcept {
  const unsigned list = list_of(chunks);
  chunk_state& state = states_[first];
  state.chunks.store(chunks, std::memory_order_relaxed);
  state.prev = no_chunk;
  state.next = heads_[list];
  if (state.next != no_chunk) states_[state.next].prev = first;
  heads_[list] = first;
  occupied_[list / 64] |= std::uint64_t{1} << (list % 64);
}

void free_runs::remove(std::uint32_t first) noexcept {
  const chunk_state& state = states_[first];
  const unsigned list = list_of(state.chunks.load(std::memory_order_relaxed));
  if (state.next != no_chunk) states_[state.next].prev = state.prev;
  if (state.prev != no_chunk) {
    states_[state.prev].next = state.next;
  } else {
    heads_[list] = state.next;
    if (state.next == no_chunk) occupied_[list / 64] &= ~(std::uint64_t{1} << (list % 64));
  }
}

std::uint32_t free_runs::find(std::uint32_t chunks, std::uint32_t patience) const noexcept {
  const unsigned list = list_of(chunks);
  std::uint32_t best = no_chunk;
  std::uint32_t best_chunks = no_chunk;
  for (std::uint32_t run = heads_[list]; run != no_chunk && patience-- > 0; run = states_[run].next) {
    const std::uint32_t size = states_[run].chunks.load(std::memory_order_relaxed);
    if (size >= chunks && size < best_chunks) {
      best = run;
      best_chunks = size;
      if (size == chunks) break;
    }
  }
  if (best != no_chunk) return best;
  std::uint64_t word = (list % 64 == 63) ? 0 : occupied_[list / 64] & (~std::uint64_t{0} << (list % 64 + 1));
  for (std::size_t i = list / 64;; word = occupied_[i]) {
    if (word != 0) return heads_[i * 64 + static_cast<unsigned>(std::countr_zero(word))];
    if (++i == occupied_.size()) return no_chunk;
  }
}

}  // namespace situ::detail
