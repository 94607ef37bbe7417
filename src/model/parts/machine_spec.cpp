#include "model/parts/machine_spec.h"

#include "model/parts/translation_spec.h"

#include <situ/base/error_code.h>
#include <situ/base/units.h>
#include <situ/fabric/detail/endpoint.h>
#include <situ/machine/toml.h>

#include "model/parts/read_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace situ::model {
namespace {

using machine::cache_kind;
using machine::device_kind;
using machine::inclusion;
using machine::node;
using machine::node_id;
using machine::node_kind;

time_ps from_ns(double ns) { return static_cast<time_ps>(std::llround(ns * 1000)); }

class spec_maker {
 public:
  spec_maker(const machine::tree& described, const std::vector<std::string>& where)
      : tree_{described}, where_{where}, cache_of_(described.nodes().size(), none) {}

  machine_spec run() {
    spec_.name = tree_.name();
    spec_.description = tree_.description();
    spec_.described = std::make_shared<const machine::tree>(tree_);
    refuse_message_units();
    find_mesh();
    find_tiles();
    for (node_id id = 0; id < tree_.nodes().size(); ++id)
      if (tree_.at(id).kind == node_kind::cache && tree_.at(id).cache != cache_kind::memory_side) add_cache(id);
    for (node_id id = 0; id < tree_.nodes().size(); ++id)
      if (tree_.is_processor(id) && !is_further_thread(id)) add_core(id);
    add_further_threads();
    side_cache_of_.assign(tree_.nodes().size(), none);
    for (node_id id = 0; id < tree_.nodes().size(); ++id)
      if (tree_.at(id).kind == node_kind::cache && tree_.at(id).cache == cache_kind::memory_side) add_side_cache(id);
    for (const node_id id : tree_.all(node_kind::memory)) add_memory(id);
    for (const node_id id : tree_.all(node_kind::device)) add_device(id);
    check_paths();
    check_inclusion();
    check_peers();
    if (spec_.mesh.columns > 0) check_adapters();
    return std::move(spec_);
  }

 private:
  static constexpr std::uint32_t most_victims = 256;
  static constexpr std::string_view add_adapter =
      "add a [[node]] in its group with kind = \"device\" and device = \"network_adapter\"";

  [[noreturn]] void fail(node_id id, const std::string& message) const {
    const std::string place = id < where_.size() ? where_[id] + ": " : "";
    throw_error(errc::bad_file, fmt::format("{}{}: {}", place, tree_.label(id), message));
  }

  [[nodiscard]] bool has_processors(node_id id) const {
    for (node_id i = id; i <= id + tree_.at(id).descendants; ++i)
      if (tree_.is_processor(i)) return true;
    return false;
  }

  // Only `threads` of a core makes it a core of several threads; further processing units alone do not.
  [[nodiscard]] bool is_further_thread(node_id id) const {
    const node_id parent = tree_.at(id).parent;
    if (tree_.at(id).kind != node_kind::processing_unit || tree_.at(parent).kind != node_kind::core) return false;
    for (node_id i = parent + 1; i < id; ++i)
      if (tree_.at(i).parent == parent && tree_.at(i).kind == node_kind::processing_unit) return true;
    return false;
  }

  // A machine of GAScores is a message_network_spec.
  void refuse_message_units() const {
    const auto is_unit = [](const node& n) { return n.device >= device_kind::gascore; };
    if (std::ranges::none_of(tree_.nodes(), is_unit)) return;
    std::uint64_t bytes = 0;  // of a node's memory
    for (const node_id id : tree_.all(node_kind::memory)) bytes = std::max(bytes, tree_.at(id).bytes);
    fail(
        machine::root_node,
        fmt::format("its nodes run programs for PAMS (docs/design/message_units.md), and none of Situ's: a place needs "
                    "{} of channels for each place that sends to it, and a node has a memory of {}",
                    format_bytes(detail::endpoint::channel_bytes(1)), format_bytes(bytes)));
  }

