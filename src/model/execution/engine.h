// Modelled time: cores with clocks, threads that run on the cores, and the choice of the core that runs next.
//
// Invariants
//   1. One host thread runs everything. `running` is the core whose thread runs; while the executor's own code runs, or
//      no program has begun yet, `running` is `nobody`, for which nothing is counted and nothing is switched.
//   2. Events that others can see (a miss, a first write to a line, an atomic, a wake-up, an event) happen in time
//      order: a core causes one only while no other core with work, no timer and no event is earlier. Exceptions are
//      malloc and free, and code that runs under a lock of the C library (hold_others).
//   3. Between such points a core runs ahead of the others by at most a quantum, and hits on lines that others take
//      meanwhile are put in order from then on (shared_lines.h). If order is strict, every hit waits for its turn.
//   4. A core has one running thread; other ready threads wait until it sleeps, yields, or has used up its slice.
//   5. If tiles may see different bytes, the bytes that the running thread has asked for are in place together when it
//      uses them: an access to several lines gives no turn between the lines, and a copy of an object, which asks to
//      read and then to write, reads once more if others have run in between.
//   6. Every choice depends on clocks and numbers alone, so that each run is the same.
//
// The hooks of hooks.cpp look into the core's first cache themselves (front_cache); all other accesses use access().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/execution/block_costs.h"
#include "model/execution/fiber.h"
#include "model/execution/memory_port.h"
#include "model/execution/shared_lines.h"
#include "model/execution/signals.h"
#include "model/parts/issue_slots.h"
#include "model/parts/memory_observer.h"
#include "model/parts/ramulator_trace.h"

extern "C" const char __executable_start;  // NOLINT: the linker's name of the program's first byte
extern "C" const char etext;               // and of the end of its code

namespace situ::model {

struct thread;
struct shared_width;
class branch_predictor;
class object_log;
class request_trace;
class time_profile;
class trace_writer;

inline constexpr time_ps never = no_time;
// Addresses of libraries differ from run to run.
inline constexpr std::uintptr_t first_library_address = 0x7000'0000'0000;
inline constexpr std::uint64_t no_front = ~std::uint64_t{0};  // no line: the entry of a core without a first cache
inline constexpr std::uint64_t switch_cycles = 500;           // a core's switch from one thread to another; assumed
inline constexpr std::uint64_t wake_cycles = 100;  // from the wake-up to the woken thread's first cycle; assumed

// The fields that the hooks touch come first; assembly_hooks.cpp has their places.
struct core {
  // Returns whether the address needs no lookup in the core's DTLB.
  [[nodiscard]] bool is_in_page(std::uintptr_t address) const noexcept { return (address & page_mask) == page; }
  // Returns whether the first way of the line's set holds the line; for a write, as dirty and writable.
  [[nodiscard]] bool hits_front(std::uintptr_t line, bool writes) const noexcept {
    const std::uint64_t entry = front[(line & set_mask) * ways];
    return writes ? entry == (line << 2 | front_cache::dirty_and_writable) : entry >> 2 == line;
  }

  // Adds the cost of a basic block that the core executes, without its accesses and fetches.
  void add_block(const block_cost& cost) noexcept {
    ++blocks;
    clock += cost.picoseconds;
    instructions += cost.instructions;
    without_cost += cost.without_cost;
    branches += cost.branches;
  }
  // Returns whether the first way of the line's set in the core's instruction cache holds the line: the core then waits
  // for nothing.
  [[nodiscard]] bool fetches_from_front(std::uint32_t line) const noexcept {
    return fetch_front[(line & fetch_set_mask) * fetch_ways] >> 2 == line;
  }
  // Does what hits_front() does, also while the engine sees all hits.
  [[nodiscard]] bool hits_own_front(std::uintptr_t line, bool writes) const noexcept {
    const std::uint64_t entry = own_front[(line & own_set_mask) * ways];
    return writes ? entry == (line << 2 | front_cache::dirty_and_writable) : entry >> 2 == line;
  }

