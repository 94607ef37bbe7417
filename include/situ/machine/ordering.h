// Orderings: the memories of a machine sorted for one intent, as seen from an initiator.
//
// Williams, Ionkov and Lang (NUMA distance for heterogeneous memory, MCHPC 2017): one distance cannot say whether HBM
// is nearer than DRAM; several orderings, one for each intent, can. An allocator takes the first memory of an ordering
// that has room and goes on to the next (section 3.3), so an ordering lists every memory that can be allocated from.
// Memories that compute are apart: they alone are in the ordering for the intent `pim`, and they are in no other, so
// that ordinary data never takes rows which programs compute on.
// The functions here use the tree alone; orderings.h adds what administrators have written.
//
// The criteria of each intent:
//   latency    the figures, if every memory has one seen from the initiator; else the kind of memory and nearness
//   bandwidth  likewise
//   capacity   the bytes
//   pim        nearness
//   normal     DRAM first, then the other kinds: small fast memories are left to programs that ask for them (section 1)
// Ties are sorted by nearness (SLIT distances if every memory has one, else steps in the tree). Memories that are equal
// in all criteria share a rank: a distance implies only a partial order. Implausible figures (a latency beyond 10 us,
// less than 500 MB/s) count as unknown; doubtful_figures() names them. Pure functions; cost: for each memory a look-up
// of its figures, and a sort.
#pragma once

#include <situ/machine/intent.h>
#include <situ/machine/tree.h>

#include <cstdint>
#include <string>
#include <vector>

namespace situ::machine {

// A memory and its rank in an ordering.
struct ranked_memory {
  node_id memory = no_node;
  std::uint32_t rank = 0;  // 0 is best; equal ranks are interchangeable

  friend bool operator==(const ranked_memory&, const ranked_memory&) = default;
};

// Returns the memories, best first. `from` is any node with processors, or a device; the memories of a device are
// listed for itself, and for others if they have an OS index (Grace Hopper's GPU memory is a NUMA node). For the intent
// pim the list has all memories that compute; it is empty if there is none.
[[nodiscard]] std::vector<ranked_memory> ordering(const tree& machine, const intent& what, node_id from);
// Returns the ordering as seen from the smallest node that has these processors.
[[nodiscard]] std::vector<ranked_memory> ordering(const tree& machine, const intent& what, const processor_set& from);
// Returns the intents of a machine: intents_everywhere, and pim if it has a memory that computes.
[[nodiscard]] std::vector<intent> intents_of(const tree& machine);
// Returns the deciding criterion in words: "figures", or "kinds and nearness: no bandwidth of dram 1 is known".
[[nodiscard]] std::string decided_by(const tree& machine, const intent& what, node_id from);

// Returns a sentence for each implausible figure: firmware may mix up units, or latency and bandwidth. Memories that
// are files are not checked.
[[nodiscard]] std::vector<std::string> doubtful_figures(const tree& machine);

}  // namespace situ::machine
