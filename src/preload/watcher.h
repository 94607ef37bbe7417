// The thread that keeps a process's memory on the way along an ordering.
//
//   look     how much has the process, how full are the memories            statm, meminfo
//   charge   what it has got since then is the chosen memory's              control block
//   choose   the first memory with room                                     spill.h
//   prefer   pages made from now on come from there                         mbind, MPOL_PREFERRED, of whole mappings;
//            threads hear of it when they next ask for memory               hooks.cpp: set_mempolicy
//   correct  what went beyond a threshold between two looks is moved on     move_pages, no more than it has got
//   sleep    1 to 20 ms while pages are made, by how near a threshold is; up to 50 ms else
//
// Where the kernel goes along the ordering itself (control::kernel_policy), threads get that policy once, and nothing
// is told to mappings nor moved. The thread then looks only how near the end of the ordering is, 20 times a second
// until it is near: a kernel can refuse a page, but no mapping, and does not know the last memory's part.
//
// Invariants
//   1. No page is made for the process: reservations stay what they are. What it has said of a range itself (mbind)
//      stays, and of a thread (set_mempolicy). A process that begins with such a policy is counted, no more.
//   2. The policy is MPOL_PREFERRED, or MPOL_INTERLEAVE, which has the same way out: never MPOL_BIND.
//   3. The thread calls nothing of the C library (system_calls.h), has descriptors of its own, of which none is the
//      process's, and takes no signal. The C library does not know it.
//   4. Only one such thread runs in a process; but for the news, what it knows is read by others only while it does
//      not run.
//   5. A look takes at most a tenth of the time between two, but for what comes seldom.
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
  // To a process that refusing memory made smaller, or that one so made has started: its data limit as it was before.
  static void restore_data_limit(const control& all) noexcept;
  // The process begins, or has become another program. The calling thread prefers what is chosen, as will those that it
  // starts. row: null where there is none left.
  void begin(control& all) noexcept;
  // The same in the child of a fork: it pays for what it gets from here on, or does not take part. It is watched once
  // it asks for memory.
  void begin_in_child() noexcept;
  // No thread of ours runs between these two, which one thread calls. False: none ran.
  [[nodiscard]] bool pause() noexcept { return stop(wish_pause); }
  void go_on() noexcept { start(); }
  // Counts the policies that there have been; and tells the calling thread of the newest one, whose number it returns.
  [[nodiscard]] std::uint32_t news() const noexcept { return news_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t tell_thread() noexcept;
  // A last look, by the calling thread, which waits for nobody but one that is looking; and the process has nothing any
  // more.
  void end() noexcept;

 private:
  enum : std::int32_t { wish_none, wish_pause };
  enum : std::int32_t { turn_free, turn_taken, turn_over };  // to use the files
  struct sizes {                                             // bytes
    std::uint64_t resident = 0;
    std::uint64_t anonymous = 0;
    std::uint64_t data = 0;  // what RLIMIT_DATA is about
  };
  struct node_file {
    std::uint32_t node = 0;
    bool is_fresh = false;
    proc_file file;
    node_use use;
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
  [[nodiscard]] node_use use_of(std::uint32_t memory) noexcept;
  [[nodiscard]] std::uint64_t room_of_all() noexcept;
  [[nodiscard]] bool is_ours(const range& each) const noexcept;
  [[nodiscard]] bool is_by_kernel() const noexcept {
    return all_->kernel_policy != 0 && newest_policy().mode == all_->kernel_policy;
  }
  [[nodiscard]] const policy& newest_policy() const noexcept { return newest_[news() % 2]; }

  // Read by whoever stops and starts it.
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
  std::uint32_t memory_ = no_memory;  // that takes pages now
  std::uint32_t forbidden_ = 0;       // memories whose nodes this process must not use
  std::atomic<std::uint32_t> news_{1};
  policy newest_[2];  // each under the last bit of its number

  proc_file statm_, status_, smaps_rollup_, maps_, numa_maps_;
  node_file nodes_[most_memories];
  std::uint64_t counted_ = 0;                   // anonymous bytes that the row has
  std::uint64_t grown_ = 0;                     // by the last look
  std::uint32_t preferred_ = no_memory;         // what the newest policy is for
  std::uint32_t left_ = no_memory;              // what the one before was for
  std::uint32_t settling_looks_ = 0;            // so many looks more may find bytes that went there
  std::uint64_t owed_[most_memories]{};         // bytes that this process may have put beyond its threshold
  std::uint32_t fruitless_ = 0;                 // so many times nothing could be moved
  std::uint64_t used_before_[most_memories]{};  // of their nodes, at the last look
  std::uint64_t most_resident_ = 0;
  std::uint64_t most_anonymous_ = 0;
  std::uint64_t at_peak_[most_memories]{};  // what the row had then
  std::uint64_t where_counted_ = 0;         // anonymous bytes when it was counted where they lie
  std::uint64_t where_again_ns_ = 0;        // not before
  std::uint64_t apart_ns_ = 0;  // of this look, what comes seldom: counting where it lies, telling ranges, moving
  std::uint64_t looked_ns_ = 0;
  std::uint64_t wait_ns_ = 0;
  bool is_refusing_ = false;
  std::uint64_t replaced_limit_ = 0;  // RLIMIT_DATA, by one of ours
};

extern watcher the_watcher;  // of this process

}  // namespace situ::preload
