// The state of a modelled_machine, for the source files that implement its operations.
#pragma once

#include "model/parts/busy_calendar.h"
#include "model/parts/camat.h"
#include "model/parts/instruction_window.h"
#include "model/parts/load_dependence.h"
#include "model/parts/memory_controller.h"
#include "model/parts/mesh.h"
#include "model/parts/miss_registers.h"
#include "model/parts/modelled_machine.h"
#include "model/parts/network_adapter.h"
#include "model/parts/page_homes.h"
#include "model/parts/page_sizes.h"
#include "model/parts/page_tables.h"
#include "model/parts/stream_prefetcher.h"
#include "model/parts/tile_bus.h"
#include "model/parts/tlb.h"
#include "model/parts/wrong_paths.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

namespace situ::model {

struct modelled_machine::impl {
  // Payload of the request packet of a load or an atomic: an address. The paper's words have 4 bytes.
  static constexpr std::uint32_t request_bytes = 4;
  // Largest payload of a packet (assumed: 000 says nothing of its network).
  static constexpr std::uint32_t packet_bytes = 256;

  // The state of a core that continues past a miss.
  struct ahead {
    instruction_window window;
    load_dependence dependence;
    time_ps settled = 0;                  // the core makes no request for an earlier time
    std::uint64_t loads_till_branch = 0;  // number of loads before its last branch
    wrong_paths asked_ahead;
  };
  struct cache_state;
  using path = std::span<cache_state* const>;

  struct cache_state {
    set_associative_cache tags;
    time_ps hit_time = 0;
    time_ps line_time = 0;  // for which a line on its way from here occupies the cache that gets it
    busy_times lines_in;    // when lines of outer caches arrive here
    std::uint32_t index = 0;
    std::uint32_t tile = 0;
    shared_miss_registers under_way;
    stream_prefetcher prefetcher;
    cache_state* next = nullptr;  // the next cache outwards
    std::uint32_t level = 1;
    bool write_through = false;
    bool allocates_on_write = false;
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t evictions = 0;
    std::uint64_t write_backs = 0;
    std::uint64_t invalidations = 0;
    time_ps miss_time = 0;            // for a first cache: time that the core waited for read misses
    std::uint64_t waited_misses = 0;  // number of these misses
    std::uint64_t prefetches = 0;
    std::uint64_t prefetches_late = 0;
    std::uint64_t walk_hits = 0;  // of reads of the page table, which are not among the others
    std::uint64_t walk_misses = 0;
    camat_meter meter;                       // for other caches, and for a first cache whose core continues past a miss
    bool is_met_ahead = false;               // whether this is such a first cache
    bool is_exclusive = false;               // holds what the caches in front of it evict, and loses what they fetch
    bool feeds_exclusive = false;            // the next cache is exclusive
    cache_state* victims_of = nullptr;       // of a victim buffer: the cache whose victims it takes
    bool fills_by_keys = false;              // one of these, inclusive, or with another replacement than the default
    std::vector<cache_state*> inner;         // of an inclusive cache: those in front of it, which hold no other lines
    bool has_victims = false;                // the next cache is its victim buffer
    bool is_used = false;                    // has ever held a line; caches of idle cores are not asked for lines
    std::vector<std::uint32_t> first_of;     // cores whose first data cache this is
    std::unordered_set<std::uint64_t> lost;  // for such a cache: lines lost to other cores, not held since