  void find_mesh() {
    for (const machine::link& joined : tree_.links()) {
      if (joined.shape == machine::topology::direct) continue;
      if (joined.shape == machine::topology::full || joined.shape == machine::topology::ring)
        fail(joined.ends.front(),
             fmt::format("topology = \"{}\" is not modelled for programs; a machine that runs them needs \"mesh\" or "
                         "\"torus\" there",
                         name(joined.shape)));
      const bool is_control = joined.carries == machine::traffic::messages;
      mesh_spec& made = is_control ? spec_.control : spec_.mesh;
      if (made.columns > 0)
        fail(machine::root_node,
             "a modelled machine has one mesh, and perhaps one that carries messages; remove the other");
      const node_id end = joined.ends.front();
      if (joined.width_bits == 0 || joined.width_bits % 8 != 0)
        fail(end, "its mesh needs width_bits, a multiple of 8: what a link carries in a cycle");
      if (joined.hertz == 0) fail(end, "its mesh needs a clock");
      if (joined.latency_ns <= 0) fail(end, "its mesh needs a latency, that of one hop");
      made = {.columns = joined.columns,
              .rows = joined.rows,
              .is_torus = joined.shape == machine::topology::torus,
              .flit_bytes = joined.width_bits / 8,
              .period = period_of(joined.hertz),
              .hop_time = from_ns(joined.latency_ns)};
      if (!is_control) mesh_ends_ = joined.ends;
      if (joined.raw != machine::raw_channels{}) read_raw_channels(joined);
    }
    if (spec_.control.columns > 0 &&
        (spec_.control.columns != spec_.mesh.columns || spec_.control.rows != spec_.mesh.rows))
      fail(machine::root_node, "the network for messages has the columns and rows of the mesh beside it");
  }

  void read_raw_channels(const machine::link& of) {
    const node_id end = of.ends.front();
    if (spec_.raw.bytes > 0)
      fail(end, "one network has raw channels, that for messages; remove raw_bytes of the other");
    if (of.raw.bytes == 0 || of.raw.send_ns <= 0 || of.raw.receive_ns <= 0 || of.raw.queue == 0)
      fail(end, "raw channels need all of raw_bytes, raw_send, raw_receive and raw_queue");
    if (of.raw.bytes > raw_channel_spec::most_bytes)
      fail(end,
           fmt::format("raw_bytes = {} cannot be; at most {} are allowed", of.raw.bytes, raw_channel_spec::most_bytes));
    spec_.raw = {.bytes = of.raw.bytes,
                 .send_time = from_ns(of.raw.send_ns),
                 .receive_time = from_ns(of.raw.receive_ns),
                 .queue = of.raw.queue};
  }

  void find_tiles() {
    tile_of_node_.assign(tree_.nodes().size(), none);
    for (node_id id = 1; id < tree_.nodes().size(); ++id) {
      const machine::coherence by = tree_.at(id).coherent_by;
      if (by == machine::coherence::unknown || !has_processors(id)) continue;
      if (by == machine::coherence::none && !has_adapter(id)) continue;
      if (tile_of_node_[id] != none) fail(id, "lies within a tile; a coherence domain has no others inside");
      add_tile(id);
    }
    if (spec_.tiles.empty()) add_tile(machine::root_node);
    if (spec_.tiles.size() == 1) return;
    const machine::coherence between = tree_.root().coherent_by;
    if (between != machine::coherence::none)
      fail(machine::root_node,
           "coherence between tiles is not modelled; write coherence = \"none\", or let one node "
           "that holds all cores say how they are coherent");
    spec_.coherent = false;
    if (spec_.mesh.columns == 0) fail(machine::root_node, "several tiles need a [[link]] with topology = \"mesh\"");
  }

  // Returns whether the node itself has an adapter, not a group within it.
  [[nodiscard]] bool has_adapter(node_id id) const {
    for (node_id i = id; i <= id + tree_.at(id).descendants; ++i)
      if (tree_.at(i).parent == id && tree_.at(i).device == device_kind::network_adapter) return true;
    return false;
  }

  void add_tile(node_id id) {
    const node& n = tree_.at(id);
    tile_spec tile;
    tile.node = id;
    tile.is_snooped = n.coherent_by != machine::coherence::none;
    tile.name = n.name.empty() ? tree_.label(id) : fmt::format("{} {}", n.name, spec_.tiles.size());
    if ((n.width_bits == 0) != (n.hertz == 0))
      fail(id, "a bus has width_bits and a clock; write both, or none where nothing contends for it");
    if (n.width_bits % 8 != 0) fail(id, "width_bits of a bus is a multiple of 8");
    if (n.hertz > 0) tile.bus_period = period_of(n.hertz);
    tile.bus_bytes = n.width_bits / 8;
    if (spec_.mesh.columns > 0) std::tie(tile.x, tile.y) = position(id);
    for (node_id i = id; i <= id + n.descendants; ++i)
      tile_of_node_[i] = static_cast<std::uint32_t>(spec_.tiles.size());
    spec_.tiles.push_back(std::move(tile));
    tile_nodes_.push_back(id);
  }

