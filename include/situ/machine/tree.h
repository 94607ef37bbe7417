// The place tree: a machine as a tree of packages, caches, cores, processors, memories and devices.
//
// It is the hierarchical place tree of Yan, Brightwell and Sun (MCHPC 2017, section 3.1): what a program, a compiler or
// a runtime knows of a machine, with as much detail as it asks for (view.h). Sources: this machine or a recorded one
// (discover.h), or a specification (toml.h).
//
// Invariants of a tree
//   1. Nodes lie in one array in depth-first order; the root is node 0 and the only node of kind machine. So node ids
//      grow downwards, and the nodes under n are n+1 .. n+descendants.
//   2. A memory hangs under the node whose processors are near to it, beside that node's caches and cores.
//   3. A processor is a processing_unit, or a core that has none. processors(n) is the set of those under n; for a node
//      with none under it (memories, devices, memory-side caches) that of its parent: the processors it is local to.
//   4. OS indices of processors are distinct; so are those of memories.
//   5. Accesses are sorted by (from, memory) and name each pair at most once.
//   6. A link has two ends or more, nodes of the tree, each once; links stand in the order in which they were added.
//
// A tree is an immutable value: cheap to read from any thread. cost: accessors are loads; what searches is linear in
// the nodes.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/machine/processor_set.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ::machine {

// What a node of the tree is.
enum class node_kind : std::uint8_t {
  machine,
  package,
  group,
  cache,
  core,
  processing_unit,
  memory,
  device,
  agent,  // a worker of an accelerator: what a program runs to give the device that it hangs under its work
};

// What a memory is made of, or where it stands.
enum class memory_kind : std::uint8_t {
  dram,        // a processor's main memory
  hbm,         // on-package or stacked memory that processors address: MCDRAM, HBM2e
  persistent,  // keeps its bytes without power: Optane
  cxl,         // behind a CXL link
  gpu,         // a device's own memory
  scratchpad,  // software-managed SRAM, as in a manycore's tile
  file,        // backed by a file
};

// What a cache holds; a memory-side cache stands before a memory and is shared by all who use that.
enum class cache_kind : std::uint8_t { unified, data, instruction, memory_side };
// What a device is for.
enum class device_kind : std::uint8_t {
  other,
  gpu,
  network,
  storage,
  network_adapter,   // between a tile and the network of its chip
  dma,               // copies bytes by itself
  range_operations,  // writes ranges of a cache back, and invalidates them
  graph_writeback,   // the same for all objects that a graph reaches
  graph_copy,        // copies object graphs beside a memory
};

// How much, where a source has no figures: memories compared with each other.
enum class grade : std::uint8_t { unknown, low, medium, high };
// The least that a memory itself reads or writes.
enum class addressability : std::uint8_t {
  unknown,
  byte,
  block,  // a word, a burst or a line
  page,   // of a device that reads and writes pages
  none,   // no processor reaches it by loads and stores: bytes come and go over an explicit link
};

// What a cache does with writes: passes them on at once, or keeps them until the line leaves.
enum class write_policy : std::uint8_t { unknown, write_back, write_through };
// What brings a line into a cache.
enum class allocation : std::uint8_t { unknown, reads, reads_and_writes };
// Who keeps the caches under a node coherent with each other. Of the machine, `none` says that nobody does between the
// groups that say how they do it inside: the tiles of a non-coherent machine. Of a group with a network adapter it says
// that it is such a tile, and that nobody keeps its own caches coherent, either.
enum class coherence : std::uint8_t { unknown, none, snooping, directory };

// What joins nodes beside the tree.
enum class link_kind : std::uint8_t {
  coherent,    // an interconnect: loads and stores go over it, and caches stay coherent
  copying,     // bytes go over it only where a program copies them; machine files call it "explicit"
  incoherent,  // loads and stores go over it, and caches at its ends know nothing of each other
};
// How a link's ends hang together: each with each, or on a grid by their positions; a torus is one whose last column
// and row are neighbours of the first.
enum class topology : std::uint8_t { direct, mesh, torus };
// What a link is for.
enum class traffic : std::uint8_t { all, messages };

