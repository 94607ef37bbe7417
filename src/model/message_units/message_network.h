// Nodes with GAScore on chips, their NetIfs, and the ring between the chips: one clock, stepped cycle by cycle. A part
// that has nothing to do is not stepped, and time in which no part has is skipped.
#pragma once

#include <situ/model/pams_board.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "model/message_units/gascore.h"
#include "model/message_units/net_interface.h"
#include "model/message_units/node_ports.h"
#include "model/message_units/ring_link.h"
#include "model/parts/message_network_spec.h"

namespace situ::model {

// The places of the nodes in the network. BEE3: four chips, nodes 0 to 15 four a chip, node 16 the fifth of the last one.
struct network_shape {
  struct node {
    unsigned chip = 0;
    unsigned local = 0;  // its NetIf on the chip
    std::uint32_t memory_bytes = 64 << 10;
    unsigned tokens = token_buffer::usual_entries;
    bool has_pams = true;
  };
  unsigned chips = 0;
  unsigned nodes_of_chip = 0;                    // NetIfs of nodes, at most; those of the two bridges follow
  unsigned fifo_words = word_fifo::usual_depth;  // of a lane
  unsigned link_cycles = 3;                      // of a hop between two bridges: OUT, wire, IN
  std::vector<node> nodes;

  [[nodiscard]] static network_shape bee3();
  // That of a machine file.
  [[nodiscard]] static network_shape of(const message_network_spec& spec);
};

// The units behind a node's `in` and `out`: GAScore and its computing element, in C++ or as RTL.
class message_node {
 public:
  virtual ~message_node() = default;
  // These five mean the same as those of computing_element.
  virtual bool step(cycle now, node_ports& node) = 0;
  [[nodiscard]] virtual cycle wakes_at() const noexcept = 0;
  [[nodiscard]] virtual bool is_done() const noexcept = 0;
  [[nodiscard]] virtual std::string where() const = 0;
  [[nodiscard]] virtual std::uint32_t arrival_time() const noexcept = 0;
};

// GAScore and an element, as parts in C++.
class parts_node final : public message_node {
 public:
  explicit parts_node(std::unique_ptr<computing_element> element, unsigned tokens = token_buffer::usual_entries)
      : core_{tokens}, element_{std::move(element)} {}
  bool step(cycle now, node_ports& node) override;
  [[nodiscard]] cycle wakes_at() const noexcept override { return element_->wakes_at(); }
  [[nodiscard]] bool is_done() const noexcept override { return element_->is_done() && core_.is_idle(); }
  [[nodiscard]] std::string where() const override;
  [[nodiscard]] std::uint32_t arrival_time() const noexcept override { return element_->arrival_time(); }
  [[nodiscard]] const gascore& core() const noexcept { return core_; }

 private:
  gascore core_;
  std::unique_ptr<computing_element> element_;
};

class message_network {
 public:
  explicit message_network(network_shape shape);
  message_network(const message_network&) = delete;
  message_network& operator=(const message_network&) = delete;

  [[nodiscard]] const network_shape& shape() const noexcept { return shape_; }
  [[nodiscard]] node_ports& ports(unsigned node) noexcept { return ports_[node]; }
  [[nodiscard]] const node_ports& ports(unsigned node) const noexcept { return ports_[node]; }
  // Puts a node's units in place. Nodes without units take no messages.
  void put(unsigned node, std::unique_ptr<message_node> units);
  void put_element(unsigned node, std::unique_ptr<computing_element> element);
  [[nodiscard]] message_node* units(unsigned node) const noexcept { return units_[node].get(); }
  // Steps the node in the next cycle: a control input has changed, or its element has got work.
  void wake(unsigned node) noexcept { awake_.wake(node); }
  void observe(unit_observer* observer) noexcept;

  // Returns how many chips lie between two nodes.
  [[nodiscard]] unsigned distance(unsigned from, unsigned to) const noexcept;

  using outcome = pams_board::outcome;
  // Runs until one of these. pre: every node that messages go to has units
  outcome run(cycle limit);
  [[nodiscard]] cycle now() const noexcept { return now_; }
  // Returns the cycles in which a part was stepped.
  [[nodiscard]] std::uint64_t busy_cycles() const noexcept { return busy_cycles_; }
  // Returns words that went over the link from `chip` in a direction (0: to the next chip, 1: to the one before).
  [[nodiscard]] std::uint64_t link_words(unsigned chip, unsigned direction) const noexcept {
    return links_[2 * chip + direction].words();
  }
  // Says, a line each, what each node waits for, where words stand, and what these wait for; or which fault there was.
  [[nodiscard]] std::string report() const;

 private:
  [[nodiscard]] unsigned ports_of_chip() const noexcept { return shape_.nodes_of_chip + 2; }
  [[nodiscard]] std::vector<std::uint8_t> routes(unsigned chip) const;
  [[nodiscard]] bool goes_up(unsigned from, unsigned to) const noexcept;
  void connect_chip(unsigned chip);
  void connect_links();
  [[nodiscard]] bool step_unit(unsigned unit);
  [[nodiscard]] bool step_node(unsigned node);
  void step_cycle();
  void fail_sender(unsigned interface, node_number to);
  [[nodiscard]] bool is_over() const;
  void report_network(std::string& text) const;

  network_shape shape_;
  std::vector<node_ports> ports_;
  std::vector<std::unique_ptr<message_node>> units_;
  std::vector<two_lanes> bridge_in_, bridge_out_;  // of each chip: next, before
  std::vector<two_lanes> unused_in_, unused_out_;  // of NetIfs without a node
  std::vector<net_interface> interfaces_;          // of each chip, one after the other
  std::vector<ring_link> links_;                   // of each chip: to the next, to the one before
  unsigned first_interface_ = 0;                   // its number as a unit: after the nodes
  unsigned first_link_ = 0;                        // after the NetIfs
  awake_units awake_;                              // nodes, then NetIfs, then links
  std::vector<std::uint64_t> stepping_;
  using timed = std::pair<cycle, unsigned>;
  std::priority_queue<timed, std::vector<timed>, std::greater<>> sleeping_;
  cycle now_ = 0;
  bool has_fault_ = false;
  std::uint64_t busy_cycles_ = 0;
};

}  // namespace situ::model
