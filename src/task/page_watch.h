// The pages of one array, which have the rights that the running unit has declared. watched_array.h is the interface
// for programs.
//
// Invariants
//   1. Only whole pages within the array are protected, or all pages of an array that was made here: no other data is
//      on them.
//   2. While no unit of the graph runs, all these pages are readable and writable. Units run on the graph's own thread,
//      one at a time, so a page has the rights of one unit.
//   3. A unit may run a graph of its own, whose units have other rights to the same pages. When such a unit ends, the
//      pages get the rights of the units around it again (unit_pages).
//   4. A page is readable if the unit has declared any byte of it, and writable if it has declared to write one: never
//      less than the unit needs.
#pragma once

#include <situ/task/detail/work_unit.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/mapping.h"
#include "task/watched_arrays.h"

namespace situ::detail {

class graph_core;

// The name and the elements of an array.
struct named_array {
  const char* name;  // of static storage
  std::byte* begin;
  std::size_t bytes;
  std::size_t element_bytes;
};

class page_watch final : public faulting_array {
 public:
  // Watches the array if the graph checks by pages. own: the pages that were made for it, or empty.
  page_watch(graph_core& core, const named_array& array, os::mapping own);
  ~page_watch();
  page_watch(const page_watch&) = delete;
  page_watch& operator=(const page_watch&) = delete;

  [[nodiscard]] std::byte* elements() const noexcept { return array_.begin; }
  [[nodiscard]] std::size_t watched_bytes() const noexcept;

  // Gives the pages the rights of a unit, until release(). If the system refuses, they have all rights.
  void restrict_to(const work_unit& unit) noexcept;
  void release() noexcept;
  // Logs, once, that the system has refused the rights of a unit.
  void warn_of_refusal();

  [[nodiscard]] bool explain(std::uintptr_t address, bool is_write, fault_text& to) const noexcept override;

 private:
  enum class rights : std::uint8_t { none, reads, all };

  // Finds the pages to watch; logs the reason if there are none.
  void find_pages();
  void warn(const std::string& why) const;
  // Calls visit(first, end) with the watched pages that each row of the access touches.
  template <class Visit>
  void visit_pages(const declared_access& access, Visit visit) const noexcept;
  // Sets the first `pages` pages to the rights in rights_, or to all rights if `is_over`; leaves those that have all
  // rights by rights_. Returns the number of pages up to which the system has agreed.
  std::size_t set_rights(std::size_t pages, bool is_over) const noexcept;
  [[nodiscard]] bool allows(const work_unit& unit, std::size_t page, bool is_write) const noexcept;
  void write_declared(const work_unit& unit, fault_text& to) const noexcept;

  graph_core& core_;
  named_array array_;
  os::mapping own_;
  std::byte* first_ = nullptr;                   // the first watched page
  std::vector<rights> rights_;                   // for each watched page, by the last unit
  std::atomic<const work_unit*> unit_{nullptr};  // the unit whose rights the pages have
  int refusal_ = 0;                              // errno of the first refusal
  bool has_warned_ = false;
  std::optional<fault_entry> entry_;  // set if the array is watched
};

// The rights of a graph's watched pages while one of its units runs.
class unit_pages {
 public:
  unit_pages(const std::vector<page_watch*>& watches, const work_unit& unit) noexcept;
  ~unit_pages();
  unit_pages(const unit_pages&) = delete;
  unit_pages& operator=(const unit_pages&) = delete;

  // While it lives, the pages have all rights, although units of this thread run.
  struct lifted {
    lifted() noexcept;
    ~lifted();
    lifted(const lifted&) = delete;
    lifted& operator=(const lifted&) = delete;
  };

 private:
  // Gives the pages the rights of this unit, and before that those of the units around it.
  static void impose(const unit_pages* of) noexcept;

  const std::vector<page_watch*>& watches_;
  const work_unit& unit_;
  unit_pages* outer_;  // of the unit that runs this unit's graph, if that one's graph checks by pages
};

}  // namespace situ::detail