    // Returns when a line that a request has hit arrives. A prefetched line of which this is the first use is late if it
    // is on its way.
    time_ps arrival(std::uint64_t line, time_ps now) noexcept {
      const time_ps there = under_way.arrival(line, now);
      if (there > now && prefetcher.exists()) [[unlikely]]
        prefetches_late += tags.take_first_use(line) ? 1 : 0;
      return there;
    }
    // Does the same for a line in a victim buffer, which its cache has requested. pre: victims_of.
    [[nodiscard]] time_ps arrival_of_victim(std::uint64_t line, time_ps now) const noexcept {
      return victims_of->under_way.arrival(line, now);
    }
  };
  // The second level of a core's TLBs, and its page-walk cache.
  struct further_translation {
    tlb stlb;
    page_walk_cache walk_cache;
  };
  // An index of a core becomes an address by two instructions if the size is a small multiple of a power of two.
  // One for each hardware thread; those of a core share their TLBs and caches.
  struct alignas(64) core_state {
    std::uint32_t tile = 0;
    std::uint32_t core = 0;  // whose miss registers it takes: that of its first thread
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t atomics = 0;
    std::uint64_t fetches = 0;
    sharing_counts shared;
    time_ps waited = 0;                   // by all accesses, beyond the hit time of the first cache
    time_ps store_free = 0;               // when the core's write buffer is empty
    std::vector<cache_state*> data_path;  // in the order of the core's spec
    std::vector<cache_state*> fetch_path;
    cache_state* first_data = nullptr;  // the first caches of these paths
    cache_state* first_fetch = nullptr;
    bool has_registers = false;       // a cache of these paths has a limit of misses in flight, or a prefetcher
    bool has_victims = false;         // a cache of these paths has a victim buffer
    std::vector<cache_state*> peers;  // used data caches of the tile that are not on the core's path
    tlb itlb;
    tlb dtlb;
    std::shared_ptr<further_translation> further;  // null: walks of a fixed time behind the first TLBs
    std::unique_ptr<ahead> past_misses;            // null if the core waits for each read
  };
  struct range {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint32_t memory;
    bool cacheable;
  };
  // The memory of an address, as a tile sees it.
  struct home {
    std::uint32_t memory;
    bool cacheable;  // by the tile that asks
    bool own;        // true for the tile's own memory
    // The tile that alone caches the address (homed_pages.cpp); page_homes::nobody: each tile does.
    std::uint16_t homed_at = page_homes::nobody;
    [[nodiscard]] bool is_homed() const noexcept { return homed_at != page_homes::nobody; }
  };
  struct memory_routes {
    mesh::route_index there = 0;
    mesh::route_index back = 0;
  };
  struct tile_state {
    tile_bus bus;
    network_adapter adapter;
    grid_position at;
    std::vector<cache_state*> used_caches;  // caches that have held a line
    std::uint64_t last_begin = 0;           // the range that home_of() last found, and its home
    std::uint64_t last_bytes = 0;
    home last_home{};
    std::vector<memory_routes> routes;  // to each memory; empty without a mesh
  };
  // The state of a line in the other caches of a tile.
  struct found_at_peers {
    bool any = false;
    bool dirty = false;
    time_ps time = 0;  // time to get the line from a peer
  };

  explicit impl(machine_spec from);
  void connect_inclusion();
  void map_page_tables();
  void give_translation(const core_spec& core, core_state& to) const;

  // access.cpp
  time_ps access_here(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, access_kind kind, time_ps now);
  time_ps access_line(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, access_kind kind, time_ps now);
  time_ps read(std::uint32_t core, cache_state* first, path caches_on_way, std::uint64_t address, std::uint32_t bytes,
               time_ps now);
  time_ps read_miss(std::uint32_t core, path caches_on_way, std::uint64_t address, std::uint32_t bytes, time_ps now);
  time_ps write(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, time_ps now);
  time_ps write_through(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, const home& where, time_ps now);
  time_ps write_below(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, time_ps now);
  time_ps allocate_below(std::uint32_t core, path way, std::size_t level, std::uint64_t address, time_ps now);
  time_ps atomic(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, access_kind kind, time_ps now);
  time_ps uncached(std::uint32_t core, const home& where, std::uint64_t address, std::uint32_t bytes, bool is_write,
                   time_ps now);
  time_ps get_line(std::uint32_t core, path caches_on_way, const home& where, std::uint64_t address, bool to_own,
                   time_ps now);
  static time_ps ask_outer_victim(path caches_on_way, std::size_t level, std::uint64_t address, time_ps now);
  time_ps get_victim(std::uint32_t core, path caches_on_way, std::uint64_t address, bool to_own, time_ps now);
  std::size_t look_outwards(path caches_on_way, std::uint64_t address);
  // Reserves the way of a line from the cache at `level` to the one in front of it. Returns when the line begins.
  static time_ps send_line(path way, std::size_t level, time_ps now) noexcept {
    const time_ps takes = way[level]->line_time;
    return takes == 0 ? now : way[level - 1]->lines_in.take(now, takes);
  }
  static time_ps free_registers(std::uint32_t core, path missed, time_ps now);
  void keep_request(std::uint32_t core, path way, std::size_t level, std::uint64_t address, time_ps asked,
                    time_ps done);
  void keep_under_way(std::uint32_t core, path missed, std::uint64_t address, time_ps begin, time_ps end,
                      time_ps settled);

