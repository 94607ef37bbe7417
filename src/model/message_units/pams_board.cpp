#include <situ/base/error.h>
#include <situ/model/pams_board.h>
#include <situ/model/pams_program.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/message_units/message_network.h"
#include "model/message_units/pams_encoding.h"
#include "model/message_units/pams_unit.h"
#include "model/message_units/scripted_element.h"

namespace situ::model {
namespace {

class told_actions final : public unit_observer {
 public:
  explicit told_actions(std::function<void(const pams_board::action&)> sees) : sees_{std::move(sees)} {}
  void acted(cycle now, unsigned node, std::string_view unit, std::string_view state, std::uint32_t word) override {
    sees_({now, node, unit, state, word});
  }

 private:
  std::function<void(const pams_board::action&)> sees_;
};

std::unique_ptr<message_node> parts(unsigned node, const network_shape& shape) {
  return std::make_unique<parts_node>(std::make_unique<pams_unit>(), shape.nodes[node].tokens);
}

unsigned loader_of(const network_shape& shape) {
  const auto loads = [](const network_shape::node& each) { return !each.has_pams; };
  const auto found = std::find_if(shape.nodes.begin(), shape.nodes.end(), loads);
  if (found == shape.nodes.end())
    throw error{errc::bad_argument,
                "a board has a node without PAMS, from which programs are loaded; this one has none"};
  return static_cast<unsigned>(found - shape.nodes.begin());
}

}  // namespace

struct pams_board::state {
  explicit state(const network_shape& shape) : network{shape}, loader_at{loader_of(shape)} {}

  message_network network;
  unsigned loader_at;
  std::uint64_t load_words = 0;
  scripted_element* loader = nullptr;
  std::unique_ptr<told_actions> observer;
};

pams_board::pams_board() : pams_board{network_shape::bee3()} {}

pams_board::pams_board(const std::string& machine_file, const maker& makes)
    : pams_board{network_shape::of(read_message_network(machine_file)), makes} {}

pams_board::pams_board(const network_shape& shape, const maker& makes) : state_{std::make_unique<state>(shape)} {
  message_network& network = state_->network;
  for (unsigned node = 0; node < shape.nodes.size(); ++node)
    if (shape.nodes[node].has_pams) network.put(node, makes ? makes(node, shape) : parts(node, shape));
  auto loader = std::make_unique<scripted_element>();
  state_->loader = loader.get();
  network.put_element(state_->loader_at, std::move(loader));
}

pams_board::~pams_board() = default;
pams_board::pams_board(pams_board&&) noexcept = default;
pams_board& pams_board::operator=(pams_board&&) noexcept = default;

unsigned pams_board::nodes() const noexcept { return static_cast<unsigned>(state_->network.shape().nodes.size()); }
unsigned pams_board::loader_node() const noexcept { return state_->loader_at; }
bool pams_board::has_pams(unsigned node) const noexcept {
  return node < nodes() && state_->network.shape().nodes[node].has_pams;
}

void pams_board::load(unsigned node, std::span<const std::uint32_t> words) {
  if (!has_pams(node)) throw error{errc::bad_argument, fmt::format("node {} has no PAMS", node)};
  for (std::vector<std::uint32_t>& arguments : pams_load_arguments(words, 0)) {
    state_->load_words += 4 + arguments.size();
    state_->loader->send({.handler = handler_load, .to = node, .arguments = std::move(arguments)});
  }
  state_->load_words += 5;
  state_->loader->send({.handler = handler_start, .to = node, .arguments = {0}});
  state_->network.wake(state_->loader_at);
}

// A word a cycle, one cycle more for each message, and the way.
std::uint64_t pams_board::loaded_after() const noexcept { return now() + 2 * state_->load_words + 100; }

pams_board::outcome pams_board::try_run(std::uint64_t limit) { return state_->network.run(limit); }

void pams_board::run(std::uint64_t limit) {
  switch (try_run(limit)) {
    case outcome::finished: return;
    case outcome::fault: throw error{errc::bad_argument, report()};
    case outcome::stands:
      throw error{errc::bad_argument, fmt::format("nothing can go on after cycle {}:\n{}", now(), report())};
    case outcome::cycle_limit:
      throw error{errc::bad_argument, fmt::format("the run is not over after {} cycles:\n{}", limit, report())};
  }
}

std::uint64_t pams_board::now() const noexcept { return state_->network.now(); }
std::uint64_t pams_board::busy_cycles() const noexcept { return state_->network.busy_cycles(); }

std::uint32_t pams_board::arrival_time(unsigned node) const {
  const message_node* const units = state_->network.units(node);
  return units == nullptr ? 0 : units->arrival_time();
}

std::span<std::uint32_t> pams_board::memory(unsigned node) { return state_->network.ports(node).memory; }

std::string pams_board::where(unsigned node) const {
  const message_node* const units = state_->network.units(node);
  return units == nullptr ? "nothing runs there" : units->where();
}

std::uint64_t pams_board::link_words(unsigned chip, unsigned direction) const noexcept {
  return state_->network.link_words(chip, direction);
}

std::string pams_board::report() const { return state_->network.report(); }

std::vector<pams_board::call> pams_board::calls() const {
  std::vector<call> all;
  for (const received_call& each : state_->loader->calls())
    all.push_back({each.when, message_kind::handler(each.kind), each.arguments});
  return all;
}

void pams_board::observe(std::function<void(const action&)> sees) {
  state_->observer = std::make_unique<told_actions>(std::move(sees));
  state_->network.observe(state_->observer.get());
}

message_network& pams_board::network() noexcept { return state_->network; }

}  // namespace situ::model
