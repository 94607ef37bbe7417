// The block of memory that all places of a host share, its life, and the mapping of the address space.
//
// One memfd a job, inherited by every process of it and named nowhere, so nothing can be left behind:
//
//   | slice 0 | slice 1 | ... | slice N-1 | job_control | place_slot x N | home x N | status x N |
//                                         page                                      page
//     observation row x N | addresses of hosts | rounds of barriers | footer |
//     page                                                          page ends the file
//
// A job over several hosts has such a file at each of them, with the slices of that host's places alone. All else is of
// all places: slots of places elsewhere are mirrors, which this host's server writes and whose process is never named
// (docs/design/cluster.md). Behind the slots comes the server's own, and behind the rows where each host's server is
// reached, and how far each host is.
//
// What the file is made of can be chosen (page_file.h); on a device, which has the size that it has, there may be a gap
// before the control block. Slices are sparse: a page exists once it is touched. The size is sealed, so no place can
// cut the file under the others. The footer names the offset of the control block, for a process that has nothing but
// the descriptor. Thread-safe: everything shared is atomic; each field says who writes. Who has ended, and how others
// hear of it, is in liveness.h.
#pragma once

#include <situ/base/detail/signal_word.h>
#include <situ/machine/intent.h>
#include <situ/memory/detail/place_context.h>
#include <situ/memory/detail/place_home.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/byte_budget.h"
#include "memory/page_file.h"
#include "memory/place_status.h"
#include "memory/promises.h"

namespace situ::detail {

enum class place_state : std::uint32_t {
  absent,  // not yet joined
  joined,
  left,  // left the job in order, with all others
  lost,  // died, exited early, or left by an exception; `reason` says which
  gone,  // left after another place was lost, not waiting for the rest; nobody's fault, but it answers no more
};

// How a place sleeps: place_slot::sleeping, while it is not awake.
inline constexpr std::uint32_t asleep_on_word = 1;  // on that word, a futex
inline constexpr std::uint32_t asleep_by_bell = 2;  // on its network and its bell

// What every other place reads of a place. Separate lines, because senders read `sleeping` with every message. The
// first holds signals alone, as a signal_word's does: who wakes a place needs one line.
struct alignas(64) place_slot {
  // asleep_on_word or asleep_by_bell while the place sleeps, 0 else. A sleeper sets it; whoever makes work for the
  // place clears it and wakes.
  std::atomic<std::uint32_t> sleeping{0};
  // The processor that the last waker ran on (runtime/idle_policy.h).
  std::atomic<std::uint32_t> woken_from{~std::uint32_t{0}};
  // While it sleeps, the lines of the words that it awaits (fabric/detail/awaited.h), each by a bit; 0 else. Written by
  // the owner.
  std::atomic<std::uint64_t> awaited{0};
  // Changes of words elsewhere that tasks of the place await, counted by who makes them, in the bucket of the word
  // (change_gate in memory/liveness.h).
  static constexpr std::size_t change_buckets = 8;
  std::atomic<std::uint32_t> changes[change_buckets]{};
  // Entries of its offload queue that have been given back since it looked, by their bits, and whether it awaits one
  // (offload_queue in graph/agent.h). So it need not go and look at the entries, and is woken only for one that it
  // awaits.
  std::atomic<std::uint32_t> freed_entries{0};
  // What its bell is known by; 0: it has none. Written by the owner.
  std::atomic<std::uint64_t> bell{0};

  alignas(64) std::atomic<place_state> state{place_state::absent};
  std::atomic<std::int32_t> pid{0};      // 0: a thread of a process that another slot names
  std::atomic<std::uint64_t> extent{0};  // bytes open from heap_offset on; written by the owner, only grows
  std::atomic<std::uint32_t> reason_claimed{0};
  std::atomic<std::int32_t> exit_code{
      -1};             // of the body of situ::launch, for a launcher that cannot ask the kernel; -1: none yet
  char reason[488]{};  // written once, before state becomes lost

  // 1 + the place whose objects are being copied, by this place or by its agent; 0: none. See reading_guard.
  alignas(64) std::atomic<std::uint32_t> read_by_place{0};
  std::atomic<std::uint32_t> read_by_agent{0};

  // survivors() (runtime/survivors.cpp): the round that the place has come to, the blocks that it gives for the teams
  // of even and odd rounds, and | round : 63 | lives : 1 |, which places decide together.
  std::atomic<std::uint64_t> survivors_round{0};
  std::atomic<std::uint64_t> survivors_blocks[2]{};
  std::atomic<std::uint64_t> fate{0};

