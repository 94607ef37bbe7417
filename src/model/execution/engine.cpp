#include "model/execution/engine.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "model/execution/host_calls.h"
#include "model/execution/stacks.h"
#include "model/execution/start.h"
#include "model/execution/time_profile.h"
#include "model/parts/branch_predictor.h"

namespace situ::model {
namespace {

constexpr std::uint64_t switch_cycles = 500;         // of a core from one thread to another; assumed
constexpr std::uint64_t wake_cycles = 100;           // from the wake-up to the woken thread's first cycle; assumed
constexpr std::uint64_t yield_cycles = 50;           // assumed
constexpr time_ps slice_ps = 1'000'000'000;          // 1 ms, where several threads share a core
constexpr std::uint64_t most_lonely_wakes = 20'000;  // then the program only looks, and nobody can change what it sees
constexpr std::size_t device_stack_bytes = std::size_t{256} << 10;
// Addresses of libraries differ from run to run.
constexpr std::uintptr_t first_library_address = 0x7000'0000'0000;

}  // namespace

namespace {
constexpr std::uint64_t no_front = ~std::uint64_t{0};  // no line
}
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
    c.tile = machine_->tile_of(i);
    c.goes_ahead = machine_->goes_ahead(i);
    if (std::find(tiles_.begin(), tiles_.end(), c.tile) == tiles_.end()) tiles_.push_back(c.tile);
    c.period_ps = machine_->period_ps(i);
    const double width = machine_->width(i);
    const double issue_cycles = width > 0 ? 1 / width : machine_->cycles(i).integer;
    c.issue_ps = static_cast<time_ps>(issue_cycles * static_cast<double>(c.period_ps) + 0.5);
    c.hit_ps = shape.hit_ps;
    c.front = &no_front;
    if (shape.entries != nullptr) {
      c.front = shape.entries;
      c.set_mask = shape.sets - 1;
      c.ways = shape.ways;
      if (shape.page_bytes != 0) {
        c.page_shift = static_cast<std::uint32_t>(std::countr_zero(shape.page_bytes));
        c.page = ~std::uintptr_t{0};
      }
    }
    c.line_shift = static_cast<std::uint32_t>(std::countr_zero(shape.line_bytes));
  }
  give_instruction_caches();
  give_block_costs();
  give_branch_predictors();
  if (options_.profiles) profile_ = std::make_unique<time_profile>(cores_.size());
}

engine::~engine() = default;

// --- accesses --------------------------------------------------------------------------------------------------------

void engine::access(std::uintptr_t address, std::size_t bytes, access_kind kind, std::uintptr_t at) {
  core* c = running;
  if (c == &nobody || bytes == 0) return;
  if (fast_forward_) return pass_by(*c, kind);
  if (watched.holds(address) || watched.holds(address + bytes - 1)) return access_watched(address, bytes, kind, at);
  if (is_atomic(kind)) self_->last_read = {};
  const std::uintptr_t line_bytes = std::uintptr_t{1} << c->line_shift;
  for (const std::uintptr_t end = address + bytes; address < end;) {
    const std::uintptr_t line_end = std::min((address | (line_bytes - 1)) + 1, end);
    take_turn();
    c = running;
    one_access(*c, address, static_cast<std::uint32_t>(line_end - address), kind, at);
    address = line_end;
  }
}

// Counted, but not priced.
void engine::pass_by(core& c, access_kind kind) {
  ++c.slow[static_cast<int>(kind)];
  c.slow_ps += c.hit_ps;
  c.clock += c.hit_ps;
  if (c.clock > c.quantum_end) end_quantum();
}

// Invariant 5.
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
    address = line_end;
  }
}

namespace {

// What a load is about to bring: its hook stands directly before it, and nobody else runs in between.
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
  // A load or store takes its place among the instructions; what it waits for is the machine's.
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
  // of libraries only the place within a page is the same in each run
  const std::uintptr_t seen = is_library ? first_library_address + (address & 4095) : address;
  if (c.is_device) {  // past all caches
    if (watched.holds(address)) machine_->see_memory(address, bytes, changes(kind));
  } else {
    c.clock = c.goes_ahead ? access_ahead(c, address, seen, bytes, kind, at)
                           : machine_->access(c.index, seen, bytes, kind, begin);
    if (watched.holds(address)) machine_->see(c.index, address, bytes, kind, at);
    c.page = address >> c.page_shift;
  }
  ++c.slow[static_cast<int>(kind)];
  c.slow_ps += c.clock - begin;
  if (profile_) profile_->note(c, at, c.clock - begin);
  mix(c.clock);
  mix(seen << 3 | static_cast<std::uint64_t>(kind));
}

