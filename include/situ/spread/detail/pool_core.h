// A task pool without the types of its tasks: each place has a deque of tasks, from which the other places steal.
//
//   private:  | chunk: arguments, trailer | arguments, trailer | ... top_     end_ |    last in, first out
//                        ^ older half, whenever nothing is shared
//   shared:   ring  | chunk | chunk | chunk |                                         in the place's segment
//                     ^ top: thieves take the oldest    ^ bottom: the owner takes the newest back
//
// Places of other hosts have no access to the ring: src/spread/pool_hosts.h.
//
// To reach a task, the owner needs a pointer and two loads of a cache line that changes only after a steal. The ring is
// the deque of Chase and Lev (2005) in the C11 form of Le and others (2013), of chunks instead of tasks. Invariants
//   1. A chunk belongs to the place that took it out of a ring or made it: both its tasks and its memory, which stays
//      in the segment in which it was allocated.
//   2. `active` counts the places of this host that are not idle. An idle place has no tasks: it becomes active before
//      it takes or gets some. So if `active` is 0, this host has no task; if the pool has no other host, none can
//      appear: the run is over.
//   3. The same word counts the finished runs. The place that ends a run starts the next run's count, with all places
//      active, by one change of the word: a late place finds that its run is over, and has taken no task of the next
//      one.
//   4. A place announces in `asleep` that it is about to sleep, and then looks at the rings; a place that shares a
//      chunk looks at `asleep` afterwards. Both are sequentially consistent, so at least one of them sees the other.
//
// Not thread-safe: a core belongs to its place's thread, except for the data in the segment.
#pragma once

#include <situ/fabric/detail/function_id.h>
#include <situ/memory/ptr.h>
#include <situ/runtime/detail/scheduler.h>
#include <situ/runtime/team.h>
#include <situ/spread/detail/members.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace situ::detail {

// Tasks in contiguous memory.
struct pool_chunk {
  std::uint64_t used;      // bytes; written when the chunk is shared
  std::uint64_t capacity;  // bytes
  [[nodiscard]] std::byte* tasks() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

// Follows the arguments of a task.
struct pool_trailer {
  function_id code;
  std::uint64_t bytes;  // of the arguments, rounded up to words, and of the trailer
};

struct pool_ring {
  std::int64_t mask;  // one less than a power of two
  std::atomic<pool_chunk*> chunks[1];
  [[nodiscard]] std::atomic<pool_chunk*>& slot(std::int64_t at) noexcept { return chunks[at & mask]; }
};

// The part of a place's state that other places access.
struct alignas(64) pool_root {
  std::atomic<std::int64_t> top;  // thieves advance it
  alignas(64) std::atomic<std::int64_t> bottom;
  std::atomic<pool_ring*> ring;
  alignas(64) std::uint64_t called;  // awaited: changes when there may be something to steal, and at the end of a run
};

struct pool_link;  // src/spread/pool_hosts.h

// State of the pool that the members of a host share, at the first of them.
struct alignas(64) pool_state {
  std::atomic<std::uint64_t> active;                 // | runs that are over: 32 | members here that are not idle: 32 |
  std::uint64_t active_hosts;                        // the same for hosts; of the first host's state, by atomics
  alignas(64) pool_link* links;                      // one for each host; null if the pool has one
  std::atomic<std::uint32_t> wanting;                // hosts that want tasks of this one
  alignas(64) std::atomic<std::uint64_t> asleep[1];  // a bit for each member here, 64 a word
};
inline constexpr std::uint64_t one_pool_run = std::uint64_t{1} << 32;  // in pool_state::active and active_hosts

// Collects the results of tasks, in a run that has results.
struct pool_results {
  std::uint64_t type = 0;
  std::string_view type_name;
  void* object = nullptr;
  void (*combine)(void* object, void* result) = nullptr;
};
[[noreturn]] void throw_other_result(std::string_view of_task, std::string_view of_run);

class pool_hosts;  // src/spread/pool_hosts.h

class pool_core {
 public:
  // Runs a task, whose arguments stay valid until another task is added; `pool` is the core's owner.
  using task_code = void (*)(void* pool, const std::byte* arguments, std::size_t bytes);

