// The source of the pages of one process: of datasets, slots and stores. Memory that other places access comes from
// segments instead (intent_arenas.h); both use the same placer.
//
//   memory_kind   kernel   pages where threads first touch them
//                 intent   placed when they are mapped, memory by memory; or when they are touched
//                 node     placed there when they are mapped, or refused; or when they are touched
//                 huge, file, device   those of a file_stretch, where threads first touch them
//                 pim      those of another kind, when they are touched, for bytes taken from memories that compute
//
// Invariants
//   1. No source lets the system kill a process for want of room: if no memory has room, mapping throws. Huge pages
//      and room on a disk are reserved when memory is mapped.
//   2. All sources of the process share a budget (two memories on one node), and unmapping returns the bytes that a
//      mapping took from it. Budgets and promises belong to the process, not to the job, since pages may outlive their
//      process's part in a job.
#pragma once

#include <situ/pages/memory_kind.h>

#include "os/pages.h"
#include "pages/file_stretch.h"
#include "pages/placer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace situ::detail {

// The promises of a range that only this process maps.
class private_promise;

class computing_room;

// Holds the bytes that a placement took from budgets, and its promises, until it is destroyed. Movable.
class budget_share {
 public:
  budget_share() noexcept;
  // `cells`: what was taken from memories that compute for the same pages, if any.
  budget_share(placement_report taken, std::unique_ptr<private_promise> promised, budget_share cells) noexcept;
  ~budget_share();
  budget_share(budget_share&& other) noexcept;
  budget_share& operator=(budget_share&& other) noexcept;
  // Also holds what was taken from memories that compute.
  void add_cells(placement_report taken) noexcept { cells_ = std::move(taken); }

 private:
  placement_report taken_;
  placement_report cells_;
  std::unique_ptr<private_promise> promised_;
};

// Memory of a source, used like `pages`.
class sourced_pages {
 public:
  sourced_pages() = default;
  sourced_pages(pages memory, budget_share share) noexcept : share_{std::move(share)}, memory_{std::move(memory)} {}
  sourced_pages(pages memory, file_stretch file) noexcept : file_{std::move(file)}, memory_{std::move(memory)} {}

  [[nodiscard]] std::byte* data() const noexcept { return memory_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return memory_.size(); }

 private:
  file_stretch file_;
  budget_share share_;
  pages memory_;  // destroyed first
};

// A value; copies are the same source. Any thread may use it, several at a time.
class page_source {
 public:
  // Makes the source whose pages the kernel places.
  page_source() = default;
  // Makes a source for a kind of memory. An intent's ordering is as seen from the processors of the calling thread.
  // populate: for an intent or a node, whether pages exist from the start; else each comes from the memory chosen by the
  // ordering when it is touched, as it always does for the cells of memories that compute. For an intent, throws bad_file, bad_argument or not_supported if there is no usable
  // ordering; for a node, bad_argument if it does not exist, not_supported if its free memory cannot be read; for pim,
  // bad_file if the machine file cannot be read or nothing in it computes, and as for the kind of the cells' pages.
  explicit page_source(const memory_kind& kind, bool populate = true);

  // Returns whether its pages exist, as zeros, from the start.
  [[nodiscard]] bool populates() const noexcept { return placer_ != nullptr && populate_; }
  // Returns a text: "capacity memory (hbm 1 > dram 0)", "memory of NUMA node 1"; for the kernel: "memory".
  [[nodiscard]] const std::string& description() const noexcept { return description_; }

  // Maps `bytes` of zeros. what: names them in errors, "dataset 'u'". Throws out_of_memory, with the contents of the
  // memories, if there is no room. cost: for the kernel a system call or two; else the pages' faults.
  [[nodiscard]] sourced_pages map(std::size_t bytes, std::string_view what) const;
  // Opens a file of zeros, for memory that is mapped more than once; once it is mapped, place() places its pages.
  // Throws as map().
  [[nodiscard]] file_stretch open(std::size_t bytes, std::string_view what) const;
  // Returns whether the source's kind is a file with pages of its own; unit() of its stretches may be more than a
  // page.
  [[nodiscard]] bool has_file() const noexcept { return kind_.has_file(); }
  // Places the pages of a mapping that the caller made: whole pages that were never written. huge: as in
  // placer::place. Does nothing if pages come from a file or from the kernel. Throws out_of_memory.
  [[nodiscard]] budget_share place(void* address, std::size_t bytes, std::string_view what,
                                   huge_page_maker* huge = nullptr) const;

 private:
  [[nodiscard]] budget_share take_cells(std::size_t bytes, std::string_view what) const;

  memory_kind kind_;                             // of the pages; for pim, of those that stand for its cells
  std::shared_ptr<const computing_room> cells_;  // for pim
  std::shared_ptr<const placer> placer_;         // for intents and nodes
  bool populate_ = true;
  std::string description_ = "memory";
};

}  // namespace situ::detail
