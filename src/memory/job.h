// The memory file that all places of a host share: its layout, its lifetime, and the mapping of the address space.
//
// One memfd per job, inherited by each of its processes and without a name in any folder, so that nothing can be left
// behind:
//
//   | slice 0 | slice 1 | ... | slice N-1 | job_control | place_slot x N | home x N | status x N |
//                                           page                                      page
//     observation row x N | room of the hosts | footer |
//     page                  page                page ends the file
//
// A job over several hosts has such a file on each host. It holds the slices of that host's places only, but all other
// parts cover all places of the job: slots of places on other hosts are mirrors, which this host's server writes and
// which name no process (docs/design/cluster.md). The slots are followed by the server's own slot. After the rows
// follows room for what the hosts tell each other (cluster/host_words.h).
//
// Modules above keep words of their own in the slots and in the control block: see module_room.
//
// The kind of the file's memory can be chosen (page_file.h); on a device, whose size is fixed, there may be a gap
// before the control block. Slices are sparse: a page exists once it is touched. The size of a memory file is sealed,
// so no place can truncate it while others use it. The footer holds the offset of the control block, for a process
// that has only the descriptor. Thread-safe: everything shared is atomic; the comment of a field names its writer. The
// ends of places are handled in memory/detail/losses.h.
#pragma once

#include <situ/base/detail/signal_word.h>
#include <situ/machine/intent.h>
#include <situ/memory/detail/place_context.h>
#include <situ/memory/detail/place_home.h>
#include <situ/memory/detail/place_state.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "memory/place_status.h"
#include "os/descriptor.h"
#include "os/mapping.h"
#include "pages/page_file.h"
#include "pages/promises.h"

namespace situ::detail {

// Room in the job's file for the words of a module above. The module declares `Words` in a header of its own, and
// nothing here reads them. They are zero at first, and end without a destructor. A module that needs more changes
// `most_bytes`, which changes the layout that processes of other builds refuse.
template <class Words, std::size_t most_bytes, std::size_t alignment = most_bytes>
class module_room {
 public:
  static constexpr std::size_t bytes = most_bytes;
  // Returns the words. pre: `Words` is complete; one that does not fit does not compile. cost: none.
  [[nodiscard]] Words& words() noexcept {
    check();
    return *reinterpret_cast<Words*>(room_);
  }
  [[nodiscard]] const Words& words() const noexcept {
    check();
    return *reinterpret_cast<const Words*>(room_);
  }

 private:
  static constexpr void check() noexcept {
    static_assert(sizeof(Words) == most_bytes && alignof(Words) <= alignment);
    static_assert(std::is_standard_layout_v<Words> && std::is_trivially_destructible_v<Words>);
  }
  alignas(alignment) std::byte room_[most_bytes]{};
};

struct awaited_words;    // fabric/detail/awaited.h
struct named_modules;    // fabric/modules.h
struct graph_signals;    // graph/change_gate.h
struct survivors_words;  // cluster/survivors_words.h
struct body_result;      // launch/body_result.h

// Values of place_slot::sleeping while the place sleeps.
inline constexpr std::uint32_t asleep_on_word = 1;  // on the word `sleeping`, a futex
inline constexpr std::uint32_t asleep_by_bell = 2;  // on its network and its bell

// The state of a place that other places read. On separate lines, because senders read `sleeping` with every message.
// The first line holds signals only, like that of a signal_word: to wake a place takes one line. So the signals of
// other modules have their room on it.
struct alignas(64) place_slot {
  // asleep_on_word or asleep_by_bell while the place sleeps, else 0. The sleeper sets it; a thread that makes work for
  // the place clears it and then wakes the place.
  std::atomic<std::uint32_t> sleeping{0};
  // The processor that the last waker ran on.
  std::atomic<std::uint32_t> woken_from{~std::uint32_t{0}};
  // The key of the place's bell; 0: it has none. The owner writes it.
  std::atomic<std::uint64_t> bell{0};
  module_room<awaited_words, 8> awaited;
  module_room<graph_signals, 36, 4> graph;

  alignas(64) std::atomic<place_state> state{place_state::absent};
  std::atomic<std::int32_t> pid{0};      // 0: the place is a thread of a process that another slot names
  std::atomic<std::uint64_t> extent{0};  // bytes open from heap_offset on; the owner writes it; only grows
  std::atomic<std::uint32_t> reason_claimed{0};
  module_room<body_result, 4> result;
  char reason[488]{};  // written once, before state becomes lost

  // 1 + the place whose objects this place or its agent is copying; 0: none. See reading_guard.
  alignas(64) std::atomic<std::uint32_t> read_by_place{0};
  std::atomic<std::uint32_t> read_by_agent{0};