  // Returns the position on the mesh of the node itself, or of its nearest ancestor that is an end of the mesh.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> position(node_id id) const {
    for (node_id up = id; up != machine::no_node; up = tree_.at(up).parent)
      if (std::ranges::find(mesh_ends_, up) != mesh_ends_.end()) return {tree_.at(up).x, tree_.at(up).y};
    fail(id, "stands nowhere on the mesh; give its group a position, and name the group in the mesh's ends");
  }

  void add_cache(node_id id) {
    const node& n = tree_.at(id);
    if (n.bytes == 0) fail(id, "a cache needs a size");
    if (n.line_bytes == 0) fail(id, "a cache needs line_bytes");
    if (n.ways == 0) fail(id, "a cache needs ways; 1 for direct mapped");
    if (n.latency_ns <= 0) fail(id, "a cache needs a latency, as a core sees a hit");
    if (n.cache != cache_kind::instruction) {
      if (n.writes == machine::write_policy::unknown)
        fail(id, "a cache of data needs a write_policy: \"write_back\" or \"write_through\"");
      if (n.allocates_on == machine::line_allocation::unknown)
        fail(id, "a cache of data needs allocates_on: \"reads\" or \"reads_and_writes\"");
    }
    if (!std::has_single_bit(n.line_bytes) || n.line_bytes < 4)
      fail(id, fmt::format("line_bytes = {} cannot be; a power of two from 4 on is allowed", n.line_bytes));
    const std::uint64_t way_bytes = std::uint64_t{n.ways} * n.line_bytes;
    const std::uint64_t sets = n.bytes / way_bytes;
    if (n.bytes % way_bytes != 0 || !std::has_single_bit(sets) || sets > (1U << 30))
      fail(id,
           fmt::format("{} bytes in {} ways of lines of {} bytes are {:.6g} sets; a power of two of them is allowed",
                       n.bytes, n.ways, n.line_bytes, static_cast<double>(n.bytes) / static_cast<double>(way_bytes)));
    const replacement_spec replacement = read_replacement(id);
    if (n.outstanding > 0 && n.outstanding_per_core > n.outstanding)
      fail(id, fmt::format("outstanding_per_core = {} cannot be more than outstanding = {}, the misses of all cores; "
                           "leave outstanding out where only each core has a limit",
                           n.outstanding_per_core, n.outstanding));
    check_prefetcher(id);
    if (n.bandwidth_per_core > 0 && n.level == 1)
      fail(id, "bandwidth_per_core is of a cache behind another one, which gets lines from it; remove it here");
    cache_of_[id] = static_cast<std::uint32_t>(spec_.caches.size());
    const std::uint32_t tile = tile_of(id);
    spec_.tiles[tile].caches.push_back(cache_of_[id]);
    spec_.caches.push_back({.name = tree_.label(id),
                            .tile = tile,
                            .level = n.level,
                            .kind = n.cache,
                            .sets = static_cast<std::uint32_t>(sets),
                            .ways = n.ways,
                            .line_bytes = n.line_bytes,
                            .hit_time = from_ns(n.latency_ns),
                            .line_time = line_time_of(n),
                            .write_through = n.writes == machine::write_policy::write_through,
                            .allocates_on_write = n.allocates_on != machine::line_allocation::reads,
                            .replacement = replacement,
                            .inclusion = n.includes == inclusion::unknown ? inclusion::none : n.includes,
                            .outstanding = n.outstanding,
                            .outstanding_per_core = n.outstanding_per_core,
                            .prefetch_streams = n.prefetch_streams,
                            .prefetch_lines = n.prefetch_lines,
                            .prefetch_page = std::max<std::uint64_t>(n.prefetch_page_bytes, 4096),
                            .cores = {}});
    if (n.victim_lines > 0) add_victim_buffer(id);
  }