  [[nodiscard]] std::uint64_t atomics() const noexcept {
    return slow[static_cast<int>(access_kind::atomic)] + slow[static_cast<int>(access_kind::atomic_read)] +
           slow[static_cast<int>(access_kind::atomic_write)];
  }
  // Reads and writes of the program: one that crosses lines went to the machine for each.
  [[nodiscard]] std::uint64_t reads() const noexcept { return hits[0] + slow[0] - further_lines[0]; }
  [[nodiscard]] std::uint64_t writes() const noexcept { return hits[1] + slow[1] - further_lines[1]; }
  [[nodiscard]] std::uint64_t slow_accesses() const noexcept { return slow[0] + slow[1] + atomics(); }

  time_ps clock = 0;
  time_ps quantum_end = never;           // a hit beyond it leads to end_quantum()
  const std::uint64_t* front = nullptr;  // front_cache
  std::uintptr_t set_mask = 0;
  std::uint64_t ways = 1;
  const std::uint64_t* aligned_front = &no_front;  // the same for hooks that look at one line, if lines are long enough
  std::uintptr_t aligned_mask = 0;
  std::uint64_t line_shift = 63;
  std::uintptr_t page_mask = 0;  // of the addresses of the DTLB's pages; 0 without a DTLB
  std::uintptr_t page = 0;       // begin of the page of its last access that went to the machine; 0 without a DTLB
  time_ps hit_ps = 0;
  std::uint64_t hits[2] = {};         // reads and writes that hit in the front
  std::uint64_t modified = 0;         // instructions that read and write the same bytes
  block_cost* block_costs = nullptr;  // indexed by the byte of the program's code at which a block begins
  std::uintptr_t text_bytes = 0;      // size of that code, from __executable_start on, which the hook looks up itself
  std::uint64_t blocks = 0;
  std::uint64_t instructions = 0;
  std::uint64_t without_cost = 0;  // further instructions, whose cost is that of their accesses, or of others
  std::uint64_t branches = 0;      // conditional and indirect jumps
  fetched_lines fetched;           // of the previous block; equal for all blocks if the core fetches nothing
  std::uint32_t index = 0;

  const std::uint64_t* fetch_front = nullptr;  // front_cache of instructions; null: the core fetches nothing
  std::uint32_t fetch_set_mask = 0;
  std::uint32_t fetch_ways = 1;
  std::uint32_t fetch_shift = 0;
  std::uint32_t fetch_page_shift = 31;  // shift from lines to the ITLB's pages
  std::uint32_t fetch_page = 0;         // page of the last line; always 0 without an ITLB
  time_ps fetch_hit_ps = 0;
  std::uint64_t fetch_hits = 0;
  std::uint64_t told_fetch_hits = 0;  // part of fetch_hits that the machine has been told of
  time_ps fetch_ps = 0;               // time waited for lines that missed the instruction cache
  time_ps horizon = never;            // time of the earliest work of others
  time_ps turn_end = never;           // a hit beyond it gives others their turn
  time_ps period_ps = 1000;
  std::uint32_t tile = 0;
  bool is_device = false;   // belongs to a device, not to the machine: its instructions and accesses take no time
  bool goes_ahead = false;  // continues past a miss: all its accesses go to the machine
  time_ps issue_ps = 0;     // for such a core: an access's share of its width, or the time of an integer instruction
  branch_predictor* predictor = nullptr;  // if not null, the engine handles all blocks of the core
  time_ps mispredict_ps = 0;
  std::uint64_t mispredicted = 0;
  thread* current = nullptr;
  std::vector<thread*> waiting;  // ready, in order
  time_ps slice_begin = 0;
  time_ps idle_since = 0;

  std::uint64_t told_hits[2] = {};        // part of `hits` that the machine has been told of
  std::uint64_t slow[access_kinds] = {};  // accesses that went to the machine, by access_kind; one for each line
  std::uint64_t further_lines[access_kinds] = {};  // part of `slow`: lines of an access behind its first
  time_ps slow_ps = 0;                             // time of these accesses
  time_ps idle_ps = 0;
  std::uint64_t switches = 0;
  std::uint32_t threads_here = 0;
  const std::uint64_t* own_front = &no_front;  // `front` and `set_mask`, unless the engine sees all hits
  std::uintptr_t own_set_mask = 0;

