#include "model/parts/message_network_spec.h"

#include <situ/base/error.h>
#include <situ/base/error_code.h>
#include <situ/base/units.h>

#include "model/parts/machine_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace situ::model {
namespace {

using machine::device_kind;
using machine::node;
using machine::node_id;
using machine::node_kind;

bool is_device(const node& n, device_kind kind) { return n.kind == node_kind::device && n.device == kind; }

class network_maker {
 public:
  network_maker(const machine::tree& described, const std::vector<std::string>& where)
      : tree_{described}, where_{where} {}

  message_network_spec run() {
    spec_.name = tree_.name();
    spec_.description = tree_.description();
    for (node_id id = 0; id < tree_.nodes().size(); ++id)
      if (is_device(tree_.at(id), device_kind::gascore)) add_node(id);
    if (nodes_.empty())
      fail(machine::root_node, "a network of messages needs nodes: groups with a device = \"gascore\"");
    if (nodes_.size() > message_network_spec::most_nodes)
      fail(nodes_.back().node,
           fmt::format("{} nodes cannot be; at most {} are allowed", nodes_.size(), message_network_spec::most_nodes));
    for (const chip& each : chips_)  // their ends are nodes alone so far
      if (each.ends.size() > message_network_spec::most_nodes_of_chip)
        fail(each.node, fmt::format("{} nodes on a chip cannot be; at most {} are allowed", each.ends.size(),
                                    message_network_spec::most_nodes_of_chip));
    for (node_id id = 1; id < tree_.nodes().size(); ++id)
      if (is_device(tree_.at(id), device_kind::pams) && !groups_.contains(tree_.at(id).parent))
        fail(id, "a pams needs a gascore, which sends for it; add a [[node]] in its group with device = \"gascore\"");
    for (node_id id = 1; id < tree_.nodes().size(); ++id) place(id);
    read_links();
    check_bridges();
    number_nodes();
    return std::move(spec_);
  }

 private:
  // A chip of the tree, and the nodes and bridges that its full link has to join.
  struct chip {
    node_id node = machine::no_node;
    std::vector<node_id> ends;
    std::uint32_t bridges = 0;
    bool is_joined = false;
  };

  [[noreturn]] void fail(node_id id, const std::string& message) const {
    const std::string place = id < where_.size() ? where_[id] + ": " : "";
    throw_error(errc::bad_file, fmt::format("{}{}: {}", place, tree_.label(id), message));
  }

  // --- nodes ---------------------------------------------------------------------------------------------------------

  void add_node(node_id gascore) {
    const node_id group = tree_.at(gascore).parent;
    if (tree_.at(group).kind != node_kind::group)
      fail(gascore, "a gascore stands in the group of its node; add a [[node]] with kind = \"group\" around it");
    const node_id around = tree_.at(group).parent;
    if (tree_.at(around).kind != node_kind::group && tree_.at(around).kind != node_kind::package)
      fail(group, "a node stands on a chip; add a [[node]] with kind = \"group\" or \"package\" around it");
    if (!nodes_.empty() && nodes_.back().node == group) fail(gascore, "a node has one gascore; remove the other");
    message_node_spec made{
        .name = {}, .chip = chip_of(around), .node = group, .where = group < where_.size() ? where_[group] : ""};
    read_tokens(gascore, made);
    read_parts(group, made);
    groups_.insert(group);
    chips_[made.chip].ends.push_back(group);
    nodes_.push_back(std::move(made));
  }

  std::uint32_t chip_of(node_id around) {
    const auto [known, is_new] = chip_of_.emplace(around, static_cast<std::uint32_t>(chips_.size()));
    if (is_new) chips_.push_back({.node = around, .ends = {}});
    return known->second;
  }

  void read_tokens(node_id gascore, message_node_spec& made) const {
    made.tokens = tree_.at(gascore).entries;
    if (made.tokens == 0) fail(gascore, "a gascore needs entries: the tokens that it has");
    if (made.tokens > message_network_spec::most_tokens)
      fail(gascore, fmt::format("entries = {} cannot be; a gascore has 1 to {} tokens", made.tokens,
                                message_network_spec::most_tokens));
  }

