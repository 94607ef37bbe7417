// What the calling thread's place knows of the address space: the hot part of a place's state, found through one
// thread-local pointer. Everything else a place knows hangs off it, typed by the layer that owns it.
//
//   base                                                   the same address in every process of the host
//   |<------ slice of place 0 ------>|<------ slice of place 1 ------>|  ...      slice = 1 << slice_shift bytes
//   | channels | barrier | heap metadata | heap, grows -> | unused    |
//                                        ^ heap_offset    ^ heap_offset + limit[0]
//
// Invariants
//   1. place of an address = (address - base) >> slice_shift.
//   2. limit[p] bytes from heap_offset on in slice p may be accessed without further checks. It is a cached lower bound
//      of what the owner has opened (extents only grow); 0 sends every access the slow way, which looks the extent up
//      again and, when the job is observed, counts and traces.
//   3. Outside a runtime, and in a forked child, `current` points to a context with no places, so that the hot path
//      needs no null check.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace situ {
class error;
namespace detail {

struct job_control;    // memory: the block all places of a host share
class segment;         // memory: this place's slice
class status_writer;   // memory: what this place shows of itself
class endpoint;        // fabric: this place's end of its channels
class far_hosts;       // fabric: places of other hosts
class scheduler;       // runtime: fibers and ready tasks
struct runtime_state;  // runtime: teams, finish scopes, pending calls

inline constexpr std::size_t place_slot_bytes = 640;  // of one place_slot (memory/job.h)

struct alignas(64) place_context {
  std::uintptr_t base = 0;
  std::uintptr_t slice_mask = 0;
  std::uint64_t heap_offset = 0;
  const std::uint64_t* limit = nullptr;  // [place_count], written by the slow path of this place alone
  std::uint32_t slice_shift = 63;
  std::uint32_t place_count = 0;
  std::uint32_t place = 0;
  std::uint32_t callable_places = 0;  // place_count; 0 in a registered thread, where only the place's own calls others
  bool observed = false;              // statistics or a trace are wanted: limits stay 0
  bool sender_fences = false;         // job_control::sender_fences
  // ends of places that the running task has been told of; the scheduler changes it with the task
  std::uint32_t told_of = 0;
  std::uint32_t track = 0;  // the stack that runs, for a trace: 0 is main's; the scheduler changes it, too
  const std::byte* awaited_words = nullptr;  // place_slot::awaited of place 0; the others place_slot_bytes apart

  // Takes a block of another place home, and returns true, where the words of that heap are not this place's to write:
  // those of another host, and all on a modelled machine (coherence.h). The fabric's; null where no place is such.
  bool (*give_back_elsewhere)(place_context& context, std::uintptr_t block) = nullptr;
  job_control* job = nullptr;
  detail::segment* segment = nullptr;
  status_writer* status = nullptr;
  detail::endpoint* endpoint = nullptr;
  far_hosts* far = nullptr;  // null where all places are of this host
  detail::scheduler* scheduler = nullptr;
  runtime_state* runtime = nullptr;
};

extern constinit thread_local place_context* current __attribute__((tls_model("initial-exec")));

// Throws no_runtime: "`what` outside the life of a situ::runtime ...", or that this is a forked child.
[[noreturn]] void throw_no_runtime(std::string_view what);
// In a child that the running place has forked: the child is no place. See runtime/process.h.
void leave_runtime_in_child() noexcept;

// Whether [address, address + bytes) lies in the part of a segment that this place may touch at once.
[[nodiscard]] inline bool is_open(const place_context& context, std::uintptr_t address, std::size_t bytes) noexcept {
  const std::uintptr_t offset = address - context.base;
  const std::uintptr_t index = offset >> context.slice_shift;
  if (index >= context.place_count) [[unlikely]]
    return false;
  const std::uint64_t from_heap = (offset & context.slice_mask) - context.heap_offset;  // wraps below the heap
  const std::uint64_t limit = context.limit[index];
  const std::uint64_t last =
      bytes - 1;  // no bytes go the slow way; a constant elsewhere, so that limit - last is cheap
  return last < limit && from_heap < limit - last;
}

}  // namespace detail
}  // namespace situ
