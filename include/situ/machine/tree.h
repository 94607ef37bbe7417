// The place tree: a machine as a tree of packages, caches, cores, processors, memories and devices.
//
// It is the hierarchical place tree of Yan, Brightwell and Sun (MCHPC 2017, section 3.1): a program, a compiler or a
// runtime sees a machine with as much detail as it asks for (view.h). Sources: this machine or a recorded one
// (discover.h), or a specification (toml.h).
//
// Invariants of a tree
//   1. Nodes lie in one array in depth-first order; the root is node 0 and the only node of kind machine. So node ids
//      grow downwards, and the nodes under n are n+1 .. n+descendants.
//   2. A memory hangs under the node whose processors are near to it, next to that node's caches and cores.
//   3. A processor is a processing_unit, or a core that has none. processors(n) is the set of those under n; for a node
//      with none under it (memories, devices, memory-side caches) that of its parent: the processors it is local to.
//   4. OS indices of processors are distinct; so are those of memories.
//   5. Paths are sorted by (from, memory) and name each pair at most once.
//   6. A link has two ends or more, nodes of the tree, each once; links stand in the order in which they were added.
//      The ends of a full link have one parent; those of a ring stand in tree order.
//
// A tree is an immutable value: cheap to read from any thread. cost: accessors are loads; searches are linear in the
// nodes.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/machine/pim.h>
#include <situ/machine/processor_set.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace situ::machine {

// The kind of a node of the tree.
enum class node_kind : std::uint8_t {
  machine,
  package,
  group,
  cache,
  core,
  processing_unit,
  memory,
  device,
  agent,  // a worker of an accelerator: a program gives work to the agent's device through it
};

// The technology or the position of a memory.
enum class memory_technology : std::uint8_t {
  dram,        // a processor's main memory
  hbm,         // on-package or stacked memory that processors address: MCDRAM, HBM2e
  persistent,  // keeps its bytes without power: Optane
  cxl,         // behind a CXL link
  gpu,         // a device's own memory
  scratchpad,  // software-managed SRAM, as in a manycore's tile
  file,        // backed by a file
  pim,         // DRAM that computes on its rows (pim.h)
};

// The contents of a cache; a memory-side cache stands before a memory and is shared by all users of the memory.
enum class cache_kind : std::uint8_t { unified, data, instruction, memory_side };
// The purpose of a device.
enum class device_kind : std::uint8_t {
  other,
  gpu,
  network,
  storage,
  network_adapter,   // connects a tile to the network of its chip
  dma,               // copies bytes without a processor
  range_operations,  // writes back and invalidates ranges of a cache
  graph_writeback,   // writes back and invalidates all objects that a graph reaches
  graph_copy,        // copies object graphs next to a memory
  gascore,  // sends and receives active messages for a node, and copies their bytes (docs/design/message_units.md)
  pams,     // a sequencer that sends active messages and counts those that arrive
  bridge,   // leads from the network of a chip to another chip
};

// A rough comparison of memories, for properties without figures.
enum class grade : std::uint8_t { unknown, low, medium, high };
// The smallest unit in which a memory is accessed.
enum class addressability : std::uint8_t {
  unknown,
  byte,
  block,  // a word, a burst or a line
  page,   // a page, as a storage device reads and writes
  none,   // processors do not address it: bytes are copied over an explicit link
};

// The treatment of writes by a cache: it passes them on at once, or keeps them until the line is evicted.
enum class write_policy : std::uint8_t { unknown, write_back, write_through };
// The accesses that allocate a line in a cache.
enum class line_allocation : std::uint8_t { unknown, reads, reads_and_writes };
// The choice of the line that a full set of a cache evicts: the least recently used one, which unknown means to a model,
// or an approximation (src/model/parts/replacement.h).
enum class replacement : std::uint8_t { unknown, lru, tree_plru, srrip, random };
// The relation of a cache's lines to those of the caches in front of it: none (which unknown means to a model), all of
// their lines (inclusive), or none of their lines (exclusive).
enum class inclusion : std::uint8_t { unknown, none, inclusive, exclusive };
// The treatment of a row of a memory's bank after an access: it stays open for the next access, or is closed.
enum class page_policy : std::uint8_t { unknown, open, closed };
// The order of an address's parts within a channel, the highest first: columns of a row, banks, rows. With `permutation`
// the order is that of row_bank_column, and the bank's number is the exclusive or with the row's (Zhang, Zhu and Zhang,
// MICRO 2000).
enum class address_mapping : std::uint8_t { unknown, row_bank_column, row_column_bank, permutation };
// The time of a page walk: a fixed one, which unknown means to a model, or that of reads of the page table through the
// core's caches.
enum class page_walks : std::uint8_t { unknown, fixed, through_caches };
// The mechanism that keeps the caches under a node coherent with each other. For the machine, `none` says that the
// groups that have a mechanism inside are not coherent with each other: the tiles of a non-coherent machine. For a
// group with a network adapter it says that the group is such a tile, and that its own caches are not kept coherent,
// either.
enum class coherence : std::uint8_t { unknown, none, snooping, directory };

