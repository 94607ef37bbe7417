// The free runs of chunks of one heap, by size: the two-level segregated fit of Masmano and others ("TLSF", ECRTS
// 2004). A list for each size up to 31 chunks, then 16 lists for each doubling; a bitmap marks the non-empty lists.
// The links are stored in the runs' chunk_state; only the owner accesses this object and the links.
#pragma once

#include "memory/heap_map.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace situ::detail {

class free_runs {
 public:
  explicit free_runs(chunk_state* states) noexcept : states_{states} { heads_.fill(no_chunk); }

  // cost: constant.
  void insert(std::uint32_t first, std::uint32_t chunks) noexcept;
  void remove(std::uint32_t first) noexcept;

  // Returns a run of at least `chunks`, or no_chunk. Examines at most `patience` runs of the one list that may hold
  // both larger and smaller runs; every run of the lists after it is large enough. With unlimited patience it finds a
  // run if there is one.
  [[nodiscard]] std::uint32_t find(std::uint32_t chunks, std::uint32_t patience) const noexcept;

  template <class Visit>
  void for_each(Visit visit) const {
    for (const std::uint32_t head : heads_)
      for (std::uint32_t run = head; run != no_chunk; run = states_[run].next) visit(run);
  }

  // Returns the index of the list for runs of this size.
  [[nodiscard]] static constexpr unsigned list_of(std::uint32_t chunks) noexcept {
    if (chunks < 16) return chunks;
    const unsigned log2 = static_cast<unsigned>(std::bit_width(chunks)) - 1;
    return (log2 - 3) * 16 + ((chunks >> (log2 - 4)) & 15);
  }

 private:
  static constexpr unsigned list_count = (32 - 3) * 16;

  chunk_state* states_;
  std::array<std::uint64_t, (list_count + 63) / 64> occupied_{};
  std::array<std::uint32_t, list_count> heads_;
};

}  // namespace situ::detail