  std::atomic<std::uint64_t> promised_bytes{0};  // of its segment, to who touches them: promises.h
};
static_assert(sizeof(place_slot) == place_slot_bytes && offsetof(place_slot, state) == signal_line_bytes);

// A module (a shared library) whose functions are named in messages; see fabric/modules.h. Entries are only added.
struct module_entry {
  std::atomic<std::uint64_t> identity{0};  // 0: empty, as all that follow
  std::atomic<std::uint32_t> is_named{0};
  char name[116]{};  // of its file; written once, before is_named
};
static_assert(sizeof(module_entry) == 128);

// What the places of a job have used of a memory with a budget (src/memory/intent_placer.cpp).
struct alignas(64) shared_budget {
  std::atomic<std::uint64_t> key{0};  // of its name and size; 0: empty, as all that follow
  byte_budget budget;
};

// How a host's server is reached, in the words of the network; written before anybody attaches.
struct host_address {
  static constexpr std::uint32_t most_bytes = 1020;
  std::uint32_t bytes = 0;
  std::byte text[most_bytes]{};
};
static_assert(sizeof(host_address) == 1024);

// The first place of a host. pre: a host of these homes. cost: linear in the places.
[[nodiscard]] std::uint32_t first_place_of(std::span<const place_home> homes, std::uint16_t host) noexcept;

struct job_control {
  static constexpr std::uint64_t expected_magic = 0x31306a7574697300;  // "\0situj01"
  static constexpr std::uint32_t address_rounds = 32;
  static constexpr std::uint32_t no_place = ~std::uint32_t{0};
  static constexpr std::uint32_t no_node = ~std::uint32_t{0};

  // Written by the creator, before anybody attaches.
  std::uint64_t magic = expected_magic;
  std::uint64_t layout = 0;       // sizes of these structures: processes of different builds must not meet
  std::uint64_t total_bytes = 0;  // of the memfd
  std::uint32_t place_count = 0;
  std::uint32_t slice_shift = 0;
  std::uint32_t places_here = 0;  // whose slices the file holds
  std::uint16_t host_count = 1;
  std::uint16_t host = 0;                      // this one
  std::uint64_t observation_bytes = 0;         // of one row; whole pages
  std::uint64_t candidates[address_rounds]{};  // bases in the order in which they are tried
  std::uint64_t memory_budget = 0;             // bytes that all segments together may open
  std::uint64_t stack_bytes = 0;               // of each task; 0: as the place itself says
  std::optional<intent> memory_intent;         // of all that is allocated without one
  std::uint32_t memory_node = no_node;         // that pages of the slices come from, as long as it has room
  std::uint64_t file_unit = 4096;              // of the file, what its pages come and go in: a page, or 2 MiB
  memory_kind::source file_kind = memory_kind::source::kernel;
  bool places_by_intent = true;  // the file gives pages back, so that they can come from elsewhere
  bool oversubscribed = false;   // more places than processors: waiting places give way at once
  bool sender_fences = false;    // no membarrier (or not worth it): each sender fences before it looks at `sleeping`
  bool stats = false;
  bool trace = false;
  // How often places cross the barrier at the end: once; where place 0 tells at the end what all have counted, it looks
  // at theirs between the second time and the last.
  static constexpr std::uint32_t leaving_rounds_that_tell = 3;
  std::uint32_t leaving_rounds = 1;
  bool progress = false;                   // each place has a second thread to compute on (serve_while)
  bool checked = false;                    // puts, gets and atomics are held against the live blocks
  std::atomic<std::uint64_t> build_id{0};  // of the first place that joins
  // place_context::heap_offset, for who is no place: written by each before it votes.
  std::atomic<std::uint64_t> heap_offset{0};

  // Agreement on the base address: in round r every place tries candidate r and votes; a base without a rejection is
  // taken.
  std::atomic<std::uint32_t> votes[address_rounds]{};
  std::atomic<std::uint32_t> rejections[address_rounds]{};

  module_entry modules[256];
  shared_budget budgets[32];
  promise_sums promised;

  alignas(64) std::atomic<std::uint64_t> opened_bytes{0};   // over all segments, against memory_budget
  alignas(64) std::atomic<std::uint32_t> failure_epoch{0};  // number of places lost or gone so far
  std::atomic<std::uint32_t> first_lost{no_place};          // written by mark_lost, before failure_epoch
  std::atomic<std::uint32_t> survived_ends{0};              // so many ends survivors have agreed to go on after