  std::uint32_t of_core = 0;          // of a core of several hardware threads: the index of its first one
  std::uint32_t thread_number = 0;    // which of them this is
  shared_width* width = nullptr;      // what they share; null: the core has one
  issue_slots::taken issued;          // width that it has taken
  time_ps issued_until = 0;           // time up to which it has taken it
  std::uint64_t accesses_issued = 0;  // accesses up to then
  time_ps width_ps = 0;               // time that it waited for width that the others have taken
};

// The hardware threads of a core, and the width that they share.
struct shared_width {
  issue_slots slots;
  std::vector<core*> threads;
  std::uint32_t active = 0;  // that have a thread of the program to run
};

// Returns whether a new thread starts better on `a`: it has fewer threads, or else its core has.
[[nodiscard]] bool is_emptier(const core& a, const core& b) noexcept;

extern constinit core nobody;
extern constinit core* running;

enum class thread_state : std::uint8_t { ready, sleeping, done };

// A thread's last read of watched addresses, whose bytes it may be about to use.
struct watched_read {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;  // 0: nothing
  std::uintptr_t at = 0;
};

struct thread {
  std::uint32_t index = 0;
  thread_state state = thread_state::ready;
  bool timed_out = false;
  bool is_detached = false;
  bool has_begun = false;
  bool shows_stack = false;  // resumed only to print its stack
  bool has_team = false;     // OpenMP threads wait for its next parallel region (openmp.h)
  std::int64_t place = -1;   // place of a Situ job; -1: none
  core* on = nullptr;
  lent_thread* host = nullptr;
  const void* word = nullptr;  // the word on which the thread sleeps
  const char* waits_for = "";  // the reason for the wait, as text
  time_ps wake_at = never;
  std::uint64_t slept_at = 0;  // lonely_wakes_ when the thread went to sleep
  thread* joiner = nullptr;
  watched_read last_read;
  thread_signals signals;
  void* (*body)(void*) = nullptr;
  void* argument = nullptr;
  void* result = nullptr;
};

struct engine_options {
  time_ps quantum_ps = 1'000'000;
  bool is_strict = false;
  bool profiles = false;      // records each function's time
  bool sees_objects = false;  // records what the accesses to each object cost
  std::string trace;          // a trace of each core goes to this file and its number; empty: none
  // The trace is one of Ramulator's; empty: of ChampSim's.
  std::optional<ramulator_format> requests;
  bool warms = false;        // accesses before that region keep caches, TLBs and prefetchers up to date
  std::string fast_forward;  // accesses are not priced until this region begins; empty: all accesses are priced
};

// Addresses whose bytes may differ between tiles: each access to them goes to the machine. The range is empty unless
// coherence is checked.
struct watched_range {
  std::uintptr_t begin = 0;
  std::uintptr_t bytes = 0;
  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept { return address - begin < bytes; }
  void add(std::uintptr_t from, std::uintptr_t to) noexcept;
};
extern constinit watched_range watched;

class engine final : private sharing_observer, private memory_observer {
 public:
  // A scope in which the running core's requests to memories are not its own: those of DMA and of messages that it
  // sends. No other thread may run within it.
  class of_no_core {
   public:
    explicit of_no_core(engine& of) noexcept : is_{of.is_of_no_core_}, before_{std::exchange(is_, true)} {}
    ~of_no_core() { is_ = before_; }
    of_no_core(const of_no_core&) = delete;
    of_no_core& operator=(const of_no_core&) = delete;

   private:
    bool& is_;
    bool before_;
  };

  engine(std::unique_ptr<memory_port> machine, const engine_options& options);
  ~engine() override;

  // Starts the first thread; never returns.
  [[noreturn]] void begin(void (*body)());
  thread& start_thread(void* (*body)(void*), void* argument, std::size_t stack_bytes);
  // Starts a thread on a core of a device's own. The thread begins at the running core's time and never ends.
  thread& start_device(void* (*body)(void*), void* argument);
  // Ends the running thread.
  [[noreturn]] void end_thread(void* result);
  void* join(thread& ended);
  // Declares that no thread will join this thread.
  void detach(thread& which);

  // Maps a place's slice of a job: the addresses [begin, end), with its heap from `heap` on.
  void map_slice(std::uint32_t place, std::uintptr_t begin, std::uintptr_t heap, std::uintptr_t end);
  // Begins to check coherence on a machine whose tiles are not coherent: tiles then see the bytes that they would see
  // there, and `found` is called for each error of the program. Returns false if the machine is coherent.
  bool check_coherence(std::function<void(const coherence_report&)> found);

