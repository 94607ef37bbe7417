// One pool in several processes and threads: the lock for writers and readers, and the state that each process needs of
// the others.
//
// The processes that share a pool use an area of the file (format.h), which the first opener sets up: so contents that
// a reboot, a copy of the file or a killed process has left there mean nothing. An opener that has the pool alone uses
// an area in its own memory.
//
//   word     32 bits: the token of the writer, 0 if there is none; a bit if threads sleep on the word; a bit (torn) if
//            the writer died in a transaction
//   slots    one for each opener: its token, the number of its reading threads, and the identity of its process. The
//            kernel tells whether the process lives (openers.h). A process of which several threads read takes more
//            slots, with the same token, so that each thread counts itself in its own cache line
//   changes  the last 1024 words of the allocator that transactions have changed, by offset (pool_heap::follow)
//
// Invariants
//   1. A writer puts its token into the word, then finds no slot with readers. A reader counts itself in its slot, then
//      finds no token in the word. Both steps are sequentially consistent, so a writer and a reader never both succeed.
//   2. A token is given once (until 2^23 openings have passed; the first one is arbitrary), so the token of a dead
//      process in the word belongs to no other opener.
//   3. The word of a dead writer is replaced by a compare-and-swap, which sets torn. torn stays set until an opener
//      that may write has restored the bytes that the log keeps. A death is concluded from evidence only
//      (process_life.h).
//   4. A waiting thread sleeps a millisecond at most before it checks whether the processes that it waits for live.
//   5. A thread that has waited long sets let_pass_until, and the others stand back until then. It is a time, so it
//      expires by itself if the thread dies.
//   6. A writer whose token is no longer in the word has lost the pool: others took it for dead, as they do if the
//      kernel no longer has its locks. From then on it writes nothing, throws, and does not lock again (holds,
//      throw_lost). A child of an opener's process is in the same position from its fork on.
//
// Sources: the reader's side is a big-reader lock with a cache line for each process; robust as pthread_mutex_t with
// PTHREAD_MUTEX_ROBUST, but for processes instead of threads (docs/decisions/0023-sharing-pools.md). Thread-safe. A
// thread that writes may begin to write or read again; a thread that reads may read again.
#pragma once

#include "pool/format.h"
#include "pool/openers.h"
#include "pool/process_life.h"

#include <situ/pool/pool.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace situ::detail {

struct pool_slot {
  std::atomic<std::uint64_t> state;  // upper half: token; lower half: number of readers
  std::atomic<std::uint64_t> process;
  std::atomic<std::uint64_t> begun;   // as in process_identity
  std::atomic<std::uint64_t> spaces;  // as in process_identity
  std::uint64_t unused[4];
};
static_assert(sizeof(pool_slot) == 64);

inline constexpr std::uint32_t pool_slot_count = 126;
// Slots that a process takes for its threads at most; a writer looks at all of them.
inline constexpr std::uint32_t most_pool_lanes = 8;
// Threads take only these slots, so that most are left to other processes.
inline constexpr std::uint32_t pool_lane_slots = 32;
inline constexpr std::uint32_t pool_ring_words = 1024;

struct pool_area {
  std::atomic<std::uint32_t> word;
  std::atomic<std::uint32_t> drained;     // changes when a thread stops reading while a writer waits
  std::atomic<std::uint32_t> slots_used;  // no slot from this number on was ever taken
  std::atomic<std::uint32_t> chunks;      // size of the heap after the last transaction
  std::atomic<std::uint64_t> let_pass_until;
  std::atomic<std::uint64_t> changes;  // number of changed words of the allocator
  std::atomic<std::uint32_t> claims;   // counts claimed slots, for tokens
  std::atomic<std::uint32_t> has_failed;
  std::atomic<std::uint32_t> awaits_readers;  // 1: the holder of the word sleeps until readers have stopped
  std::uint32_t none;
  std::uint64_t unused[10];
  pool_slot slots[pool_slot_count];
  std::uint64_t ring[pool_ring_words];  // used by the writer
};
static_assert(sizeof(pool_area) == pool_area_bytes);