// The kind of a connection beside the tree.
enum class link_kind : std::uint8_t {
  coherent,    // an interconnect for loads and stores that keeps caches coherent
  copying,     // bytes cross it only if a program copies them; machine files call it "explicit"
  incoherent,  // loads and stores cross it, but caches at its ends are not kept coherent
};
// The connections between a link's ends: each to each, or on a grid by their positions; in a torus the last column and
// row are neighbours of the first. `full` is each to each of the ends under one node, by ways of their own with a width
// and a clock. In a `ring` each end is joined to the next one in tree order, and the last to the first.
enum class topology : std::uint8_t { direct, mesh, torus, full, ring };
// The traffic that a link carries.
enum class traffic : std::uint8_t { all, messages };

// Returns a kind in the spelling of machines/: "processing_unit", "hbm".
[[nodiscard]] std::string_view name(node_kind kind) noexcept;
[[nodiscard]] std::string_view name(memory_technology kind) noexcept;
[[nodiscard]] std::string_view name(cache_kind kind) noexcept;
[[nodiscard]] std::string_view name(device_kind kind) noexcept;
[[nodiscard]] std::string_view name(grade how_much) noexcept;
[[nodiscard]] std::string_view name(addressability unit) noexcept;
[[nodiscard]] std::string_view name(link_kind kind) noexcept;
[[nodiscard]] std::string_view name(write_policy policy) noexcept;
[[nodiscard]] std::string_view name(line_allocation when) noexcept;
[[nodiscard]] std::string_view name(replacement by) noexcept;
[[nodiscard]] std::string_view name(inclusion how) noexcept;
[[nodiscard]] std::string_view name(page_policy how) noexcept;
[[nodiscard]] std::string_view name(address_mapping how) noexcept;
[[nodiscard]] std::string_view name(page_walks how) noexcept;
[[nodiscard]] std::string_view name(coherence how) noexcept;
[[nodiscard]] std::string_view name(topology shape) noexcept;
[[nodiscard]] std::string_view name(traffic what) noexcept;

// A node's number in its tree; it has no meaning in another tree, or in a view.
using node_id = std::uint32_t;
inline constexpr node_id no_node = ~node_id{0};  // no node
inline constexpr node_id root_node = 0;          // the machine
// an index that is not known, or that the operating system does not give
inline constexpr std::uint32_t no_index = ~std::uint32_t{0};

// Cycles of a core's instructions, without the time that their accesses wait. Zero means unknown.
struct instruction_cycles {
  double integer = 0;     // additions, logic, moves; loads and stores that hit the first cache
  double multiply = 0;    // of integers
  double divide = 0;      // of integers
  double floating = 0;    // additions and multiplications
  double branch = 0;      // taken or not
  double call = 0;        // calls and returns
  double mispredict = 0;  // added if a branch was mispredicted; zero: every branch is predicted

  friend bool operator==(const instruction_cycles&, const instruction_cycles&) = default;
};

// A core's translation lookaside buffer, or its entries for one size of pages. Zero entries: it is not modelled.
struct tlb {
  std::uint32_t entries = 0;
  std::uint32_t ways = 0;               // if equal to entries: fully associative
  std::uint64_t page_bytes = 0;         // of a first level: page size that an entry translates
  double walk_cycles = 0;               // of a first level: core cycles of a page walk
  double hit_cycles = 0;                // of a second level: core cycles after a miss of the first one
  std::uint32_t walk_instructions = 0;  // of a first level: instructions of a walk in software; 0: hardware walks

  friend bool operator==(const tlb&, const tlb&) = default;
};

// The banks of a memory, with the names that data sheets of DRAM have for its times. Zero banks: they are not modelled.
struct dram_banks {
  std::uint32_t ranks = 0;      // of a channel; 0: one
  std::uint32_t banks = 0;      // of a rank
  std::uint32_t row_bytes = 0;  // bytes of a row, in all chips of the rank
  page_policy policy = page_policy::unknown;
  address_mapping mapping = address_mapping::unknown;
  double trcd_ns = 0;   // from the activation of a row to its first column
  double trp_ns = 0;    // from the precharge of a bank to its next activation
  double tras_ns = 0;   // from the activation of a row to the precharge, at least
  double trefi_ns = 0;  // from one refresh of a rank to the next
  double trfc_ns = 0;   // length of a refresh

