// A network whose nodes have PAMS, and one node, the loader, from which their programs come: by LOAD and START messages,
// as on the paper's BEE3, where a MicroBlaze sends them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "model/message_units/message_network.h"
#include "model/message_units/pams_unit.h"
#include "model/message_units/scripted_element.h"

namespace situ::model {

class pams_board {
 public:
  // Makes the units of a node with PAMS.
  using maker = std::function<std::unique_ptr<message_node>(unsigned node, const network_shape& shape)>;
  [[nodiscard]] static std::unique_ptr<message_node> parts(unsigned node, const network_shape& shape);

  // The first node of the shape that has no PAMS is the loader; other such nodes stay empty. Throws situ::error if
  // there is none.
  explicit pams_board(const network_shape& shape = network_shape::bee3(), const maker& makes = parts);

  // Returns how many nodes the network has: those with PAMS, the loader, and empty ones.
  [[nodiscard]] unsigned nodes() const noexcept { return static_cast<unsigned>(network_.shape().nodes.size()); }
  [[nodiscard]] unsigned loader_node() const noexcept { return loader_at_; }
  [[nodiscard]] bool has_pams(unsigned node) const noexcept {
    return node < nodes() && network_.shape().nodes[node].has_pams;
  }
  // Sends a program to a node, and starts it at word 0. pre: has_pams(node); the words fit the instruction RAM, or the
  // run ends in a fault
  void load(unsigned node, std::span<const std::uint32_t> words);
  // Returns the cycles after which all programs loaded so far run: a start time that is late enough.
  [[nodiscard]] cycle loaded_after() const noexcept;

  // Throws situ::error with the network's report if a unit fails, if nodes wait for ever, or after `limit` cycles.
  void run(cycle limit = 10'000'000);
  // The same, for tests of what goes wrong: throws nothing.
  [[nodiscard]] message_network::outcome try_run(cycle limit = 10'000'000) { return network_.run(limit); }

  [[nodiscard]] message_network& network() noexcept { return network_; }
  [[nodiscard]] scripted_element& loader() noexcept { return *loader_; }
  [[nodiscard]] std::uint32_t arrival_time(unsigned node) { return network_.units(node)->arrival_time(); }
  [[nodiscard]] std::span<std::uint32_t> memory(unsigned node) noexcept { return network_.ports(node).memory; }

 private:
  message_network network_;
  unsigned loader_at_;
  scripted_element* loader_;
  cycle load_words_ = 0;
};

}  // namespace situ::model