// A kind as it is written in machines/: "processing_unit", "hbm".
[[nodiscard]] std::string_view name(node_kind kind) noexcept;
[[nodiscard]] std::string_view name(memory_kind kind) noexcept;
[[nodiscard]] std::string_view name(cache_kind kind) noexcept;
[[nodiscard]] std::string_view name(device_kind kind) noexcept;
[[nodiscard]] std::string_view name(grade how_much) noexcept;
[[nodiscard]] std::string_view name(addressability unit) noexcept;
[[nodiscard]] std::string_view name(link_kind kind) noexcept;
[[nodiscard]] std::string_view name(write_policy policy) noexcept;
[[nodiscard]] std::string_view name(allocation when) noexcept;
[[nodiscard]] std::string_view name(coherence how) noexcept;
[[nodiscard]] std::string_view name(topology shape) noexcept;
[[nodiscard]] std::string_view name(traffic what) noexcept;

// A node's number in its tree; it means nothing in another tree, or in a view.
using node_id = std::uint32_t;
inline constexpr node_id no_node = ~node_id{0};               // no node
inline constexpr node_id root_node = 0;                       // the machine
inline constexpr std::uint32_t no_index = ~std::uint32_t{0};  // the operating system has no index for it

// Cycles of a core's instructions, besides what their accesses wait. Zero means unknown.
struct instruction_cycles {
  double integer = 0;     // additions, logic, moves; loads and stores that hit the first cache
  double multiply = 0;    // of integers
  double divide = 0;      // of integers
  double floating = 0;    // additions and multiplications
  double branch = 0;      // taken or not
  double call = 0;        // calls and returns
  double mispredict = 0;  // of a branch that was not foreseen, besides; zero: all are

  friend bool operator==(const instruction_cycles&, const instruction_cycles&) = default;
};

// A core's translation lookaside buffer. Zero entries: it is not modelled.
struct tlb {
  std::uint32_t entries = 0;
  std::uint32_t ways = 0;        // as many as entries: fully associative
  std::uint64_t page_bytes = 0;  // that an entry translates
  double walk_cycles = 0;        // of the core, where no entry has the page

  friend bool operator==(const tlb&, const tlb&) = default;
};

// What a source says of a node. Zero means unknown for every figure.
struct node_facts {
  node_kind kind = node_kind::group;
  memory_kind memory = memory_kind::dram;   // of a memory
  cache_kind cache = cache_kind::unified;   // of a cache
  device_kind device = device_kind::other;  // of a device
  std::uint32_t level = 0;                  // of a cache: 1 is nearest to the core
  std::uint32_t os_index =
      no_index;                  // what the operating system calls it; memories that have one can be allocated from
  std::string name;              // model, interface or local name: "Xeon Max 9480", "eth0", "mcdram"
  std::uint64_t bytes = 0;       // capacity of a memory or cache
  std::uint32_t line_bytes = 0;  // of a cache
  std::uint32_t ways = 0;        // of a cache: associativity
  std::uint64_t hertz = 0;       // clock of a core or processor
  double latency_ns = 0;         // of a memory or cache: one dependent load, seen from a near core
  // bytes per second that all its near cores together can read, or a device's link carries
  std::uint64_t bandwidth = 0;
  // Of a memory or cache, where reads and writes differ; as of a path.
  double read_latency_ns = 0;
  double write_latency_ns = 0;
  std::uint64_t read_bandwidth = 0;
  std::uint64_t write_bandwidth = 0;
  // Of a memory or cache: what table 1 of the paper compares besides.
  grade leakage = grade::unknown;      // power without accesses
  grade read_power = grade::unknown;   // power of accesses
  grade write_power = grade::unknown;  // power of accesses
  std::uint64_t density_bytes = 0;     // what a part of this technology holds, in order of magnitude
  addressability unit = addressability::unknown;
  // What a model needs besides (src/model).
  write_policy writes = write_policy::unknown;    // of a cache
  allocation allocates_on = allocation::unknown;  // of a cache
  coherence coherent_by = coherence::unknown;     // of the machine, a package or a group
  std::uint32_t x = no_index;                     // of a package, group or device: its column on a grid
  std::uint32_t y = no_index;                     // and its row
  std::uint32_t width_bits = 0;                   // of a group: what its bus carries in a cycle of its clock
  double access_ns = 0;                           // of a memory: from its controller's side, without the way there
  double occupancy_ns = 0;                        // of a memory: how long a burst keeps a channel
  std::uint32_t burst_bytes = 0;                  // of a memory: what one access reads or writes
  std::uint32_t channels = 0;                     // of a memory
  std::uint32_t entries = 0;                      // of a device: what it holds or has under way at a time
  instruction_cycles cycles;                      // of a core
  tlb itlb;                                       // of a core: for its instructions
  tlb dtlb;                                       // of a core: for what it reads and writes
  double width = 0;                               // of a core: instructions of several classes a cycle; 0: they add up
  std::uint32_t window = 0;                       // of a core: instructions under way, so that it goes on past a miss
  std::uint32_t store_buffer = 0;                 // of a core with a window: stores that wait for their lines
  std::uint32_t outstanding = 0;                  // of a cache: misses under way at a time
  std::uint32_t prefetch_streams = 0;             // of a cache: streams that its prefetcher follows
  std::uint32_t prefetch_lines = 0;               // of a cache: how far ahead of each
  std::uint64_t prefetch_page_bytes = 0;          // of a cache: what its prefetcher does not go beyond; 4 KiB