  // functional_warming.cpp
  void warm_memory(const home& where, std::uint64_t address, std::uint32_t bytes, bool is_write);
  void warm_line_of_memory(path way, const home& where, std::uint64_t address);
  void warm_read(std::uint32_t core, path all, std::uint64_t address, std::uint32_t bytes);
  void warm_write(std::uint32_t core, std::uint64_t address, std::uint32_t bytes);
  void warm_line(std::uint32_t core, path way, const home& where, std::uint64_t address, bool to_own);
  void warm_write_below(std::uint32_t core, const home& where, std::uint64_t address, std::uint32_t bytes);
  void warm_atomic(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, access_kind kind);
  void warm_remote_atomic(std::uint32_t core, const home& where, std::uint64_t address, std::uint32_t bytes,
                          access_kind kind);

  // page_walks.cpp
  time_ps translate(std::uint32_t core, tlb& first, std::uint64_t address, time_ps now);
  time_ps walk(std::uint32_t core, tlb& first, std::uint64_t address, std::uint32_t shift, time_ps now);
  time_ps read_entry(std::uint32_t core, std::uint64_t address, time_ps now);

  // access_ahead.cpp
  time_ps load_ahead(std::uint32_t core, const window_access& of, time_ps now);
  time_ps store_ahead(std::uint32_t core, const window_access& of, time_ps now);
  void prefetch(std::uint32_t core, path way, std::size_t level, std::uint64_t address, time_ps now);
  bool prefetch_line(std::uint32_t core, path way, std::size_t level, std::uint64_t address, time_ps now);

  time_ps get_from_memory(std::uint32_t core, cache_state& outermost, const home& where, std::uint64_t address,
                          std::uint32_t bus_bytes, time_ps begin);
  found_at_peers ask_peers(const core_state& of, std::uint64_t address, bool to_own);
  void note_taken(cache_state& from, std::uint64_t line, bool is_lost);
  void fill(cache_state& cache, std::uint64_t address, line_state state, time_ps now);
  void fill_missing(cache_state& cache, std::uint64_t address, line_state state, time_ps now);
  void fill_by_keys(cache_state& cache, std::uint64_t address, line_state state, time_ps now);
  void evict(cache_state& cache, const set_associative_cache::victim& gone, bool keeps_clean, time_ps now);
  static bool drop_inner(const cache_state& outer, std::uint64_t line);
  void begin_to_use(cache_state& cache);
  void leave_outermost(cache_state& outer, const set_associative_cache::victim& gone, time_ps now);
  time_ps write_to_memory(std::uint32_t tile, std::uint64_t address, std::uint32_t bytes, time_ps now);
  [[nodiscard]] path path_to(const home& where, path all) const;

  // network_operations.cpp
  time_ps remote_access(std::uint32_t tile, std::uint32_t memory, std::uint64_t address, std::uint32_t bytes,
                        bool is_write, time_ps now);
  time_ps remote_atomic(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, access_kind kind, time_ps now);
  // Returns whether tile and memory share a router, so that no part of the network is between them.
  [[nodiscard]] static bool is_beside(const tile_state& tile, const memory_spec& memory) noexcept {
    return tile.at == grid_position{memory.x, memory.y};
  }
  void snoop_arriving(const memory_controller& target, std::uint64_t address, std::uint64_t bytes);
  // Throws bad_argument if there is no such tile.
  void check_tile(std::uint32_t tile) const;
  time_ps send_packets(grid_position from, grid_position to, std::uint32_t bytes, time_ps now);

