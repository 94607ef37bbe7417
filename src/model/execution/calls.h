// The calls from the modelled build of Situ's own library to the executor. Instrumented code makes these calls; they
// have C names, because the executor is linked as one sealed object that keeps only such names.
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

// A graph that the machine's graph units write back or copy for the program's Situ (graph_devices.h), and the results.
// The object must stay alive until `over` returns.
struct graph_work {
  static constexpr std::size_t most_roots = 16;
  std::uint32_t place = 0;   // the place that owns the graph
  std::uint32_t reader = 0;  // the place that receives the graph
  std::span<const detail::graph_root> roots;
  // set by a writing back; for a copy set by the caller
  std::uint64_t objects = 0;  // excludes the blocks of arrays
  std::uint64_t blocks = 0;
  std::uint64_t room_bytes = 0;  // room after the head, for any order of objects
  std::uint64_t finalizers = 0;
  std::uint32_t alignment = 0;
  // for a copy only
  std::byte* destination = nullptr;  // begins with a head, which stays unchanged
  std::uint64_t head_bytes = 0;
  std::uint64_t destination_bytes = 0;              // includes the head
  std::uint64_t* destination_finalizers = nullptr;  // or null
  std::uint32_t root_units[most_roots]{};  // offsets in units of 8 bytes from the head's beginning; 0 for a null root
  // carried with the message that waits for the writing back (situ_model_dispatch_graph); set by `over`
  std::byte* room = nullptr;
  std::uint64_t words[2]{};
  // result: 0, or a situ::errc value + 1, and its text
  std::uint32_t error_code = 0;
  char error_text[256]{};
  // Called by a device when all is done: it runs no core's instructions, and has thread-local variables of its own.
  void (*over)(graph_work& work) = nullptr;
  void* context = nullptr;
};

// A request for the same work, made by a core: the executor makes a graph_work of it, for `over` alone.
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

// Sleeps while *word is `expected`, at most for the given time; a negative time means no limit. Returns 0 if woken,
// else an error number.
int situ_model_wait(const void* word, std::uint32_t expected, std::int64_t timeout_ns) noexcept;
int situ_model_wake(const void* word, int count) noexcept;
[[nodiscard]] std::uint64_t situ_model_now_ns() noexcept;
// Returns the running core's clock in cycles.
[[nodiscard]] std::uint64_t situ_model_now_cycles() noexcept;
// Declares a place's slice: the addresses [begin, end), with its heap from `heap` on.
void situ_model_map_slice(std::uint32_t place, const void* begin, const void* heap, const void* end) noexcept;
// Makes the calling thread one of this place's threads, and moves it to a core of the place's tile.
void situ_model_settle(std::uint32_t place) noexcept;
[[nodiscard]] std::uint32_t situ_model_core_count() noexcept;
// Returns the size of the memories that hold places' heaps; 0 if the machine's memories have no sizes.
[[nodiscard]] std::uint64_t situ_model_memory_bytes() noexcept;

// The seams of the fabric; fabric/detail/carry.h and base/detail/coherence.h describe them.
void situ_model_carry(std::atomic<std::uint64_t>* header, std::uint64_t value, std::uint32_t target,
                      std::atomic<std::uint32_t>* sleeping) noexcept;
void situ_model_dma(void* to, const void* from, std::size_t bytes) noexcept;
void situ_model_write_back(const void* at, std::size_t bytes) noexcept;
void situ_model_write_back_all() noexcept;
void situ_model_invalidate(const void* at, std::size_t bytes) noexcept;
void situ_model_flush(const void* at, std::size_t bytes) noexcept;
void situ_model_flush_all() noexcept;
void situ_model_home_pages(const void* begin, std::size_t bytes, std::uint32_t place) noexcept;
void situ_model_share_pages(const void* begin, std::size_t bytes) noexcept;

// base/detail/raw_channel.h
void situ_model_raw_send(std::uint32_t place, const void* words, std::size_t bytes) noexcept;
std::size_t situ_model_raw_receive(void* words, std::size_t bytes) noexcept;
[[nodiscard]] bool situ_model_has_raw_channels() noexcept;

// situ/model/region.h
void situ_model_region_begin(const char* name) noexcept;
void situ_model_region_end(const char* name) noexcept;

// Return whether units of the machine write back, or copy, the graphs of offloads.
[[nodiscard]] bool situ_model_writes_graphs_back() noexcept;
[[nodiscard]] bool situ_model_copies_graphs() noexcept;
[[nodiscard]] bool situ_model_makes_dummy_allocations() noexcept;
// Begin to copy now, and call `over` later. pre: the machine has such a unit.
void situ_model_copy_graph(situ::model::graph_work* work) noexcept;
void situ_model_copy_graph_of(const situ::model::graph_request* request) noexcept;
// Writes the graph back, and then sends the next message of the calling thread, with `words` at `room`. If `room` is
// null, the writing back begins at once, and no message waits for it. `over` is called before the message is sent.
void situ_model_dispatch_graph(const situ::model::graph_request* request) noexcept;
// Withdraws a dispatched graph, by its context, if the message has not been sent. Returns whether it was withdrawn.
[[nodiscard]] bool situ_model_recall_graph(const void* context) noexcept;

// Prints each thread that has not ended to standard error, with its place, core, time, wait and stack. For use in a
// debugger.
void situ_model_print_threads() noexcept;

// The functions that the program's Situ offers to the executor, if it has graphs. situ_model_use_graph_units() has the
// machine's units carry out the program's offloads.
void situ_model_use_graph_units() __attribute__((weak));
[[nodiscard]] const situ::detail::type_descriptor* situ_model_find_tagged(std::uint64_t tag) noexcept
    __attribute__((weak));
[[nodiscard]] bool situ_model_derives_from(const situ::detail::type_descriptor* type,
                                           const situ::detail::type_descriptor* base) noexcept __attribute__((weak));
// Offered by the program's runtime: makes a job of `places` places. The first situ::runtime joins the job with all its
// places as threads.
void situ_model_make_job(std::uint32_t places) __attribute__((weak));

}  // extern "C"