  friend bool operator==(const node_facts&, const node_facts&) = default;
};

// A node of a tree: what its source says of it, and where it stands.
struct node : node_facts {
  node_id parent = no_node;       // no_node for the root
  std::uint32_t depth = 0;        // the root's is 0
  std::uint32_t index = 0;        // counts the nodes of its kind (for caches: of its level and kind) in tree order
  std::uint32_t descendants = 0;  // the nodes under it, at any depth
  std::vector<node_id> children;
  processor_set processors;  // those under it; invariant 3

  friend bool operator==(const node&, const node&) = default;
};

// How one part of the machine sees one memory. Zero means unknown.
struct path {
  node_id from = no_node;  // any node with processors, or a device
  node_id memory = no_node;
  double latency_ns = 0;              // of reads and writes alike, or their mean
  double read_latency_ns = 0;         // where reads and writes differ
  double write_latency_ns = 0;        // where reads and writes differ
  std::uint64_t bandwidth = 0;        // bytes per second
  std::uint64_t read_bandwidth = 0;   // bytes per second
  std::uint64_t write_bandwidth = 0;  // bytes per second
  std::uint32_t distance = 0;         // as in ACPI's SLIT: 10 is local

  // The figure that placement goes by, in ns and bytes per second: that of reads if it is known, since loads wait and
  // stores do not.
  [[nodiscard]] double latency() const noexcept { return read_latency_ns > 0 ? read_latency_ns : latency_ns; }
  [[nodiscard]] std::uint64_t best_bandwidth() const noexcept {
    return read_bandwidth > 0 ? read_bandwidth : bandwidth;
  }
  friend bool operator==(const path&, const path&) = default;
};

// An interconnect, or a link between two memories. Zero means unknown.
struct link {
  link_kind kind = link_kind::coherent;
  std::string name;             // "HyperTransport", "PCIe 3.0 x16"
  double latency_ns = 0;        // from an end to another; of a grid, of one hop
  std::uint64_t bandwidth = 0;  // bytes per second, each way between two ends
  std::vector<node_id> ends;    // two or more
  topology shape = topology::direct;
  traffic carries = traffic::all;  // messages: a network of its own for short ones
  std::uint32_t columns = 0;       // of a grid; 0 otherwise
  std::uint32_t rows = 0;          // of a grid; 0 otherwise
  std::uint32_t width_bits = 0;    // of a grid: what a hop carries in a cycle of its clock
  std::uint64_t hertz = 0;         // of a grid

  friend bool operator==(const link&, const link&) = default;
};

// A machine as a tree; tree_builder makes one. What is returned by reference lives as long as the tree. pre: every node
// id that is passed is one of this tree.
class tree {
 public:
  // The machine's name, and what its source says of it; either may be empty.
  [[nodiscard]] const std::string& name() const noexcept { return nodes_.front().name; }
  [[nodiscard]] const std::string& description() const noexcept { return description_; }

  // All nodes, in depth-first order: node i has the id i.
  [[nodiscard]] std::span<const node> nodes() const noexcept { return nodes_; }
  // One node, and the root.
  [[nodiscard]] const node& at(node_id id) const;
  [[nodiscard]] const node& root() const noexcept { return nodes_.front(); }
  // All nodes of a kind, in tree order.
  [[nodiscard]] std::vector<node_id> all(node_kind kind) const;
  // "package 0", "L2 3", "hbm 1", "core 5": unique within the tree.
  [[nodiscard]] std::string label(node_id id) const;