  // At least a picosecond.
  static time_ps line_time_of(const node& n) {
    if (n.bandwidth_per_core == 0) return 0;
    return std::max<time_ps>(1, from_ns(n.line_bytes * 1e9 / static_cast<double>(n.bandwidth_per_core)));
  }

  // A victim buffer is an exclusive cache of one set behind its cache, which answers in another hit time.
  void add_victim_buffer(node_id id) {
    const std::uint32_t index = cache_of_[id];
    cache_spec& of = spec_.caches[index];
    cache_spec buffer{.name = of.name + "'s victim buffer",
                      .tile = of.tile,
                      .level = of.level,
                      .kind = of.kind,
                      .sets = 1,
                      .ways = tree_.at(id).victim_lines,
                      .line_bytes = of.line_bytes,
                      .hit_time = 2 * of.hit_time,
                      .write_through = of.write_through,
                      .inclusion = inclusion::exclusive,
                      .victims_of = index,
                      .cores = {}};
    if (buffer.ways > most_victims)
      fail(id, fmt::format("victim_lines = {} cannot be; its lines are searched all at once: write {} at most",
                           buffer.ways, most_victims));
    of.victim_buffer = index + 1;
    spec_.tiles[of.tile].caches.push_back(index + 1);
    spec_.caches.push_back(std::move(buffer));
  }

  [[nodiscard]] replacement_spec read_replacement(node_id id) const {
    const node& n = tree_.at(id);
    if ((n.replaces == machine::replacement::random) != (n.replacement_seed > 0))
      fail(
          id,
          "replacement = \"random\" and replacement_seed, a number from 1 on, belong together: each run is then alike; "
          "write both or none");
    if (n.replaces == machine::replacement::tree_plru && !std::has_single_bit(n.ways))
      fail(id, fmt::format("replacement = \"tree_plru\" needs a power of two of ways, not {}: its tree halves them",
                           n.ways));
    if (n.replaces == machine::replacement::unknown) return {};
    // Caches of one family choose differently.
    return {.policy = n.replaces, .seed = n.replacement_seed + (std::uint64_t{spec_.caches.size()} << 32)};
  }

  void check_prefetcher(node_id id) const {
    const node& n = tree_.at(id);
    if ((n.prefetch_streams == 0) != (n.prefetch_lines == 0))
      fail(id,
           "a prefetcher has prefetch_streams and prefetch_lines; write both, or none where there is no prefetcher");
    if (n.prefetch_streams > 0 && n.outstanding == 0 && n.outstanding_per_core == 0)
      fail(id, "a cache with a prefetcher needs outstanding: how many lines may be on their way");
    if (n.prefetch_streams > 0 && n.line_bytes > 4096)
      fail(id, "a prefetcher follows lines of up to 4096 bytes, within a page");
    if (n.prefetch_page_bytes % 4096 != 0) fail(id, "prefetch_page is a multiple of 4 KiB");
  }

  [[nodiscard]] std::uint32_t tile_of(node_id id) const {
    if (tile_of_node_[id] == none)
      fail(id, "lies in no tile; let the group around it say coherence = \"snooping\" or \"directory\"");
    return tile_of_node_[id];
  }