  module_room<survivors_words, 32, 8> survivors;
  std::atomic<std::uint64_t> promised_bytes{0};  // of its segment, not touched yet: promises.h
};
static_assert(sizeof(place_slot) == place_slot_bytes && offsetof(place_slot, state) == signal_line_bytes);

// The room that a job over several hosts has for each of its hosts (cluster/host_words.h).
inline constexpr std::size_t host_room_bytes = 1216;

// Returns the first place of a host. pre: `host` is a host of these homes. cost: linear in the places.
[[nodiscard]] std::uint32_t first_place_of(std::span<const place_home> homes, std::uint16_t host) noexcept;

struct job_control {
  static constexpr std::uint64_t expected_magic = 0x31306a7574697300;  // "\0situj01"
  static constexpr std::uint32_t address_rounds = 32;
  static constexpr std::uint32_t no_place = ~std::uint32_t{0};
  static constexpr std::uint32_t no_node = ~std::uint32_t{0};

  // The creator writes these fields, before any process attaches.
  std::uint64_t magic = expected_magic;
  std::uint64_t layout = 0;       // sizes of these structures: processes of different builds must not meet
  std::uint64_t total_bytes = 0;  // of the memfd
  std::uint32_t place_count = 0;
  std::uint32_t slice_shift = 0;
  std::uint32_t places_here = 0;  // number of places whose slices the file holds
  std::uint16_t host_count = 1;
  std::uint16_t host = 0;                      // the index of this host
  std::uint64_t observation_bytes = 0;         // bytes of one row; whole pages
  std::uint64_t candidates[address_rounds]{};  // bases in the order in which they are tried
  std::uint64_t memory_budget = 0;             // bytes that all segments together may open
  std::uint64_t stack_bytes = 0;               // stack of each task; 0: the place chooses
  std::optional<intent> memory_intent;         // of allocations without an intent
  std::uint32_t memory_node = no_node;         // the node that pages of the slices come from, as long as it has room
  std::uint64_t file_unit = 4096;              // unit in which the file's pages are mapped and freed: a page, or 2 MiB
  memory_kind::source file_kind = memory_kind::source::kernel;
  bool places_by_intent = true;  // the file can free pages, so that others can be placed instead
  bool oversubscribed = false;   // more places than processors: waiting places yield at once
  bool sender_fences = false;    // no membarrier (or not worth it): each sender fences before it reads `sleeping`
  bool stats = false;
  bool trace = false;
  // The number of times that places cross the barrier at the end of the job: once; or three times if place 0 reports
  // the counts of all places, which it reads between the second crossing and the last.
  static constexpr std::uint32_t leaving_rounds_that_tell = 3;
  std::uint32_t leaving_rounds = 1;
  bool progress = false;                   // each place has a second thread to compute on (serve_while)
  bool checked = false;                    // puts, gets and atomics are checked against the live blocks
  std::atomic<std::uint64_t> build_id{0};  // written by the first place that joins
  // place_context::heap_offset, for processes that are no place; each place writes it before it votes.
  std::atomic<std::uint64_t> heap_offset{0};

  // Agreement on the base address: in round r every place tries candidate r and votes; the first candidate without a
  // rejection is used.
  std::atomic<std::uint32_t> votes[address_rounds]{};
  std::atomic<std::uint32_t> rejections[address_rounds]{};

  module_room<named_modules, 256 * 128, 8> modules;
  shared_budget budgets[32];
  promise_sums promised;

  alignas(64) std::atomic<std::uint64_t> opened_bytes{0};   // sum over all segments, limited by memory_budget
  alignas(64) std::atomic<std::uint32_t> failure_epoch{0};  // number of places lost or gone so far
  std::atomic<std::uint32_t> first_lost{no_place};          // mark_lost writes it, before failure_epoch
  std::atomic<std::uint32_t> survived_ends{0};              // number of ends after which survivors have agreed to go on