  friend bool operator==(const dram_banks&, const dram_banks&) = default;
};

// The facts that a source gives for a node. Zero means unknown for every figure.
struct node_facts {
  node_kind kind = node_kind::group;
  memory_technology memory = memory_technology::dram;  // of a memory
  cache_kind cache = cache_kind::unified;              // of a cache
  device_kind device = device_kind::other;             // of a device
  std::uint32_t level = 0;                             // of a cache: 1 is nearest to the core
  std::uint32_t os_index = no_index;  // the operating system's index; memories that have one can be allocated from
  std::string name;                   // model, interface or local name: "Xeon Max 9480", "eth0", "mcdram"
  std::uint64_t bytes = 0;            // capacity of a memory or cache
  std::uint32_t line_bytes = 0;       // of a cache
  std::uint32_t ways = 0;             // of a cache: associativity
  std::uint64_t hertz = 0;            // clock of a core or processor
  double latency_ns = 0;              // of a memory or cache: one dependent load, seen from a near core
  // bytes per second that all its near cores together can read, or that a device's link carries
  std::uint64_t bandwidth = 0;
  // of a memory or cache, if reads and writes differ; as of a path
  double read_latency_ns = 0;
  double write_latency_ns = 0;
  std::uint64_t read_bandwidth = 0;
  std::uint64_t write_bandwidth = 0;
  // of a memory or cache: the other properties that table 1 of the paper compares
  grade leakage = grade::unknown;      // power without accesses
  grade read_power = grade::unknown;   // power of accesses
  grade write_power = grade::unknown;  // power of accesses
  std::uint64_t density_bytes = 0;     // usual capacity of a part of this technology, in order of magnitude
  addressability unit = addressability::unknown;
  // The other figures that a model needs (src/model).
  write_policy writes = write_policy::unknown;              // of a cache
  line_allocation allocates_on = line_allocation::unknown;  // of a cache
  replacement replaces = replacement::unknown;              // of a cache
  std::uint32_t replacement_seed = 0;                       // of a cache with random replacement
  inclusion includes = inclusion::unknown;                  // of a cache
  coherence coherent_by = coherence::unknown;               // of the machine, a package or a group
  std::uint32_t x = no_index;                               // of a package, group or device: its column on a grid
  std::uint32_t y = no_index;                               // and its row
  std::uint32_t width_bits = 0;    // of a group: bits that its bus carries in a cycle of its clock
  double access_ns = 0;            // of a memory: from its controller's side, without the time to reach it
  double occupancy_ns = 0;         // of a memory: time that a burst occupies a channel
  std::uint32_t burst_bytes = 0;   // of a memory: bytes that one access reads or writes
  std::uint32_t channels = 0;      // of a memory
  dram_banks rows;                 // of a memory or a memory-side cache
  pim_figures computes;            // of a memory that computes
  std::uint32_t victim_lines = 0;  // of a cache: lines of its victim buffer
  std::uint32_t entries = 0;       // of a device: entries that it holds, or operations under way at a time
  instruction_cycles cycles;       // of a core
  tlb itlb;                        // of a core: for its instructions
  tlb dtlb;                        // of a core: for its data
  tlb itlb_2m;                     // of a core: its ITLB's entries for pages of 2 MiB
  tlb itlb_1g;                     // and of 1 GiB
  tlb dtlb_2m;                     // the same of its DTLB
  tlb dtlb_1g;
  tlb stlb;                                // of a core: its second level, for instructions and data
  page_walks walks = page_walks::unknown;  // of a core
  std::uint32_t walk_cache = 0;            // of a core: entries of its page-walk cache
  std::uint64_t page_size_bytes = 0;       // of a core: its program's data pages; 0: those of its DTLB
  double width = 0;                        // of a core: instructions of several classes a cycle; 0: they add up
  std::uint32_t window = 0;                // of a core: instructions under way, so that it continues past a miss
  std::uint32_t store_buffer = 0;          // of a core with a window: stores that wait for their lines
  std::uint32_t threads = 0;               // of a core: hardware threads of it that run programs; 0: one
  std::uint32_t outstanding = 0;           // of a cache: most misses outstanding at a time, of all cores
  std::uint32_t outstanding_per_core = 0;  // of a cache that cores share: most of these that are one core's
  std::uint64_t bandwidth_per_core = 0;    // of a cache: bytes a second that one core reads of lines in it
  std::uint32_t prefetch_streams = 0;      // of a cache: streams that its prefetcher follows
  std::uint32_t prefetch_lines = 0;        // of a cache: lines that it prefetches ahead in each stream
  std::uint64_t prefetch_page_bytes = 0;   // of a cache: boundary that its prefetcher does not cross; 4 KiB