  void add_core(node_id id) {
    core_spec core;
    core.name = tree_.label(id);
    core.tile = tile_of(id);
    std::uint64_t hertz = 0;
    machine::node_facts translation;
    for (node_id up = id; up != machine::no_node; up = tree_.at(up).parent) {
      const node& n = tree_.at(up);
      if (n.kind == node_kind::core || n.kind == node_kind::processing_unit) {
        if (hertz == 0) hertz = n.hertz;
        if (core.cycles == machine::instruction_cycles{}) core.cycles = n.cycles;
        if (core.width == 0) core.width = n.width;
        add_translation(translation, n);
        if (core.window == 0) core.window = n.window;
        if (n.threads > 0) core.threads = n.threads;
        if (n.store_buffer > 0 && core.store_buffer == 1) core.store_buffer = n.store_buffer;
      }
      if (cache_of_[up] == none) continue;
      for (std::uint32_t cache = cache_of_[up]; cache != none; cache = spec_.caches[cache].victim_buffer) {
        spec_.caches[cache].cores.push_back(static_cast<std::uint32_t>(spec_.cores.size()));
        if (n.cache != cache_kind::instruction) core.data_path.push_back(cache);
        if (n.cache != cache_kind::data) core.fetch_path.push_back(cache);
      }
    }
    for (const std::vector<std::uint32_t>* path : {&core.data_path, &core.fetch_path})
      if (!path->empty() && spec_.caches[path->back()].victims_of != none)
        fail(static_cast<node_id>(std::ranges::find(cache_of_, spec_.caches[path->back()].victims_of) -
                                  cache_of_.begin()),
             "a victim buffer is between its cache and the next one; remove victim_lines of the outermost cache");
    if (hertz == 0) fail(id, "a core needs a clock");
    const machine::instruction_cycles& c = core.cycles;
    if (std::ranges::min({c.integer, c.multiply, c.divide, c.floating, c.branch, c.call}) <= 0)
      fail(id,
           "a core needs cycles of each class: { integer = 1, multiply = 4, divide = 35, floating = 4, branch = 1, "
           "call = 3 }");
    core.period = period_of(hertz);
    read_translation(translation, spec_.caches, core, [&](const std::string& message) { fail(id, message); });
    if (c.mispredict > 0 && core.window == 0)
      fail(id, "mispredict is of a core that goes on past a branch; give it a window, or remove mispredict");
    if (core.width > 0 && core.window == 0)
      fail(id, "width is of a core that goes on past a miss; give it a window, or remove width");
    if (core.window > 0) check_window(id, core);
    check_threads(id, core);
    if (core.threads > 1 && tree_.at(id).kind == node_kind::processing_unit)
      core.name = tree_.label(tree_.at(id).parent);
    core.core = static_cast<std::uint32_t>(spec_.cores.size());
    spec_.tiles[core.tile].cores.push_back(core.core);
    spec_.cores.push_back(std::move(core));
  }

  // Checks that the processing units of a core, if there are several, are its hardware threads, and that each thread
  // has an instruction in flight and a store.
  void check_threads(node_id id, const core_spec& core) const {
    if (core.threads == 1) return;
    const node_id parent = tree_.at(id).parent;
    std::uint32_t units = 0;
    if (tree_.at(id).kind == node_kind::processing_unit && tree_.at(parent).kind == node_kind::core)
      for (node_id i = parent + 1; i <= parent + tree_.at(parent).descendants; ++i)
        if (tree_.at(i).kind == node_kind::processing_unit) ++units;
    if (units > 1 && units != core.threads)
      fail(parent, fmt::format("threads = {}, but it has {} processing units; write one number", core.threads, units));
    if (core.window > 0 && std::min(core.window, core.store_buffer) < core.threads)
      fail(id, fmt::format("{} threads share a window of {} and a store buffer of {}; each needs a place in both",
                           core.threads, core.window, core.store_buffer));
  }

  // Adds the threads of cores behind their first ones, which all cores have.
  void add_further_threads() {
    const std::size_t cores = spec_.cores.size();
    bool has_more = true;
    for (std::uint32_t thread = 1; std::exchange(has_more, false); ++thread)
      for (std::size_t core = 0; core < cores; ++core) {
        if (spec_.cores[core].threads <= thread) continue;
        core_spec made = spec_.cores[core];
        const std::uint32_t number = static_cast<std::uint32_t>(spec_.cores.size());
        if (thread == 1) spec_.cores[core].name += " thread 0";
        made.name = fmt::format("{} thread {}", made.name.substr(0, made.name.rfind(" thread ")), thread);
        made.thread = thread;
        for (cache_spec& cache : spec_.caches)
          if (std::ranges::find(cache.cores, made.core) != cache.cores.end()) cache.cores.push_back(number);
        spec_.tiles[made.tile].cores.push_back(number);
        spec_.cores.push_back(std::move(made));
        has_more = true;
      }
  }

  // Checks that a core with a window has a first cache that writes back: only such a cache has stores that wait for
  // lines.
  void check_window(node_id id, const core_spec& core) const {
    if (core.data_path.empty() || spec_.caches[core.data_path.front()].write_through)
      fail(id, "a core with a window needs a first cache that writes back; remove window, or give it one");
    if (spec_.tiles.size() > 1)
      fail(id, "a core with a window stands in a machine whose caches are all coherent; remove window");
  }

