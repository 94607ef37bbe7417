#include "model/execution/graph_devices.h"

#include <situ/base/error.h>
#include <situ/graph/detail/arena.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "model/graph_units/graph_copy_unit.h"
#include "model/graph_units/graph_writeback_unit.h"
#include "model/graph_units/machine_memory.h"
#include "model/graph_units/machine_ports.h"
#include "model/graph_units/range_operations_unit.h"

namespace situ::model {

graph_devices* the_graph_devices = nullptr;

namespace {

constexpr std::size_t no_limit = ~std::size_t{0};
constexpr std::uint64_t trigger_cycles = 10;  // of a core's request to a unit of its tile; assumed
constexpr std::uint32_t trigger_bytes = 32;   // a request to a copy unit: its eight words; assumed
constexpr std::uint32_t task_bytes = 64;      // a task that is spawned on a tile; assumed, as a message's cell
constexpr std::size_t buffer_alignment = 4096;

const accelerator_spec* find_unit(const machine_spec& spec, machine::device_kind kind,
                                  std::uint32_t accelerator_spec::* where, std::uint32_t index) {
  for (const accelerator_spec& each : spec.accelerators)
    if (each.kind == kind && each.*where == index) return &each;
  return nullptr;
}

// Returns whether every tile with cores has a device of this kind.
bool every_tile_has(const machine_spec& spec, machine::device_kind kind) {
  for (std::uint32_t tile = 0; tile < spec.tiles.size(); ++tile)
    if (!spec.tiles[tile].cores.empty() && find_unit(spec, kind, &accelerator_spec::tile, tile) == nullptr)
      return false;
  return true;
}

tagged_types types_of_program() {
  return {.find = &situ_model_find_tagged,
          .derives = [](const detail::type_descriptor& type, const detail::type_descriptor& base) noexcept {
            return situ_model_derives_from(&type, &base);
          }};
}

void note_failure(graph_work& work, const std::exception& failure) {
  const auto* const known = dynamic_cast<const error*>(&failure);
  work.error_code = 1 + static_cast<std::uint32_t>(known != nullptr ? known->code() : errc::out_of_memory);
  const std::string_view text = known != nullptr ? std::string_view{known->message()} : failure.what();
  const std::size_t length = std::min(text.size(), sizeof work.error_text - 1);
  std::memcpy(work.error_text, text.data(), length);
  work.error_text[length] = '\0';
}

part_counters counters_of(const unit_thread& unit, std::vector<std::pair<std::string, std::uint64_t>> more) {
  const unit_thread::counters& its = unit.counted();
  part_counters made{unit.name(),
                     "graph unit",
                     {{"operations", its.works},
                      {"busy_ps", its.busy},
                      {"waiting_ps", its.waiting},
                      {"most_waiting", its.most_waiting},
                      {"blocked", its.blocked}}};
  for (auto& each : more) made.values.push_back(std::move(each));
  return made;
}

void fill(graph_work& work, const graph_request& request) {
  work.place = request.place;
  work.reader = request.reader;
  work.roots = {request.roots, request.root_count};
  work.objects = request.objects;
  work.finalizers = request.finalizers;
  work.destination = request.destination;
  work.head_bytes = request.head_bytes;
  work.destination_bytes = request.destination_bytes;
  work.destination_finalizers = request.destination_finalizers;
  work.room = request.room;
  work.over = request.over;
  work.context = request.context;
}

unit_memory_timing timing_of_own_memory(const memory_spec& memory, time_ps period) {
  const std::uint64_t cycles = std::max<std::uint64_t>(memory.access_time / period, 1);
  return {.period = period, .read_cycles = cycles, .write_cycles = cycles, .clear_start_cycles = cycles};
}

}  // namespace

// --- units ---

struct graph_devices::near_cache {
  near_cache(engine& runs, modelled_machine& machine, std::uint32_t of, const accelerator_spec& walks,
             const accelerator_spec& drops)
      : tile{of},
        walk_thread{runs, fmt::format("graph writeback, {}", machine.spec().tiles[of].name), no_limit},
        range_thread{runs, fmt::format("range operations, {}", machine.spec().tiles[of].name), no_limit},
        walk_cache{machine, of, walks.period, &walk_thread},
        range_cache{machine, of, 0, &range_thread},
        own_memory{machine, machine.spec().tiles[of].local_memory,
                   timing_of_own_memory(machine.spec().memories[machine.spec().tiles[of].local_memory], walks.period),
                   &walk_thread},
        walk{walk_cache, own_memory, {}, {.period = walks.period}, {}, types_of_program()},
        range{range_cache, drops.period} {}