  friend bool operator==(const node_facts&, const node_facts&) = default;
};

// The TLBs of a core, by their keys in machine files.
inline constexpr std::pair<std::string_view, tlb node_facts::*> tlb_keys[] = {
    {"itlb", &node_facts::itlb}, {"itlb_2m", &node_facts::itlb_2m}, {"itlb_1g", &node_facts::itlb_1g},
    {"dtlb", &node_facts::dtlb}, {"dtlb_2m", &node_facts::dtlb_2m}, {"dtlb_1g", &node_facts::dtlb_1g},
    {"stlb", &node_facts::stlb}};

// A node of a tree: the facts from its source, and its position in the tree.
struct node : node_facts {
  node_id parent = no_node;  // no_node for the root
  std::uint32_t depth = 0;   // the root's is 0
  std::uint32_t index = 0;   // number among the nodes of its kind (for caches: of its level and kind) in tree order
  std::uint32_t descendants = 0;  // the nodes under it, at any depth
  std::vector<node_id> children;
  processor_set processors;  // the processors under it; invariant 3

  friend bool operator==(const node&, const node&) = default;
};

// Latency and bandwidth of one memory, seen from one part of the machine. Zero means unknown.
struct path {
  node_id from = no_node;  // any node with processors, or a device
  node_id memory = no_node;
  double latency_ns = 0;              // of reads and writes alike, or their mean
  double read_latency_ns = 0;         // if reads and writes differ
  double write_latency_ns = 0;        // if reads and writes differ
  std::uint64_t bandwidth = 0;        // bytes per second
  std::uint64_t read_bandwidth = 0;   // bytes per second
  std::uint64_t write_bandwidth = 0;  // bytes per second
  std::uint32_t distance = 0;         // as in ACPI's SLIT: 10 is local

  // Returns the figure that placement uses, in ns and bytes per second: that of reads if it is known, since loads wait
  // and stores do not.
  [[nodiscard]] double latency() const noexcept { return read_latency_ns > 0 ? read_latency_ns : latency_ns; }
  [[nodiscard]] std::uint64_t best_bandwidth() const noexcept {
    return read_bandwidth > 0 ? read_bandwidth : bandwidth;
  }
  friend bool operator==(const path&, const path&) = default;
};

// The raw channels of a grid: messages that a core itself puts into the network. Zero bytes: it has none.
struct raw_channels {
  std::uint32_t bytes = 0;  // of a message, at most
  double send_ns = 0;       // the sender's time for a message
  double receive_ns = 0;    // the receiver's
  std::uint32_t queue = 0;  // messages for a tile, on their way or arrived, for which there is room

  friend bool operator==(const raw_channels&, const raw_channels&) = default;
};

// An interconnect, or a link between two memories. Zero means unknown.
struct link {
  link_kind kind = link_kind::coherent;
  std::string name;             // "HyperTransport", "PCIe 3.0 x16"
  double latency_ns = 0;        // between two ends; for a grid or a ring, of one hop
  std::uint64_t bandwidth = 0;  // bytes per second, each way between two ends
  std::vector<node_id> ends;    // two or more
  topology shape = topology::direct;
  traffic carries = traffic::all;  // messages: a separate network for short messages
  std::uint32_t columns = 0;       // of a grid; 0 otherwise
  std::uint32_t rows = 0;          // of a grid; 0 otherwise
  std::uint32_t width_bits = 0;    // bits that a hop carries in a cycle of its clock; not of a direct link
  std::uint64_t hertz = 0;         // not of a direct link
  raw_channels raw;                // of a grid
  std::uint32_t queue = 0;  // of a full link or a ring: words of `width_bits` for which each of its FIFOs has room

  friend bool operator==(const link&, const link&) = default;
};

// A machine as a tree; tree_builder makes one. References that a function returns are valid as long as the tree. pre:
// every node id that is passed is one of this tree.
class tree {
 public:
  // Returns the machine's name; description() returns the text of its source. Either may be empty.
  [[nodiscard]] const std::string& name() const noexcept { return nodes_.front().name; }
  [[nodiscard]] const std::string& description() const noexcept { return description_; }