  void check_paths() const {
    for (const core_spec& core : spec_.cores)
      for (const std::vector<std::uint32_t>* path : {&core.data_path, &core.fetch_path})
        for (std::size_t i = 1; i < path->size(); ++i) {
          const cache_spec& inner = spec_.caches[(*path)[i - 1]];
          const cache_spec& outer = spec_.caches[(*path)[i]];
          if (outer.line_bytes >= inner.line_bytes && outer.hit_time >= inner.hit_time) continue;
          const auto at = std::ranges::find(cache_of_, (*path)[i]);
          fail(static_cast<node_id>(at - cache_of_.begin()),
               fmt::format("lines and latency are not below those of {} in front of it", inner.name));
        }
  }

  // Checks that a cache with an inclusion has caches in front of it, which an exclusive cache can take whole lines from
  // and give them to. In a machine of several tiles a tile's outermost cache holds all of the tile's lines in any case.
  void check_inclusion() const {
    for (node_id id = 0; id < tree_.nodes().size(); ++id) {
      const inclusion includes = tree_.at(id).includes;
      if (cache_of_[id] == none || includes == inclusion::unknown) continue;
      const std::uint32_t index = cache_of_[id];
      const cache_spec& cache = spec_.caches[index];
      bool is_behind = false;
      bool is_outermost = false;
      for (const core_spec& core : spec_.cores)
        for (const std::vector<std::uint32_t>* path : {&core.data_path, &core.fetch_path}) {
          const auto at = std::ranges::find(*path, index);
          if (at == path->end()) continue;
          is_outermost |= at + 1 == path->end();
          if (at == path->begin()) continue;
          is_behind = true;
          const cache_spec& inner = spec_.caches[*(at - 1)];
          if (includes == inclusion::exclusive && (inner.line_bytes != cache.line_bytes || inner.write_through))
            fail(id,
                 fmt::format("an exclusive cache takes the lines that {} evicts, which needs lines of the same size "
                             "there, and write_policy = \"write_back\"",
                             inner.name));
        }
      if (is_outermost && !spec_.coherent && includes != inclusion::inclusive)
        fail(id, "the outermost cache of one of several tiles holds all lines of its tile; remove inclusion");
      if (!is_behind && includes != inclusion::none)
        fail(id, "no cache is in front of it whose lines it could include or exclude; remove inclusion");
      if (includes == inclusion::exclusive && (cache.write_through || cache.prefetch_streams > 0))
        fail(id,
             "an exclusive cache writes back, and has no prefetcher: its lines are those that others evict; give the "
             "prefetcher to a cache in front of it");
    }
  }

  // Checks that the write-back caches off a core's path have lines of the first cache's size: a write takes the line
  // from all of these caches, and takes the whole line.
  void check_peers() const {
    for (const core_spec& core : spec_.cores) {
      if (core.data_path.empty()) continue;
      const cache_spec& first = spec_.caches[core.data_path.front()];
      for (const std::uint32_t peer : spec_.tiles[core.tile].caches) {
        const cache_spec& other = spec_.caches[peer];
        if (other.kind == cache_kind::instruction || other.write_through || other.line_bytes == first.line_bytes ||
            std::ranges::find(core.data_path, peer) != core.data_path.end())
          continue;
        fail(static_cast<node_id>(std::ranges::find(cache_of_, peer) - cache_of_.begin()),
             fmt::format("lines of {} bytes of a cache that writes back and is not of every core of its tile are those "
                         "of the first caches beside it; {} has lines of {}",
                         other.line_bytes, first.name, first.line_bytes));
      }
    }
  }

  // Checks that memories and tiles on a mesh have network adapters.
  void check_adapters() const {
    for (std::size_t i = 0; i < spec_.memories.size(); ++i)
      if (spec_.memories[i].tile == none && spec_.memories[i].adapter_time == 0)
        fail(memory_nodes_[i], "a memory on a mesh has a network adapter beside it; " + std::string{add_adapter});
    for (std::size_t tile = 0; tile < spec_.tiles.size(); ++tile)
      if (!spec_.tiles[tile].has_adapter)
        fail(tile_nodes_[tile], "a tile on a mesh has a network adapter; " + std::string{add_adapter});
  }

