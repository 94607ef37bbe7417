// The block of memory that all places of a host share, its life, and the mapping of the address space.
//
// One memfd a job, inherited by every process of it and named nowhere, so nothing can be left behind:
//
//   | slice 0 | slice 1 | ... | slice N-1 | job_control, then one observation row for each place |
//
// Slices are sparse: a page exists once it is touched. Thread-safe: everything shared is atomic; each field says who writes.
#pragma once

#include <situ/memory/place_context.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace situ::detail {

enum class place_state : std::uint32_t {
  absent,  // not yet joined
  joined,
  left,    // left the job in order
  lost,    // died, exited early, or left by an exception; `reason` says which
};

// What every other place reads of a place. Separate lines, because senders read `sleeping` with every message.
struct alignas(64) place_slot {
  // 1 while the place sleeps on it (a futex), 0 else. A sleeper sets it; whoever makes work for the place clears it and wakes.
  std::atomic<std::uint32_t> sleeping{0};

  alignas(64) std::atomic<place_state> state{place_state::absent};
  std::atomic<std::int32_t> pid{0};       // 0: a thread of a process that another slot names
  std::atomic<std::uint64_t> extent{0};   // bytes open from heap_offset on; written by the owner, only grows
  std::atomic<std::uint32_t> reason_claimed{0};
  char reason[232]{};                     // written once, before state becomes lost
};
static_assert(sizeof(place_slot) == 384 || sizeof(place_slot) == 320);

struct job_control {
  static constexpr std::uint64_t expected_magic = 0x31306a7574697300;  // "\0situj01"
  static constexpr std::uint32_t address_rounds = 32;

  std::uint64_t magic = expected_magic;
  std::uint64_t total_bytes = 0;     // of the memfd
  std::uint32_t place_count = 0;
  std::uint32_t slice_shift = 0;
  std::uint64_t memory_budget = 0;   // bytes that all segments together may open
  bool oversubscribed = false;       // more places than processors: waiting places give way at once
  bool sender_fences = false;        // no membarrier (or not worth it): each sender fences before it looks at `sleeping`
  bool stats = false;
  bool trace = false;
  bool checked = false;              // every access is held against the page map
  std::atomic<std::uint64_t> build_id{0};   // of the first place that joins

  // Agreement on the base address: in round r every place tries candidate r and votes.
  std::atomic<std::uint32_t> votes[address_rounds]{};
  std::atomic<std::uint32_t> rejections[address_rounds]{};

  alignas(64) std::atomic<std::uint64_t> opened_bytes{0};  // over all segments, against memory_budget
  alignas(64) std::atomic<std::uint32_t> failure_epoch{0}; // number of places lost so far

  [[nodiscard]] place_slot& slot(std::uint32_t place) noexcept;
  // Room for one place's statistics and trace; the layout is the fabric's (fabric/observe.h).
  [[nodiscard]] std::span<std::byte> observation_row(std::uint32_t place) noexcept;
};

struct job_options {
  std::uint32_t place_count = 1;
  std::uint64_t memory_budget = 0;  // 0: the machine's memory
  bool stats = false;
  bool trace = false;
  bool checked = false;
};

// A job's memfd and this process's view of its control block. The creator (launcher, or a program run alone) makes it;
// places attach to the inherited descriptor. Movable; unmaps and closes at the end.
class job {
 public:
  static job create(const job_options& options);
  // Attaches to an inherited descriptor; throws bad_launch if it is no job of this build.
  static job attach(int descriptor);
  job(job&& other) noexcept;
  job& operator=(job&& other) noexcept;
  ~job();

  [[nodiscard]] job_control& control() const noexcept { return *control_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  job(int descriptor, job_control* control, std::size_t mapped_bytes) noexcept
      : control_{control}, mapped_bytes_{mapped_bytes}, descriptor_{descriptor} {}
  job_control* control_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  int descriptor_ = -1;
};

// The address range of a job, mapped in this process at the base that all its places agreed on.
class address_space {
 public:
  // Maps the slices. `votes` is the number of places that this process stands for (all of them when places are threads).
  // Collective over the job; throws bad_launch when no base suits every process, place_lost_error when one dies meanwhile.
  static address_space map(const job& job, std::uint32_t votes);
  address_space(address_space&& other) noexcept;
  address_space& operator=(address_space&& other) noexcept;
  ~address_space();
  [[nodiscard]] std::uintptr_t base() const noexcept { return base_; }

 private:
  address_space(std::uintptr_t base, std::size_t bytes) noexcept : base_{base}, bytes_{bytes} {}
  std::uintptr_t base_ = 0;
  std::size_t bytes_ = 0;
};

// Marks a place as lost (first caller wins) and wakes every place. Callable from any process of the job and its launcher.
void mark_lost(job_control& control, std::uint32_t place, std::string_view reason) noexcept;

// Throws place_lost_error for the first lost place. pre: failure_epoch > 0.
[[noreturn]] void throw_place_lost(job_control& control);

// Wakes a place if it sleeps. cost: one load where it does not.
void wake_slow(place_slot& slot) noexcept;
inline void wake(place_slot& slot) noexcept {
  if (slot.sleeping.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake_slow(slot);
}

// Sleeps until *word != expected, a wake-up, or the time is over.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept;
void futex_wake(std::atomic<std::uint32_t>& word, int count) noexcept;

}  // namespace situ::detail