  // Reads what the node has beside its GAScore.
  void read_parts(node_id group, message_node_spec& made) {
    std::vector<node_id> memories;
    std::vector<node_id> elements;
    for (const node_id id : tree_.at(group).children) {
      const node& n = tree_.at(id);
      if (n.kind == node_kind::memory)
        memories.push_back(id);
      else if (n.kind == node_kind::core || is_device(n, device_kind::pams))
        elements.push_back(id);
      else if (!is_device(n, device_kind::gascore))
        fail(id, "has no part in a node; a gascore, a memory, and a pams or a core are allowed");
    }
    if (memories.size() != 1)
      fail(group, fmt::format("a node has one memory, which its gascore reads and writes, not {}", memories.size()));
    if (elements.size() != 1)
      fail(group, fmt::format("a node has one pams or one core for its gascore to serve, not {}", elements.size()));
    made.has_pams = tree_.at(elements.front()).kind == node_kind::device;
    made.memory_bytes = memory_bytes(memories.front());
  }

  [[nodiscard]] std::uint32_t memory_bytes(node_id memory) const {
    const std::uint64_t bytes = tree_.at(memory).bytes;
    if (bytes < 4 || bytes > message_network_spec::most_memory_bytes || !std::has_single_bit(bytes))
      fail(memory, fmt::format("a size of {} cannot be; a power of two from 4 B to {} is allowed", format_bytes(bytes),
                               format_bytes(message_network_spec::most_memory_bytes)));
    return static_cast<std::uint32_t>(bytes);
  }

  // --- the other parts -----------------------------------------------------------------------------------------------

  // Checks that this node of the tree is a chip, or a part of one.
  void place(node_id id) {
    const node& n = tree_.at(id);
    if (is_device(n, device_kind::bridge)) {
      const auto around = chip_of_.find(n.parent);
      if (around == chip_of_.end()) fail(id, "a bridge stands on a chip, beside its nodes; move it there");
      chips_[around->second].ends.push_back(id);
      ++chips_[around->second].bridges;
    } else if (!is_in_node(id) && !holds_chip(id)) {
      fail(id, "has no part in a network of messages; chips, nodes and bridges are allowed");
    }
    if (n.kind != node_kind::device && n.kind != node_kind::core) return;
    read_clock(id, n.hertz, "");
    if (n.entries > 0 && !is_device(n, device_kind::gascore))
      fail(id, "entries is of a gascore, its tokens; the queue of the full link is the length of all FIFOs");
  }

  [[nodiscard]] bool is_in_node(node_id id) const {
    for (node_id up = id; up != machine::no_node; up = tree_.at(up).parent)
      if (groups_.contains(up)) return true;
    return false;
  }

  // Returns whether the node is a chip, or a group or package around chips, as a board.
  [[nodiscard]] bool holds_chip(node_id id) const {
    const auto first = chip_of_.lower_bound(id);
    const node_kind kind = tree_.at(id).kind;
    return (kind == node_kind::group || kind == node_kind::package) && first != chip_of_.end() &&
           tree_.is_under(first->first, id);
  }

  // Takes the clock of a part or, with `of` = "its link ", of a link that ends there.
  void read_clock(node_id id, std::uint64_t hertz, std::string_view of) {
    if (hertz == 0) fail(id, fmt::format("{}needs a clock", of));
    if (hertz > message_network_spec::most_hertz)
      fail(id, fmt::format("{}has a clock of {}; at most {} are allowed", of, format_hertz(hertz),
                           format_hertz(message_network_spec::most_hertz)));
    if (hertz_ == 0) hertz_ = hertz;
    if (hertz != hertz_)
      fail(id, fmt::format("{}has a clock of {}, and the parts before it one of {}; give all parts one clock", of,
                           format_hertz(hertz), format_hertz(hertz_)));
    spec_.period = period_of(hertz);
  }

  // --- links ---------------------------------------------------------------------------------------------------------

