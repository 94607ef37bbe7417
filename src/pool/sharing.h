// One pool, several processes and threads: who may write it, who reads it, and what each has to know of the others.
//
// Whoever shares a pool meets the others in an area of the file (format.h), which its first opener sets up: so what a
// reboot, a copy of the file or a process that was killed has left there means nothing. Whoever has a pool alone has
// such an area in memory of its own.
//
//   word     32 bits: the token of who writes, 0 if nobody; a bit for those who sleep on it; a bit (torn) for a
//            transaction that its writer's death has cut
//   slots    one for each who has the pool open: its token, how many of its threads read, which process it is. The
//            kernel tells whether it lives (openers.h). A process of which several threads read takes more of them,
//            with the same token, so that each counts itself in a line of its own
//   changes  words of the allocator that transactions have changed: the last 1024 by their offsets (pool_heap::follow)
//
// Invariants
//   1. Who writes has put its token into the word, then found no slot with readers. Who reads has counted itself in its
//      slot, then found no token in the word. Both steps are sequentially consistent, so never do both succeed.
//   2. A token is given once (until 2^23 openings have passed; the first one is arbitrary), so the word of one who has
//      died is nobody else's.
//   3. The word of one who has died is taken over by a compare-and-swap, which sets torn. It stays set until somebody
//      who may write has brought back what the log keeps. A death is concluded from evidence only (process_life.h).
//   4. Whoever waits sleeps a millisecond at most before it looks whether those it waits for live.
//   5. Who has waited long says so (let_pass_until); who has not stands back until then. It is a time, so it ends by
//      itself where they die.
//   6. A writer whose token is no longer in the word has lost the pool: others took it for dead, as they do where the
//      kernel no longer has its locks. It writes nothing from then on, throws, and does not lock again (holds,
//      throw_lost). A child of an opener's process is in the same position from its fork on.
//
// Sources: the reader's side is a big-reader lock with a line for each process; robust as pthread_mutex_t with
// PTHREAD_MUTEX_ROBUST, but of processes instead of threads (docs/decisions/0023-sharing-pools.md).
// Thread-safe. A thread that writes may begin to write or read again; one that reads may read again.
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
  std::atomic<std::uint64_t> state;  // its token above, how many read below
  std::atomic<std::uint64_t> process;
  std::atomic<std::uint64_t> begun;   // as process_identity has it
  std::atomic<std::uint64_t> spaces;  // and these
  std::uint64_t unused[4];
};
static_assert(sizeof(pool_slot) == 64);

inline constexpr std::uint32_t pool_slot_count = 126;
// Of a process, for its threads; who writes looks at all of them.
inline constexpr std::uint32_t most_pool_lanes = 8;
// Only these are taken for threads, so that most are left to other processes.
inline constexpr std::uint32_t pool_lane_slots = 32;
inline constexpr std::uint32_t pool_ring_words = 1024;

struct pool_area {
  std::atomic<std::uint32_t> word;
  std::atomic<std::uint32_t> drained;     // changes when somebody stops reading while somebody waits to write
  std::atomic<std::uint32_t> slots_used;  // no slot from here on was ever taken
  std::atomic<std::uint32_t> chunks;      // of the heap, as the last transaction has left it
  std::atomic<std::uint64_t> let_pass_until;
  std::atomic<std::uint64_t> changes;  // how many words of the allocator have changed
  std::atomic<std::uint32_t> claims;   // of slots
  std::atomic<std::uint32_t> has_failed;
  std::atomic<std::uint32_t> awaits_readers;  // 1: who has the word sleeps until they have stopped
  std::uint32_t none;
  std::uint64_t unused[10];
  pool_slot slots[pool_slot_count];
  std::uint64_t ring[pool_ring_words];  // who writes has it
};
static_assert(sizeof(pool_area) == pool_area_bytes);

// Flags of the word.
inline constexpr std::uint32_t pool_sleepers_bit = 1;
inline constexpr std::uint32_t pool_torn_bit = 2;
inline constexpr std::uint32_t pool_flag_bits = pool_sleepers_bit | pool_torn_bit;
// What a thread knows of itself; its address is the thread's own.
struct pool_thread_state {
  std::uint32_t locked = 0;              // how many pools it has locked to write
  std::uint32_t lane = most_pool_lanes;  // which of its process's slots it takes; most_pool_lanes: it has not read yet
  pool_section* sections = nullptr;      // that it reads in, the innermost first
};
inline thread_local constinit pool_thread_state pool_thread __attribute__((tls_model("initial-exec")));