void engine::map_slice(std::uint32_t place, std::uintptr_t begin, std::uintptr_t heap, std::uintptr_t end) {
  machine_->map_slice(tile_of_place(place), place, begin, heap, end);
  if (checks_coherence_) watched.add(begin, end);
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

// --- whose turn ------------------------------------------------------------------------------------------------------

time_ps engine::next_due() const noexcept {
  time_ps due = timers_.empty() ? never : timers_.begin()->first;
  if (!events_.empty()) due = std::min(due, events_.top().when);
  return due;
}

void engine::set_horizon(core& c) {
  time_ps horizon = next_due();
  for (const core* const other : busy_)
    if (other != &c) horizon = std::min(horizon, other->clock);
  if (!c.waiting.empty()) horizon = std::min(horizon, c.slice_begin + slice_ps);
  c.horizon = horizon;
  c.turn_end = options_.is_strict                      ? horizon
               : horizon > never - options_.quantum_ps ? never
                                                       : horizon + options_.quantum_ps;
  c.quantum_end = std::min(c.turn_end, watch_at_.load(std::memory_order_relaxed));
}

// The earliest timer or event happens.
void engine::handle_due() {
  const time_ps timer = timers_.empty() ? never : timers_.begin()->first;
  if (!events_.empty() && events_.top().when <= timer) {
    const std::function<void()> what = events_.top().what;
    events_.pop();
    note_progress();
    return what();
  }
  thread& woken = *threads_[timers_.begin()->second];
  if (woken.word == nullptr) note_progress();  // it only waits for time to pass
  if (busy_.empty() && ++lonely_wakes_ - progress_at_ > most_lonely_wakes && !may_yet_change())
    deadlock("nothing has changed for long, all threads look and sleep in turn");
  woken.timed_out = true;
  make_ready(woken, timer);
}

bool engine::may_yet_change() const noexcept {
  return !events_.empty() || std::ranges::any_of(sleepers_, [&](const thread* t) {
    return t->wake_at != never && (t->word == nullptr || t->slept_at <= progress_at_);
  });
}

core& engine::next_core() {
  for (;;) {
    core* best = nullptr;
    for (core* const c : busy_)
      if (best == nullptr || c->clock < best->clock) best = c;
    const time_ps due = next_due();
    const time_ps earliest = best == nullptr ? due : std::min(best->clock, due);
    if (earliest != never && earliest >= watch_at_.load(std::memory_order_relaxed)) call_watcher(earliest);
    if (best != nullptr && best->clock < due) return *best;
    if (due == never) {
      if (best != nullptr) return *best;
      deadlock("deadlock: every thread sleeps, and nothing is left that could wake one");
    }
    handle_due();
  }
}

void engine::take_turn() {
  core* const c = running;
  if (c == &nobody || held_ != 0) return;
  if (c->clock >= watch_at_.load(std::memory_order_relaxed)) [[unlikely]]
    look(*c);
  if (c->clock <= c->horizon) return;
  const std::uint64_t switches = switches_;
  {
    const outside_time scope;
    if (!c->waiting.empty() && c->clock - c->slice_begin > slice_ps) give_core_on(*c);
    run(next_core());
  }
  running = self_->on;
  const watched_read& again = self_->last_read;
  if (switches_ != switches && again.bytes != 0)
    access_at_once(again.address, again.bytes, access_kind::read, again.at);
}

// Goes on with what that core has; returns when the calling thread has its turn again.
void engine::run(core& next) {
  thread& from = *self_;
  thread& to = *next.current;
  set_horizon(next);
  if (&from == &to) return;
  ++switches_;
  ++next.switches;
  mix(next.clock * 64 + next.index);
  self_ = &to;
  switch_to(*from.host, *to.host);
  while (from.shows_stack) {
    print_stack(2);
    from.shows_stack = false;
    switch_to(*from.host, *asks_for_stacks_->host);
  }
  release_ended();
}

// pre: running on another thread's stack, outside time. Their thread-local variables end here.
void engine::release_ended() {
  for (thread* const t : ended_) std::exchange(t->host, nullptr)->release();
  ended_.clear();
}

void engine::yield() {
  core* const c = running;
  if (c == &nobody) return;
  c->clock += yield_cycles * c->period_ps;
  if (c->waiting.empty()) return take_turn();
  {
    const outside_time scope;
    give_core_on(*c);
    run(next_core());
  }
  running = self_->on;
}

// To the next of those that are ready on it.
void engine::give_core_on(core& c) {
  c.waiting.push_back(c.current);
  leave_core(c);
}

// Its thread sleeps or has ended: the next that is ready, or nobody.
void engine::leave_core(core& c) {
  if (c.waiting.empty()) {
    c.current = nullptr;
    c.idle_since = c.clock;
    busy_.erase(std::find(busy_.begin(), busy_.end(), &c));
    return;
  }
  c.current = c.waiting.front();
  c.waiting.erase(c.waiting.begin());
  c.clock += switch_cycles * c.period_ps;
  c.slice_begin = c.clock;
}

void engine::make_ready(thread& t, time_ps when) {
  if (t.state == thread_state::sleeping) {
    std::erase(sleepers_, &t);
    if (t.wake_at != never) timers_.erase({t.wake_at, t.index});
  }
  t.state = thread_state::ready;
  t.word = nullptr;
  t.wake_at = never;
  core& c = *t.on;
  if (c.current != nullptr) {
    c.waiting.push_back(&t);
  } else {
    const time_ps begin = std::max(c.clock, when);
    c.idle_ps += begin - c.idle_since;
    c.clock = begin;
    c.slice_begin = begin;
    if (profile_) profile_->begin(c);
    c.current = &t;
    busy_.insert(std::ranges::lower_bound(busy_, c.index, {}, &core::index), &c);
  }
}

bool engine::sleep(const void* word, time_ps wake_at, const char* waits_for) {
  if (running == &nobody) give_up("a thread would sleep where no modelled time passes: before main, or after the end");
  if (held_ != 0) give_up("a thread would wait within a function that the C library calls under its own lock");
  thread& me = *self_;
  {
    const outside_time scope;
    me.state = thread_state::sleeping;
    me.word = word;
    me.wake_at = wake_at;
    me.waits_for = waits_for;
    me.last_read = {};
    me.timed_out = false;
    me.slept_at = lonely_wakes_;
    sleepers_.push_back(&me);
    if (wake_at != never) timers_.insert({wake_at, me.index});
    leave_core(*me.on);
    run(next_core());
  }
  running = me.on;
  return !me.timed_out;
}

std::uint32_t engine::wake(const void* word, std::uint32_t count) {
  return running == &nobody ? 0 : wake_at(word, count, running->clock + wake_cycles * running->period_ps);
}

std::uint32_t engine::wake_at(const void* word, std::uint32_t count, time_ps when) {
  core* const c = running;
  std::uint32_t woken = 0;
  {
    const outside_time scope;
    for (std::size_t i = 0; i < sleepers_.size() && woken < count;)
      if (sleepers_[i]->word == word) {
        make_ready(*sleepers_[i], when);
        ++woken;
      } else {
        ++i;
      }
    if (woken != 0) note_progress();
  }
  if (woken != 0 && c != &nobody) set_horizon(*c);
  return woken;
}

void engine::at(time_ps when, std::function<void()> what) {
  core* const c = running;
  {
    const outside_time scope;
    events_.push({when, next_event_++, std::move(what)});
  }
  if (c != &nobody) set_horizon(*c);
}

// --- threads ---------------------------------------------------------------------------------------------------------

core& engine::emptiest_core_of_tile(std::uint32_t tile) noexcept {
  core* best = nullptr;
  for (core& c : cores_)
    if (c.tile == tile && (best == nullptr || c.threads_here < best->threads_here)) best = &c;
  return *best;
}

void engine::move_to_tile(std::uint32_t tile) {
  core& on = *self_->on;
  if (on.tile != tile || on.threads_here > 1) move_to(emptiest_core_of_tile(tile));
}

thread* engine::find(std::uintptr_t fs_base) noexcept {
  for (thread* const t : threads_)
    if (t->host != nullptr && t->host->fs_base() == fs_base) return t;
  return nullptr;
}

thread& engine::make_thread(core& on, std::size_t stack_bytes) {
  auto* const made = new thread;
  made->index = static_cast<std::uint32_t>(threads_.size());
  made->on = &on;
  made->host = lent_thread::park(stack_bytes);
  made->host->prepare(&thread_entry);
  ++on.threads_here;
  threads_.push_back(made);
  return *made;
}

void engine::thread_entry() {
  engine& here = *the_engine;
  thread& me = *here.self_;
  here.release_ended();
  running = me.on;
  me.has_begun = true;
  here.end_thread(me.body(me.argument));
}

namespace {
void (*first_body)() = nullptr;
}

void engine::begin(void (*body)()) {
  first_body = body;
  thread& first = make_thread(cores_[0], std::size_t{8} << 20);
  first.body = [](void*) -> void* {
    first_body();
    return nullptr;
  };
  make_ready(first, 0);
  self_ = &first;
  set_horizon(cores_[0]);
  leave_first_thread(*first.host);
  __builtin_unreachable();
}

thread& engine::start_thread(void* (*body)(void*), void* argument, std::size_t stack_bytes) {
  core* const c = running;
  thread* made = nullptr;
  {
    const outside_time scope;
    made = &make_thread(emptiest_core_of_tile(self_->on->tile), stack_bytes);
    made->body = body;
    made->argument = argument;
    made->place = self_->place;
    make_ready(*made, self_->on->clock + wake_cycles * self_->on->period_ps);
    note_progress();
  }
  if (c != &nobody) set_horizon(*c);
  return *made;
}

core& engine::add_device_core() {
  core& made = device_cores_.emplace_back();
  made.index = static_cast<std::uint32_t>(cores_.size() + device_cores_.size() - 1);
  made.is_device = true;
  made.front = &no_front;
  made.period_ps = 0;  // so that nothing that is counted in cycles takes time
  if (device_cores_.size() == 1) {
    give_own_block_costs(made);
  } else {
    made.block_costs = device_cores_.front().block_costs;
    made.text_bytes = device_cores_.front().text_bytes;
  }
  return made;
}

thread& engine::start_device(void* (*body)(void*), void* argument) {
  core* const c = running;
  thread* made = nullptr;
  {
    const outside_time scope;
    made = &make_thread(add_device_core(), device_stack_bytes);
    made->body = body;
    made->argument = argument;
    make_ready(*made, self_->on->clock);
    note_progress();
  }
  if (c != &nobody) set_horizon(*c);
  return *made;
}

void engine::become_device() {
  if (running == &nobody) return;
  take_turn();
  core* made = nullptr;
  {
    const outside_time scope;
    made = &add_device_core();
  }
  move_to(*made);
}

void engine::end_thread(void* result) {
  take_turn();
  thread& me = *self_;
  running = &nobody;
  me.result = result;
  me.state = thread_state::done;
  --me.on->threads_here;
  const time_ps when = me.on->clock;
  leave_core(*me.on);
  if (me.is_detached) ended_.push_back(&me);
  if (me.joiner != nullptr) make_ready(*me.joiner, when + wake_cycles * me.on->period_ps);
  note_progress();
  run(next_core());
  give_up("an ended thread runs on");
}

void* engine::join(thread& ended) {
  take_turn();
  if (ended.state != thread_state::done) {
    ended.joiner = self_;
    sleep(nullptr, never, "the end of a thread");
  } else if (running != &nobody) {
    running->clock = std::max(running->clock, ended.on->clock);
  }
  const outside_time scope;
  if (ended.host != nullptr) std::exchange(ended.host, nullptr)->release();
  return ended.result;
}

void engine::detach(thread& which) {
  which.is_detached = true;
  if (which.state != thread_state::done) return;
  const outside_time scope;
  std::exchange(which.host, nullptr)->release();
}

void engine::move_to(core& target) {
  thread& me = *self_;
  if (me.on == &target || running == &nobody) return;
  {
    const outside_time scope;
    core& before = *me.on;
    const time_ps when = before.clock + switch_cycles * before.period_ps;
    leave_core(before);
    --before.threads_here;
    ++target.threads_here;
    me.on = &target;
    make_ready(me, when);
    run(next_core());
  }
  running = me.on;
}

// --- what goes wrong -------------------------------------------------------------------------------------------------

void engine::print_threads() {
  asks_for_stacks_ = self_;
  for (thread* const t : threads_) {
    if (t->state == thread_state::done) continue;
    print_thread(*t);
    if (!t->has_begun) {
      say("    has not begun\n");
    } else if (t == self_) {
      print_stack(1);
    } else {
      t->shows_stack = true;
      switch_to(*self_->host, *t->host);
    }
  }
}

void engine::deadlock(const char* why) {
  say("situ model: ");
  say(why);
  say("\n");
  print_threads();
  host_exit_with_report(3);
}

}  // namespace situ::model
