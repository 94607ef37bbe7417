// The figures of a network of GAScores, read from a machine's tree. docs/design/message_units.md describes the parts,
// docs/design/machine.md ("Chips of nodes") the keys of machine files.
//
// A *node* is a group with a GAScore, a memory, and either a PAMS or a core. A *chip* is a group or a package around
// nodes and bridges. One full link joins the nodes and bridges of a chip, each by its NetIf. A ring joins the chips:
// the first bridge of a chip leads to the next chip, the second bridge to the previous one, in tree order.
//
// Invariants
//   1. Nodes have the numbers 0 to nodes.size() - 1. The file gives them as `os` of the groups; without it, the nodes
//      with a PAMS come first, then those with a core, both in tree order.
//   2. chips[c].nodes lists the nodes of chip c in tree order, and nodes[chips[c].nodes[i]].local == i. The NetIfs of a
//      chip have the same order: its nodes, then its bridges.
//   3. A network of several chips has two bridges on each chip. A network of one chip has no ring and no bridges.
//
// message_network_spec is a value type. cost of making one: linear in the tree, and in the nodes of a chip.
#pragma once

#include <situ/machine/toml.h>
#include <situ/machine/tree.h>

#include "model/parts/time.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace situ::model {

// A GAScore with its memory and its PAMS or core.
struct message_node_spec {
  std::string name;                          // "PE 3": the group's name, and the node's number
  std::uint32_t chip = 0;                    // index into message_network_spec::chips
  std::uint32_t local = 0;                   // index among the nodes of its chip, and number of its NetIf
  bool has_pams = false;                     // false: it has a core
  std::uint32_t memory_bytes = 0;            // a power of two
  std::uint32_t tokens = 0;                  // entries of its token buffer
  machine::node_id node = machine::no_node;  // its group in the tree
  std::string where;  // position of its group's table, "bee3.toml:21: node[1]"; empty without file
};

// A chip. One full link joins its nodes and bridges.
struct message_chip_spec {
  std::string name;                  // "XC5VLX155T 3"
  std::vector<std::uint32_t> nodes;  // their numbers
  std::uint32_t bridges = 0;         // two, or none if the network has one chip
};

// The whole network. All of its parts have one clock.
struct message_network_spec {
  static constexpr std::uint32_t most_nodes = 1024;        // limit of the field of a PAMS instruction
  static constexpr std::uint32_t most_nodes_of_chip = 30;  // with two bridges 32 NetIfs, a bit of a word each
  static constexpr std::uint32_t most_tokens = 256;        // limit of the field of a token word
  static constexpr std::uint32_t most_memory_bytes = 16 * 64 * 1024;
  static constexpr std::uint32_t most_fifo_words = 1024;
  static constexpr std::uint32_t least_link_cycles = 3;  // OUT, WIRE and IN
  static constexpr std::uint32_t most_link_cycles = 1024;
  static constexpr std::uint32_t word_bits = 32;
  static constexpr std::uint64_t most_hertz =
      10'000'000'000;  // so that rounding to picoseconds changes a period by 0.5 % at most

  std::string name;
  std::string description;
  std::vector<message_chip_spec> chips;  // in the order of the ring
  std::vector<message_node_spec> nodes;  // by number
  time_ps period = 0;                    // of a cycle
  std::uint32_t fifo_words = 0;          // words of each lane of each FIFO; also the credits of a bridge
  std::uint32_t link_cycles = 0;         // from OUT of a bridge to IN of the next one, both counted; 0 with one chip
  std::vector<machine::assumption> assumed;  // figures of the file without a source; empty without a file

  // Makes a specification from a tree, and checks it. `where[node]`, if given, is the node's position in its file.
  // Throws bad_file if a part or a figure is missing or impossible; the message names the node, the error and the
  // allowed values.
  [[nodiscard]] static message_network_spec from(const machine::tree& described,
                                                 const std::vector<std::string>& where = {});
};

// Returns whether the tree has a GAScore, a PAMS or a bridge, so that it describes a network of messages.
[[nodiscard]] bool has_message_units(const machine::tree& described);

// Reads a machine file; the settings ("KEY=VALUE" each, machine_settings.h) replace figures of it. Throws bad_file as
// machine::read_toml and message_network_spec::from do, with file and line, and bad_argument as apply_settings does.
[[nodiscard]] message_network_spec read_message_network(const std::string& path,
                                                        const std::vector<std::string>& settings = {});
[[nodiscard]] message_network_spec parse_message_network(std::string_view text, std::string_view file_name);

}  // namespace situ::model