  void read_links() {
    bool has_ring = false;
    for (const machine::link& joined : tree_.links()) {
      const node_id end = joined.ends.front();
      const bool is_ring = joined.shape == machine::topology::ring;
      if (!is_ring && joined.shape != machine::topology::full)
        fail(end, fmt::format("its link of topology \"{}\" has no part in a network of messages; \"full\" joins the "
                              "nodes and bridges of a chip, \"ring\" the chips",
                              name(joined.shape)));
      read_link(joined);
      if (!is_ring) {
        join_chip(joined);
        continue;
      }
      if (std::exchange(has_ring, true)) fail(end, "a network of messages has one ring; remove the other");
      join_ring(joined);
    }
    for (const chip& each : chips_)
      if (!each.is_joined)
        fail(each.node, "a chip needs a [[link]] with topology = \"full\" that joins its nodes and bridges");
    if (chips_.size() > 1 && !has_ring)
      fail(chips_[1].node, "several chips need a [[link]] with topology = \"ring\" that joins them");
  }

  // Reads the figures that full links and rings have.
  void read_link(const machine::link& joined) {
    const node_id end = joined.ends.front();
    if (joined.width_bits != message_network_spec::word_bits)
      fail(end, fmt::format("its link needs width_bits = {}, a word of a message, not {}",
                            message_network_spec::word_bits, joined.width_bits));
    read_clock(end, joined.hertz, "its link ");
    if (joined.bandwidth != 0 && joined.bandwidth != joined.width_bits / 8 * joined.hertz)
      fail(end,
           fmt::format("its link has a bandwidth of {}, and a word a cycle is {}; leave the bandwidth out",
                       format_bandwidth(joined.bandwidth), format_bandwidth(joined.width_bits / 8 * joined.hertz)));
    if (joined.queue == 0 || joined.queue > message_network_spec::most_fifo_words)
      fail(end, fmt::format("its link needs a queue, the words of a FIFO's lane, from 1 to {}, not {}",
                            message_network_spec::most_fifo_words, joined.queue));
    if (spec_.fifo_words == 0) spec_.fifo_words = joined.queue;
    if (spec_.fifo_words != joined.queue)
      fail(end, fmt::format("its link has a queue of {}, and links before it one of {}; all FIFOs have one length",
                            joined.queue, spec_.fifo_words));
  }

  void join_chip(const machine::link& joined) {
    const auto found = chip_of_.find(tree_.at(joined.ends.front()).parent);
    if (found == chip_of_.end())
      fail(joined.ends.front(), "its full link joins no nodes of a chip; ends = are the nodes and bridges of chips");
    chip& of = chips_[found->second];
    if (std::exchange(of.is_joined, true)) fail(of.node, "a chip has one full link; remove the other");
    if (joined.latency_ns != 0)
      fail(joined.ends.front(), "its full link has a latency, which follows from the states of NetIfs; remove it");
    check_ends(joined, of.ends, "full link", "nodes and bridges of the chip");
  }

  void join_ring(const machine::link& joined) {
    std::vector<node_id> all;
    for (const chip& each : chips_) all.push_back(each.node);
    check_ends(joined, all, "ring", "chips");
    const double cycles = joined.latency_ns * 1000 / static_cast<double>(spec_.period);
    const auto whole = static_cast<std::uint32_t>(std::lround(std::min(cycles, 1e6)));
    if (std::abs(cycles - whole) > 0.01 || whole < message_network_spec::least_link_cycles ||
        whole > message_network_spec::most_link_cycles)
      fail(joined.ends.front(),
           fmt::format("its ring has a latency of {:.6g} cycles; from {} (OUT, WIRE and IN of {}) to {} whole ones are "
                       "allowed",
                       cycles, message_network_spec::least_link_cycles,
                       format_nanoseconds(static_cast<double>(spec_.period) / 1000),
                       message_network_spec::most_link_cycles));
    spec_.link_cycles = whole;
  }

  // Checks that a link joins all of these nodes of the tree, and no others.
  void check_ends(const machine::link& joined, const std::vector<node_id>& wanted, std::string_view link,
                  std::string_view what) const {
    for (const node_id end : joined.ends)
      if (std::ranges::find(wanted, end) == wanted.end())
        fail(end, fmt::format("is an end of a {}, which joins the {}; remove it from ends =", link, what));
    for (const node_id each : wanted)
      if (std::ranges::find(joined.ends, each) == joined.ends.end())
        fail(each, fmt::format("is no end of the {}, which joins the {}; add it to ends =", link, what));
  }

  void check_bridges() {
    const std::uint32_t needed = chips_.size() > 1 ? 2 : 0;
    for (const chip& each : chips_)
      if (each.bridges != needed)
        fail(each.node,
             fmt::format("has {} bridges; {}", each.bridges,
                         needed == 0 ? "a network of one chip has none"
                                     : "on a ring a chip has two: to the next chip and to the previous one"));
  }