// Flags in the word.
inline constexpr std::uint32_t pool_sleepers_bit = 1;
inline constexpr std::uint32_t pool_torn_bit = 2;
inline constexpr std::uint32_t pool_flag_bits = pool_sleepers_bit | pool_torn_bit;
// State of a thread; its address identifies the thread.
struct pool_thread_state {
  std::uint32_t locked = 0;              // number of pools that it has locked to write
  std::uint32_t lane = most_pool_lanes;  // which of its process's slots it uses; most_pool_lanes: it has not read yet
  pool_section* sections = nullptr;      // in which it reads, the innermost first
};
inline thread_local constinit pool_thread_state pool_thread __attribute__((tls_model("initial-exec")));

// Forgets, in a forked child, the sections and locks that the forking thread had in its parent.
void leave_sections_in_child() noexcept;

class pool_sharing {
 public:
  // area: nullptr for a private area, which no other opener uses. The caller keeps the openers.
  pool_sharing(pool_area* area, const pool_openers& openers, std::string path, std::uint64_t patience_ns);
  // Leaves the pool; the last opener clears the area.
  ~pool_sharing();
  pool_sharing(const pool_sharing&) = delete;
  pool_sharing& operator=(const pool_sharing&) = delete;

  // Registers this opener. Called within the gate, before any lock. is_torn: the log holds bytes that the first opener
  // could not restore in the file. Throws bad_file if no slot is left.
  void enter(bool is_first, bool is_torn, std::uint32_t chunks);

  // --- to write ---

