// Modelled time: cores with clocks, threads that run on them, and who runs next.
//
// Invariants
//   1. One host thread runs everything. `running` is the core whose thread runs; where the executor's own code runs,
//      or no program has begun yet, it is `nobody`, for which nothing is counted and nothing is switched.
//   2. What others can see (a miss, a first write to a line, an atomic, a wake-up, an event) happens in the order of
//      time: a core does it only while no other core that has work, no timer and no event is earlier. Not in order are
//      malloc and free, and what runs under a lock of the C library (hold_others).
//   3. Between such points a core runs ahead of the others by at most a quantum; none where order is strict.
//   4. A core has one running thread; others that are ready on it wait for it to sleep, to yield, or for its slice.
//   5. Where tiles may see different bytes, those that the running thread has asked for are in place together when it
//      uses them: an access to several lines gives no turn between them, and a copy of an object, which asks to read
//      and then to write, reads once more if others have run in between.
//   6. Every choice depends on clocks and numbers alone, so that each run is the same.
//
// The hooks of hooks.cpp look into the core's first cache by themselves (front_cache); all else is access().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/execution/block_costs.h"
#include "model/execution/fiber.h"
#include "model/execution/memory_port.h"

extern "C" const char __executable_start;  // NOLINT: the linker's name, of the program's first byte
extern "C" const char etext;               // and of what follows its code

namespace situ::model {

struct thread;
class branch_predictor;
class time_profile;

inline constexpr time_ps never = no_time;
inline constexpr std::uint64_t no_front = ~std::uint64_t{0};  // no line: of a core without a first cache
inline constexpr std::uint64_t switch_cycles = 500;           // of a core from one thread to another; assumed
inline constexpr std::uint64_t wake_cycles = 100;  // from the wake-up to the woken thread's first cycle; assumed
inline constexpr std::uint32_t most_tiles = 1024;  // of a machine that programs run on; what memory is laid out for

// What the hooks touch comes first.
struct core {
  // Whether its DTLB is not needed for the address.
  [[nodiscard]] bool is_in_page(std::uintptr_t address) const noexcept { return address >> page_shift == page; }
  // A read hit where the first way of its set holds it, a write hit where it may be written there, too.
  [[nodiscard]] bool hits_front(std::uintptr_t line, bool writes) const noexcept {
    const std::uint64_t entry = front[(line & set_mask) * ways];
    return writes ? entry == (line << 2 | front_cache::dirty_and_writable) : entry >> 2 == line;
  }

  // The core goes through a basic block. What it accesses and fetches comes on top.
  void add_block(const block_cost& cost) noexcept {
    ++blocks;
    clock += cost.picoseconds;
    instructions += cost.instructions;
  }
  // Whether the line is in the first way of its set, in the core's instruction cache: then nothing is waited for.
  [[nodiscard]] bool fetches_from_front(std::uint32_t line) const noexcept {
    return fetch_front[(line & fetch_set_mask) * fetch_ways] >> 2 == line;
  }

  [[nodiscard]] std::uint64_t atomics() const noexcept {
    return slow[static_cast<int>(access_kind::atomic)] + slow[static_cast<int>(access_kind::atomic_read)] +
           slow[static_cast<int>(access_kind::atomic_write)];
  }
  [[nodiscard]] std::uint64_t slow_accesses() const noexcept { return slow[0] + slow[1] + atomics(); }

  time_ps clock = 0;
  time_ps quantum_end = never;           // a hit beyond it leads to end_quantum()
  const std::uint64_t* front = nullptr;  // front_cache
  std::uintptr_t set_mask = 0;
  std::uint32_t ways = 1;
  std::uint32_t line_shift = 63;
  std::uint32_t page_shift = 63;  // of the pages of its DTLB
  std::uintptr_t page = 0;        // of its last access that went to the machine; none but 0 where there is no DTLB
  std::uint32_t index = 0;
  time_ps hit_ps = 0;
  block_cost* block_costs = nullptr;  // of the block at each byte of the program's code
  std::uintptr_t text_bytes = 0;      // of that code, from __executable_start on, which the hook looks up itself
  std::uint64_t hits[2] = {};         // reads, writes that the front has answered
  std::uint64_t blocks = 0;
  std::uint64_t instructions = 0;
  fetched_lines fetched;  // of the block before; those of all blocks are alike where the core fetches nothing