  // range_operations.cpp
  time_ps operate_on_range(std::uint32_t core, std::uint64_t begin, std::uint64_t end, bool to_memory, bool drops,
                           time_ps now);
  time_ps operate_on_line(std::uint32_t tile, std::uint32_t cache, std::uint64_t line, line_state state, bool to_memory,
                          bool drops, time_ps now);
  void gather_inner(std::uint32_t tile, std::uint32_t outermost, std::uint64_t begin, std::uint64_t last, bool drops,
                    time_ps now);

  // homed_pages.cpp
  time_ps homed_access(std::uint32_t tile, const home& where, std::uint64_t address, std::uint32_t bytes,
                       access_kind kind, time_ps now);
  time_ps homed_atomic(std::uint32_t tile, const home& where, std::uint64_t address, std::uint32_t bytes,
                       access_kind kind, time_ps now);
  void warm_homed(const home& where, std::uint64_t address, std::uint32_t bytes, bool is_write);
  struct served_at_home {
    time_ps done = 0;   // when the home can answer
    time_ps there = 0;  // when the answer has arrived, if it comes from the memory; 0: the home answers
  };
  served_at_home serve_at_home(std::uint32_t asks, const home& where, std::uint64_t address, std::uint32_t bytes,
                               access_kind kind, time_ps now);
  served_at_home fetch_for_home(std::uint32_t asks, const home& where, std::uint64_t line, std::uint32_t line_bytes,
                                std::uint32_t bytes, time_ps now);
  void take_inner_of_home(cache_state& outermost, std::uint64_t begin, std::uint64_t last, bool drops, time_ps now);
  time_ps settle_homed(std::uint64_t begin, std::uint64_t bytes, bool drops, time_ps now);
  void drop_homed_elsewhere();
  time_ps operate_on_lines(std::uint32_t tile, std::uint64_t begin, std::uint64_t end, bool drops, time_ps now);
  void check_home(std::uint64_t begin, std::uint64_t end, std::uint32_t tile) const;

  // unit_operations.cpp
  [[nodiscard]] std::uint32_t outermost_of_tile(std::uint32_t tile) const;

  [[nodiscard]] home home_of(std::uint64_t address, std::uint32_t tile) {
    const tile_state& of = tiles[tile];
    return address - of.last_begin < of.last_bytes ? of.last_home : find_home(address, tile);
  }
  home find_home(std::uint64_t address, std::uint32_t tile);
  void notify(std::uint32_t tile, std::uint64_t line, std::uint32_t line_bytes, line_event what, bool was_dirty) {
    if (observer != nullptr) observer->on_line(tile, line, line_bytes, what, was_dirty);
  }

  machine_spec spec;
  std::vector<core_state> cores;
  std::vector<cache_state> caches;  // never reallocated: other objects point to elements
  std::vector<tile_state> tiles;
  std::vector<memory_controller> memories;
  std::optional<mesh> network;
  std::optional<mesh> control;  // for messages, if they do not use `network`
  std::vector<range> ranges;    // sorted, disjoint
  page_homes homes;
  page_sizes pages;
  bool walks_through_caches = false;             // of a core of the machine
  std::vector<std::uint64_t> walk_instructions;  // of each core's walks in software
  bool is_walking = false;                       // the caches are asked for an entry of the page table
  bool is_warming = false;  // accesses change what caches hold, but take no time and are not counted
  std::function<page_home(std::uint64_t address, std::uint32_t tile)> finder;
  line_observer* observer = nullptr;
  sharing_observer* sharing = nullptr;
};

}  // namespace situ::model
