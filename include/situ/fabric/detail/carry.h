// Delivery of a message to its target: the one line that makes a filled cell visible there, and the copy of data that
// is too large for a channel.
//
// The rest of the fabric is the same on every machine: the rings, their sequence numbers, flow control (channel.h),
// and the rule that a publisher looks at the target's `sleeping` afterwards (endpoint.h). The variant is chosen at
// compile time: between places that share memory it is a store; on a modelled machine (SITU_MODEL) the network carries
// the header, which arrives some time later.
#pragma once

#include <situ/base/detail/coherence.h>
#include <situ/base/detail/test_points.h>
#include <situ/fabric/detail/channel.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(SITU_MODEL)
// Functions of the modelled machine, for the core that calls.
extern "C" {
// Carries a header to place `target`. On arrival: stores `value` to the word (release); then, if the word `sleeping`
// is not 0, sets it to 0 and wakes the place that waits on it (wait_on_word). Headers from one place to another arrive
// in the order in which they were sent.
void situ_model_carry(std::atomic<std::uint64_t>* header, std::uint64_t value, std::uint32_t target,
                      std::atomic<std::uint32_t>* sleeping) noexcept;
// Copies between memories, past the caches, by the DMA unit of the caller's tile; returns when the copy is done. The
// caller's caches must hold nothing of the destination.
void situ_model_dma(void* to, const void* from, std::size_t bytes) noexcept;
}
#endif

namespace situ::detail {

// place_slot::sleeping of each place.
using sleeping_words = std::vector<std::atomic<std::uint32_t>*>;

// Makes the cell a message of its channel: invariant 2 of channel.h. The receiver of the message sees everything that
// this place wrote before. Returns true if the target sleeps and must be woken. sleeping: each place's word. fences:
// job_control::sender_fences. The last three are references, so that they are read after the store. cost: a store and
// a load.
#if defined(SITU_MODEL)
[[nodiscard]] inline bool carry(cell& c, std::uint64_t header, const std::uint32_t& target,
                                const sleeping_words& sleeping, const bool& /*fences*/) noexcept {
  write_back(&c, sizeof c);
  write_back_all();
  situ_model_carry(&c.header, header, target, sleeping[target]);
  return false;  // its arrival wakes the target
}
#else
[[nodiscard]] inline bool carry(cell& c, std::uint64_t header, const std::uint32_t& target,
                                const sleeping_words& sleeping, const bool& fences) noexcept {
  c.header.store(header, std::memory_order_release);
  SITU_POINT(header_published);
  // Publish, then look at `sleeping`: the sleeper's membarrier orders the processor, this fence orders the compiler.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (fences) [[unlikely]]
    std::atomic_thread_fence(std::memory_order_seq_cst);
  return sleeping[target]->load(std::memory_order_relaxed) != 0;
}
#endif

// Copies bytes of another place's segment into this place's segment, if this place does not read them in place. pre:
// bytes > 0; the ranges do not overlap; the source has been written back.
inline void fetch_parcel(void* to, const void* from, std::size_t bytes) noexcept {
#if defined(SITU_MODEL)
  flush(to, bytes);  // evicts the old contents of the destination
  situ_model_dma(to, from, bytes);
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace situ::detail