  const std::uint64_t* fetch_front = nullptr;  // front_cache of instructions; null: it fetches nothing
  std::uint32_t fetch_set_mask = 0;
  std::uint32_t fetch_ways = 1;
  std::uint32_t fetch_shift = 0;
  std::uint32_t fetch_page_shift = 31;  // from lines to pages of its ITLB
  std::uint32_t fetch_page = 0;         // of the last line; none but 0 where there is no ITLB
  time_ps fetch_hit_ps = 0;
  std::uint64_t fetch_hits = 0;
  std::uint64_t told_fetch_hits = 0;  // of these, what the machine has been told
  time_ps fetch_ps = 0;               // what it has waited for lines that its instruction cache did not have
  time_ps horizon = never;            // the earliest that others have to do
  time_ps turn_end = never;           // a hit beyond it gives them their turn
  time_ps period_ps = 1000;
  std::uint32_t tile = 0;
  bool is_device = false;   // of a device: no core of the machine's, whose instructions and accesses take no time
  bool goes_ahead = false;  // past a miss: all its accesses are the machine's
  time_ps issue_ps = 0;     // of such a core: an access's part of its width, or what an integer instruction takes
  branch_predictor* branches = nullptr;  // of one that foresees them: all its blocks are the engine's
  time_ps mispredict_ps = 0;
  std::uint64_t mispredicted = 0;
  thread* current = nullptr;
  std::vector<thread*> waiting;  // ready, in order
  time_ps slice_begin = 0;
  time_ps idle_since = 0;

  std::uint64_t told_hits[2] = {};        // of `hits`, what the machine has been told
  std::uint64_t slow[access_kinds] = {};  // accesses that went to the machine, by access_kind
  time_ps slow_ps = 0;                    // their time
  time_ps idle_ps = 0;
  std::uint64_t switches = 0;
  std::uint32_t threads_here = 0;
};

extern constinit core nobody;
extern constinit core* running;

enum class thread_state : std::uint8_t { ready, sleeping, done };

// What a thread has read last of watched addresses, and may be about to use.
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
  std::int64_t place = -1;   // of a Situ job; -1: none
  core* on = nullptr;
  lent_thread* host = nullptr;
  const void* word = nullptr;  // sleeps on it
  const char* waits_for = "";  // in words
  time_ps wake_at = never;
  std::uint64_t slept_at = 0;  // lonely wakes until then
  thread* joiner = nullptr;
  watched_read last_read;
  void* (*body)(void*) = nullptr;
  void* argument = nullptr;
  void* result = nullptr;
};

struct engine_options {
  time_ps quantum_ps = 1'000'000;
  bool is_strict = false;
  bool profiles = false;     // where time goes, by function
  std::string fast_forward;  // until this region begins accesses are not priced; empty: all are
};

// Addresses of which tiles may see different bytes: each access to them is the machine's. Empty unless that is checked.
struct watched_range {
  std::uintptr_t begin = 0;
  std::uintptr_t bytes = 0;
  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept { return address - begin < bytes; }
  void add(std::uintptr_t from, std::uintptr_t to) noexcept;
};
extern constinit watched_range watched;

class engine {
 public:
  engine(std::unique_ptr<memory_port> machine, const engine_options& options);
  ~engine();

  // The first thread; never returns.
  [[noreturn]] void begin(void (*body)());
  thread& start_thread(void* (*body)(void*), void* argument, std::size_t stack_bytes);
  // A thread on a core of a device's own. It runs from the running core's time on, for ever.
  thread& start_device(void* (*body)(void*), void* argument);
  // The running thread ends.
  [[noreturn]] void end_thread(void* result);
  void* join(thread& ended);
  // Nobody will join it.
  void detach(thread& which);

  // A place's slice of a job: [begin, end), its heap from `heap` on.
  void map_slice(std::uint32_t place, std::uintptr_t begin, std::uintptr_t heap, std::uintptr_t end);
  // Of a machine whose tiles are not coherent: tiles see the bytes that they would see there, and what that makes of
  // the program is counted. False where the machine is coherent.
  bool check_coherence(std::function<void(const coherence_report&)> found);

  // Whether accesses are not priced yet: each takes what a hit in the first cache does, and no cache hears of it.
  [[nodiscard]] bool is_fast_forward() const noexcept { return fast_forward_; }
  // A region begins.
  void stop_fast_forward(std::string_view region) noexcept {
    fast_forward_ = fast_forward_ && region != options_.fast_forward;
  }

  // --- of the running core
  // Waits until no other has something earlier to do: invariant 2.
  void take_turn();
  // After a hit beyond quantum_end.
  void end_quantum();
  // `at`: the code that asks, for reports.
  void access(std::uintptr_t address, std::size_t bytes, access_kind kind, std::uintptr_t at = 0);
  // A block whose cost the core's table does not have yet. `code`: what follows the call of its hook.
  void begin_new_block(std::uintptr_t code);
  // The core comes to code in other lines than before. A hit in its instruction cache takes no time: the pipeline has
  // asked ahead. A miss stops it.
  void fetch(fetched_lines lines, std::uintptr_t code);
  void spend(time_ps time);  // time passes
  void wait_for_all();       // what the core has under way is done
  void yield();
  // While the C library calls the program back under a lock of its own, nobody else may run: pairs of these.
  void hold_others() noexcept { ++held_; }
  void release_others() noexcept { --held_; }
  // Sleeps until woken or until `wake_at`; true where it was woken. `word`: what wake() names.
  bool sleep(const void* word, time_ps wake_at, const char* waits_for);
  std::uint32_t wake(const void* word, std::uint32_t count);
  // The same at a time that an event has.
  std::uint32_t wake_at(const void* word, std::uint32_t count, time_ps when);
  void move_to(core& target);
  void move_to_tile(std::uint32_t tile);  // to the core with the fewest threads
  // Calls `what` when time has come to `when`, on nobody's core.
  void at(time_ps when, std::function<void()> what);