  // --- numbers -------------------------------------------------------------------------------------------------------

  void number_nodes() {
    for (const chip& each : chips_) {
      const node& n = tree_.at(each.node);
      const std::size_t index = spec_.chips.size();
      spec_.chips.push_back({.name = fmt::format("{} {}", n.name.empty() ? "chip" : n.name, index),
                             .nodes = {},
                             .bridges = each.bridges});
    }
    const std::vector<std::uint32_t> numbers = numbers_of_nodes();
    spec_.nodes.resize(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      message_node_spec& made = spec_.nodes[numbers[i]];
      made = std::move(nodes_[i]);
      const std::string& group = tree_.at(made.node).name;
      made.name = fmt::format("{} {}", group.empty() ? "node" : group, numbers[i]);
      std::vector<std::uint32_t>& on_chip = spec_.chips[made.chip].nodes;
      made.local = static_cast<std::uint32_t>(on_chip.size());
      on_chip.push_back(numbers[i]);
    }
  }

  // Returns the number of each node, in tree order: the file's, or those with a PAMS first.
  [[nodiscard]] std::vector<std::uint32_t> numbers_of_nodes() const {
    const bool are_given = tree_.at(nodes_.front().node).os_index != machine::no_index;
    for (const message_node_spec& each : nodes_)
      if ((tree_.at(each.node).os_index != machine::no_index) != are_given)
        fail(each.node, "some nodes have a number, os =, and others have none; give it to all or to none");
    if (are_given) return given_numbers();
    std::vector<std::uint32_t> numbers(nodes_.size());
    std::uint32_t next = 0;
    for (const bool with_pams : {true, false})
      for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (nodes_[i].has_pams == with_pams) numbers[i] = next++;
    return numbers;
  }

  [[nodiscard]] std::vector<std::uint32_t> given_numbers() const {
    std::vector<std::uint32_t> numbers;
    std::vector<bool> is_taken(nodes_.size());
    for (const message_node_spec& each : nodes_) {
      const std::uint32_t given = tree_.at(each.node).os_index;
      if (given >= nodes_.size() || is_taken[given])
        fail(each.node, fmt::format("has the number os = {}; the {} nodes have the numbers from 0 to {}, each once",
                                    given, nodes_.size(), nodes_.size() - 1));
      is_taken[given] = true;
      numbers.push_back(given);
    }
    return numbers;
  }

  const machine::tree& tree_;
  const std::vector<std::string>& where_;
  message_network_spec spec_;
  std::vector<message_node_spec> nodes_;  // in tree order
  std::vector<chip> chips_;
  std::map<node_id, std::uint32_t> chip_of_;  // by the chip's node of the tree
  std::set<node_id> groups_;                  // the groups that are nodes
  std::uint64_t hertz_ = 0;
};

}  // namespace

message_network_spec message_network_spec::from(const machine::tree& described, const std::vector<std::string>& where) {
  return network_maker{described, where}.run();
}

bool has_message_units(const machine::tree& described) {
  return std::ranges::any_of(described.nodes(), [](const node& n) {
    return is_device(n, device_kind::gascore) || is_device(n, device_kind::pams) || is_device(n, device_kind::bridge);
  });
}

message_network_spec parse_message_network(std::string_view text, std::string_view file_name) {
  std::vector<std::string> where;
  std::vector<machine::assumption> assumed;
  const machine::tree described = machine::parse_toml(text, file_name, &where, &assumed);
  message_network_spec made = message_network_spec::from(described, where);
  made.assumed = std::move(assumed);
  return made;
}

message_network_spec read_message_network(const std::string& path, const std::vector<std::string>& settings) {
  std::ifstream stream{path, std::ios::binary};
  if (!stream) static_cast<void>(machine::read_toml(path));  // throws with the reason
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};
  if (settings.empty()) return parse_message_network(text, path);
  try {
    return parse_message_network(apply_settings(text, path, settings), path);
  } catch (const error& failure) {
    if (failure.code() == errc::bad_argument) throw;
    throw_error(failure.code(), fmt::format("{} (with {})", failure.message(), fmt::join(settings, ", ")));
  }
}

}  // namespace situ::model