  // Returns whether accesses are not priced yet: each access then takes the time of a hit in the first cache, and
  // reaches no cache, or, by functional warming, changes what caches, TLBs and prefetchers hold.
  [[nodiscard]] bool is_fast_forward() const noexcept { return fast_forward_; }
  // Returns whether caches hold nothing yet: a fast forward without functional warming.
  [[nodiscard]] bool has_empty_caches() const noexcept { return fast_forward_ && !options_.warms; }
  // Ends the fast forward if this region is the one to wait for.
  void stop_fast_forward(std::string_view region) {
    if (fast_forward_ && region == options_.fast_forward) end_fast_forward();
  }
  // As in the machine (memory_port.h), with the cores' branch predictors (warm_start.h). begin_with() waits for the end
  // of a fast forward.
  [[nodiscard]] std::uint64_t state_hash() const;
  void save_state(state_words& to) const;
  void begin_with(state_words words, std::string file);

  // --- for the running core
  // Waits until no other core has earlier work: invariant 2.
  void take_turn() {
    const core& c = *running;
    if (c.clock > c.horizon || c.clock >= watch_at_.load(std::memory_order_relaxed)) [[unlikely]]
      wait_for_turn();
  }
  // Ends the quantum; called after a hit beyond quantum_end.
  void end_quantum();
  // Accesses memory. `at`: the address of the accessing code, for reports.
  void access(std::uintptr_t address, std::size_t bytes, access_kind kind, std::uintptr_t at = 0);
  // Does the same for a hook, which leaves its hits to the engine if that sees all (see_hits()). pre: the core is not
  // nobody, and bytes > 0.
  void access_of_hook(std::uintptr_t address, std::size_t bytes, access_kind kind, std::uintptr_t at);
  // Handles a hit in the front, within one line, whose slot in last_touch holds `in_order`. If the line is kept in
  // order, the core waits for its turn. Returns false if the line was lost in the meantime: the caller makes an access.
  bool hit(std::uintptr_t address, bool writes, std::size_t bytes = 1, std::uintptr_t at = 0);
  // Tells those who want to see all accesses of a hit that the caller has counted.
  void note_hit(std::uintptr_t address, std::size_t bytes, bool writes, std::uintptr_t at = 0) {
    if (sees_hits_) [[unlikely]]
      note_access(*running, address, {.address = address, .bytes = bytes, .kind = kind_of(writes), .at = at});
  }
  // Begins a block whose cost the core's table does not have yet. `code`: the address after the call of the block's
  // hook.
  void begin_new_block(std::uintptr_t code);
  // Fetches code in other lines than before. A hit in the instruction cache takes no time, since the pipeline has asked
  // ahead. A miss stops the core.
  void fetch(fetched_lines lines, std::uintptr_t code);
  void spend(time_ps time);  // lets time pass
  void wait_for_all();       // waits for the core's accesses in flight
  void yield();
  // These pairs enclose calls from the C library to the program under a lock of the library's own: no other thread may
  // run.
  void hold_others() noexcept { ++held_; }
  void release_others() noexcept { --held_; }
  // Sleeps until woken or until `wake_at`; returns true if woken. `word`: the key that wake() names.
  bool sleep(const void* word, time_ps wake_at, const char* waits_for);
  std::uint32_t wake(const void* word, std::uint32_t count);
  // Wakes a sleeping thread for a signal, outside of modelled time: its sleep ends as if it were woken.
  void interrupt(thread& sleeper, time_ps when);
  // Does the same at the time of an event.
  std::uint32_t wake_at(const void* word, std::uint32_t count, time_ps when);
  void move_to(core& target);
  void move(thread& which, core& target);  // which: any thread
  void move_to_tile(std::uint32_t tile);   // to the core with the fewest threads
  // Calls `what` at time `when`, on no core.
  void at(time_ps when, std::function<void()> what);

