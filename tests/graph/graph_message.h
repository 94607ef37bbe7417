// Graphs as messages, for tests and fuzzers: writing one, reading it back, and whether what was read is a graph like
// any other.
#pragma once

#include "fuzz/allocation_watch.h"
#include "graph/random_graph.h"

#include <situ/base/error.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/message.h"

namespace situ::test {

using message_bytes = std::vector<std::byte>;

[[nodiscard]] inline message_bytes message_of(std::span<const detail::graph_root> roots,
                                              std::byte before = std::byte{0}) {
  const detail::borrowed_plan plan;
  plan->discover(roots.data(), roots.size(), copy_map::automatic, detail::source_check::none);
  message_bytes bytes(detail::message_bytes(*plan, roots.size()), before);
  detail::write_message(*plan, roots, bytes.data());
  return bytes;
}
template <class... Ts>
[[nodiscard]] message_bytes message_of(const Ts*... roots) {
  const detail::graph_root all[] = {detail::root_of(roots)...};
  return message_of(std::span<const detail::graph_root>{all});
}

template <class T>
[[nodiscard]] owned<T> read_one(std::span<const std::byte> bytes) {
  detail::graph_root root{nullptr, &detail::descriptor_of<T>()};
  detail::arena_reference memory = detail::read_message(bytes, {&root, 1});
  return {std::move(memory), static_cast<T*>(const_cast<void*>(root.object))};
}

// Where an object of the image lies in the message: offsets count from the arena's head, which is not sent.
[[nodiscard]] inline std::size_t image_begin(const message_bytes& bytes) {
  detail::message_head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  return sizeof head + head.root_count * 8 + head.tagged_count * std::size_t{16};
}
[[nodiscard]] inline std::uint64_t word_at(const message_bytes& bytes, std::size_t position) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + position, sizeof word);
  return word;
}
inline void set_word(message_bytes& bytes, std::size_t position, std::uint64_t word) {
  std::memcpy(bytes.data() + position, &word, sizeof word);
}
// As if by the offset in the image that stands in pointers.
[[nodiscard]] inline std::uint64_t image_word(const message_bytes& bytes, std::uint64_t offset) {
  return word_at(bytes, image_begin(bytes) + offset - sizeof(detail::arena));
}
inline void set_image_word(message_bytes& bytes, std::uint64_t offset, std::uint64_t word) {
  set_word(bytes, image_begin(bytes) + offset - sizeof(detail::arena), word);
}

// What reading a message may take, whatever it says: docs/formats/graph_message.md. An error's text comes on top.
[[nodiscard]] constexpr std::size_t most_memory_for(std::size_t message_bytes) {
  return 4 * message_bytes + (std::size_t{64} << 10);
}
// What was taken, the arena included, which comes from elsewhere.
[[nodiscard]] inline std::size_t memory_of(const allocation_peak& taken, const detail::arena* made) {
  return taken.bytes() + (made == nullptr ? 0 : made->bytes);
}

// Reads what may be anything. What decodes must be a graph like any other: it can be walked, sent on, read again, sent
// again with the same bytes, and given back. Empty if all is well, also when it was refused (then `reason` says why);
// else what is wrong.
template <class T>
[[nodiscard]] std::string hostile_reading(std::span<const std::byte> bytes, std::string* reason = nullptr) {
  const message_bytes exact(bytes.begin(), bytes.end());  // of its own, so that AddressSanitizer sees its end
  owned<T> first;
  const allocation_peak taken;
  try {
    first = read_one<T>(exact);
    if (memory_of(taken, first.memory().get()) > most_memory_for(exact.size()))
      return "it takes " + std::to_string(taken.bytes()) + " bytes to read";
  } catch (const error& e) {
    if (taken.bytes() > most_memory_for(exact.size()))
      return "it takes " + std::to_string(taken.bytes()) + " bytes to refuse";
    if (reason != nullptr) *reason = e.what();
    return e.code() == errc::bad_message ? "" : std::string{"refused by another error: "} + e.what();
  }
  if (reason != nullptr) reason->clear();
  const owned<T> copy = clone(first);
  if constexpr (std::is_same_v<T, node>) {
    if (first) (void)graph_comparison{}.difference(first.get(), copy.get());  // touches all; a NaN differs from itself
  }
  const message_bytes again = message_of(static_cast<const T*>(first.get()));
  if (first.size() != copy.size()) return "a clone is of another size";
  if (again.size() != exact.size()) return "it is sent on in another number of bytes";
  if (message_of(static_cast<const T*>(copy.get())) != again) return "a clone of it is sent in other bytes";
  const owned<T> second = read_one<T>(again);
  if (message_of(static_cast<const T*>(second.get())) != again) return "it changes each time that it is sent";
  return "";
}

[[nodiscard]] inline detail::message_head head_of(const message_bytes& bytes) {
  detail::message_head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  return head;
}
template <class Change>
[[nodiscard]] message_bytes with_head(message_bytes bytes, Change change) {
  detail::message_head head = head_of(bytes);
  change(head);
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

// A graph with every kind of field, and not much else. It is made once and kept: pre: outside a runtime, whose segment
// would take its containers along.
inline message_bytes small_message_of_everything() {
  static graph_maker maker{21};
  static node* const root = [] {
    node* const n = maker.make(2);
    n->name = situ::string{"name"};
    n->numbers = {1.5, 2.5};
    n->friends = {n, n->next[0]};
    n->parts = {{{1, nullptr}, {2, nullptr}}};
    n->rows = {{1, 2, 3}};
    static small s{4, nullptr};
    static circle c;
    static group g;
    static wide w;
    s.other = &s;
    c.centre = &s;
    c.neighbour = &g;
    g.members = {&c, &g, nullptr};
    w.owner = n;
    n->maybe = &s;
    n->either = situ::string{"or"};
    n->both = {1, &s};
    n->figure = &c;
    n->aligned = &w;
    n->next[0]->either = n;
    n->next[0]->next = {};
    return n;
  }();
  return message_of(static_cast<const node*>(root));
}

}  // namespace situ::test