  // Whether a node is this ancestor or lies under it.
  [[nodiscard]] bool is_under(node_id id, node_id ancestor) const noexcept {
    return id >= ancestor && id <= ancestor + nodes_[ancestor].descendants;
  }
  // The lowest node that both lie under. cost: the depth.
  [[nodiscard]] node_id common_ancestor(node_id a, node_id b) const noexcept;
  // The smallest node with all of these processors, of several alike the uppermost; the root where none has.
  [[nodiscard]] node_id covering(const processor_set& processors) const;
  // Whether a node is a processor, as invariant 3 says. cost: linear in what lies under it.
  [[nodiscard]] bool is_processor(node_id id) const;
  // The processor's node with this OS index, no_node where there is none.
  [[nodiscard]] node_id processor(std::uint32_t os_index) const noexcept;
  // The memory with this OS index (a NUMA node's number), no_node where there is none.
  [[nodiscard]] node_id memory(std::uint32_t os_index) const noexcept;
  // The sum of the memories under a node; with devices' own memory only if asked for.
  [[nodiscard]] std::uint64_t memory_bytes(node_id id = root_node, bool with_devices = false) const;
  // Whether the operating system can allocate from it: it has an OS index. Only a device's own memory, and one that
  // processors cannot address, may have none.
  [[nodiscard]] bool is_addressable(node_id memory) const;

  // All records, sorted by (from, memory).
  [[nodiscard]] std::span<const path> paths() const noexcept { return paths_; }
  // What is known of a memory seen from a node: the record of the node itself (or one with the same processors), or
  // else of its nearest ancestor that has one; what that leaves open is taken, for memories local to the node, from the
  // memory's own figures. cost: a binary search for each level up.
  [[nodiscard]] path figures(node_id from, node_id memory) const;

  // All links, in the order of their source.
  [[nodiscard]] std::span<const link> links() const noexcept { return links_; }

  friend bool operator==(const tree&, const tree&) = default;

 private:
  friend class tree_builder;
  tree() = default;
  std::string description_;
  std::vector<node> nodes_;
  std::vector<path> paths_;
  std::vector<link> links_;
};

// Makes trees. Parents come before children; ids given out by add() are the builder's own, renumbered by build().
class tree_builder {
 public:
  static constexpr std::size_t max_nodes = std::size_t{1} << 20;  // of a tree

  // Begins with the root.
  explicit tree_builder(std::string name, std::string description = "");
  // Adds a child behind the parent's other children; the root is node 0. Returns its id. Throws bad_argument for what
  // no machine has, and beyond max_nodes.
  node_id add(node_id parent, node_facts facts);
  // Adds a record; a second one of a pair replaces the first. Throws bad_argument unless it leads from processors or a
  // device to a memory, and where a latency is below zero or not finite.
  void add_path(path record);
  // Adds a link. Throws bad_argument for fewer than two ends, one end twice, an explicit link of an end that is no
  // memory and no device, and a grid without columns, rows, or positions of its ends on them that differ.
  void add_link(link joined);
  // What has been said of a node; may be changed until build(). Throws std::out_of_range for an id that add() has not
  // returned.
  [[nodiscard]] const node_facts& facts(node_id id) const { return nodes_.at(id).facts; }
  [[nodiscard]] node_facts& facts(node_id id) { return nodes_.at(id).facts; }
  // The tree: numbers, checks and completes. Processors, cores, packages and memories (but not devices' own) without an
  // OS index get their index in the tree. Throws bad_argument, with the node's label, where there is no processor,
  // two have the same OS index, or a memory has one that processors cannot address. `ids`, if given, gets the node's id
  // in the tree for each id that add() gave out. cost: n log n.
  [[nodiscard]] tree build(std::vector<node_id>* ids = nullptr) &&;

 private:
  struct pending_node {
    node_facts facts;
    node_id parent;
    std::vector<node_id> children;
  };
  std::string description_;
  std::vector<pending_node> nodes_;
  std::vector<path> paths_;
  std::vector<link> links_;
};

}  // namespace situ::machine
