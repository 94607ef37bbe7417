// A place_context is the hot part of a place's state, chiefly its view of the address space. A thread finds its own
// through one thread-local pointer. All other state of the place is reachable from it, each pointer typed by the layer
// that owns it.
//
//   base                                                   the same address in every process of the host
//   |<------ slice of place 0 ------>|<------ slice of place 1 ------>|  ...      slice = 1 << slice_shift bytes
//   | channels | barrier | heap metadata | heap, grows -> | unused    |
//                                        ^ heap_offset    ^ heap_offset + limit[0]
//
// Invariants
//   1. The place of an address is (address - base) >> slice_shift.
//   2. limit[p] bytes from heap_offset on in slice p may be accessed without further checks. It is a cached lower
//      bound of what the owner has opened (extents only grow). A limit of 0 sends every access through the slow path,
//      which reads the extent again and, if the job is observed, counts and traces the access.
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
class endpoint;        // fabric: this place's end of its channels
class far_hosts;       // fabric: places of other hosts
class scheduler;       // runtime: fibers and ready tasks
class status_writer;   // runtime: the status that this place publishes
struct runtime_state;  // runtime: teams, finish scopes, pending calls

inline constexpr std::size_t place_slot_bytes = 640;  // sizeof(place_slot) (memory/job.h)

struct alignas(64) place_context {
  std::uintptr_t base = 0;
  std::uintptr_t slice_mask = 0;
  std::uint64_t heap_offset = 0;
  const std::uint64_t* limit = nullptr;  // [place_count], written only by this place's slow path
  std::uint32_t slice_shift = 63;
  std::uint32_t place_count = 0;
  std::uint32_t place = 0;
  // place_count; 0 in a registered thread: only the place's own thread sends messages
  std::uint32_t callable_places = 0;
  bool observed = false;       // statistics or a trace are collected: limits stay 0
  bool sender_fences = false;  // job_control::sender_fences
  // number of ends of places reported to the running task; the scheduler switches it with the task
  std::uint32_t told_of = 0;
  std::uint32_t track = 0;  // the running stack, for a trace: 0 is main's; the scheduler switches it with the task
  // place_slot::awaited of place 0 (awaited_words_of); the next ones follow every place_slot_bytes
  const std::byte* awaited_words = nullptr;

  // If this place cannot write the heap metadata of the block's owner, sends the block back to the owner and returns
  // true. That is so for owners on other hosts, and for all others on a modelled machine (coherence.h). Set by the
  // fabric; null if this place can write the metadata of every place.
  bool (*give_back_elsewhere)(place_context& context, std::uintptr_t block) = nullptr;
  job_control* job = nullptr;
  detail::segment* segment = nullptr;
  status_writer* status = nullptr;
  detail::endpoint* endpoint = nullptr;
  far_hosts* far = nullptr;  // null if all places are on this host
  detail::scheduler* scheduler = nullptr;
  runtime_state* runtime = nullptr;
};

extern constinit thread_local place_context* current __attribute__((tls_model("initial-exec")));

// Throws no_runtime. The message says that `what` was called outside the life of a situ::runtime, or in a forked
// child.
[[noreturn]] void throw_no_runtime(std::string_view what);
// Detaches a forked child from the runtime: the child is no place. See runtime/process.h.
void leave_runtime_in_child() noexcept;

// Returns whether this place may access [address, address + bytes) without further checks.
[[nodiscard]] inline bool is_open(const place_context& context, std::uintptr_t address, std::size_t bytes) noexcept {
  const std::uintptr_t offset = address - context.base;
  const std::uintptr_t index = offset >> context.slice_shift;
  if (index >= context.place_count) [[unlikely]]
    return false;
  const std::uint64_t from_heap = (offset & context.slice_mask) - context.heap_offset;  // wraps below the heap
  const std::uint64_t limit = context.limit[index];
  const std::uint64_t last =
      // bytes == 0 wraps and takes the slow path; no branch, so that limit - last is cheap if `bytes` is constant
      bytes - 1;
  return last < limit && from_heap < limit - last;
}

}  // namespace detail
}  // namespace situ