  time_ps write_back(graph_work& work, time_ps begin) {
    try {
      const writeback_result found = walk.write_back(work.roots, begin);
      work.objects = found.objects;
      work.blocks = found.arrays;
      work.room_bytes = found.room_bytes;
      work.finalizers = found.finalizers;
      work.alignment = std::max<std::uint32_t>(found.alignment, 16);
      objects += found.objects;
      lines += found.lines;
      modified_lines += found.modified_lines;
      return found.end;
    } catch (const std::exception& failure) {
      note_failure(work, failure);
      return walk_thread.now();
    }
  }

  std::uint32_t tile;
  unit_thread walk_thread;
  unit_thread range_thread;
  tile_cache_port walk_cache;
  tile_cache_port range_cache;
  machine_memory own_memory;
  graph_writeback_unit walk;
  range_operations_unit range;
  std::uint64_t objects = 0;
  std::uint64_t lines = 0;
  std::uint64_t modified_lines = 0;
};

struct graph_devices::near_memory {
  near_memory(engine& runs, modelled_machine& machine, std::uint32_t of, const accelerator_spec& copies)
      : memory{of},
        copy_thread{runs, fmt::format("graph copy, {}", machine.spec().memories[of].name), copies.entries},
        dma_thread{runs, fmt::format("DMA, {}", machine.spec().memories[of].name), no_limit},
        port{machine, of, {.period = copies.period}, &copy_thread},
        unit{port, {}, {.period = copies.period}, {}, types_of_program()} {}