  [[nodiscard]] std::vector<core>& cores() noexcept { return cores_; }
  [[nodiscard]] const std::vector<thread*>& threads() const noexcept { return threads_; }
  [[nodiscard]] memory_port& machine() noexcept { return *machine_; }
  [[nodiscard]] sharing_figures sharing() const noexcept { return shared_lines_.figures(); }
  [[nodiscard]] thread& self() noexcept { return *self_; }
  [[nodiscard]] const time_profile* profile() const noexcept { return profile_.get(); }  // null unless requested
  [[nodiscard]] object_log* objects() const noexcept { return objects_.get(); }          // null unless requested
  // Writes the rest of the traces. Returns what a trace's format had no place for.
  [[nodiscard]] std::string end_traces();
  [[nodiscard]] thread* find(std::uintptr_t fs_base) noexcept;
  // Returns the tile of a place's threads: places take the tiles that have cores, in turn.
  [[nodiscard]] std::uint32_t tile_of_place(std::uint32_t place) const noexcept {
    return tiles_[place % tiles_.size()];
  }
  [[nodiscard]] std::uint64_t trace_hash() const noexcept { return hash_; }
  [[nodiscard]] std::uint64_t switches() const noexcept { return switches_; }
  // Calls `what`, outside of modelled time, once no core has work before `first`. The argument is the time before which
  // no core has work; `what` returns the time of its next call. The call does not affect the run.
  void watch(std::function<time_ps(time_ps)> what, time_ps first);
  // Makes the next such call as soon as possible, at any time. A signal handler on the host's one thread may call it.
  void watch_soon() noexcept;
  // Prints each thread that has not ended to standard error, with its place, core and stack.
  void print_threads();

 private:
  struct event {
    time_ps when;
    std::uint64_t number;
    std::function<void()> what;
    bool operator>(const event& other) const noexcept {
      return when != other.when ? when > other.when : number > other.number;
    }
  };
  static void thread_entry();
  [[nodiscard]] core& emptiest_core_of_tile(std::uint32_t tile) noexcept;
  core& add_device_core();
  thread& make_thread(core& on, std::size_t stack_bytes);
  [[nodiscard]] sharing_counts sharing_of(const core& c) const {
    return c.is_device ? sharing_counts{} : machine_->sharing(c.index);
  }
  void on_taken(std::uint32_t core, std::uint64_t address) override;
  void on_request(std::uint32_t memory, std::uint64_t address, std::uint64_t bytes, bool writes) override;
  void end_fast_forward();
  void load_warm_state();
  // Returns whether a trace of all instructions is written.
  [[nodiscard]] bool sees_instructions() const noexcept { return !options_.trace.empty() && !options_.requests; }
  void see_hits();
  [[nodiscard]] bool hit_in_own_front(std::uintptr_t address, std::size_t bytes, access_kind kind, std::uintptr_t at);
  // An access that is over, for those who want to see all.
  struct seen_access {
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
    access_kind kind = access_kind::read;
    std::uintptr_t at = 0;
    bool is_miss = false;
    sharing_counts added;
    time_ps waited = 0;
  };
  [[nodiscard]] static constexpr access_kind kind_of(bool writes) noexcept {
    return writes ? access_kind::write : access_kind::read;
  }
  // `seen`: the address, or for libraries the part of it that is the same in each run.
  void note_access(const core& c, std::uintptr_t seen, const seen_access& of);
  void pass_by(core& c, access_kind kind);
  void warm(std::uintptr_t address, std::size_t bytes, access_kind kind, std::uintptr_t at);
  void warm_line(core& c, std::uintptr_t address, std::uint32_t bytes, access_kind kind);
  void access_watched(std::uintptr_t address, std::size_t bytes, access_kind kind, std::uintptr_t at);
  void access_at_once(std::uintptr_t address, std::size_t bytes, access_kind kind, std::uintptr_t at);
  time_ps access_ahead(core& c, std::uintptr_t address, std::uintptr_t seen, std::uint32_t bytes, access_kind kind,
                       std::uintptr_t at);
  void one_access(core& c, std::uintptr_t address, std::uint32_t bytes, access_kind kind, std::uintptr_t at);
  void make_ready(thread& t, time_ps when);
  void leave_core(core& c);
  void give_core_on(core& c);
  core& next_core();
  void run(core& next);
  void wait_for_turn();
  void set_horizon(core& c);
  // Returns how far a core may run ahead of a time: a part of the time since found_at_, from a part of the quantum to
  // the whole quantum.
  [[nodiscard]] time_ps lead(time_ps when) const noexcept;
  void look(core& c);
  void call_watcher(time_ps earliest);
  void give_instruction_caches();
  void fetch_line(std::uint32_t line, std::uintptr_t code);
  void warm_fetch(std::uint32_t line);
  [[nodiscard]] block_cost read_cost(const core& of, std::uintptr_t code, bool is_own) const;
  void give_block_costs();
  static void give_own_block_costs(core& to);
  void give_branch_predictors();
  void give_shared_widths();
  void take_width(core& c, const block_cost& cost) noexcept;
  void change_active(core& c, bool becomes_active);
  void go_to_block(core& c, std::uintptr_t code);
  [[nodiscard]] time_ps next_due() const noexcept;
  void handle_due();
  void release_ended();
  void note_progress() noexcept { progress_at_ = lonely_wakes_; }
  // Returns whether an event is pending, or a sleeping thread's timer may still change something: a thread without a
  // word, or one that has not woken since the last progress.
  [[nodiscard]] bool may_yet_change() const noexcept;
  [[noreturn]] void deadlock(const char* why);
  void mix(std::uint64_t value) noexcept { hash_ = (hash_ ^ value) * 1099511628211ULL; }

