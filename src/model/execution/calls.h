// What the modelled build of Situ's own library asks of the executor. It is called from instrumented code; the names
// are C's, because the executor is linked as one sealed object that keeps only such names.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace situ::detail {
struct graph_root;
struct type_descriptor;
}  // namespace situ::detail

namespace situ::model {

// What a program's Situ has a machine's graph units do (graph_devices.h), and what they found. It must outlive the call
// of `over`.
struct graph_work {
  static constexpr std::size_t most_roots = 16;
  std::uint32_t place = 0;   // whose graph it is
  std::uint32_t reader = 0;  // the place that it is for
  std::span<const detail::graph_root> roots;
  // found by writing back; of a copy: given
  std::uint64_t objects = 0;  // without the blocks of arrays
  std::uint64_t blocks = 0;
  std::uint64_t room_bytes = 0;  // behind its head, whatever the order of its objects
  std::uint64_t finalizers = 0;
  std::uint32_t alignment = 0;
  // of a copy
  std::byte* destination = nullptr;  // with a head, which stays
  std::uint64_t head_bytes = 0;
  std::uint64_t destination_bytes = 0;              // with it
  std::uint64_t* destination_finalizers = nullptr;  // or null
  std::uint32_t root_units[most_roots]{};           // of 8 bytes, from the head's beginning; 0 for a null root
  // what the message is carried with, which waits for the writing back (situ_model_dispatch_graph); set by `over`
  std::byte* room = nullptr;
  std::uint64_t words[2]{};
  // what became of it: 0, or a number of situ::errc and 1, and its text
  std::uint32_t error_code = 0;
  char error_text[256]{};
  // Called when all of it has happened, by a device: no core's instructions, with thread-local variables of its own.
  void (*over)(graph_work& work) = nullptr;
  void* context = nullptr;
};

// The same, asked for by a core: the executor makes a graph_work of it, for `over` alone.
struct graph_request {
  std::uint32_t place = 0;
  std::uint32_t reader = 0;
  const detail::graph_root* roots = nullptr;
  std::size_t root_count = 0;
  std::uint64_t objects = 0;
  std::uint64_t finalizers = 0;
  std::byte* destination = nullptr;
  std::uint64_t head_bytes = 0;
  std::uint64_t destination_bytes = 0;
  std::uint64_t* destination_finalizers = nullptr;
  std::byte* room = nullptr;
  void (*over)(graph_work& work) = nullptr;
  void* context = nullptr;
};

}  // namespace situ::model

extern "C" {

// Sleeps while *word is `expected`, no longer than the time; negative: for ever. 0 where it was woken, else an error
// number.
int situ_model_wait(const void* word, std::uint32_t expected, std::int64_t timeout_ns) noexcept;
int situ_model_wake(const void* word, int count) noexcept;
[[nodiscard]] std::uint64_t situ_model_now_ns() noexcept;
// Of the running core's clock.
[[nodiscard]] std::uint64_t situ_model_now_cycles() noexcept;
// Says where a place's slice lies: [begin, end), its heap from `heap` on.
void situ_model_map_slice(std::uint32_t place, const void* begin, const void* heap, const void* end) noexcept;
// The calling thread is this place's from here on: it goes to a core of the place's tile.
void situ_model_settle(std::uint32_t place) noexcept;
[[nodiscard]] std::uint32_t situ_model_core_count() noexcept;

// The seams of the fabric; fabric/detail/carry.h and base/detail/coherence.h say what they do.
void situ_model_carry(std::atomic<std::uint64_t>* header, std::uint64_t value, std::uint32_t target,
                      std::atomic<std::uint32_t>* sleeping) noexcept;
void situ_model_dma(void* to, const void* from, std::size_t bytes) noexcept;
void situ_model_write_back(const void* at, std::size_t bytes) noexcept;
void situ_model_write_back_all() noexcept;
void situ_model_invalidate(const void* at, std::size_t bytes) noexcept;
void situ_model_flush(const void* at, std::size_t bytes) noexcept;
void situ_model_flush_all() noexcept;

// situ/model/region.h
void situ_model_region_begin(const char* name) noexcept;
void situ_model_region_end(const char* name) noexcept;

// Whether graphs of offloads are written back, or copied, by units of the machine.
[[nodiscard]] bool situ_model_writes_graphs_back() noexcept;
[[nodiscard]] bool situ_model_copies_graphs() noexcept;
[[nodiscard]] bool situ_model_makes_dummy_allocations() noexcept;
// Begin now, and call `over` later. pre: the machine has such a unit.
void situ_model_copy_graph(situ::model::graph_work* work) noexcept;
void situ_model_copy_graph_of(const situ::model::graph_request* request) noexcept;
// Writes the graph back, and then carries the next message of the calling thread, with `words` at `room`; at once where
// there is no room. `over` is called before that is carried.
void situ_model_dispatch_graph(const situ::model::graph_request* request) noexcept;
// Takes that back, by its context, where the message has not been sent; whether it has not.
[[nodiscard]] bool situ_model_recall_graph(const void* context) noexcept;

// For a debugger: each thread that has not ended with its place, core, time, what it waits for and its stack, to
// standard error.
void situ_model_print_threads() noexcept;

// What the program's Situ offers the executor, where it has graphs: has its offloads done by the machine's units.
void situ_model_use_graph_units() __attribute__((weak));
[[nodiscard]] const situ::detail::type_descriptor* situ_model_find_tagged(std::uint64_t tag) noexcept
    __attribute__((weak));
[[nodiscard]] bool situ_model_derives_from(const situ::detail::type_descriptor* type,
                                           const situ::detail::type_descriptor* base) noexcept __attribute__((weak));
// The same of a runtime: makes a job of so many places, which the first
// situ::runtime joins with all its places as threads.
void situ_model_make_job(std::uint32_t places) __attribute__((weak));

}  // extern "C"