  // Returns all nodes in depth-first order: node i has the id i.
  [[nodiscard]] std::span<const node> nodes() const noexcept { return nodes_; }
  // at() returns the node with this id, root() the root.
  [[nodiscard]] const node& at(node_id id) const;
  [[nodiscard]] const node& root() const noexcept { return nodes_.front(); }
  // Returns all nodes of a kind, in tree order.
  [[nodiscard]] std::vector<node_id> all(node_kind kind) const;
  // Returns a name that is unique within the tree: "package 0", "L2 3", "hbm 1", "core 5".
  [[nodiscard]] std::string label(node_id id) const;

  // Returns whether a node is `ancestor` or lies under it.
  [[nodiscard]] bool is_under(node_id id, node_id ancestor) const noexcept {
    return id >= ancestor && id <= ancestor + nodes_[ancestor].descendants;
  }
  // Returns the lowest node that both lie under. cost: the depth.
  [[nodiscard]] node_id common_ancestor(node_id a, node_id b) const noexcept;
  // Returns the smallest node that has all of these processors, the uppermost of several with the same set; the root if
  // no node has them.
  [[nodiscard]] node_id covering(const processor_set& processors) const;
  // Returns whether a node is a processor, by invariant 3. cost: linear in the nodes under it.
  [[nodiscard]] bool is_processor(node_id id) const;
  // Returns the processor with this OS index, or no_node.
  [[nodiscard]] node_id processor(std::uint32_t os_index) const noexcept;
  // Returns the memory with this OS index (a NUMA node's number), or no_node.
  [[nodiscard]] node_id memory(std::uint32_t os_index) const noexcept;
  // Returns the sum of the memories under a node, without devices' own memory unless with_devices is set.
  [[nodiscard]] std::uint64_t memory_bytes(node_id id = root_node, bool with_devices = false) const;
  // Returns whether the operating system can allocate from the memory: it has an OS index. Only a device's own memory,
  // and a memory that processors cannot address, may have none.
  [[nodiscard]] bool is_addressable(node_id memory) const;

  // Returns all paths, sorted by (from, memory).
  [[nodiscard]] std::span<const path> paths() const noexcept { return paths_; }
  // Returns the figures of a memory seen from a node: the path of the node itself (or of one with the same processors),
  // or else of its nearest ancestor that has one. For nodes that the memory is local to, the memory's own figures
  // replace unknown ones. cost: a binary search for each level up.
  [[nodiscard]] path figures(node_id from, node_id memory) const;

  // Returns all links, in the order of their source.
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

// Makes trees. Parents are added before their children; ids from add() are the builder's own, and build() renumbers
// them.
class tree_builder {
 public:
  static constexpr std::size_t max_nodes = std::size_t{1} << 20;  // of a tree

  // Makes the root.
  explicit tree_builder(std::string name, std::string description = "");
  // Adds a child after the parent's other children; the root is node 0. Returns its id. Throws bad_argument for facts
  // that no machine can have, and if the tree would exceed max_nodes. A memory that computes and has no size gets that
  // of its cells.
  node_id add(node_id parent, node_facts facts);
  // Adds a path; a second path of the same pair replaces the first. Throws bad_argument unless it leads from processors
  // or a device to a memory, and if a latency is below zero or not finite.
  void add_path(path record);
  // Adds a link. Throws bad_argument for fewer than two ends, one end twice, an explicit link with an end that is
  // neither memory nor device (in a full link or a ring, nor package or group), a grid that lacks columns, rows, or
  // distinct positions of its ends on them, a full link with ends under several nodes or with memories, and a figure
  // that links of the shape do not have.
  void add_link(link joined);
  // Returns the facts of a node, which may be changed until build(). Throws std::out_of_range for an id that add() has
  // not returned.
  [[nodiscard]] const node_facts& facts(node_id id) const { return nodes_.at(id).facts; }
  [[nodiscard]] node_facts& facts(node_id id) { return nodes_.at(id).facts; }
  // Numbers, checks and completes the tree, and returns it. Processors, cores, packages and memories (but not devices'
  // own) without an OS index get their index in the tree. Throws bad_argument, with the node's label, if there is no
  // processor, two processors or two memories have the same OS index, or a memory that processors cannot address has
  // one. `ids`, if given, gets the node's id in the tree for each id that add() returned. cost: n log n.
  [[nodiscard]] tree build(std::vector<node_id>* ids = nullptr) &&;

 private:
  struct pending_node {
    node_facts facts;
    node_id parent;
    std::vector<node_id> children;
  };
  void check_shape(const link& joined) const;
  std::string description_;
  std::vector<pending_node> nodes_;
  std::vector<path> paths_;
  std::vector<link> links_;
};

}  // namespace situ::machine
