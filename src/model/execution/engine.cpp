#include "model/execution/engine.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <situ/base/error.h>

#include "model/execution/object_log.h"
#include "model/execution/request_trace.h"
#include "model/execution/time_profile.h"
#include "model/execution/trace_writer.h"
#include "model/parts/branch_predictor.h"

namespace situ::model {
constinit core nobody{.front = &no_front};
constinit core* running = &nobody;
constinit watched_range watched;
constinit bool executor_allocates = false;
engine* the_engine = nullptr;

void watched_range::add(std::uintptr_t from, std::uintptr_t to) noexcept {
  const std::uintptr_t end = bytes == 0 ? to : std::max(begin + bytes, to);
  begin = bytes == 0 ? from : std::min(begin, from);
  bytes = end - begin;
}

engine::engine(std::unique_ptr<memory_port> machine, const engine_options& options)
    : machine_{std::move(machine)},
      options_{options},
      cores_(machine_->core_count()),
      fast_forward_{!options.fast_forward.empty()} {
  for (std::uint32_t i = 0; i < cores_.size(); ++i) {
    core& c = cores_[i];
    const front_cache shape = machine_->front(i);
    c.index = i;
    c.of_core = machine_->thread_of(i).core;
    c.thread_number = machine_->thread_of(i).number;
    c.tile = machine_->tile_of(i);
    c.goes_ahead = machine_->goes_ahead(i);
    if (std::find(tiles_.begin(), tiles_.end(), c.tile) == tiles_.end()) tiles_.push_back(c.tile);
    c.period_ps = machine_->period_ps(i);
    const double width = machine_->width(i);
    const double issue_cycles = width > 0 ? 1 / width : machine_->cycles(i).integer;
    c.issue_ps = static_cast<time_ps>(std::llround(issue_cycles * static_cast<double>(c.period_ps)));
    c.hit_ps = shape.hit_ps;
    c.front = &no_front;
    if (shape.entries != nullptr) {
      c.front = shape.entries;
      c.set_mask = shape.sets - 1;
      c.own_front = c.front;
      c.own_set_mask = c.set_mask;
      c.ways = shape.ways;
      if (shape.line_bytes >= 16) {
        c.aligned_front = c.front;
        c.aligned_mask = c.set_mask;
      }
      if (shape.page_bytes != 0) {
        c.page_mask = ~(std::uintptr_t{shape.page_bytes} - 1);
        c.page = ~std::uintptr_t{0};
      }
    }
    c.line_shift = static_cast<std::uint64_t>(std::countr_zero(shape.line_bytes));
  }
  std::vector<std::uint32_t> line_shifts;
  for (const core& c : cores_)
    if (c.front != &no_front) line_shifts.push_back(static_cast<std::uint32_t>(c.line_shift));
  shared_lines_.set_line_shifts(line_shifts);
  if (options_.is_strict) shared_lines_.ask_for_all();
  machine_->observe_sharing(this);
  give_instruction_caches();
  give_block_costs();
  give_branch_predictors();
  give_shared_widths();
  if (options_.profiles) profile_ = std::make_unique<time_profile>(cores_.size());
  if (options_.requests) {
    requests_ = std::make_unique<request_trace>(options_.trace, *options_.requests);
    if (!machine_->observe_memories(this))
      throw_error(errc::bad_argument,
                  "flat has no memories whose requests a trace of Ramulator's could have: name a machine's file");
  }
  if (fast_forward_ && options_.warms && !machine_->begin_warming())
    throw_error(errc::bad_argument,
                "flat has no parts to warm: name a machine's file, or leave out --functional-warming");
  if (options_.sees_objects || sees_instructions()) see_hits();
}

engine::~engine() = default;

// --- accesses --------------------------------------------------------------------------------------------------------

void engine::access(std::uintptr_t address, std::size_t bytes, access_kind kind, std::uintptr_t at) {
  core* c = running;
  if (c == &nobody || bytes == 0) return;
  if (fast_forward_) [[unlikely]]
    return options_.warms ? warm(address, bytes, kind, at) : pass_by(*c, kind);
  if (watched.holds(address) || watched.holds(address + bytes - 1)) return access_watched(address, bytes, kind, at);
  if (is_atomic(kind)) self_->last_read = {};
  if ((address ^ (address + bytes - 1)) >> c->line_shift == 0) [[likely]] {
    take_turn();
    return one_access(*running, address, static_cast<std::uint32_t>(bytes), kind, at);
  }
  const std::uintptr_t line_bytes = std::uintptr_t{1} << c->line_shift;
  for (const std::uintptr_t end = address + bytes; address < end;) {
    const std::uintptr_t line_end = std::min((address | (line_bytes - 1)) + 1, end);
    take_turn();
    c = running;
    one_access(*c, address, static_cast<std::uint32_t>(line_end - address), kind, at);
    if (line_end != end) ++c->further_lines[static_cast<int>(kind)];
    address = line_end;
  }
}

void engine::access_of_hook(std::uintptr_t address, std::size_t bytes, access_kind kind, std::uintptr_t at) {
  if (sees_hits_ && !fast_forward_ && hit_in_own_front(address, bytes, kind, at)) [[unlikely]]
    return;
  access(address, bytes, kind, at);
}

bool engine::hit(std::uintptr_t address, bool writes, std::size_t bytes, std::uintptr_t at) {
  core* c = running;
  if (options_.is_strict || shared_lines_.keeps(address)) {
    const bool is_ahead = c->clock > c->horizon;
    take_turn();
    c = running;
    if (!c->hits_own_front(address >> c->line_shift, writes)) {
      if (is_ahead) shared_lines_.lost_in_order(address);
      return false;
    }
    shared_lines_.hit_in_order(address, c->clock);
  } else {
    shared_lines_.touch(address >> c->line_shift, c->clock + c->hit_ps);
  }
  ++c->hits[writes ? 1 : 0];
  c->clock += c->hit_ps;
  note_hit(address, bytes, writes, at);
  return true;
}

// Takes the cores' first caches away from the hooks, which then tell the engine of each access, with its bytes.
void engine::see_hits() {
  std::uint64_t longest = 6;
  for (core& c : cores_) {
    if (c.own_front != &no_front) longest = std::max(longest, c.line_shift);
    c.front = c.aligned_front = &no_front;
    c.set_mask = c.aligned_mask = 0;
    if (sees_instructions()) c.text_bytes = 0;  // the engine sees all blocks, too
  }
  sees_hits_ = true;
  if (sees_instructions()) trace_ = std::make_unique<trace_writer>(options_.trace);
  if (!options_.sees_objects) return;
  objects_ = std::make_unique<object_log>(static_cast<std::uint32_t>(longest));
  the_objects = objects_.get();
}

// Does what a hook does itself if the front has the line. Returns false if it does not, or if the access is none that a
// hook makes.
bool engine::hit_in_own_front(std::uintptr_t address, std::size_t bytes, access_kind kind, std::uintptr_t at) {
  core& c = *running;
  const bool writes = kind == access_kind::write;
  const std::uintptr_t line = address >> c.line_shift;
  if ((!writes && kind != access_kind::read) || (address + bytes - 1) >> c.line_shift != line) return false;
  if (!c.hits_own_front(line, writes) || !c.is_in_page(address) || watched.holds(address)) return false;
  if (last_touch_of(line) == in_order) {
    if (!hit(address, writes, bytes, at)) return false;
  } else {
    ++c.hits[writes ? 1 : 0];
    c.clock += c.hit_ps;
    last_touch_of(line) = c.clock;
    note_hit(address, bytes, writes, at);
  }
  if (running->clock > running->quantum_end) end_quantum();
  return true;
}

void engine::note_access(const core& c, std::uintptr_t seen, const seen_access& of) {
  const outside_time scope;
  if (objects_)
    objects_->note(c, threads_,
                   {.address = of.address,
                    .bytes = of.bytes,
                    .kind = of.kind,
                    .is_miss = of.is_miss,
                    .sharing = of.added,
                    .waited = of.waited});
  if (trace_) trace_->access(c, seen, of.kind, of.at);
}

void engine::on_taken(std::uint32_t core, std::uint64_t address) {
  if (handles_event_ || address >= first_library_address) return;
  if (objects_) objects_->take(address);
  const time_ps now = self_->on->clock;  // the core that accesses the line; its clock moves when the machine answers
  if (shared_lines_.take(cores_[core], address, now, machine_->transfer_ps(core))) found_at_ = now;
}

// Runs while the machine carries out an access of the running thread's core, or an event.
void engine::on_request(std::uint32_t /*memory*/, std::uint64_t address, std::uint64_t /*bytes*/, bool writes) {
  if (fast_forward_) return;
  const outside_time scope;
  const bool is_of_core = !handles_event_ && !is_of_no_core_ && self_ != nullptr;
  requests_->add(is_of_core ? self_->on : nullptr, address, writes);
}

std::string engine::end_traces() {
  if (trace_) trace_->end();
  return requests_ ? requests_->end() : std::string{};
}

// Counts an access without pricing it.
void engine::pass_by(core& c, access_kind kind) {
  ++c.slow[static_cast<int>(kind)];
  c.slow_ps += c.hit_ps;
  c.clock += c.hit_ps;
  if (c.clock > c.quantum_end) end_quantum();
}

// Makes an access by functional warming, in the order of time like any other: cores take lines from each other.
void engine::warm(std::uintptr_t address, std::size_t bytes, access_kind kind, std::uintptr_t at) {
  const std::uintptr_t line_bytes = std::uintptr_t{1} << running->line_shift;
  for (const std::uintptr_t end = address + bytes; address < end;) {
    const std::uintptr_t line_end = std::min((address | (line_bytes - 1)) + 1, end);
    take_turn();
    if (!fast_forward_) return access(address, end - address, kind, at);  // another thread has begun the region
    warm_line(*running, address, static_cast<std::uint32_t>(line_end - address), kind);
    if (line_end != end) ++running->further_lines[static_cast<int>(kind)];
    address = line_end;
  }
}

void engine::warm_line(core& c, std::uintptr_t address, std::uint32_t bytes, access_kind kind) {
  const outside_time scope;
  if (!c.is_device) {
    shared_lines_.access(address, c.clock);
    machine_->warm(c.index, address >= first_library_address ? first_library_address + (address & 4095) : address,
                   bytes, kind, c.clock);
    c.page = address & c.page_mask;
  }
  ++c.slow[static_cast<int>(kind)];
  c.slow_ps += c.hit_ps;
  c.clock += c.hit_ps;
}

// Makes an access under invariant 5.
void engine::access_watched(std::uintptr_t address, std::size_t bytes, access_kind kind, std::uintptr_t at) {
  if (kind != access_kind::write) self_->last_read = {};
  take_turn();
  access_at_once(address, bytes, kind, at);
  if (kind == access_kind::read) self_->last_read = {.address = address, .bytes = bytes, .at = at};
}

void engine::access_at_once(std::uintptr_t address, std::size_t bytes, access_kind kind, std::uintptr_t at) {
  core& c = *running;
  const std::uintptr_t line_bytes = std::uintptr_t{1} << c.line_shift;
  for (const std::uintptr_t end = address + bytes; address < end;) {
    const std::uintptr_t line_end = std::min((address | (line_bytes - 1)) + 1, end);
    one_access(c, address, static_cast<std::uint32_t>(line_end - address), kind, at);
    if (line_end != end) ++c.further_lines[static_cast<int>(kind)];
    address = line_end;
  }
}

namespace {

// Returns the value that a load is about to read: its hook is directly before the load, and no other thread runs in
// between.
std::uint64_t value_at(std::uintptr_t address, std::uint32_t bytes) noexcept {
  const auto read = [&](auto value) {
    __builtin_memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  };
  if (bytes >= 8) return read(std::uint64_t{});
  if (bytes >= 4) return read(std::int32_t{});
  return bytes >= 2 ? read(std::uint16_t{}) : read(std::uint8_t{});
}

}  // namespace

time_ps engine::access_ahead(core& c, std::uintptr_t address, std::uintptr_t seen, std::uint32_t bytes,
                             access_kind kind, std::uintptr_t at) {
  // A load or store takes its share of the width; the machine adds its waiting time.
  const std::uint64_t instructions = c.instructions + c.slow_accesses();
  return c.issue_ps + machine_->access_ahead(c.index,
                                             {.address = seen,
                                              .bytes = bytes,
                                              .kind = kind,
                                              .instruction = instructions,
                                              .code = at,
                                              .value = kind == access_kind::read ? value_at(address, bytes) : 0},
                                             c.clock);
}

void engine::one_access(core& c, std::uintptr_t address, std::uint32_t bytes, access_kind kind, std::uintptr_t at) {
  const outside_time scope;
  const time_ps begin = c.clock;
  const bool is_library = address >= first_library_address;
  // for library addresses only the offset within a page is the same in each run
  const std::uintptr_t seen = is_library ? first_library_address + (address & 4095) : address;
  const bool is_noted = sees_hits_ && !c.is_device;
  const bool is_miss = is_noted && !machine_->first_cache_holds(c.index, seen);
  const sharing_counts before = is_noted ? sharing_of(c) : sharing_counts{};
  if (c.is_device) {  // past all caches
    if (watched.holds(address)) machine_->see_memory(address, bytes, changes(kind));
  } else {
    shared_lines_.access(address, begin);
    c.clock = c.goes_ahead ? access_ahead(c, address, seen, bytes, kind, at)
                           : machine_->access(c.index, seen, bytes, kind, begin);
    if (watched.holds(address)) machine_->see(c.index, address, bytes, kind, at);
    c.page = address & c.page_mask;
  }
  ++c.slow[static_cast<int>(kind)];
  c.slow_ps += c.clock - begin;
  if (profile_) profile_->note(c, at, c.clock - begin, sharing_of(c));
  if (is_noted) {
    const sharing_counts now = sharing_of(c);
    note_access(c, seen,
                {.address = address,
                 .bytes = bytes,
                 .kind = kind,
                 .at = at,
                 .is_miss = is_miss,
                 .added = {.coherence_misses = now.coherence_misses - before.coherence_misses,
                           .upgrades = now.upgrades - before.upgrades},
                 .waited = c.clock - begin - std::min(c.clock - begin, c.goes_ahead ? c.issue_ps : c.hit_ps)});
  }
  mix(c.clock);
  mix(seen << 3 | static_cast<std::uint64_t>(kind));
}

void engine::map_slice(std::uint32_t place, std::uintptr_t begin, std::uintptr_t heap, std::uintptr_t end) {
  machine_->map_slice(tile_of_place(place), place, begin, heap, end);
  if (objects_) objects_->add_segment(place, begin, end);
  if (!checks_coherence_) return;
  watched.add(begin, end);
  shared_lines_.ask_for_all();
}

bool engine::check_coherence(std::function<void(const coherence_report&)> found) {
  return checks_coherence_ = machine_->check_coherence(std::move(found));
}

void engine::wait_for_all() {
  core& c = *running;
  if (&c == &nobody || !c.goes_ahead) return;
  const outside_time scope;
  c.clock = machine_->wait_for_all(c.index, c.clock);
}

void engine::spend(time_ps time) {
  if (running != &nobody) running->clock += time;
}

}  // namespace situ::model