  void add_memory(node_id id) {
    const node& n = tree_.at(id);
    memory_spec memory;
    memory.name = tree_.label(id);
    memory.kind = n.memory;
    memory.node = id;
    memory.bytes = n.bytes;
    if (spec_.mesh.columns > 0) std::tie(memory.x, memory.y) = position(id);
    const std::uint32_t index = static_cast<std::uint32_t>(spec_.memories.size());
    if (n.memory == machine::memory_technology::scratchpad && tile_of_node_[id] != none) {
      memory.tile = tile_of_node_[id];
      if (spec_.tiles[memory.tile].local_memory != none) fail(id, "a tile has one tile-local memory");
      spec_.tiles[memory.tile].local_memory = index;
    }
    memory.side_cache = side_cache_of_[n.parent];
    memory_reader{tree_, spec_, failure()}.read_channels(id, memory);
    spec_.memories.push_back(std::move(memory));
    memory_nodes_.push_back(id);
  }

  void add_side_cache(node_id id) {
    side_cache_of_[id] = static_cast<std::uint32_t>(spec_.side_caches.size());
    spec_.side_caches.push_back(memory_reader{tree_, spec_, failure()}.read_side_cache(id, read_replacement(id)));
  }

  [[nodiscard]] memory_reader::failure failure() const {
    return [this](node_id id, const std::string& message) { fail(id, message); };
  }

  void add_device(node_id id) {
    const node& n = tree_.at(id);
    const std::uint32_t tile = tile_of_node_[id];
    if (n.device == device_kind::network_adapter) {
      if (n.latency_ns <= 0) fail(id, "a network adapter needs a latency, that of one pass");
      if (tile == none) {
        for (std::size_t i = 0; i < memory_nodes_.size(); ++i)
          if (tree_.is_under(memory_nodes_[i], n.parent)) spec_.memories[i].adapter_time = from_ns(n.latency_ns);
        return;
      }
      spec_.tiles[tile].has_adapter = true;
      spec_.tiles[tile].adapter_time = from_ns(n.latency_ns);
      spec_.tiles[tile].adapter_outstanding = std::max(1U, n.entries);
      for (std::size_t i = 0; i < memory_nodes_.size(); ++i)
        if (tile_of_node_[memory_nodes_[i]] == tile) spec_.memories[i].adapter_time = from_ns(n.latency_ns);
    }
    if (n.device <= device_kind::network_adapter) return;
    if (n.hertz == 0) fail(id, "an accelerator needs a clock");
    accelerator_spec unit{.name = n.name.empty() ? tree_.label(id) : fmt::format("{} {}", n.name, n.index),
                          .kind = n.device,
                          .tile = tile,
                          .period = period_of(n.hertz),
                          .entries = n.entries};
    if (spec_.mesh.columns > 0) std::tie(unit.x, unit.y) = position(id);
    for (std::size_t i = 0; i < memory_nodes_.size() && unit.memory == none; ++i)
      if (tree_.is_under(memory_nodes_[i], n.parent)) unit.memory = static_cast<std::uint32_t>(i);
    spec_.accelerators.push_back(std::move(unit));
  }

  const machine::tree& tree_;
  const std::vector<std::string>& where_;
  machine_spec spec_;
  std::vector<node_id> mesh_ends_;
  std::vector<node_id> tile_nodes_;
  std::vector<node_id> memory_nodes_;
  std::vector<std::uint32_t> cache_of_;       // by node
  std::vector<std::uint32_t> tile_of_node_;   // by node
  std::vector<std::uint32_t> side_cache_of_;  // by node
};

}  // namespace

machine_spec machine_spec::from(const machine::tree& described, const std::vector<std::string>& where) {
  return spec_maker{described, where}.run();
}

machine_spec read_machine(const std::string& path) {
  std::vector<std::string> where;
  std::vector<machine::assumption> assumed;
  const machine::tree described = machine::read_toml(path, &where, &assumed);
  machine_spec made = machine_spec::from(described, where);
  made.assumed = std::move(assumed);
  return made;
}

machine_spec parse_machine(std::string_view text, std::string_view file_name) {
  std::vector<std::string> where;
  std::vector<machine::assumption> assumed;
  const machine::tree described = machine::parse_toml(text, file_name, &where, &assumed);
  machine_spec made = machine_spec::from(described, where);
  made.assumed = std::move(assumed);
  return made;
}

}  // namespace situ::model
