#include "model/message_units/message_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

namespace situ::model {
namespace {

constexpr std::array<std::string_view, 2> lane_names = {"request", "reply"};

std::string_view fault_text(unit_fault what) noexcept {
  switch (what) {
    case unit_fault::none: return "";
    case unit_fault::outside_memory:
      return "a long message reads or writes past the end of the node's memory, or not at a multiple of 4; its address "
             "is";
    case unit_fault::unknown_token:
      return "a token that is not in use was returned, or replied to; each request's handler has one token, and "
             "returns "
             "it once. The token is";
    case unit_fault::nothing_to_answer:
      return "a reply of PAMS, which keeps no token: `message_counter ... keeps` says which handlers are answered. The "
             "instruction is";
    case unit_fault::handler_not_counted:
      return "a message came whose handler no counter counts; set a message_counter for it before it can come. The "
             "handler is";
    case unit_fault::outside_program:
      return "a program has 512 words, from 0 to 511; this one goes on at, or loads, word";
    case unit_fault::unknown_instruction: return "no instruction has this code:";
    case unit_fault::unknown_node: return "a message for a node that the network does not have:";
  }
  return "";
}

}  // namespace

network_shape network_shape::bee3() {
  network_shape shape{.chips = 4, .nodes_of_chip = 5, .nodes = {}};
  for (unsigned node = 0; node < 16; ++node) shape.nodes.push_back({.chip = node / 4, .local = node % 4});
  shape.nodes.push_back({.chip = 3, .local = 4, .has_pams = false});
  return shape;
}

network_shape network_shape::of(const message_network_spec& spec) {
  network_shape shape{.chips = static_cast<unsigned>(spec.chips.size()),
                      .nodes_of_chip = 0,
                      .fifo_words = spec.fifo_words,
                      .link_cycles = std::max(spec.link_cycles, message_network_spec::least_link_cycles),
                      .nodes = {}};
  for (const message_chip_spec& each : spec.chips)
    shape.nodes_of_chip = std::max(shape.nodes_of_chip, static_cast<unsigned>(each.nodes.size()));
  for (const message_node_spec& each : spec.nodes)
    shape.nodes.push_back({.chip = each.chip,
                           .local = each.local,
                           .memory_bytes = each.memory_bytes,
                           .tokens = each.tokens,
                           .has_pams = each.has_pams});
  return shape;
}

// --- nodes

bool parts_node::step(cycle now, node_ports& node) {
  const bool changed = core_.step(now, node);
  return element_->step(now, node) || changed;
}

std::string parts_node::where() const {
  std::string text = element_->where();
  if (const std::string more = core_.where(); !more.empty()) text += "; " + more;
  return text;
}

// --- making the network

message_network::message_network(network_shape shape)
    : shape_{std::move(shape)},
      units_(shape_.nodes.size()),
      bridge_in_(2 * std::size_t{shape_.chips}, lanes_of(shape_.fifo_words)),
      bridge_out_(bridge_in_),
      unused_in_(std::size_t{shape_.chips} * ports_of_chip()),
      unused_out_(unused_in_),
      links_(2 * std::size_t{shape_.chips}, ring_link{shape_.link_cycles}) {
  for (unsigned node = 0; node < shape_.nodes.size(); ++node)
    ports_.emplace_back(node, shape_.nodes[node].memory_bytes, shape_.fifo_words);
  const unsigned interfaces = shape_.chips * ports_of_chip();
  first_interface_ = static_cast<unsigned>(ports_.size());
  first_link_ = first_interface_ + interfaces;
  awake_ = awake_units{first_link_ + 2 * shape_.chips};
  stepping_.resize(awake_.bits().size());
  interfaces_.reserve(interfaces);
  for (unsigned chip = 0; chip < shape_.chips; ++chip) connect_chip(chip);
  connect_links();
}

void message_network::connect_chip(unsigned chip) {
  const unsigned ports = ports_of_chip(), first = first_interface_ + chip * ports;
  for (unsigned own = 0; own < ports; ++own) interfaces_.emplace_back(own, ports, routes(chip), shape_.fifo_words);
  net_interface* const all = &interfaces_[chip * ports];
  for (unsigned own = 0; own < ports; ++own) {
    all[own].connect(all);
    for (unsigned from = 0; from < ports; ++from)
      for (word_fifo& each : all[own].channel(from)) each.connect(awake_, first + from, first + own);
    if (own < shape_.nodes_of_chip)
      all[own].connect(unused_in_[chip * ports + own], unused_out_[chip * ports + own]);
    else
      all[own].connect(bridge_in_[2 * chip + own - shape_.nodes_of_chip],
                       bridge_out_[2 * chip + own - shape_.nodes_of_chip]);
  }
  for (unsigned node = 0; node < ports_.size(); ++node) {
    if (shape_.nodes[node].chip != chip) continue;
    const unsigned local = shape_.nodes[node].local;
    all[local].connect(ports_[node].out, ports_[node].in);
    for (word_fifo& each : ports_[node].out) each.connect(awake_, node, first + local);
    for (word_fifo& each : ports_[node].in) each.connect(awake_, first + local, node);
  }
}

// A link to the next chip ends at that chip's second bridge, a link to the chip before at its first one.
void message_network::connect_links() {
  for (unsigned chip = 0; chip < shape_.chips; ++chip)
    for (unsigned direction = 0; direction < 2; ++direction) {
      const unsigned there = (chip + (direction == 0 ? 1 : shape_.chips - 1)) % shape_.chips;
      const unsigned link = first_link_ + 2 * chip + direction;
      const auto bridge = [&](unsigned of, unsigned which) {
        return first_interface_ + of * ports_of_chip() + shape_.nodes_of_chip + which;
      };
      two_lanes &from = bridge_out_[2 * chip + direction], &to = bridge_in_[2 * there + 1 - direction];
      for (word_fifo& each : from) each.connect(awake_, bridge(chip, direction), link);
      for (word_fifo& each : to) each.connect(awake_, link, bridge(there, 1 - direction), true);
      links_[2 * chip + direction].connect(from, to);
    }
}

// Nothing passes through chip 0, so that no cycle of links is waited for.
bool message_network::goes_up(unsigned from, unsigned to) const noexcept {
  if (from != 0 && to != 0) return from < to;
  const unsigned up = (to + shape_.chips - from) % shape_.chips, down = shape_.chips - up;
  return up != down ? up < down : from == 0;
}

std::vector<std::uint8_t> message_network::routes(unsigned chip) const {
  std::vector<std::uint8_t> all;
  for (const network_shape::node& each : shape_.nodes) {
    const unsigned port = each.chip == chip ? each.local : shape_.nodes_of_chip + (goes_up(chip, each.chip) ? 0 : 1);
    all.push_back(static_cast<std::uint8_t>(port));
  }
  return all;
}

unsigned message_network::distance(unsigned from, unsigned to) const noexcept {
  const unsigned a = shape_.nodes[from].chip, b = shape_.nodes[to].chip;
  if (a == b) return 0;
  const unsigned up = (b + shape_.chips - a) % shape_.chips;
  return goes_up(a, b) ? up : shape_.chips - up;
}

void message_network::put(unsigned node, std::unique_ptr<message_node> units) {
  units_[node] = std::move(units);
  awake_.wake(node);
}

void message_network::put_element(unsigned node, std::unique_ptr<computing_element> element) {
  put(node, std::make_unique<parts_node>(std::move(element), shape_.nodes[node].tokens));
}

void message_network::observe(unit_observer* observer) noexcept {
  for (node_ports& each : ports_) each.observer = observer;
}

// --- running it

message_network::outcome message_network::run(cycle limit) {
  while (now_ < limit) {
    while (!sleeping_.empty() && sleeping_.top().first <= now_) {
      awake_.wake(sleeping_.top().second);
      sleeping_.pop();
    }
    if (std::all_of(awake_.bits().begin(), awake_.bits().end(), [](std::uint64_t bits) { return bits == 0; })) {
      if (sleeping_.empty()) return is_over() ? outcome::finished : outcome::stands;
      now_ = std::min(limit, sleeping_.top().first);
      continue;
    }
    step_cycle();
    if (has_fault_) return outcome::fault;
    ++now_;
  }
  return outcome::cycle_limit;
}

void message_network::step_cycle() {
  ++busy_cycles_;
  std::swap(stepping_, awake_.bits());
  for (unsigned word = 0; word < stepping_.size(); ++word) {
    std::uint64_t changed = 0;
    for (std::uint64_t bits = std::exchange(stepping_[word], 0); bits != 0; bits &= bits - 1)
      if (step_unit(64 * word + static_cast<unsigned>(std::countr_zero(bits)))) changed |= bits & -bits;
    awake_.bits()[word] |= changed;
  }
}

inline bool message_network::step_unit(unsigned unit) {
  if (unit < first_interface_) return step_node(unit);
  if (unit >= first_link_) return links_[unit - first_link_].step(now_);
  net_interface& interface = interfaces_[unit - first_interface_];
  if (interface.step(now_)) return true;
  if (const auto lost = interface.lost()) [[unlikely]]
    fail_sender(unit - first_interface_, *lost);
  return false;
}

inline bool message_network::step_node(unsigned node) {
  message_node* const units = units_[node].get();
  if (units == nullptr) return false;
  const bool changed = units->step(now_, ports_[node]);
  if (ports_[node].fault.what != unit_fault::none) has_fault_ = true;
  if (changed) return true;
  if (const cycle wakes = units->wakes_at(); wakes != computing_element::never)
    sleeping_.emplace(std::max(wakes, now_ + 1), node);
  return false;
}

void message_network::fail_sender(unsigned interface, node_number to) {
  for (unsigned node = 0; node < ports_.size(); ++node) {
    if (shape_.nodes[node].chip * ports_of_chip() + shape_.nodes[node].local != interface) continue;
    ports_[node].fail(unit_fault::unknown_node, to);
    has_fault_ = true;
  }
}

bool message_network::is_over() const {
  for (unsigned node = 0; node < ports_.size(); ++node) {
    if (units_[node] != nullptr && !units_[node]->is_done()) return false;
    if (!ports_[node].in[0].is_empty() || !ports_[node].in[1].is_empty()) return false;
  }
  return std::all_of(interfaces_.begin(), interfaces_.end(), [](const net_interface& each) { return each.is_empty(); });
}

// --- reports

std::string message_network::report() const {
  std::string text;
  for (const node_ports& each : ports_)
    if (each.fault.what != unit_fault::none)
      text +=
          fmt::format("node {}, cycle {}: {} {:#x}\n", each.number, now_, fault_text(each.fault.what), each.fault.word);
  if (!text.empty()) return text;
  for (unsigned node = 0; node < ports_.size(); ++node) {
    const bool is_asked = !ports_[node].in[0].is_empty() || !ports_[node].in[1].is_empty();
    if (units_[node] != nullptr && (is_asked || !units_[node]->is_done()))
      text += fmt::format("node {}: {}\n", node, units_[node]->where());
    if (units_[node] == nullptr && is_asked)
      text += fmt::format("node {}: messages have come, and nothing takes them\n", node);
  }
  report_network(text);
  return text;
}

void message_network::report_network(std::string& text) const {
  for (unsigned chip = 0; chip < shape_.chips; ++chip)
    for (unsigned own = 0; own < ports_of_chip(); ++own) {
      const auto name = [&](unsigned port) {
        if (port < shape_.nodes_of_chip) return fmt::format("NetIf {}", port);
        return fmt::format("the bridge to chip {}",
                           (chip + (port == shape_.nodes_of_chip ? 1 : shape_.chips - 1)) % shape_.chips);
      };
      interfaces_[chip * ports_of_chip() + own].tell_waiting(now_, [&](unsigned of, unsigned to, bool is_sending) {
        text +=
            is_sending
                ? fmt::format("chip {}: a {} of {} waits for room at {}\n", chip, lane_names[of], name(own), name(to))
                : fmt::format("chip {}: a {} from {} waits at {}\n", chip, lane_names[of], name(to), name(own));
      });
    }
}

}  // namespace situ::model
