// What every closure captures, as an object graph: in X10 a closure that touches `this` takes along all that `this`
// reaches, and so it is here. With the links of 64 nodes that is some 17 kilobytes a message, as in the paper's table
// 5; nothing here is trimmed.
//
//   closure -> instance -> parameters
//           |           -> placement -> | first node of each place | address of each place's part |
//           |           -> link_matrix -> | nodes x nodes weights |        (where the kernel captures it)
//           -> what the message says
#pragma once

#include "network.h"

#include <situ/graph.h>
#include <situ/situ.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace imsuite {

struct parameters {
  std::int32_t nodes = 0;
  vertex root = 0;
  std::int32_t committee_size = 0;
  std::uint64_t seed = 0;
};

// What a place holds of the kernel's nodes (engine.h). Only its own place looks inside.
struct part_base {};

// Blocks of nodes, one for each place: that of place p begins at first[p].
struct placement {
  situ::array<vertex> first;
  situ::array<situ::ptr<part_base>> parts;
  [[nodiscard]] situ::place place_of(vertex v) const noexcept {
    std::uint32_t p = 0;
    while (first[p + 1] <= v) ++p;
    return situ::place{p};
  }
};

struct link_matrix {
  std::int32_t nodes = 0;
  situ::array<std::int32_t> weights;  // by row and column; 0: no link
};

struct instance {
  const parameters* what = nullptr;
  const placement* where = nullptr;
  const link_matrix* links = nullptr;  // null where the kernel does not capture them
};

// A message from one node to another, or (from == no_vertex) an order to a node.
template <class Message>
struct closure {
  const instance* self = nullptr;
  vertex from = no_vertex;
  vertex to = no_vertex;
  std::int32_t round = 0;     // in which it was sent
  std::int32_t sequence = 0;  // of the messages that the sender sent in this round
  Message message{};
};

// Objects in the place's segment, where other places can pull them from.
template <class T>
struct segment_delete {
  void operator()(T* object) const {
    std::destroy_at(object);
    situ::deallocate(situ::ptr<std::byte>{reinterpret_cast<std::byte*>(object)});
  }
};
template <class T>
using segment_owner = std::unique_ptr<T, segment_delete<T>>;
template <class T, class... Arguments>
[[nodiscard]] segment_owner<T> make_in_segment(Arguments&&... arguments) {
  static_assert(alignof(T) <= 16);
  const situ::ptr<std::byte> room = situ::allocate_bytes(sizeof(T));
  return segment_owner<T>{new (room.local()) T{std::forward<Arguments>(arguments)...}};
}

// The instance as it lies at a place, from the problem and the parts' addresses.
class resident_instance {
 public:
  resident_instance(const problem& p, std::span<const vertex> first, std::span<const situ::ptr<part_base>> parts,
                    bool with_links);
  [[nodiscard]] const instance& get() const noexcept { return *instance_; }

 private:
  segment_owner<parameters> what_;
  segment_owner<placement> where_;
  segment_owner<link_matrix> links_;
  segment_owner<instance> instance_;
};

// The first nodes of blocks that differ by at most one node, and the end.
[[nodiscard]] std::vector<vertex> blocks(vertex nodes, std::uint32_t places);

}  // namespace imsuite