  // place: or place_count, where there are several hosts: the server's.
  [[nodiscard]] place_slot& slot(std::uint32_t place) noexcept;
  // Of all places; written by the creator, before anybody attaches.
  [[nodiscard]] std::span<place_home> homes() noexcept;
  // Whether the place is of this host. pre: a place of the job.
  [[nodiscard]] bool is_here(std::uint32_t place) noexcept {
    return places_here == place_count || homes()[place].host == host;
  }
  // The first place of a host, in whose slice the barriers of that host's places lie. pre: a host of the job.
  [[nodiscard]] std::uint32_t first_place_of(std::uint16_t of_host) noexcept;
  // pre: there are several hosts, and this is one.
  [[nodiscard]] host_address& address_of(std::uint16_t of_host) noexcept;
  // The last round of a barrier that all places of that host have come to. Written by the last of them, or, for another
  // host, by this one's server. A host's rounds lie one behind the other. pre: as above.
  [[nodiscard]] signal_word<std::uint64_t>& round_of(host_barrier which, std::uint16_t of_host) noexcept;
  // Whether place 0 tells what all have counted; else a launcher does.
  [[nodiscard]] bool tells_itself() const noexcept { return leaving_rounds != 1; }
  // Whether all places of that host have come to the end of the job. pre: as above.
  [[nodiscard]] bool is_host_leaving(std::uint16_t of_host) noexcept {
    return round_of(host_barrier::leaving, of_host).look() >= leaving_rounds;
  }
  // What a place shows of itself (place_status.h); zeroed, on pages of its own.
  [[nodiscard]] place_status& status(std::uint32_t place) noexcept;
  // Room for one place's statistics and trace; the layout is the fabric's (fabric/observe.h). Empty unless the job was
  // created with observation_bytes; starts on a page, zeroed.
  [[nodiscard]] std::span<std::byte> observation_row(std::uint32_t place) noexcept;
};

struct job_options {
  std::uint32_t place_count = 1;
  std::uint64_t memory_budget = 0;      // 0: the machine's memory, or the control group's limit where that is less
  std::uint64_t stack_bytes = 0;        // of each task's stack; 0: as the places say
  std::uint64_t observation_bytes = 0;  // of each place's observation row
  std::optional<intent> memory_intent;  // of all that is allocated without one
  std::string memory = {};              // what the segments lie in, as memory_kind::parse reads it
  bool stats = false;
  bool trace = false;
  bool tells_itself = false;  // nobody launches the job: place 0 tells what is counted and traced
  bool progress = false;
  bool checked = false;
  std::vector<place_home> homes = {};  // of all places, where they are of several hosts; empty: all are of one
  std::uint16_t host = 0;              // the one that creates this
};

// A job's memfd and this process's view of its control block. The creator (launcher, or a program run alone) makes it;
// places attach to the inherited descriptor. Movable; unmaps and closes at the end.
class job {
 public:
  // 1 << 15 places: at more, slices would fall under 1 GiB.
  static constexpr std::uint32_t max_places = 32768;

  // Throws bad_argument for no places or too many or no kind of memory or homes that are none, bad_launch where the
  // kernel refuses the memory.
  static job create(const job_options& options);
  // Attaches to an inherited descriptor and owns it from then on; closes it on exec, so that programs which a place
  // starts do not keep the job's memory alive. Throws bad_launch if it is no job of this build (the descriptor is left
  // alone then).
  static job attach(int descriptor);
  // For who only looks: maps the control block for reading. Owns the descriptor; throws as attach().
  static job look_at(int descriptor);
  job(job&& other) noexcept;
  job& operator=(job&& other) noexcept;
  ~job();

  [[nodiscard]] job_control& control() const noexcept { return *control_; }
  // Of the mapping that starts at control().
  [[nodiscard]] std::size_t control_bytes() const noexcept { return mapped_bytes_; }
  // Closed on exec; a launcher clears FD_CLOEXEC between fork and exec of a place.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  // Once nobody is to attach or map by it any more; the mappings stay. A program may close descriptors that it does not
  // know (closefrom) and open others: from here on their numbers are its own.
  void close_descriptor() noexcept;

 private:
  job(int descriptor, job_control* control, std::size_t mapped_bytes) noexcept
      : control_{control}, mapped_bytes_{mapped_bytes}, descriptor_{descriptor} {}
  job_control* control_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  int descriptor_ = -1;
  int sign_ = -1;  // of a file or device, which cannot be told by its name: see job_sign
};

// Who creates a job whose memory is no memory file holds an empty one beside it, whose name says which descriptor the
// memory is: "situ-job-is:7". So those that look for jobs find all of them by names of memory files.
inline constexpr std::string_view job_file_name = "situ-job";
inline constexpr std::string_view job_sign = "situ-job-is:";

// Slices that lie one after the other in the address space and in the file: of places of this host.
struct slice_run {
  std::uint32_t first_place = 0;
  std::uint32_t places = 0;
  std::uint32_t first_index = 0;  // in the file
};
// All slices of the file, in as few runs as there are. Allocates.
[[nodiscard]] std::vector<slice_run> slice_runs(job_control& control);

// The address range of a job, mapped in this process at the base that all its places agreed on. What is of places of
// other hosts can neither be read nor written.
class address_space {
 public:
  // Maps the slices. `votes` is the number of places that this process stands for (all of them when places are
  // threads). Collective over the job; throws bad_launch when no base suits every process, place_lost_error when one
  // dies meanwhile.
  static address_space map(const job& job, std::uint32_t votes);
  // Maps them at that base, without a vote; nothing where something else is there.
  static std::optional<address_space> map_at(const job& job, std::uintptr_t base);
  address_space(address_space&& other) noexcept;
  address_space& operator=(address_space&& other) noexcept;
  ~address_space();
  [[nodiscard]] std::uintptr_t base() const noexcept { return base_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  address_space(std::uintptr_t base, std::size_t bytes) noexcept : base_{base}, bytes_{bytes} {}
  std::uintptr_t base_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace situ::detail
