// A task pool without the types of its tasks: at each place a deque of tasks, from which the others steal.
//
//   private:  | chunk: arguments, trailer | arguments, trailer | ... top_     end_ |    last in, first out
//                        ^ older half, whenever nothing is shared
//   shared:   ring  | chunk | chunk | chunk |                                         in the place's segment
//                     ^ top: thieves take the oldest    ^ bottom: the owner takes the newest back
//
// The owner's way to a task is a pointer and two loads of a line that changes when somebody has stolen. The ring is
// the deque of Chase and Lev (2005) in the C11 form of Le and others (2013), of chunks instead of tasks. Invariants
//   1. A chunk belongs to whoever took it out of a ring, or made it: its tasks, and its memory, which stays in the
//      segment that it was allocated in.
//   2. `active` counts the places that are not idle. An idle place has no tasks: it becomes active before it takes
//   some,
//      or is given some. So where `active` is 0 no task is left anywhere, and none comes: the run is over.
//   3. The same word counts the runs that are over. Whoever brings it to 0 makes it the next run's, with all places
//      active, by one compare-exchange: who is late finds that its run is over, and has taken nothing of the next.
//   4. A place says in `asleep` that it is about to sleep, and looks at the rings then; who shares a chunk looks at
//      `asleep` afterwards. Both are sequentially consistent, so one of them sees the other.
// Not thread-safe: belongs to its place's thread, but for what lies in the segment.
#pragma once

#include <situ/fabric/detail/function_id.h>
#include <situ/memory/ptr.h>
#include <situ/runtime/team.h>
#include <situ/spread/detail/members.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string_view>
#include <vector>

namespace situ::detail {

// Tasks one behind another.
struct pool_chunk {
  std::uint64_t used;      // bytes; written when it is shared
  std::uint64_t capacity;  // bytes
  [[nodiscard]] std::byte* tasks() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

// What stands behind the arguments of a task.
struct pool_trailer {
  function_id code;
  std::uint64_t bytes;  // of the arguments, in words, and this
};

struct pool_ring {
  std::int64_t mask;  // one less than a power of two
  std::atomic<pool_chunk*> chunks[1];
  [[nodiscard]] std::atomic<pool_chunk*>& slot(std::int64_t at) noexcept { return chunks[at & mask]; }
};

// What others see of a place's part.
struct alignas(64) pool_root {
  std::atomic<std::int64_t> top;  // thieves move it
  alignas(64) std::atomic<std::int64_t> bottom;
  std::atomic<pool_ring*> ring;
  alignas(64) std::uint64_t called;  // awaited: changes when there may be something to steal, and at the end of a run
};

// At the first member.
struct alignas(64) pool_state {
  std::atomic<std::uint64_t> active;                 // | runs that are over: 32 | places that are not idle: 32 |
  alignas(64) std::atomic<std::uint64_t> asleep[1];  // a bit for each member, 64 a word
};

// Where the results of tasks go, in a run that collects them.
struct pool_results {
  std::uint64_t type = 0;
  std::string_view type_name;
  void* object = nullptr;
  void (*combine)(void* object, void* result) = nullptr;
};
[[noreturn]] void throw_other_result(std::string_view of_task, std::string_view of_run);

class pool_core {
 public:
  // Runs a task, whose arguments lie here until another is added; `pool` is who owns the core.
  using task_code = void (*)(void* pool, const std::byte* arguments, std::size_t bytes);

  pool_core(void* pool, const team& members);
  ~pool_core();
  pool_core(const pool_core&) = delete;
  pool_core& operator=(const pool_core&) = delete;

  // Room for the arguments of a task, to be written at once. Throws out_of_memory.
  [[nodiscard]] std::byte* reserve(function_id code, std::size_t bytes) {
    const std::size_t whole = (bytes + 7) / 8 * 8 + sizeof(pool_trailer);
    if (whole > static_cast<std::size_t>(end_ - top_)) [[unlikely]]
      make_room(whole);
    std::byte* const at = top_;
    top_ += whole;
    const pool_trailer trailer{code, whole};
    std::memcpy(top_ - sizeof(trailer), &trailer, sizeof(trailer));
    if (is_idle_) [[unlikely]]
      stop_idling();
    return at;
  }

  void run();
  // The same, but returns what tasks threw: then the run is over. What it throws ended it here, and may not elsewhere.
  [[nodiscard]] std::exception_ptr run_to_its_end();

  [[nodiscard]] const team& members() const noexcept { return end_of_all_.members(); }
  [[nodiscard]] std::uint64_t ran() const noexcept { return ran_; }
  [[nodiscard]] std::uint64_t stolen() const noexcept { return stolen_; }

 private:
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

  // --- who is idle, and the end
  [[nodiscard]] bool find_tasks();
  void start_idling();
  bool stop_idling();
  void sleep();
  void wake_one();
  void call(std::uint32_t member);
  [[nodiscard]] bool is_over() const noexcept;

  void* pool_;
  joint_end end_of_all_;
  std::uint32_t index_;
  std::vector<pool_root*> roots_;  // of each member
  pool_root* root_ = nullptr;
  pool_state* state_ = nullptr;
  std::vector<pool_ring*> rings_;  // the last is in use; thieves may look into earlier ones
  std::vector<pool_chunk*> free_;

  pool_chunk* chunk_ = nullptr;
  std::byte* begin_ = nullptr;  // of its tasks
  std::byte* top_ = nullptr;
  std::byte* end_ = nullptr;

  std::uint32_t runs_ = 0;  // that are over, as this place knows
  bool is_running_ = false;
  bool is_idle_ = false;
  std::uint64_t ran_ = 0;
  std::uint64_t stolen_ = 0;  // chunks
  std::uint64_t random_;
  std::exception_ptr failure_;
};

}  // namespace situ::detail
