#include "hw/modelled_node.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace situ::hw {
namespace {

using model::cycle;
using model::node_ports;
using model::unit_fault;

constexpr std::string_view lane_name(unsigned lane) { return lane == request_lane ? "request" : "reply"; }

// Reads what the node sees at the cycle's start; the memory's word stays.
void look(node_inputs& inputs, cycle now, const node_ports& node) {
  for (unsigned lane = 0; lane < 2; ++lane) {
    inputs.out_count[lane] = node.out[lane].held(now);
    inputs.in_exists[lane] = node.in[lane].has_word(now);
    if (!inputs.in_exists[lane]) continue;
    inputs.in_data[lane] = node.in[lane].front().word;
    inputs.in_last[lane] = node.in[lane].front().is_last;
  }
  inputs.control_in = node.control_in;
}

std::uint32_t mask_of(unsigned enable) {
  std::uint32_t mask = 0;
  for (unsigned byte = 0; byte < 4; ++byte)
    if ((enable >> byte & 1U) != 0) mask |= 0xffU << 8 * byte;
  return mask;
}

bool acts(const node_outputs& rtl) {
  return rtl.out_write[0] || rtl.out_write[1] || rtl.in_read[0] || rtl.in_read[1] || rtl.memory_enable != 0;
}

template <class Node>
std::unique_ptr<model::message_node> make(unsigned node, const model::network_shape& shape) {
  const model::network_shape::node& of = shape.nodes[node];
  if (shape.fifo_words != model::word_fifo::usual_depth || of.tokens != model::token_buffer::usual_entries ||
      of.memory_bytes != 64U << 10)
    throw error{
        errc::not_supported,
        fmt::format("the RTL has 64 KiB of memory, 16 tokens and FIFOs of 16 words; node {} has {} bytes, {} and {}",
                    node, of.memory_bytes, of.tokens, shape.fifo_words)};
  return std::make_unique<Node>(node);
}

}  // namespace

model::pams_board::maker rtl_nodes() { return make<rtl_node>; }
model::pams_board::maker compared_nodes() { return make<compared_node>; }

// --- RTL alone

bool rtl_node::step(cycle now, node_ports& node) {
  for (; next_ < now; ++next_) (void)rtl_.cycle(inputs_);  // it slept: nothing has changed
  look(inputs_, now, node);
  const bool saw_word = inputs_.in_exists[0] || inputs_.in_exists[1];
  outputs_ = rtl_.cycle(inputs_);
  ++next_;
  for (unsigned lane = 0; lane < 2; ++lane) {
    if (outputs_.out_write[lane]) node.out[lane].put({outputs_.out_data[lane], outputs_.out_last[lane]}, now);
    if (outputs_.in_read[lane]) (void)node.in[lane].take(now);
  }
  std::uint32_t& word = node.memory[outputs_.memory_address];
  inputs_.memory_word = word;
  const std::uint32_t mask = mask_of(outputs_.memory_enable);
  word = (word & ~mask) | (outputs_.memory_data & mask);
  node.control_out = static_cast<std::uint8_t>(outputs_.control_out);
  if (outputs_.fault != 0) node.fail(static_cast<unit_fault>(outputs_.fault), outputs_.pc);
  quiet_ = saw_word || acts(outputs_) || !outputs_.halted ? 0 : quiet_ + 1;
  return quiet_ < quiet_cycles;
}

std::string rtl_node::where() const {
  return outputs_.halted ? std::string{"halted (RTL)"} : fmt::format("pc {} (RTL)", outputs_.pc);
}

// --- both

units_differ::units_differ(cycle now, unsigned node, const std::string& what)
    : error{errc::bad_argument,
            fmt::format("node {}, cycle {}: the RTL and the parts in C++ differ: {}", node, now, what)},
      when_{now},
      node_{node} {}

compared_node::compared_node(unsigned node)
    : pams_{nullptr},
      parts_{[this] {
        auto pams = std::make_unique<model::pams_unit>();
        pams_ = pams.get();
        return pams;
      }()},
      rtl_{static_cast<std::uint16_t>(node)} {}

bool compared_node::step(cycle now, node_ports& node) {
  catch_up(now, node);
  look(inputs_, now, node);
  const registers before{node.control_out, pams_->arrival_time(), pams_->is_done()};
  const bool changed = parts_.step(now, node);
  const node_outputs rtl = rtl_.cycle(inputs_);
  ++next_;
  compare(now, before, rtl, node);
  inputs_.memory_word = node.memory[rtl.memory_address];
  if (node.fault.what != unit_fault::none) compare_fault(now, node);
  return changed;
}

// The cycles in which the parts slept.
void compared_node::catch_up(cycle now, const node_ports& node) {
  for (; next_ < now; ++next_) {
    const node_outputs rtl = rtl_.cycle(inputs_);
    inputs_.memory_word = node.memory[rtl.memory_address];
    if (acts(rtl)) throw units_differ{next_, node.number, "the RTL acts in a cycle in which the parts sleep"};
  }
}

void compared_node::compare(cycle now, const registers& before, const node_outputs& rtl, const node_ports& node) const {
  const auto differ = [&](const std::string& what) { throw units_differ{now, node.number, what}; };
  for (unsigned lane = 0; lane < 2; ++lane) {
    if (rtl.in_read[lane] != node.in[lane].was_taken(now))
      differ(fmt::format("{} a word of `in`, {} lane", rtl.in_read[lane] ? "only the RTL takes" : "only the parts take",
                         lane_name(lane)));
    if (rtl.out_write[lane] != node.out[lane].was_put(now))
      differ(fmt::format("{} a word into `out`, {} lane",
                         rtl.out_write[lane] ? "only the RTL writes" : "only the parts write", lane_name(lane)));
    if (!rtl.out_write[lane]) continue;
    const model::fifo_word& put = node.out[lane].back();
    if (rtl.out_data[lane] != put.word || rtl.out_last[lane] != put.is_last)
      differ(fmt::format("the RTL writes {:#x}{}, the parts {:#x}{}, {} lane", rtl.out_data[lane],
                         rtl.out_last[lane] ? " (last)" : "", put.word, put.is_last ? " (last)" : "", lane_name(lane)));
  }
  const bool stores = node.written_at == now;
  if ((rtl.memory_enable != 0) != stores)
    differ(stores ? "only the parts store into the memory" : "only the RTL stores into the memory");
  if (stores) {
    const std::uint32_t mask = mask_of(rtl.memory_enable);
    if (rtl.memory_address != node.written_word || ((rtl.memory_data ^ node.memory[node.written_word]) & mask) != 0)
      differ(fmt::format("the RTL stores {:#x} at {:#x}, the parts {:#x} at {:#x}", rtl.memory_data,
                         4 * rtl.memory_address, node.memory[node.written_word], 4 * node.written_word));
  }
  if (rtl.control_out != before.control_out || rtl.arrival_time != before.arrival_time ||
      rtl.halted != before.is_halted)
    differ(fmt::format("control outputs {} and {}, ArrivalTime {} and {}, halted {} and {}", rtl.control_out,
                       before.control_out, rtl.arrival_time, before.arrival_time, rtl.halted, before.is_halted));
}

// The RTL's register shows a fault in the next cycle.
void compared_node::compare_fault(cycle now, const node_ports& node) {
  const node_outputs rtl = rtl_.cycle(inputs_);
  ++next_;
  if (rtl.fault != static_cast<unsigned>(node.fault.what))
    throw units_differ{
        now, node.number,
        fmt::format("fault {} of the RTL, {} of the parts", rtl.fault, static_cast<unsigned>(node.fault.what))};
}

}  // namespace situ::hw