  [[nodiscard]] std::vector<core>& cores() noexcept { return cores_; }
  [[nodiscard]] const std::vector<thread*>& threads() const noexcept { return threads_; }
  [[nodiscard]] memory_port& machine() noexcept { return *machine_; }
  [[nodiscard]] thread& self() noexcept { return *self_; }
  [[nodiscard]] const time_profile* profile() const noexcept { return profile_.get(); }  // null unless asked for
  [[nodiscard]] thread* find(std::uintptr_t fs_base) noexcept;
  // Where a place's threads run: places take the tiles that have cores, in turn.
  [[nodiscard]] std::uint32_t tile_of_place(std::uint32_t place) const noexcept {
    return tiles_[place % tiles_.size()];
  }
  [[nodiscard]] std::uint64_t trace_hash() const noexcept { return hash_; }
  [[nodiscard]] std::uint64_t switches() const noexcept { return switches_; }
  // Calls `what`, outside of time, once no core has anything left to do before `first`, with the time that none has
  // anything left before; it returns when it is to be called next. Nothing of the run depends on it.
  void watch(std::function<time_ps(time_ps)> what, time_ps first);
  // The same as soon as may be, whatever the time. For a signal handler on the host's one thread.
  void watch_soon() noexcept;
  // Each thread that has not ended, with its place, core and stack, to standard error.
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
  void pass_by(core& c, access_kind kind);
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
  void set_horizon(core& c);
  void look(core& c);
  void call_watcher(time_ps earliest);
  void give_instruction_caches();
  void fetch_line(std::uint32_t line, std::uintptr_t code);
  [[nodiscard]] block_cost read_cost(const core& of, std::uintptr_t code, bool is_own) const;
  void give_block_costs();
  static void give_own_block_costs(core& to);
  void give_branch_predictors();
  void go_to_block(core& c, std::uintptr_t code);
  [[nodiscard]] time_ps next_due() const noexcept;
  void handle_due();
  void release_ended();
  void note_progress() noexcept { progress_at_ = lonely_wakes_; }
  // Somebody has yet to wake whom nobody has seen wake since something has last changed.
  [[nodiscard]] bool may_yet_change() const noexcept;
  [[noreturn]] void deadlock(const char* why);
  void mix(std::uint64_t value) noexcept { hash_ = (hash_ ^ value) * 1099511628211ULL; }

  std::unique_ptr<memory_port> machine_;
  std::unique_ptr<time_profile> profile_;
  const engine_options options_;
  std::vector<core> cores_;
  native_text native_text_;  // empty where no core fetches
  std::vector<std::unique_ptr<branch_predictor>> branch_predictors_;
  std::deque<core> device_cores_;  // with numbers behind those of the machine's cores
  std::vector<core*> busy_;        // with a thread, in the order of their numbers
  std::vector<thread*> threads_;
  std::vector<thread*> sleepers_;  // in the order in which they went to sleep
  std::set<std::pair<time_ps, std::uint32_t>> timers_;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::uint64_t next_event_ = 0;
  thread* self_ = nullptr;
  std::vector<thread*> ended_;  // detached ones, whose storage may go once nobody runs on it
  thread* asks_for_stacks_ = nullptr;
  std::vector<std::uint32_t> tiles_;  // that have cores
  std::uint64_t hash_ = 14695981039346656037ULL;
  std::uint64_t switches_ = 0;
  std::function<time_ps(time_ps)> watcher_;
  std::atomic<time_ps> watch_at_ = never;
  std::atomic<bool> watch_soon_ = false;
  bool checks_coherence_ = false;
  bool fast_forward_ = false;
  std::uint32_t held_ = 0;
  std::uint64_t lonely_wakes_ = 0;  // timers that found everybody asleep
  std::uint64_t progress_at_ = 0;   // how many there were when something has last changed
};

extern engine* the_engine;

// The executor's own code runs: nobody's accesses.
class outside_time {
 public:
  outside_time() noexcept : before_{running} { running = &nobody; }
  ~outside_time() { running = before_; }
  outside_time(const outside_time&) = delete;
  outside_time& operator=(const outside_time&) = delete;

 private:
  core* before_;
};

// What is allocated outside of time lies apart for the executor and for the program (before main, and where it makes
// its job), so that the program's memory does not move with what the executor needs: samples, a report.
extern constinit bool executor_allocates;

// The program's code runs, but nobody's accesses.
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
