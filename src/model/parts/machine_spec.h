// The figures of a machine that the model needs, read from the machine's tree. docs/design/machine.md has the keys of
// machine files.
//
// A *tile* is a coherence domain: cores, their caches, a bus and a network adapter, and perhaps a memory of its own. A
// tree with groups that give `coherence` has a tile per group; a machine without such groups is one tile. A memory tile
// is a group without cores.
//
// The latency of a cache or a tile-local memory is the time from a core's load to its use. A memory behind a network
// has an access time of its own, and the core sees the sum of the times on the way.
//
// machine_spec is a value type. cost of making one: linear in the tree.
#pragma once

#include <situ/machine/toml.h>
#include <situ/machine/tree.h>

#include "model/parts/replacement.h"
#include "model/parts/time.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace situ::model {

inline constexpr std::uint32_t none = ~std::uint32_t{0};  // no such part

// Entries of a translation lookaside buffer.
struct tlb_entries {
  std::uint32_t sets = 0;  // 0: there are none
  std::uint32_t ways = 0;
};

// A translation lookaside buffer: of a first level, or the second one.
struct tlb_spec {
  std::uint32_t sets = 0;  // 0: there is none
  std::uint32_t ways = 0;
  std::uint32_t page_bytes = 0;
  time_ps walk_time = 0;                // of a first level; 0: walks go through the caches
  time_ps hit_time = 0;                 // of the second level, after a miss of the first one
  std::uint32_t walk_instructions = 0;  // of a first level, whose walks the core's own instructions make
  tlb_entries of_2m;  // of a first level: its own ones for larger pages; none: all entries hold all sizes
  tlb_entries of_1g;
};

// A core's clock, and the cost of its instructions without their accesses. A core of several hardware threads is as
// many of these, which share its parts: the first threads of all cores come first, in the order of the file, then the
// second ones, and so on, as Linux numbers processors.
struct core_spec {
  std::string name;  // "core 3"; "core 3 thread 1", if it has several
  std::uint32_t tile = 0;
  std::uint32_t core = 0;     // number of the core: that of its first thread
  std::uint32_t thread = 0;   // which of its hardware threads this is
  std::uint32_t threads = 1;  // how many it has
  time_ps period = 0;
  machine::instruction_cycles cycles;     // cycles of each class
  double width = 0;                       // instructions of several classes a cycle; 0: their cycles add up
  std::uint32_t window = 0;               // instructions in flight; 0: the core waits for each read
  std::uint32_t store_buffer = 1;         // for a core with a window: stores that wait for their lines
  tlb_spec itlb;                          // for instructions
  tlb_spec dtlb;                          // for other accesses
  tlb_spec stlb;                          // the second level, for both
  bool walks_through_caches = false;      // page walks read the page table through the data caches
  std::uint32_t walk_cache = 0;           // entries of its page-walk cache
  std::uint64_t page_bytes = 0;           // usual size of its program's data pages; 0: no DTLB
  std::vector<std::uint32_t> data_path;   // caches from the nearest on
  std::vector<std::uint32_t> fetch_path;  // the same for instructions
};

// One cache.
struct cache_spec {
  std::string name;  // "L1d 3"
  std::uint32_t tile = 0;
  std::uint32_t level = 1;
  machine::cache_kind kind = machine::cache_kind::unified;
  std::uint32_t sets = 0;
  std::uint32_t ways = 0;
  std::uint32_t line_bytes = 0;
  time_ps hit_time = 0;   // from a core's load to its use
  time_ps line_time = 0;  // between lines that one core gets from it; 0: nothing limits them
  bool write_through = false;
  bool allocates_on_write = true;
  replacement_spec replacement;
  machine::inclusion inclusion = machine::inclusion::none;
  std::uint32_t outstanding = 0;           // misses in flight at a time; 0: no limit
  std::uint32_t outstanding_per_core = 0;  // of these, those of one core; 0: no other limit
  std::uint32_t prefetch_streams = 0;      // streams that the prefetcher follows; 0: no prefetcher
  std::uint32_t prefetch_lines = 0;        // lines that it fetches ahead
  std::uint64_t prefetch_page = 0;         // page size in bytes; the prefetcher stops at the end of a page
  std::uint32_t victim_buffer = none;      // the cache that is its victim buffer, the next one of each path
  std::uint32_t victims_of = none;         // of a victim buffer: the cache whose victims it takes
  std::vector<std::uint32_t> cores;        // cores whose path includes the cache
};

// A coherence domain.
struct tile_spec {
  std::string name;  // "compute tile 2", "machine"
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::vector<std::uint32_t> cores;
  std::vector<std::uint32_t> caches;
  std::uint32_t local_memory = none;  // its tile-local memory
  machine::node_id node = machine::root_node;
  bool is_snooped = true;       // its caches see each other's writes
  time_ps bus_period = 0;       // 0: nothing contends for a bus
  std::uint32_t bus_bytes = 0;  // width of one beat
  bool has_adapter = false;
  time_ps adapter_time = 0;               // time of one pass
  std::uint32_t adapter_outstanding = 1;  // operations in flight at a time
};

