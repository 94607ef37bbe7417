// The free blocks that each thread keeps, by extent, so that a pair of allocation and free takes no lock. A thread that
// allocates one extent again and again takes several blocks at once, one below the other, and keeps the rest.
//
// Another thread that finds no room takes the kept blocks of all threads before it refuses. Their owners must stop
// meanwhile, and an owner that paid a locked instruction for that would double its 5 ns. So the rare side pays: it
// asks, orders all threads' memory by a system call (order_all_threads), and waits until each owner is outside.
//
//     owner                                       taker (one at a time, under the registry's lock)
//     busy = 1                                    wanted = 1
//     (no instruction: the taker's call orders)   order_all_threads()
//     if wanted: busy = 0, go to the banks        wait until busy == 0
//     take or keep a block                        give the blocks back to the banks, search under all banks' locks
//     busy = 0                                    wanted = 0
//
// Either the owner sees `wanted`, or the taker sees `busy` and waits. While it is asked, an owner frees into the banks.
// An owner that gives blocks back to the banks, or takes several, is busy, so no block is on its way when the taker
// searches: what it does not find was not there. Nobody waits for an owner while holding a bank's lock.
//
// Lifetime: a device and each of its threads share the registry. A thread that ends gives its blocks back, if the
// device still lives; a device that ends takes them with it, and the thread forgets them with the next device that it
// meets.
//
// Thread-safety: the owner's calls are for its thread; the registry's are thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "pim/banks.h"

namespace situ::pim::detail {

class thread_registry;

class thread_blocks {
 public:
  thread_blocks(banks& of, std::uint32_t number) noexcept;

  // Returns a kept block of this extent, which is live now, or no_granule.
  granule take(extent wanted) noexcept {
    granule at = no_granule;
    if (enter()) [[likely]] {
      slot& from = slot_of(wanted);
      if (from.of == wanted && from.count > 0) [[likely]] {
        at = from.blocks[--from.count];
        table_.set_live(at, wanted);
      }
    }
    leave();
    return at;
  }
  // Keeps a live block, which is free now, if there is room. Returns whether it does.
  bool keep(granule at, extent of) noexcept {
    bool is_kept = false;
    if (enter()) [[likely]] {
      slot& to = slot_of(of);
      is_kept = to.of == of && to.count < to.room;
      if (is_kept) [[likely]] {
        add(to, at);
        to.misses = 0;
      }
    }
    leave();
    return is_kept;
  }
  // As keep(), but gives other blocks back to make room. Returns false if the banks must take the block.
  bool keep_slowly(granule at, extent of);
  // Takes several blocks of the banks at once and keeps all but one, which is live, if this is the third allocation of
  // the extent since the last free that concerned its slot. Else, or without room for so many, returns no_granule.
  granule take_several(extent wanted);
  // The bank in which the thread searches first: the threads of a device begin in one after the other.
  [[nodiscard]] std::uint32_t home() const noexcept { return home_; }

 private:
  friend class thread_registry;
  static constexpr std::uint32_t slots = 16;  // as many as 4 bits number
  static constexpr std::uint32_t most_kept = 12;
  struct alignas(64) slot {
    extent of = 0;
    std::uint32_t count = 0;
    std::uint32_t room = 0;    // blocks of this extent that are kept
    std::uint32_t misses = 0;  // allocations of this extent that found none, since a block was kept
    std::array<granule, most_kept> blocks;
  };
  static_assert(sizeof(slot) == 64);

  slot& slot_of(extent of) noexcept { return slots_[(of * 0x9e3779b1u) >> 28]; }  // the golden ratio: see Knuth, 6.4
  bool enter() noexcept {
    // Relaxed, in this order: the taker's system call orders the store before the load.
    busy_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return !wanted_.load(std::memory_order_acquire);
  }
  void leave() noexcept { busy_.store(false, std::memory_order_release); }
  void add(slot& to, granule at) noexcept {
    table_.set_kept(at, to.of);
    to.blocks[to.count++] = at;
  }
  bool assign(slot& to, extent of);
  [[nodiscard]] std::uint32_t several(slot& in, extent wanted);
  bool make_room(slot& in, extent of);
  void give_back(slot& from, std::uint32_t left);
  void give_back_all();

  block_table table_;
  banks& of_;
  const std::uint32_t home_;
  std::atomic<bool> busy_{false};
  std::atomic<bool> wanted_{false};
  const std::uint32_t most_granules_;  // that the slots may have room for: a 128th of the device, or a subarray
  std::uint32_t roomy_granules_ = 0;   // that they have room for
  std::array<slot, slots> slots_{};
};

// The threads that keep blocks of one device.
class thread_registry : public std::enable_shared_from_this<thread_registry> {
 public:
  // keeps_blocks: false if nothing calls take() and keep() of its threads; then they have homes only.
  thread_registry(banks& of, bool keeps_blocks);
  // Returns what the calling thread keeps, or null if it is about to end. cost: of a thread's first call, an
  // allocation.
  [[nodiscard]] thread_blocks* own();
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  // The device ends. No thread calls it any more; threads may end.
  void close() noexcept;

  // Gives the blocks of all threads back to the banks, and calls use() while no thread keeps any. cost: a system call
  // of some microseconds if several threads keep blocks.
  template <class Use>
  auto with_all_blocks(Use use) {
    const std::lock_guard lock{mutex_};
    const stopped_threads all{*this};
    return use();
  }

 private:
  friend class thread_memory;
  // While it lives, no thread keeps a block.
  class stopped_threads {
   public:
    explicit stopped_threads(thread_registry& of);
    ~stopped_threads();
    stopped_threads(const stopped_threads&) = delete;
    stopped_threads& operator=(const stopped_threads&) = delete;

   private:
    thread_registry& of_;
  };

  std::shared_ptr<thread_blocks> join();
  void leave(const std::shared_ptr<thread_blocks>& blocks);
  [[nodiscard]] bool is_closed() const noexcept { return is_closed_.load(std::memory_order_acquire); }

  const std::uint64_t id_;  // never used again
  banks& of_;
  const bool keeps_blocks_;
  std::mutex mutex_;  // guards the members below; held while threads are stopped, and while one ends
  std::vector<std::shared_ptr<thread_blocks>> threads_;
  std::uint32_t joined_ = 0;
  std::atomic<bool> is_closed_{false};
};

// The blocks that a thread used last, by the device's id. They are constant-initialized and have no destructor, so an
// access is a plain load.
struct last_used {
  std::uint64_t id = 0;  // 0: none
  thread_blocks* blocks = nullptr;
};
inline constexpr std::size_t last_used_count = 4;
// The initial TLS model needs no call, so the hot paths save no registers.
inline constinit thread_local std::array<last_used, last_used_count> last_used_blocks
    __attribute__((tls_model("initial-exec"))){};

// Returns what the calling thread keeps of the device of this id, or null if it must ask the registry.
[[nodiscard]] inline thread_blocks* recent_blocks(std::uint64_t id) noexcept {
  const last_used& last = last_used_blocks[id % last_used_count];
  return last.id == id ? last.blocks : nullptr;
}

}  // namespace situ::pim::detail
