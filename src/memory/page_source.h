// Where the pages of one process come from: those of datasets, slots and stores. What other places shall reach comes
// from segments instead (intent_arenas.h); both place by the same placer.
//
//   page_source   the kernel            pages where threads first touch them
//                 an intent's ordering  placed when they are mapped, memory by memory; or when they are touched
//                 one NUMA node         placed there when they are mapped, or refused
//
// Invariants
//   1. No source lets the system end a process for want of room: where no memory has any, mapping throws.
//   2. A budget (two memories on one node) is shared by all sources of the process, and gets back what a mapping took
//      of it when that is unmapped. It is not the job's, since pages may outlive their process's part in a job; nor is
//      what is promised of nodes.
#pragma once

#include <situ/machine/intent.h>

#include "base/pages.h"
#include "memory/placer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace situ::detail {

// What is promised of a range that only this process has.
class private_promise;

// What a placement took of budgets, and what it promised, until this ends. Movable.
class budget_share {
 public:
  budget_share() noexcept;
  budget_share(placement_report taken, std::unique_ptr<private_promise> promised) noexcept;
  ~budget_share();
  budget_share(budget_share&& other) noexcept;
  budget_share& operator=(budget_share&& other) noexcept;

 private:
  placement_report taken_;
  std::unique_ptr<private_promise> promised_;
};

// Anonymous memory of a source: as `pages`.
class sourced_pages {
 public:
  sourced_pages() = default;
  sourced_pages(pages memory, budget_share share) noexcept : share_{std::move(share)}, memory_{std::move(memory)} {}

  [[nodiscard]] std::byte* data() const noexcept { return memory_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return memory_.size(); }

 private:
  budget_share share_;
  pages memory_;  // ends first
};

// A value; copies are the same source. Any thread may use it, several at a time.
class page_source {
 public:
  // The kernel.
  page_source() = default;
  // The ordering of an intent, seen from the processors of the calling thread. populate: pages exist from the start;
  // else each comes, from where the ordering has it, when it is touched. Throws bad_file, bad_argument or not_supported
  // where there is none that can be used.
  explicit page_source(const intent& what, bool populate = true);
  // Throws bad_argument where there is no such node, not_supported where its free memory cannot be read.
  [[nodiscard]] static page_source of_node(std::uint32_t node);

  // Whether its pages exist, as zeros, from the start.
  [[nodiscard]] bool populates() const noexcept { return placer_ != nullptr && populate_; }
  // "capacity memory (hbm 1 > dram 0)", "memory of NUMA node 1"; of the kernel: "memory".
  [[nodiscard]] const std::string& description() const noexcept { return description_; }

  // So many bytes of zeros. what: names them in errors, "dataset 'u'". Throws out_of_memory, with what the memories
  // hold, where there is no room. cost: of the kernel a system call or two; else the pages' faults.
  [[nodiscard]] sourced_pages map(std::size_t bytes, std::string_view what) const;
  // For a mapping of one's own: whole pages that nobody has written. huge: as of placer::place. Throws out_of_memory.
  [[nodiscard]] budget_share place(void* address, std::size_t bytes, std::string_view what,
                                   huge_page_maker* huge = nullptr) const;

 private:
  std::shared_ptr<const placer> placer_;  // null: the kernel
  bool populate_ = true;
  std::string description_ = "memory";
};

}  // namespace situ::detail