  std::uint32_t memory;
  unit_thread copy_thread;
  unit_thread dma_thread;
  machine_memory port;
  graph_copy_unit unit;
  std::uint64_t objects = 0;
  std::uint64_t probes = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t dma_bytes = 0;
};

struct graph_devices::dispatched {
  graph_work work;
  carried_header header;  // set once the thread has handed it over
};

struct graph_devices::transfer {
  struct free_buffer {
    void operator()(std::byte* at) const noexcept { ::operator delete(at, std::align_val_t{buffer_alignment}); }
  };
  graph_work* work;
  std::unique_ptr<graph_work> own;  // set if the transfer owns the work
  near_memory* at = nullptr;
  std::uint32_t target = none;                     // memory of the destination
  std::unique_ptr<std::byte, free_buffer> buffer;  // for a copy between memories
  std::byte* copied = nullptr;                     // address of the unit's copy
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> finalizers;
};

graph_devices::graph_devices(engine& runs, const graph_device_options& options)
    : engine_{runs}, machine_{*runs.machine().parts()}, options_{options}, arrivals_{runs, "arriving tasks", no_limit} {
  const machine_spec& spec = machine_.spec();
  has_copy_ = options.used != graph_units_used::software &&
              std::ranges::any_of(spec.accelerators,
                                  [](const accelerator_spec& each) {
                                    return each.kind == machine::device_kind::graph_copy && each.memory != none;
                                  }) &&
              every_tile_has(spec, machine::device_kind::range_operations);
  has_near_cache_ = options.used == graph_units_used::devices &&
                    every_tile_has(spec, machine::device_kind::graph_writeback) &&
                    std::ranges::all_of(spec.tiles, [](const tile_spec& tile) { return tile.local_memory != none; });
}

graph_devices::~graph_devices() = default;

graph_devices::near_cache& graph_devices::of_tile(std::uint32_t tile) {
  std::unique_ptr<near_cache>& found = near_caches_[tile];
  if (found == nullptr) {
    const machine_spec& spec = machine_.spec();
    const accelerator_spec& drops =
        *find_unit(spec, machine::device_kind::range_operations, &accelerator_spec::tile, tile);
    const accelerator_spec* const walks =
        find_unit(spec, machine::device_kind::graph_writeback, &accelerator_spec::tile, tile);
    found = std::make_unique<near_cache>(engine_, machine_, tile, walks != nullptr ? *walks : drops, drops);
  }
  return *found;
}

graph_devices::near_memory& graph_devices::of_memory(std::uint32_t memory) {
  std::unique_ptr<near_memory>& found = near_memories_[memory];
  if (found == nullptr) {
    const accelerator_spec* const copies =
        find_unit(machine_.spec(), machine::device_kind::graph_copy, &accelerator_spec::memory, memory);
    if (copies == nullptr)
      throw_error(
          errc::not_supported,
          fmt::format("a graph that is offloaded lies in {}, beside which there is no graph-copy unit: allocate "
                      "its objects in the place's segment, or run with --graph-units software",
                      machine_.spec().memories[memory].name));
    found = std::make_unique<near_memory>(engine_, machine_, memory, *copies);
  }
  return *found;
}

// --- steps (1c) to (2): the sender's tile ---

void graph_devices::dispatch(const graph_request& request) {
  std::shared_ptr<dispatched> made;
  {
    const outside_time scope;
    made = std::make_shared<dispatched>();
    fill(made->work, request);
    if (request.room != nullptr) {
      written_[engine_.self().index] = std::move(made);
      return;
    }
  }
  walk(std::move(made));
}

bool graph_devices::recall(const void* context) {
  const outside_time scope;
  const auto mine = written_.find(engine_.self().index);
  if (mine == written_.end() || mine->second->work.context != context) return false;
  written_.erase(mine);
  return true;
}

bool graph_devices::take_header(const carried_header& header) {
  std::shared_ptr<dispatched> next;
  {
    const outside_time scope;
    const auto mine = written_.find(engine_.self().index);
    if (mine == written_.end()) return false;
    next = std::move(mine->second);
    written_.erase(mine);
    next->header = header;
    next->header.room = next->work.room;
  }
  walk(std::move(next));
  return true;
}

void graph_devices::walk(std::shared_ptr<dispatched> next) {
  near_cache* at = nullptr;
  unit_thread::work asked;
  {
    const outside_time scope;
    at = &of_tile(engine_.tile_of_place(next->work.place));
    asked = {.run = [at, next](time_ps begin) { return at->write_back(next->work, begin); },
             .over =
                 [at, next] {
                   next->work.over(next->work);
                   if (next->header.header == nullptr) return;
                   std::ranges::copy(next->work.words, next->header.words);
                   send_header(next->header, at->walk_thread.now());
                 }};
  }
  at->walk_thread.submit(running->clock, std::move(asked));
}

// --- steps (3b) to (3d) ---

void graph_devices::begin_copy(const graph_request& request) {
  std::unique_ptr<graph_work> made;
  {
    const outside_time scope;
    made = std::make_unique<graph_work>();
    fill(*made, request);
  }
  graph_work& work = *made;
  begin_copy(work, std::move(made));
}

void graph_devices::begin_copy(graph_work& work, std::unique_ptr<graph_work> own) {
  near_cache* at = nullptr;
  unit_thread::work asked;
  {
    const outside_time scope;
    at = &of_tile(engine_.tile_of_place(work.reader));
    auto made = std::make_shared<transfer>();
    made->work = &work;
    made->own = std::move(own);
    asked = {.run = [this, at, &work](time_ps begin) { return drop_destination(*at, work, begin); },
             .over = [this, at, made] { trigger(made, at->range_thread.now()); }};
  }
  at->range_thread.submit(running->clock, std::move(asked));
}

time_ps graph_devices::drop_destination(near_cache& at, const graph_work& work, time_ps now) {
  const auto begin = reinterpret_cast<std::uintptr_t>(work.destination);
  now = at.range.run(range_operation::flush, begin, begin + work.destination_bytes, now);
  if (work.destination_finalizers == nullptr) return now;
  const auto list = reinterpret_cast<std::uintptr_t>(work.destination_finalizers);
  return at.range.run(range_operation::flush, list, list + work.finalizers * sizeof(std::uint64_t), now);
}

// Sends the request to the unit next to the graph's memory.
void graph_devices::trigger(std::shared_ptr<transfer> next, time_ps now) {
  graph_work& work = *next->work;
  const std::uint32_t tile = engine_.tile_of_place(work.reader);
  time_ps arrived = now;
  {
    const outside_time scope;
    try {
      const auto root =
          std::ranges::find_if(work.roots, [](const detail::graph_root& each) { return each.object != nullptr; });
      next->target = machine_.memory_of(reinterpret_cast<std::uintptr_t>(work.destination), tile);
      next->at =
          &of_memory(root == work.roots.end() ? next->target
                                              : machine_.memory_of(reinterpret_cast<std::uintptr_t>(root->object),
                                                                   engine_.tile_of_place(work.place)));
      arrived = machine_.send_to_memory(tile, next->at->memory, trigger_bytes, now);
    } catch (const std::exception& failure) {
      note_failure(work, failure);
    }
  }
  if (work.error_code != 0) return work.over(work);
  next->at->copy_thread.submit(arrived, {.run = [this, next](time_ps begin) { return copy(*next, begin); },
                                         .over = [this, next] { go_on(next); }});
}

// Copies by the unit: between memories into a buffer next to the graph, with pointers for the final addresses (4.2).
time_ps graph_devices::copy(transfer& done, time_ps now) {
  graph_work& work = *done.work;
  near_memory& at = *done.at;
  try {
    const auto root =
        std::ranges::find_if(work.roots, [](const detail::graph_root& each) { return each.object != nullptr; });
    if (root == work.roots.end()) return now;
    std::byte* const last = work.destination + work.head_bytes;
    done.copied = last;
    const std::uint64_t room = work.destination_bytes - work.head_bytes;
    if (done.target != at.memory) {
      const std::uintptr_t apart = reinterpret_cast<std::uintptr_t>(last) % buffer_alignment;  // alignment offset
      done.buffer.reset(static_cast<std::byte*>(::operator new(apart + room, std::align_val_t{buffer_alignment})));
      done.copied = done.buffer.get() + apart;
    }
    const copy_result made = at.unit.copy({.root = root->object,
                                           .type = root->type,
                                           .more_roots = work.roots.subspan(root - work.roots.begin() + 1),
                                           .destination = done.copied,
                                           .destination_bytes = room,
                                           .final_address = last,
                                           .objects = std::max<std::uint64_t>(work.objects, 1),
                                           .map = options_.map},
                                          now);
    const auto unit_of = [&](const void* copy) {
      return copy == nullptr ? 0
                             : static_cast<std::uint32_t>((static_cast<const std::byte*>(copy) - work.destination) / 8);
    };
    const auto first = static_cast<std::size_t>(root - work.roots.begin());
    work.root_units[first] = unit_of(made.root);
    for (std::size_t i = 0; i < made.more_roots.size(); ++i)
      work.root_units[first + 1 + i] = unit_of(made.more_roots[i]);
    done.bytes = made.bytes;
    at.objects += made.objects;
    at.probes += made.probes;
    at.copied_bytes += made.bytes;
    list_finalizers(done, made.end);
    return made.end;
  } catch (const std::exception& failure) {
    note_failure(work, failure);
    return std::max(now, at.copy_thread.now());
  }
}

// Lists the objects of the copy that may come to own storage, for the library.
void graph_devices::list_finalizers(transfer& done, time_ps now) {
  const graph_work& work = *done.work;
  if (work.destination_finalizers == nullptr) return;
  done.at->unit.visit_objects([&](const detail::type_descriptor& type, std::uint64_t offset) {
    if (type.has_containers)
      done.finalizers.push_back((work.head_bytes + offset) / 8 | std::uint64_t{type.index} << 48);
  });
  const std::uint64_t bytes = done.finalizers.size() * sizeof(std::uint64_t);
  if (bytes == 0 || done.target != done.at->memory) return;
  const auto list = reinterpret_cast<std::uintptr_t>(work.destination_finalizers);
  done.at->port.post(list, bytes, now);
  done.at->port.see(list, bytes, true);
  std::memcpy(work.destination_finalizers, done.finalizers.data(), bytes);
}

// Continues a transfer after the unit's copy, while the unit takes up its next request.
void graph_devices::go_on(const std::shared_ptr<transfer>& next) {
  near_memory& at = *next->at;
  if (next->buffer == nullptr || next->work->error_code != 0) return tell_reader(next, at.memory, at.copy_thread.now());
  at.dma_thread.submit(running->clock,
                       {.run = [this, next](time_ps begin) { return bring(*next, begin); },
                        .over = [this, next, &at] { tell_reader(next, next->target, at.dma_thread.now()); }});
}

// Moves the copy by the DMA unit next to the memory.
time_ps graph_devices::bring(transfer& done, time_ps now) {
  const graph_work& work = *done.work;
  near_memory& at = *done.at;
  const std::uint64_t list_bytes = done.finalizers.size() * sizeof(std::uint64_t);
  std::byte* const last = work.destination + work.head_bytes;
  modelled_machine::dma_transfer going =
      machine_.begin_dma_of_memory(at.memory, done.target, reinterpret_cast<std::uintptr_t>(last),
                                   reinterpret_cast<std::uintptr_t>(done.copied), done.bytes + list_bytes, now);
  while (!going.is_over()) {
    at.dma_thread.take_turn(going.next);
    machine_.step_dma(going);
  }
  at.dma_thread.take_turn(going.done);
  at.dma_thread.see_memory(reinterpret_cast<std::uintptr_t>(last), done.bytes, true);
  std::memcpy(last, done.copied, done.bytes);
  if (list_bytes != 0) {
    at.dma_thread.see_memory(reinterpret_cast<std::uintptr_t>(work.destination_finalizers), list_bytes, true);
    std::memcpy(work.destination_finalizers, done.finalizers.data(), list_bytes);
  }
  at.dma_bytes += done.bytes + list_bytes;
  return going.done;
}

// Spawns the receiver's task.
void graph_devices::tell_reader(const std::shared_ptr<transfer>& next, std::uint32_t memory, time_ps now) {
  graph_work& work = *next->work;
  time_ps arrived = now;
  {
    const outside_time scope;
    arrived = machine_.send_to_tile(memory, engine_.tile_of_place(work.reader), task_bytes, now);
  }
  arrivals_.submit(arrived,
                   {.run = [](time_ps begin) { return begin; }, .over = [next] { next->work->over(*next->work); }});
}

// --- counters ---

void graph_devices::append_counters(std::vector<part_counters>& to) const {
  for (const auto& [tile, at] : near_caches_) {
    if (has_near_cache_)
      to.push_back(counters_of(
          at->walk_thread, {{"objects", at->objects}, {"lines", at->lines}, {"modified_lines", at->modified_lines}}));
    const range_operations_unit::counters& ranges = at->range.counted();
    to.push_back(counters_of(at->range_thread, {{"lines", ranges.lines}, {"modified_lines", ranges.modified_lines}}));
  }
  for (const auto& [memory, at] : near_memories_) {
    const port_traffic& traffic = at->port.traffic();
    to.push_back(counters_of(at->copy_thread, {{"objects", at->objects},
                                               {"copied_bytes", at->copied_bytes},
                                               {"probes", at->probes},
                                               {"accesses", traffic.reads + traffic.writes},
                                               {"read_bytes", traffic.read_bytes},
                                               {"written_bytes", traffic.written_bytes}}));
    if (at->dma_thread.counted().works != 0)
      to.push_back(counters_of(at->dma_thread, {{"copied_bytes", at->dma_bytes}}));
  }
}

}  // namespace situ::model

using namespace situ::model;

extern "C" {

bool situ_model_writes_graphs_back() noexcept {
  return the_graph_devices != nullptr && the_graph_devices->write_graphs_back();
}
bool situ_model_copies_graphs() noexcept { return the_graph_devices != nullptr && the_graph_devices->copy_graphs(); }
bool situ_model_makes_dummy_allocations() noexcept {
  return situ_model_copies_graphs() && the_graph_devices->options().dummy_allocations;
}
void situ_model_dispatch_graph(const graph_request* request) noexcept {
  the_engine->spend(trigger_cycles * running->period_ps);
  the_graph_devices->dispatch(*request);
}
bool situ_model_recall_graph(const void* context) noexcept { return the_graph_devices->recall(context); }
void situ_model_copy_graph_of(const graph_request* request) noexcept {
  the_engine->spend(trigger_cycles * running->period_ps);
  the_graph_devices->begin_copy(*request);
}
void situ_model_copy_graph(graph_work* work) noexcept {
  the_engine->spend(trigger_cycles * running->period_ps);
  the_graph_devices->begin_copy(*work);
}

}  // extern "C"