// The banks of a memory, with the names of data sheets of DRAM for their times.
struct bank_spec {
  std::uint32_t ranks = 1;  // of a channel
  std::uint32_t banks = 0;  // of a rank; 0: they are not modelled
  std::uint32_t row_bytes = 0;
  bool closes_rows = false;  // after each access
  machine::address_mapping mapping = machine::address_mapping::row_bank_column;
  time_ps trcd = 0;
  time_ps trp = 0;
  time_ps tras = 0;
  time_ps trefi = 0;  // 0: no refresh
  time_ps trfc = 0;
};

// One memory.
struct memory_spec {
  std::string name;  // "dram 0", "scratchpad 3"
  machine::memory_technology kind = machine::memory_technology::dram;
  std::uint64_t bytes = 0;
  std::uint32_t tile = none;  // the tile whose local memory it is; none: shared
  machine::node_id node = machine::no_node;
  std::uint32_t x = 0;  // position of its tile on the mesh
  std::uint32_t y = 0;
  time_ps adapter_time = 0;       // time of one pass through the memory's network adapter
  time_ps access_time = 0;        // from a request at its controller to the first bytes; with banks: of a closed row
  time_ps occupancy = 0;          // time for which a burst occupies its channel
  std::uint32_t burst_bytes = 0;  // size of one access; longer accesses continue at the bandwidth
  std::uint64_t bytes_per_second = 0;  // bandwidth of one channel for bytes beyond the first burst
  std::uint32_t channels = 1;          // interleaved by bursts
  bank_spec rows;                      // of each channel
  std::uint32_t side_cache = none;     // the cache in front of it
};

// A cache in front of a memory, at the memory's side.
struct side_cache_spec {
  static constexpr std::uint64_t sets_of_block = 4096;  // whose tags take host memory together
  std::uint64_t sets = 0;                               // a power of two, or a multiple of sets_of_block
  std::uint32_t ways = 0;
  std::uint32_t line_bytes = 0;
  replacement_spec replacement;
  memory_spec data;  // the memory that holds its lines
};

// A 2-D mesh or torus between tiles; columns is 0 if there is no mesh.
struct mesh_spec {
  std::uint32_t columns = 0;
  std::uint32_t rows = 0;
  bool is_torus = false;         // the ends of rows and columns are neighbours
  std::uint32_t flit_bytes = 0;  // bytes that a link carries in a cycle
  time_ps period = 0;            // cycle of a link
  time_ps hop_time = 0;          // time of a packet's head from router to router
};

// The raw channels of the network for messages; bytes is 0 if there are none.
struct raw_channel_spec {
  static constexpr std::uint32_t most_bytes = 256;
  std::uint32_t bytes = 0;   // of a message, at most
  time_ps send_time = 0;     // of the sender, for a message
  time_ps receive_time = 0;  // of the receiver
  std::uint32_t queue = 0;   // messages for a tile, on their way or arrived
};

// A device of the tree, which works next to the cores.
struct accelerator_spec {
  std::string name;  // "graph copy unit 0"
  machine::device_kind kind = machine::device_kind::other;
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t tile = none;    // its compute tile, or none
  std::uint32_t memory = none;  // the memory next to the device
  time_ps period = 0;
  std::uint32_t entries = 0;  // entries of its FIFO
};

// The whole machine. Indices (none: no such part) count within their vector.
struct machine_spec {
  std::string name;
  std::string description;
  bool coherent = true;  // true if there is one tile, or caches are coherent between tiles
  std::vector<core_spec> cores;
  std::vector<cache_spec> caches;
  std::vector<tile_spec> tiles;
  std::vector<memory_spec> memories;
  std::vector<side_cache_spec> side_caches;
  mesh_spec mesh;
  mesh_spec control;     // for messages alone, with equal columns and rows; if absent, `mesh` carries messages
  raw_channel_spec raw;  // of the one that carries messages
  std::vector<accelerator_spec> accelerators;
  std::vector<machine::assumption> assumed;        // figures of the file without a source; empty without a file
  std::shared_ptr<const machine::tree> described;  // what `node` is a node of; null if the specification has no tree

  // Makes a specification from a tree, checks and completes it. `where[node]`, if given, is the node's position in its
  // file. Throws bad_file for a missing figure or an impossible geometry; the message names the node, the error and the
  // allowed values.
  [[nodiscard]] static machine_spec from(const machine::tree& described, const std::vector<std::string>& where = {});
};

// Reads a machine file. Throws bad_file as machine::read_toml and machine_spec::from do, with file and line.
[[nodiscard]] machine_spec read_machine(const std::string& path);
[[nodiscard]] machine_spec parse_machine(std::string_view text, std::string_view file_name);

}  // namespace situ::model
