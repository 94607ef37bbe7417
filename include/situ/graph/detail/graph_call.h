// Both ends of the graphs that are arguments or results of a call. graph_arguments.h ties them to calls; transfer.h
// lists the transfers.
#pragma once

#include <situ/graph/clone.h>
#include <situ/runtime/detail/call.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace situ::detail {

inline constexpr std::size_t most_roots = 16;  // most graphs among the arguments of one call

// The sending end of the graphs of one call: turns the roots into bytes of the call's message. The constructor may wait
// (offload). is_result: the graph is a result, and wait_until_taken() will be called.
class graph_sender {
 public:
  graph_sender(route to, std::span<const graph_root> roots, bool is_result);
  ~graph_sender();
  graph_sender(const graph_sender&) = delete;
  graph_sender& operator=(const graph_sender&) = delete;
  [[nodiscard]] std::size_t size() const noexcept;
  void write(wire_writer& writer) const;
  // Returns an object to keep until the call is over: `arguments`, which hold the graphs, with the agent's entry or the
  // unit's walk (offload).
  [[nodiscard]] std::unique_ptr<held_by_call> lend(std::unique_ptr<held_by_call> arguments);
  // Blocks until the receiver no longer needs the originals. Only for results: the answer to a call says so for its
  // arguments.
  void wait_until_taken();

 private:
  void write_for_unit(wire_writer& writer) const;
  struct implementation;
  std::unique_ptr<implementation> self_;
};

// The receiving end: read() runs within the message, then complete(), which may wait. The caller sets the types of the
// roots, the receiver their objects.
class graph_receiver {
 public:
  graph_receiver() noexcept = default;
  graph_receiver(graph_receiver&& other) noexcept;
  graph_receiver& operator=(graph_receiver&&) = delete;
  ~graph_receiver();  // if complete() did not run, tells the sender that its graph is not needed
  // Returns whether the graph is complete; otherwise the caller calls complete(), which fetches it.
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
  // pull: the flag that tells the sender that the copy is done; the sender's failure epoch, and whether the receiver
  // may ask for a message; the roots, with the numbers of their types at the sender. offload: the agent's entry and its
  // use count; if a unit sent it: the flag, two words of the unit, and the roots.
  std::uint64_t words_[most_roots + 3]{};
};

// Returns whether an offload of a call's graphs starts without waiting: a unit of the machine measures them and sends
// the call.
[[nodiscard]] bool offload_begins_at_once();

// Copies the graphs of these roots within the place, for a call of a place to itself.
[[nodiscard]] arena_reference copy_roots(std::span<graph_root> roots);

}  // namespace situ::detail