  pool_core(void* pool, const team& members);
  ~pool_core();
  pool_core(const pool_core&) = delete;
  pool_core& operator=(const pool_core&) = delete;

  // Returns room for the arguments of a task, which the caller must write at once. Throws out_of_memory. If this place
  // is idle and the pool spans hosts, other code of the place may run before it returns.
  [[nodiscard]] std::byte* reserve(function_id code, std::size_t bytes) {
    if (is_idle_) [[unlikely]]
      (void)stop_idling();
    const std::size_t whole = (bytes + 7) / 8 * 8 + sizeof(pool_trailer);
    if (whole > static_cast<std::size_t>(end_ - top_)) [[unlikely]]
      make_room(whole);
    std::byte* const at = top_;
    top_ += whole;
    const pool_trailer trailer{code, whole};
    std::memcpy(top_ - sizeof(trailer), &trailer, sizeof(trailer));
    return at;
  }

  void run();
  // As run(), but returns what tasks threw: then the run is over. An exception that it throws ended the run here, but
  // perhaps not elsewhere.
  [[nodiscard]] std::exception_ptr run_to_its_end();

  [[nodiscard]] const team& members() const noexcept { return end_of_all_.members(); }
  [[nodiscard]] std::uint64_t ran() const noexcept { return ran_; }
  [[nodiscard]] std::uint64_t stolen() const noexcept { return stolen_; }

 private:
  friend class pool_hosts;

  void make_state(std::size_t members, std::size_t hosts);

  // --- this place's tasks
  void run_tasks();
  void run_newest();
  void note_failure();
  void make_room(std::size_t bytes);
  bool share_older_half();
  [[nodiscard]] pool_chunk* make_chunk(std::size_t bytes);
  void open(pool_chunk* chunk) noexcept;
  void close() noexcept { chunk_->used = static_cast<std::uint64_t>(top_ - begin_); }
  void recycle(pool_chunk* chunk) noexcept;
  [[nodiscard]] bool has_private() const noexcept { return top_ != begin_; }
  [[nodiscard]] bool has_tasks() const noexcept { return has_private() || !is_nothing_shared(); }
  // Returns true if this place must not become idle: it has tasks, or has sent some that have not arrived.
  [[nodiscard]] bool answers_for_tasks() const noexcept;

  // --- the ring
  [[nodiscard]] bool is_nothing_shared() const noexcept {
    return root_->top.load(std::memory_order_relaxed) == root_->bottom.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_full() const noexcept;
  void share(pool_chunk* chunk);
  void grow();
  [[nodiscard]] pool_chunk* take_back() noexcept;
  [[nodiscard]] static pool_chunk* steal(pool_root& from) noexcept;
  bool steal_some();
  [[nodiscard]] bool others_share() const noexcept;

  // --- idle places, and the end of a run
  [[nodiscard]] bool find_tasks();
  void start_idling();
  bool stop_idling();
  [[nodiscard]] bool become_active();
  void leave_after_loss();
  void begin_next_run();
  void sleep(const std::function<bool()>& is_done = {}, std::int64_t deadline_ns = waits_for::no_deadline);
  void wake_one();
  void call(std::uint32_t member);
  void call_others();
  [[nodiscard]] bool is_over() const noexcept;

  void* pool_;
  joint_end end_of_all_;
  std::uint32_t index_ = 0;        // among the members of this host, as `roots_` and `asleep` count them
  std::vector<pool_root*> roots_;  // one for each member of this host
  pool_root* root_ = nullptr;
  pool_state* state_ = nullptr;
  std::vector<pool_ring*> rings_;  // the last is in use; thieves may still read earlier ones
  std::vector<pool_chunk*> free_;

  pool_chunk* chunk_ = nullptr;
  std::byte* begin_ = nullptr;  // start of the open chunk's tasks
  std::byte* top_ = nullptr;
  std::byte* end_ = nullptr;

  std::uint32_t runs_ = 0;  // runs that are over, as far as this place knows
  bool is_running_ = false;
  bool is_idle_ = false;
  std::uint64_t ran_ = 0;
  std::uint64_t stolen_ = 0;  // chunks
  std::uint64_t random_;
  std::exception_ptr failure_;
  std::unique_ptr<pool_hosts> hosts_;  // the pool's other hosts; null if there are none
};

}  // namespace situ::detail