  std::unique_ptr<memory_port> machine_;
  std::unique_ptr<time_profile> profile_;
  std::unique_ptr<object_log> objects_;
  std::unique_ptr<trace_writer> trace_;
  std::unique_ptr<request_trace> requests_;
  bool sees_hits_ = false;  // there is one of these
  const engine_options options_;
  std::vector<core> cores_;
  shared_lines shared_lines_;
  bool handles_event_ = false;  // no core's access is under way
  bool is_of_no_core_ = false;  // of_no_core
  time_ps found_at_ = 0;        // when a thread last began, or a hit was found ahead
  native_text native_text_;     // empty if no core fetches
  std::vector<std::unique_ptr<branch_predictor>> branch_predictors_;
  std::deque<shared_width> shared_widths_;  // of cores of several hardware threads
  std::deque<core> device_cores_;           // numbered after the machine's cores
  std::vector<core*> busy_;                 // cores with a thread, in the order of their numbers
  std::vector<thread*> threads_;
  std::vector<thread*> sleepers_;  // in the order of falling asleep
  std::set<std::pair<time_ps, std::uint32_t>> timers_;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::uint64_t next_event_ = 0;
  thread* self_ = nullptr;
  std::vector<thread*> ended_;  // detached threads, whose storage is freed once no thread runs on it
  thread* asks_for_stacks_ = nullptr;
  std::vector<std::uint32_t> tiles_;  // tiles that have cores
  std::uint64_t hash_ = 14695981039346656037ULL;
  std::uint64_t switches_ = 0;
  std::function<time_ps(time_ps)> watcher_;
  std::atomic<time_ps> watch_at_ = never;
  std::atomic<bool> watch_soon_ = false;
  bool checks_coherence_ = false;
  bool fast_forward_ = false;
  state_words warm_;       // what a fast forward ends with; empty: cold caches
  std::string warm_file_;  // of which file
  std::uint32_t held_ = 0;
  std::uint64_t lonely_wakes_ = 0;  // timers that expired while all threads slept
  std::uint64_t progress_at_ = 0;   // lonely_wakes_ at the last change
};

extern engine* the_engine;

// A scope in which the executor's own code runs: its accesses belong to no core.
class outside_time {
 public:
  outside_time() noexcept : before_{running} { running = &nobody; }
  ~outside_time() { running = before_; }
  outside_time(const outside_time&) = delete;
  outside_time& operator=(const outside_time&) = delete;

 private:
  core* before_;
};

// Selects the arena of memory that is allocated outside of modelled time. The executor and the program (before main,
// and when it makes its job) have separate arenas, so that the program's addresses do not depend on the executor's
// needs: samples, a report.
extern constinit bool executor_allocates;

// A scope in which the program's code runs, but its accesses belong to no core.
class program_outside_time {
 public:
  program_outside_time() noexcept { executor_allocates = false; }
  ~program_outside_time() { executor_allocates = true; }
  program_outside_time(const program_outside_time&) = delete;
  program_outside_time& operator=(const program_outside_time&) = delete;

 private:
  outside_time nobodys_;
};

}  // namespace situ::model
