// Named arrays whose pages a checked graph protects: the second way to check declared accesses.
//
//   const situ::declared_span<double> a{"a", storage};
//   situ::task_graph graph{{.checked_by_pages = true}};  // or, without this option: SITU_CHECK_UNITS=pages
//   const situ::watched_array watched{graph, a};
//   graph.add({situ::updates(situ::region(a.data(), 512))}, [&] { storage[5000] = 1; }, "smooth");
//   graph.wait();  // ends the program: unit 1 (smooth) writes a[5000] (byte 40000), which it has not declared ...
//
// While a unit runs, the pages of the array have the rights that the unit has declared: none, to read, or to read and
// write. A load or store without the right ends the program (SIGSEGV), with a message that names the unit, the array,
// the element and what the unit has declared. It may come from any code on any thread: a pointer, a library. Between
// units the pages have all rights. So that each unit has rights of its own, the graph runs units one at a time, on the
// thread that made it.
//
// Only whole pages (4096 bytes) that belong to the array alone are protected. Not seen, therefore: accesses to other
// elements on a page of which the unit has declared a byte, and to the first and last elements, on pages that the array
// shares with other data. An array that Situ makes has pages of its own. A system call that accesses a protected page
// fails (EFAULT) without a message.
//
// A watched array belongs to the thread of its graph, which must outlive it; the elements must outlive the watched
// array. Only units of the graph, and threads that they use, may access the array while a unit runs. The memory may not
// be one whose pages have changing rights already: that of a staged_array, an rmem::region or a pool.
#pragma once

#include <situ/task/task_graph.h>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace situ {

namespace detail {

class page_watch;
struct end_watch {
  void operator()(page_watch* watch) const noexcept;
};
using watch_owner = std::unique_ptr<page_watch, end_watch>;

// Watches an array if the graph checks by pages; else returns null.
[[nodiscard]] watch_owner watch_array(graph_core& core, const char* name, const void* begin, std::size_t bytes,
                                      std::size_t element_bytes);
// Makes an array of zeros on pages of its own, and watches it if the graph checks by pages.
[[nodiscard]] watch_owner make_watched(graph_core& core, const char* name, std::size_t count,
                                       std::size_t element_bytes);
[[nodiscard]] void* elements_of(const page_watch& watch) noexcept;
[[nodiscard]] std::size_t watched_bytes_of(const page_watch& watch) noexcept;

}  // namespace detail

// A declared_span whose accesses by any code are checked, if its graph checks by pages. cost: nothing in other graphs;
// in such a graph, for each unit and array, two system calls for each stretch of pages that the unit may not write: 0.1 ms
// for a stretch of 1 MiB.
template <class T>
class watched_array : public declared_span<T> {
 public:
  // Watches the elements of a span. If none of their pages belongs to them alone, or the pages are not readable and
  // writable, the array is not watched: the log has a warning with the reason. Throws bad_argument in a unit of the
  // graph, or if a staged_array of the graph holds the elements.
  watched_array(task_graph& graph, const declared_span<T>& of)
      : declared_span<T>{of},
        watch_{detail::watch_array(detail::core_of(graph), of.name(), of.data(), of.size() * sizeof(T), sizeof(T))} {}
  // Makes `count` elements of value zero, on pages of their own, and watches them. `name` is of static storage. Throws
  // out_of_memory, bad_argument in a unit of the graph. cost: two system calls, also in a graph without checks.
  watched_array(task_graph& graph, const char* name, std::size_t count)
      : watched_array{name, count, detail::make_watched(detail::core_of(graph), name, count, sizeof(T))} {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>,
                  "elements that Situ makes are zeros: plain data");
  }

  // Returns the bytes of the pages that are protected while units run; 0 if the array is not watched.
  [[nodiscard]] std::size_t watched_bytes() const noexcept {
    return watch_ == nullptr ? 0 : detail::watched_bytes_of(*watch_);
  }

 private:
  watched_array(const char* name, std::size_t count, detail::watch_owner watch)
      : declared_span<T>{name, {static_cast<T*>(detail::elements_of(*watch)), count}}, watch_{std::move(watch)} {}

  detail::watch_owner watch_;
};

}  // namespace situ