  // Returns the slot of a place; if there are several hosts, place_count gives the server's slot.
  [[nodiscard]] place_slot& slot(std::uint32_t place) noexcept;
  // Returns the homes of all places; the creator writes them, before any process attaches.
  [[nodiscard]] std::span<place_home> homes() noexcept;
  // Returns whether the place is on this host. pre: it is a place of the job.
  [[nodiscard]] bool is_here(std::uint32_t place) noexcept {
    return places_here == place_count || homes()[place].host == host;
  }
  // Returns the first place of a host; its slice holds the barriers of that host's places. pre: a host of the job.
  [[nodiscard]] std::uint32_t first_place_of(std::uint16_t of_host) noexcept;
  // Returns host_room_bytes for each host, zeroed at first; it starts on a page. Empty if all places are on one host.
  [[nodiscard]] std::span<std::byte> host_room() noexcept;
  // Returns whether place 0 reports the counts of all places; else a launcher does.
  [[nodiscard]] bool tells_itself() const noexcept { return leaving_rounds != 1; }
  // Returns the published status of a place (place_status.h); zeroed at first, on pages of its own.
  [[nodiscard]] place_status& status(std::uint32_t place) noexcept;
  // Returns the room for one place's statistics and trace; fabric/observe.h defines the layout. Empty unless the job
  // was created with observation_bytes; starts on a page, zeroed.
  [[nodiscard]] std::span<std::byte> observation_row(std::uint32_t place) noexcept;
};

struct job_options {
  std::uint32_t place_count = 1;
  std::uint64_t memory_budget = 0;      // 0: the machine's memory, or the control group's limit if that is less
  std::uint64_t stack_bytes = 0;        // stack of each task; 0: the places choose
  std::uint64_t observation_bytes = 0;  // size of each place's observation row
  std::optional<intent> memory_intent;  // of allocations without an intent
  std::string memory = {};              // kind of the segments' memory, as memory_kind::parse reads it
  bool stats = false;
  bool trace = false;
  bool tells_itself = false;  // no launcher: place 0 reports statistics and traces
  bool progress = false;
  bool checked = false;
  std::vector<place_home> homes = {};  // of all places, if they are on several hosts; empty: all are on one
  std::uint16_t host = 0;              // the host of the creator
};

// A job's memfd and this process's view of its control block. The creator (a launcher, or a program run alone) makes
// the memfd; places attach to the inherited descriptor. Movable; the destructor unmaps and closes.
class job {
 public:
  // 1 << 15 places: with more places, slices would be smaller than 1 GiB.
  static constexpr std::uint32_t max_places = 32768;

  // Creates the memory of a job. Throws bad_argument if the number of places is 0 or too large, or the kind of memory
  // or the homes are invalid; not_supported if an intent is given that this kind of memory cannot serve; bad_launch if
  // the kernel refuses the memory.
  static job create(const job_options& options);
  // Attaches to an inherited descriptor and owns it from then on. Sets close-on-exec, so that programs which a place
  // starts do not keep the job's memory alive. Throws bad_launch if it is no job of this build (the descriptor is left
  // alone then).
  static job attach(int descriptor);
  // Maps the control block read-only, for observers. Throws as attach(), but closes the file then.
  static job look_at(os::descriptor file);
  job(job&& other) noexcept = default;
  job& operator=(job&& other) noexcept = default;

  [[nodiscard]] job_control& control() const noexcept { return *reinterpret_cast<job_control*>(control_.begin()); }
  // Returns the size of the mapping that starts at control().
  [[nodiscard]] std::size_t control_bytes() const noexcept { return control_.bytes(); }
  // Returns the descriptor, which is closed on exec; a launcher clears FD_CLOEXEC between fork and exec of a place.
  [[nodiscard]] int descriptor() const noexcept { return file_.number(); }
  // Closes the descriptor; the mappings stay. A program may close descriptors that it does not know (closefrom) and
  // open others: after this call their numbers are the program's own. pre: no process attaches or maps by it any more.
  void close_descriptor() noexcept;

 private:
  job(os::descriptor file, os::mapping control) noexcept : file_{std::move(file)}, control_{std::move(control)} {}
  os::descriptor file_;
  os::descriptor sign_;  // marker file for memory in a file or device: see job_sign
  os::mapping control_;
};

// If a job's memory is not a memory file, its creator also holds an empty memory file, whose name contains the
// descriptor of the memory: "situ-job-is:7". So a search for jobs finds all of them by names of memory files.
inline constexpr std::string_view job_file_name = "situ-job";
inline constexpr std::string_view job_sign = "situ-job-is:";

// A run of slices, of places of this host, that are adjacent both in the address space and in the file.
struct slice_run {
  std::uint32_t first_place = 0;
  std::uint32_t places = 0;
  std::uint32_t first_index = 0;  // index of the first slice in the file
};
// Returns all slices of the file, in as few runs as possible. Allocates.
[[nodiscard]] std::vector<slice_run> slice_runs(job_control& control);

// The address range of a job, mapped in this process at the base that all its places agreed on. The slices of places
// on other hosts can be neither read nor written.
class address_space {
 public:
  // Maps the slices. `votes` is the number of places in this process (all of them when places are threads). Collective
  // over the job; throws bad_launch if no base suits every process, place_lost_error if a place is lost during the
  // call.
  static address_space map(const job& job, std::uint32_t votes);
  // Maps the slices at that base, without a vote; returns nullopt if other memory is mapped there.
  static std::optional<address_space> map_at(const job& job, std::uintptr_t base);
  [[nodiscard]] std::uintptr_t base() const noexcept { return reinterpret_cast<std::uintptr_t>(range_.begin()); }
  [[nodiscard]] std::size_t bytes() const noexcept { return range_.bytes(); }

 private:
  explicit address_space(os::mapping range) noexcept : range_{std::move(range)} {}
  os::mapping range_;
};

}  // namespace situ::detail
