#include "model/message_units/pams_board.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace situ::model {
namespace {

constexpr std::size_t words_of_load = message_kind::most_arguments - 1;  // beside the address

}  // namespace

std::unique_ptr<message_node> pams_board::parts(unsigned node, const network_shape& shape) {
  return std::make_unique<parts_node>(std::make_unique<pams_unit>(), shape.nodes[node].tokens);
}

pams_board::pams_board(const network_shape& shape, const maker& makes) : network_{shape}, loader_at_{0} {
  const auto loads = [](const network_shape::node& each) { return !each.has_pams; };
  const auto found = std::find_if(shape.nodes.begin(), shape.nodes.end(), loads);
  if (found == shape.nodes.end())
    throw error{errc::bad_argument, "a network of PAMS nodes has a node without PAMS, from which programs are loaded"};
  loader_at_ = static_cast<unsigned>(found - shape.nodes.begin());
  for (unsigned node = 0; node < shape.nodes.size(); ++node)
    if (shape.nodes[node].has_pams) network_.put(node, makes(node, shape));
  auto loader = std::make_unique<scripted_element>();
  loader_ = loader.get();
  network_.put_element(loader_at_, std::move(loader));
}

void pams_board::load(unsigned node, std::span<const std::uint32_t> words) {
  const auto send = [&](std::uint8_t handler, std::vector<std::uint32_t> arguments) {
    load_words_ += 4 + arguments.size();
    loader_->send({.handler = handler, .to = node, .arguments = std::move(arguments)});
  };
  for (std::size_t at = 0; at < words.size(); at += words_of_load) {
    std::vector<std::uint32_t> arguments = {static_cast<std::uint32_t>(at)};
    const auto part = words.subspan(at, std::min(words_of_load, words.size() - at));
    arguments.insert(arguments.end(), part.begin(), part.end());
    send(handler_load, std::move(arguments));
  }
  send(handler_start, {0});
  network_.wake(loader_at_);
}

// A word a cycle, two more a message within transmit, and the way.
cycle pams_board::loaded_after() const noexcept { return network_.now() + 2 * load_words_ + 100; }

void pams_board::run(cycle limit) {
  switch (network_.run(limit)) {
    case message_network::outcome::finished: return;
    case message_network::outcome::fault: throw error{errc::bad_argument, network_.report()};
    case message_network::outcome::stands:
      throw error{errc::bad_argument,
                  fmt::format("nothing can go on after cycle {}:\n{}", network_.now(), network_.report())};
    case message_network::outcome::cycle_limit:
      throw error{errc::bad_argument,
                  fmt::format("the run is not over after {} cycles:\n{}", limit, network_.report())};
  }
}

}  // namespace situ::model