  // Waits for other writers and readers. Throws bad_file, which names them, when the time is over.
  void lock() {
    if (!take_at_once()) [[unlikely]] {
      take_slowly();
      own(pool_thread);
    }
    complete_lock();
  }
  // The two halves of lock(). take_at_once succeeds, and returns true, if no other thread has locked the pool to write,
  // or asks to pass. complete_lock then waits for readers.
  [[nodiscard]] bool take_at_once() noexcept {
    pool_thread_state& thread = pool_thread;
    if (is_locked_by(thread)) {
      ++depth_;
      return true;
    }
    std::uint32_t nobody = 0;
    if (area_->let_pass_until.load(std::memory_order_relaxed) != 0 ||
        !area_->word.compare_exchange_strong(nobody, token_)) [[unlikely]]
      return false;
    own(thread);
    return true;
  }
  void complete_lock() {
    if (depth_ == 1 && is_read()) [[unlikely]]
      await_readers();
  }
  [[nodiscard]] bool is_read() const noexcept {
    const std::uint32_t used = area_->slots_used.load();
    for (std::uint32_t i = 0; i < used; ++i)
      if (static_cast<std::uint32_t>(area_->slots[i].state.load()) != 0) return true;
    return false;
  }
  void unlock() noexcept {
    if (--depth_ != 0) return;
    --owner_.load(std::memory_order_relaxed)->locked;
    owner_.store(nullptr, std::memory_order_relaxed);
    if (area_->word.load(std::memory_order_relaxed) != token_ || is_torn_) [[unlikely]]
      return unlock_slowly();
    // A store, not an exchange, which would wait a second time for all stores before it. It may overwrite the bit of a
    // thread that goes to sleep between these two lines, but that thread looks again by itself (invariant 4). Release:
    // the next holder of the word sees what was written. Readers need no more: they wait as long as they see the token.
    area_->word.store(0, std::memory_order_release);
  }
  // The following functions are for the holder of the lock.
  // Returns whether it still has the pool. cost: a load and a comparison.
  [[nodiscard]] bool holds() const noexcept {
    const std::uint32_t word = area_->word.load(std::memory_order_relaxed);
    if (word == token_) [[likely]]
      return true;
    return (word & ~pool_flag_bits) == token_;
  }
  [[nodiscard]] bool is_torn() const noexcept { return is_torn_; }
  void mend() noexcept { is_torn_ = false; }
  // Loads in this order: this process adds a slot to slots_used first, and to own_slots_ then, never the other way
  // round.
  [[nodiscard]] bool has_others() const noexcept {
    const std::uint32_t own = own_slots_.load(std::memory_order_acquire);
    return area_->slots_used.load(std::memory_order_relaxed) > own;
  }
  [[nodiscard]] std::uint64_t changes() const noexcept { return area_->changes.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t change(std::uint64_t number) const noexcept {
    return area_->ring[number % pool_ring_words];
  }
  void note_change(std::uint64_t offset) noexcept {
    const std::uint64_t number = changes();
    area_->ring[number % pool_ring_words] = offset;
    area_->changes.store(number + 1, std::memory_order_relaxed);
  }
  void set_chunks(std::uint32_t chunks) noexcept { area_->chunks.store(chunks, std::memory_order_relaxed); }
  // A device that fails one opener fails all: its contents are unknown.
  void fail() noexcept { area_->has_failed.store(1, std::memory_order_relaxed); }
  [[nodiscard]] bool has_failed() const noexcept { return area_->has_failed.load(std::memory_order_relaxed) != 0; }

  // --- to read ---

  // Waits for the writer; throws as lock. `within` must not move until unlock_shared.
  void lock_shared(pool_section& within);
  void unlock_shared(pool_section& within) noexcept;
  // The following functions are for holders of either lock.
  [[nodiscard]] std::uint32_t chunks() const noexcept { return area_->chunks.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_found_torn() const noexcept;
  // Returns whether the calling thread reads.
  [[nodiscard]] bool is_reading() const noexcept;

  // --- a pool that was lost ---

  // Throws bad_file: the reason why this opener has lost the pool, and the remedy. It does not lock again.
  [[noreturn]] void throw_lost();
  [[nodiscard]] bool is_lost() const noexcept { return is_lost_.load(std::memory_order_relaxed); }
  // Marks the pool as lost in a forked child. Called before the child uses anything else of the pool.
  void leave_in_child() noexcept;
  [[nodiscard]] bool is_in_child() const noexcept { return is_in_child_; }

 private:
  struct waiting;
  void take_slowly();
  void enter_slowly(pool_slot& slot);
  void wait(waiting& for_it, std::uint32_t word);
  void await_readers();
  void unlock_slowly() noexcept;
  void own(pool_thread_state& thread) noexcept {
    owner_.store(&thread, std::memory_order_relaxed);
    ++thread.locked;
    depth_ = 1;
  }
  // Fast path: a thread that has locked no pool has not locked this one. It spares readers a load of the writers' line.
  [[nodiscard]] bool is_locked_by(const pool_thread_state& thread) const noexcept {
    return thread.locked != 0 && owner_.load(std::memory_order_relaxed) == &thread;
  }
  [[nodiscard]] pool_slot* slot_for(pool_thread_state& thread) {
    pool_slot* const there =
        thread.lane != most_pool_lanes ? lanes_[thread.lane].load(std::memory_order_acquire) : nullptr;
    return there != nullptr ? there : claim_lane(thread);
  }
  [[nodiscard]] pool_slot* claim_lane(pool_thread_state& thread);
  [[nodiscard]] bool is_own(const pool_slot& slot) const noexcept;
  [[nodiscard]] bool take_slot(std::uint32_t number) noexcept;
  void leave_slot(pool_slot& slot) noexcept;
  void forget_dead_readers() noexcept;
  [[nodiscard]] bool lives(std::uint32_t number, std::uint32_t token) const noexcept;
  [[nodiscard]] bool has_died(std::uint32_t word) const noexcept;
  [[nodiscard]] std::string who_writes(std::uint32_t word) const;
  [[nodiscard]] std::string who_reads() const;
  [[noreturn]] void give_up(std::uint64_t waited_ns, const std::string& who) const;
  void tell(const std::string& who) const;
  void claim();
  // note_loss marks the pool as lost, so that no thread locks it again. what: the section or transaction that was cut.
  void note_loss(const char* what) noexcept;
  void lose() noexcept;

  std::unique_ptr<pool_area> own_area_;
  pool_area* area_;
  pool_slot* slot_ = nullptr;                            // the first slot of this opener, which its token names
  std::atomic<pool_slot*> lanes_[most_pool_lanes] = {};  // by lane; null: no thread of the lane has read
  std::mutex claiming_;                                  // held while a lane is claimed
  std::atomic<std::uint32_t> own_slots_{1};
  std::uint32_t token_ = 0;
  std::uint64_t own_state_ = 0;  // of its slots while no thread reads
  const pool_openers& openers_;
  std::string path_;
  std::uint64_t patience_ns_;
  int process_;
  process_identity identity_;  // set if this process shares the pool
  std::atomic<bool> is_lost_{false};
  bool is_in_child_ = false;
  // Written by writers only; on its own cache line, so that readers do not share it.
  alignas(64) std::atomic<pool_thread_state*> owner_{nullptr};  // the thread of this process that holds the lock
  std::size_t depth_ = 0;
  bool is_torn_ = false;
};

}  // namespace situ::detail