// In a child, of the thread that has forked: the sections and locks that it had in its parent.
void leave_sections_in_child() noexcept;

class pool_sharing {
 public:
  // area: nullptr for one of its own, which belongs to nobody else. The openers stay the caller's.
  pool_sharing(pool_area* area, const pool_openers& openers, std::string path, std::uint64_t patience_ns);
  // Leaves; the last one clears the area.
  ~pool_sharing();
  pool_sharing(const pool_sharing&) = delete;
  pool_sharing& operator=(const pool_sharing&) = delete;

  // Within the gate, before any lock. is_torn: the log holds what the first opener could not bring back in the file.
  // Throws bad_file where there is no slot left.
  void enter(bool is_first, bool is_torn, std::uint32_t chunks);

  // --- to write ---

  // Waits for others. Throws bad_file, which says who they are, when the time is over.
  void lock() {
    if (!take_at_once()) [[unlikely]] {
      take_slowly();
      own(pool_thread);
    }
    complete_lock();
  }
  // lock() in its two halves. The first is done where nobody has the pool, or waits for it, and true then.
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
    // A store, not an exchange, which would be a second wait for all stores before it: what it may overwrite is the bit
    // of who goes to sleep between these two lines, and who sleeps looks again by itself (invariant 4). Release: who
    // has the word next sees what was written. Readers need no more: they wait as long as they see the token.
    area_->word.store(0, std::memory_order_release);
  }
  // The following are for who has locked.
  // Whether it has the pool still. cost: a load and a comparison.
  [[nodiscard]] bool holds() const noexcept {
    const std::uint32_t word = area_->word.load(std::memory_order_relaxed);
    if (word == token_) [[likely]]
      return true;
    return (word & ~pool_flag_bits) == token_;
  }
  [[nodiscard]] bool is_torn() const noexcept { return is_torn_; }
  void mend() noexcept { is_torn_ = false; }
  // In this order: a slot of this process is among those used before it is its own, never the other way round.
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
  // A device that fails one fails all: what it holds is not known any more.
  void fail() noexcept { area_->has_failed.store(1, std::memory_order_relaxed); }
  [[nodiscard]] bool has_failed() const noexcept { return area_->has_failed.load(std::memory_order_relaxed) != 0; }

  // --- to read ---

  // Waits for who writes; throws as lock. `within` stays where it is until unlock_shared.
  void lock_shared(pool_section& within);
  void unlock_shared(pool_section& within) noexcept;
  // The following are for who has locked, either way.
  [[nodiscard]] std::uint32_t chunks() const noexcept { return area_->chunks.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_found_torn() const noexcept;
  // Whether the calling thread reads.
  [[nodiscard]] bool is_reading() const noexcept;

  // --- a pool that was lost ---

  // Throws bad_file: why this opener has the pool no longer, and what to do. It does not lock again.
  [[noreturn]] void throw_lost();
  [[nodiscard]] bool is_lost() const noexcept { return is_lost_.load(std::memory_order_relaxed); }
  // In a child of the opener's process, before anything else of the pool is used there.
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
  // Who has locked no pool has not locked this one: so who reads does not look at what those who write store.
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
  // So that nobody locks it again. what: that was cut by it.
  void note_loss(const char* what) noexcept;
  void lose() noexcept;

  std::unique_ptr<pool_area> own_area_;
  pool_area* area_;
  pool_slot* slot_ = nullptr;                            // the first of its own, which its token names
  std::atomic<pool_slot*> lanes_[most_pool_lanes] = {};  // by lane, where a thread of it has read
  std::mutex claiming_;                                  // of a lane
  std::atomic<std::uint32_t> own_slots_{1};
  std::uint32_t token_ = 0;
  std::uint64_t own_state_ = 0;  // of its slots while nobody reads
  const pool_openers& openers_;
  std::string path_;
  std::uint64_t patience_ns_;
  int process_;
  process_identity identity_;  // of this process, where it shares the pool
  std::atomic<bool> is_lost_{false};
  bool is_in_child_ = false;
  // What each who writes changes, away from what those look at who read.
  alignas(64) std::atomic<pool_thread_state*> owner_{nullptr};  // the thread of this process that has locked
  std::size_t depth_ = 0;
  bool is_torn_ = false;
};

}  // namespace situ::detail
