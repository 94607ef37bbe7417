#include <situ/base/error.h>
#include <situ/model/pams_patterns.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace situ::model {
namespace {

void check_nodes(std::size_t programs, std::size_t nodes) {
  if (programs == nodes) return;
  throw error{errc::bad_argument, fmt::format("the pattern is of {} nodes; there are {} programs", nodes, programs)};
}

}  // namespace

// --- barriers

pams_barrier::pams_barrier(std::vector<std::uint32_t> parents, const uses& used)
    : parents_{std::move(parents)}, used_{used} {}

pams_barrier pams_barrier::simple(std::uint32_t nodes, const uses& used) {
  return {std::vector<std::uint32_t>(nodes, 0), used};
}

pams_barrier pams_barrier::per_chip(std::span<const std::uint32_t> chips, const uses& used) {
  std::vector<std::uint32_t> parents(chips.size(), 0);
  for (std::uint32_t node = 0; node < chips.size(); ++node) {
    const auto hub = static_cast<std::uint32_t>(std::find(chips.begin(), chips.end(), chips[node]) - chips.begin());
    if (hub != node) parents[node] = hub;
  }
  return {std::move(parents), used};
}

pams_barrier pams_barrier::tree(std::uint32_t nodes, std::uint32_t children, const uses& used) {
  if (children == 0) throw error{errc::bad_argument, "a node of a barrier's tree has 1 child or more"};
  std::vector<std::uint32_t> parents(nodes, 0);
  for (std::uint32_t node = 1; node < nodes; ++node) parents[node] = (node - 1) / children;
  return {std::move(parents), used};
}

std::vector<std::uint32_t> pams_barrier::children(std::uint32_t node) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t child = 1; child < parents_.size(); ++child)
    if (parents_[child] == node) found.push_back(child);
  return found;
}

void pams_barrier::begin(std::span<pams_program> programs) const {
  check_nodes(programs.size(), parents_.size());
  for (std::uint32_t node = 0; node < programs.size(); ++node) {
    if (!children(node).empty()) programs[node].message_counter(used_.calls_counter, used_.call, 0);
    if (node != 0) programs[node].message_counter(used_.done_counter, used_.done, 0);
  }
}

// A threshold is raised where its node waits anyway.
void pams_barrier::append(std::span<pams_program> programs) const {
  check_nodes(programs.size(), parents_.size());
  for (std::uint32_t node = 0; node < programs.size(); ++node) {
    pams_program& program = programs[node];
    const std::vector<std::uint32_t> below = children(node);
    if (!below.empty())
      program.expect_messages(used_.calls_counter, static_cast<std::uint32_t>(below.size()))
          .wait(pams_program::messages_are_there(used_.calls_counter));
    if (node != 0)
      program.send(used_.call, parents_[node])
          .expect_messages(used_.done_counter, 1)
          .wait(pams_program::messages_are_there(used_.done_counter));
    for (const std::uint32_t child : below) program.send(used_.done, child);
  }
}

// --- exchanges

pams_exchange::pams_exchange(std::uint32_t nodes, std::vector<pams_transfer> transfers, const uses& used)
    : nodes_{nodes}, transfers_{std::move(transfers)}, used_{used} {
  for (const pams_transfer& each : transfers_)
    if (each.from_node >= nodes || each.to_node >= nodes || each.from_node == each.to_node)
      throw error{errc::bad_argument, fmt::format("a transfer from node {} to node {}: these are two nodes below {}",
                                                  each.from_node, each.to_node, nodes)};
}

// Returns the nodes that write to this one, or to which it writes, in the order of the transfers.
std::vector<std::uint32_t> pams_exchange::peers(std::uint32_t node, bool that_write_to_it) const {
  std::vector<std::uint32_t> found;
  for (const pams_transfer& each : transfers_) {
    if ((that_write_to_it ? each.to_node : each.from_node) != node) continue;
    const std::uint32_t peer = that_write_to_it ? each.from_node : each.to_node;
    if (std::find(found.begin(), found.end(), peer) == found.end()) found.push_back(peer);
  }
  return found;
}

void pams_exchange::begin(std::span<pams_program> programs) const {
  check_nodes(programs.size(), nodes_);
  for (std::uint32_t node = 0; node < nodes_; ++node) {
    if (used_.asks && !peers(node, false).empty()) programs[node].message_counter(used_.ready_counter, used_.ready, 0);
    if (!peers(node, true).empty()) programs[node].transfer_counter(used_.data_counter, used_.data, 0);
  }
}

void pams_exchange::append(std::span<pams_program> programs) const {
  check_nodes(programs.size(), nodes_);
  for (std::uint32_t node = 0; node < nodes_; ++node) append(programs[node], node);
}

void pams_exchange::append(pams_program& program, std::uint32_t node) const {
  const std::vector<std::uint32_t> writers = peers(node, true), readers = peers(node, false);
  if (used_.asks) {
    for (const std::uint32_t writer : writers) program.send(used_.ready, writer);
    if (!readers.empty())
      program.expect_messages(used_.ready_counter, static_cast<std::uint32_t>(readers.size()))
          .wait(pams_program::messages_are_there(used_.ready_counter));
  }
  std::uint32_t incoming = 0;
  for (const pams_transfer& each : transfers_) {
    if (each.from_node == node) program.send_long(used_.data, each.to_node, each.data);
    if (each.to_node == node) incoming += each.data.bytes;
  }
  if (incoming != 0)
    program.expect_bytes(used_.data_counter, incoming).wait(pams_program::bytes_are_there(used_.data_counter));
}

}  // namespace situ::model
