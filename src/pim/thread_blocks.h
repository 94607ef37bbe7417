// The free blocks that each thread keeps, by extent, so that a pair of allocation and free takes no lock.
//
// Another thread that finds no room takes the kept blocks of all threads before it refuses. Their owners must stop
// meanwhile, and an owner that paid a locked instruction for that would double its 5 ns. So the rare side pays: it asks,
// orders all threads' memory by a system call (order_all_threads), and waits until each owner is outside.
//
//     owner                                       taker (one at a time, under the registry's lock)
//     busy = 1                                    wanted = 1
//     (no instruction: the taker's call orders)   order_all_threads()
//     if wanted: busy = 0, go to the banks        wait until busy == 0
//     take or keep a block                        give the blocks back to the banks, search under all banks' locks
//     busy = 0                                    wanted = 0
//
// Either the owner sees `wanted`, or the taker sees `busy` and waits. While it is asked, an owner frees into the banks.
// An owner that gives blocks back to the banks is busy, so no block is on its way when the taker searches: what it does
// not find was not there. Nobody waits for an owner while holding a bank's lock.
//
// Lifetime: a device and each of its threads share the registry. A thread that ends gives its blocks back, if the device
// still lives; a device that ends takes them with it, and the thread forgets them with the next device that it meets.
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

// Returns the calling thread's number in the process: threads search first in banks of their own.
[[nodiscard]] std::uint32_t thread_number() noexcept;

class thread_blocks {
 public:
  thread_blocks(banks& of, bool is_ordered_by_takers) noexcept;

  // Returns a kept block of this extent, which is live now, or no_granule.
  granule take(extent wanted) noexcept {
    if (!enter()) [[unlikely]]
      return no_granule;
    granule at = no_granule;
    slot& from = slot_of(wanted);
    if (from.of == wanted && from.count > 0) {
      at = from.blocks[--from.count];
      of_.set_live(at, wanted);
    }
    leave();
    return at;
  }
  // Keeps a live block, which is free now. Returns false if the banks must take it.
  bool keep(granule at, extent of) {
    if (!enter()) [[unlikely]]
      return false;
    slot& to = slot_of(of);
    const bool is_kept = (to.of == of && to.count < to.room) || make_room(to, of);
    if (is_kept) {
      of_.set_kept(at, of);
      to.blocks[to.count++] = at;
    }
    leave();
    return is_kept;
  }

 private:
  friend class thread_registry;
  static constexpr std::uint32_t slots = 16;
  static constexpr std::uint32_t most_kept = 12;
  struct alignas(64) slot {
    extent of = 0;
    std::uint16_t count = 0;
    std::uint16_t room = 0;  // blocks of this extent that are kept
    std::array<granule, most_kept> blocks;
  };
  static_assert(sizeof(slot) == 64);

  slot& slot_of(extent of) noexcept { return slots_[(of ^ of >> 16 ^ of >> 4) % slots]; }
  bool enter() noexcept {
    if (is_ordered_by_takers_) [[likely]] {
      // Relaxed, in this order: the taker's system call orders the store before the load.
      busy_.store(true, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (!wanted_.load(std::memory_order_acquire)) [[likely]]
        return true;
    } else {
      busy_.exchange(true, std::memory_order_seq_cst);
      if (!wanted_.load(std::memory_order_seq_cst)) return true;
    }
    leave();
    return false;
  }
  void leave() noexcept { busy_.store(false, std::memory_order_release); }
  bool make_room(slot& in, extent of);
  void give_back(slot& from, std::uint32_t left);
  void give_back_all();

  banks& of_;
  bool is_ordered_by_takers_;
  std::atomic<bool> busy_{false};
  std::atomic<bool> wanted_{false};
  std::array<slot, slots> slots_{};
};

// The threads that keep blocks of one device.
class thread_registry : public std::enable_shared_from_this<thread_registry> {
 public:
  explicit thread_registry(banks& of);
  // Returns what the calling thread keeps, or null if the thread is about to end. cost: of a thread's first call, an
  // allocation; of later ones, a few loads.
  [[nodiscard]] thread_blocks* own();
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

  thread_blocks* own_slowly();
  std::shared_ptr<thread_blocks> join();
  void leave(const std::shared_ptr<thread_blocks>& blocks);
  [[nodiscard]] bool is_closed() const noexcept { return is_closed_.load(std::memory_order_acquire); }

  const std::uint64_t id_;  // never used again
  const bool is_ordered_by_takers_;
  banks& of_;
  std::mutex mutex_;  // of what follows; is held while threads are stopped, and while one ends
  std::vector<std::shared_ptr<thread_blocks>> threads_;
  std::atomic<bool> is_closed_{false};
};

// What a thread used last, by the device's id: of constant initialization and without a destructor, so a plain load.
struct last_used {
  std::uint64_t id = 0;  // 0: none
  thread_blocks* blocks = nullptr;
};
inline constexpr std::size_t last_used_count = 4;
inline constinit thread_local std::array<last_used, last_used_count> last_used_blocks{};

inline thread_blocks* thread_registry::own() {
  const last_used& last = last_used_blocks[id_ % last_used_count];
  if (last.id == id_) [[likely]]
    return last.blocks;
  return own_slowly();
}

}  // namespace situ::pim::detail
