// Both ends of the graphs that are arguments or results of a call. graph_arguments.h ties them to calls; transfer.h
// says which ways there are.
#pragma once

#include <situ/graph/clone.h>
#include <situ/runtime/detail/call.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace situ::detail {

inline constexpr std::size_t most_roots = 16;  // graphs among the arguments of one call

// The sending end of the graphs of one call, from the roots to the bytes in the call's message. Making it may wait
// (offload). To a place; is_result: wait_until_taken() will be called.
class graph_sender {
 public:
  graph_sender(route to, std::span<const graph_root> roots, bool is_result);
  ~graph_sender();
  graph_sender(const graph_sender&) = delete;
  graph_sender& operator=(const graph_sender&) = delete;
  [[nodiscard]] std::size_t size() const noexcept;
  void write(wire_writer& writer) const;
  // What must be held until the call is over: `arguments`, which hold the graphs, and what this has lent of them.
  [[nodiscard]] std::unique_ptr<held_by_call> lend(std::unique_ptr<held_by_call> arguments);
  // Waits until the receiver no longer needs the originals. For results; a call's answer says as much.
  void wait_until_taken();

 private:
  void write_for_unit(wire_writer& writer) const;
  struct implementation;
  std::unique_ptr<implementation> self_;
};

// The receiving end: read() within the message, complete() afterwards, which may wait. The types of the roots are
// given, their objects set.
class graph_receiver {
 public:
  graph_receiver() noexcept = default;
  graph_receiver(graph_receiver&& other) noexcept;
  graph_receiver& operator=(graph_receiver&&) = delete;
  ~graph_receiver();  // where complete() was not reached, the sender learns that its graph is not needed
  // Returns whether the graph is there already; else complete() fetches it.
  bool read(wire_reader& reader, std::uint32_t source, std::span<graph_root> roots);
  void complete(std::span<graph_root> roots);
  [[nodiscard]] const arena_reference& memory() const noexcept { return memory_; }

 private:
  void pull(std::span<graph_root> roots);
  void fetch_from_agent(std::span<graph_root> roots);
  void have_copied(std::span<graph_root> roots);
  arena_reference memory_;
  transfer how_ = transfer::message;
  std::uint32_t source_ = 0;
  bool is_complete_ = true;
  // pull: the flag that says we have them; the sender's failure epoch, and whether we may ask for a message; the roots,
  // with the numbers of their types at the sender. offload: the agent's entry, and which of its uses; sent by a unit:
  // the flag, two words of the unit's, and the roots.
  std::uint64_t words_[most_roots + 3]{};
};

// Whether graphs of a call can be offloaded without a wait: a unit of the machine measures them, and sends the call.
[[nodiscard]] bool offload_begins_at_once();

// Copies of graph roots within the place, as a call of a place to itself makes them.
[[nodiscard]] arena_reference copy_roots(std::span<graph_root> roots);

}  // namespace situ::detail
