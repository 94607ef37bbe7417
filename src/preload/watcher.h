// The thread that makes a process's memory follow an ordering.
//
//   look     read the process's size, and the use of the memories           statm, meminfo
//   charge   the chosen memory pays for the growth since the last look      control block
//   choose   the first memory with room                                     spill.h
//   prefer   pages made from now on come from there                         mbind, MPOL_PREFERRED, of whole mappings;
//            threads hear of it when they next ask for memory               hooks.cpp: set_mempolicy
//   correct  pages beyond a threshold since the last look are moved on      move_pages, no more than the growth
//   sleep    1 to 20 ms while pages are made, by how near a threshold is; else up to 50 ms
//
// If the kernel follows the ordering itself (control::kernel_policy), threads get that policy once; the watcher then
// sets no policy of mappings and moves no pages. It only checks how near the end of the ordering is, 20 times a second
// until the end is near: a kernel can refuse a page, but no mapping, and does not know the last memory's part.
//
// Invariants
//   1. No page is made for the process: reservations stay as they are. A policy that the program has set itself for a
//      range (mbind) or a thread (set_mempolicy) stays. A process that starts with a policy of its own is only
//      counted, never steered.
//   2. The policy is MPOL_PREFERRED or MPOL_INTERLEAVE, which both fall back to other nodes: never MPOL_BIND.
//   3. The thread calls no function of the C library (system_calls.h), has descriptors of its own, of which none is the
//      process's, and takes no signal. The C library does not know it.
//   4. Only one such thread runs in a process; except for the news, other threads read its data only while it does not
//      run.
//   5. A look takes at most a tenth of the time between two looks, not counting work that is rare.
#pragma once

#include "preload/address_map.h"
#include "preload/control.h"
#include "preload/policy.h"
#include "preload/proc_files.h"
#include "preload/spill.h"

#include <atomic>
#include <cstdint>

namespace situ::preload {

class watcher {
 public:
  // For a process whose data limit the watcher has lowered to refuse memory, or that such a process has started:
  // restores the data limit as it was before.
  static void restore_data_limit(const control& all) noexcept;
  // Called when the process begins, or has become another program. The calling thread prefers the chosen memory, as
  // will the threads that it starts.
  void begin(control& all) noexcept;
  // As begin(), in the child of a fork: the child pays for its growth from here on, or does not take part. The watcher
  // starts once the child asks for memory.
  void begin_in_child() noexcept;
  // No watcher thread runs between these two calls, which one thread makes. pause() returns false if none ran.
  [[nodiscard]] bool pause() noexcept { return stop(wish_pause); }
  void go_on() noexcept { start(); }
  // The number of the newest policy; 1 if none has been announced. tell_thread() sets that policy for the calling
  // thread, and returns its number.
  [[nodiscard]] std::uint32_t news() const noexcept { return news_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t tell_thread() noexcept;
  // Makes a last look on the calling thread, which waits only for a look in progress; then gives back everything that
  // the process has.
  void end() noexcept;

 private:
  enum : std::int32_t { wish_none, wish_pause };
  enum : std::int32_t { turn_free, turn_taken, turn_over };  // the right to use the files
  struct sizes {                                             // bytes
    std::uint64_t resident = 0;
    std::uint64_t anonymous = 0;
    std::uint64_t data = 0;  // the bytes that RLIMIT_DATA limits
  };
  struct node_file {
    std::uint32_t node = 0;
    bool is_fresh = false;
    proc_file file;
    memory_use use;
  };

  static void enter() noexcept;
  void start() noexcept;
  bool stop(std::int32_t wish) noexcept;
  void run() noexcept;
  [[nodiscard]] bool take_turn() noexcept;
  void leave_descriptors() noexcept;
  void open_files() noexcept;
  void close_files() noexcept;

  void look(bool is_last) noexcept;
  [[nodiscard]] sizes read_sizes() noexcept;
  void account(const sizes& now) noexcept;
  void account_missed_peak() noexcept;
  void count_where_it_lies() noexcept;
  void steer(const sizes& now) noexcept;
  [[nodiscard]] bool prefer(const policy& what) noexcept;
  void announce(const policy& what) noexcept;
  void note_use() noexcept;
  void note_excess(std::uint32_t memory) noexcept;
  void correct() noexcept;
  void refuse_more(const sizes& now) noexcept;
  void refuse_no_more() noexcept;
  [[nodiscard]] std::uint64_t wait_after(std::uint64_t look_ns) noexcept;
  [[nodiscard]] memory_use use_of(std::uint32_t memory) noexcept;
  [[nodiscard]] std::uint64_t room_of_all() noexcept;
  [[nodiscard]] bool is_ours(const range& each) const noexcept;
  [[nodiscard]] bool is_by_kernel() const noexcept {
    return all_->kernel_policy != 0 && newest_policy().mode == all_->kernel_policy;
  }
  [[nodiscard]] const policy& newest_policy() const noexcept { return newest_[news() % 2]; }

  // Read by the thread that stops and starts the watcher.
  std::atomic<std::int32_t> thread_{0};  // its number while it runs
  std::atomic<std::int32_t> wish_{wish_none};
  std::atomic<std::int32_t> turn_{turn_free};
  // A forked child that has not asked for memory yet: it may become another program.
  std::atomic<bool> is_dormant_{false};
  std::int32_t process_ = 0;
  control* all_ = nullptr;
  process_row* row_ = nullptr;
  bool is_forked_ = false;
  bool is_on_its_own_ = false;        // it has begun with a policy of its own
  std::uint32_t memory_ = no_memory;  // the memory that takes pages now
  std::uint32_t forbidden_ = 0;       // bits of memories whose nodes this process must not use
  std::atomic<std::uint32_t> news_{1};
  policy newest_[2];  // each at the lowest bit of its number

  proc_file statm_, status_, smaps_rollup_, maps_, numa_maps_;
  node_file nodes_[most_memories];
  std::uint64_t counted_ = 0;                   // anonymous bytes that the row has
  std::uint64_t grown_ = 0;                     // by the last look
  std::uint32_t preferred_ = no_memory;         // the memory of the newest policy
  std::uint32_t left_ = no_memory;              // the memory of the policy before it
  std::uint32_t settling_looks_ = 0;            // looks that may still find bytes that went to left_
  std::uint64_t owed_[most_memories]{};         // bytes that this process may have put beyond its threshold
  std::uint32_t fruitless_ = 0;                 // looks in a row in which nothing could be moved
  std::uint64_t used_before_[most_memories]{};  // of their nodes, at the last look
  std::uint64_t most_resident_ = 0;
  std::uint64_t most_anonymous_ = 0;
  std::uint64_t at_peak_[most_memories]{};  // bytes of the row at most_anonymous_
  std::uint64_t where_counted_ = 0;         // anonymous bytes at the last count by node
  std::uint64_t where_again_ns_ = 0;        // time before which the next count is not made
  std::uint64_t apart_ns_ = 0;              // time of this look for rare work: counting by node, telling ranges, moving
  std::uint64_t looked_ns_ = 0;
  std::uint64_t wait_ns_ = 0;
  bool is_refusing_ = false;
  std::uint64_t replaced_limit_ = 0;  // the RLIMIT_DATA that our limit replaced
};

extern watcher the_watcher;  // of this process

}  // namespace situ::preload
