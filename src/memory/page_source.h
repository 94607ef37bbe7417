// Where the pages of one process come from: those of datasets, slots and stores. What other places shall reach comes
// from segments instead (intent_arenas.h); both place by the same placer.
//
//   memory_kind   kernel   pages where threads first touch them
//                 intent   placed when they are mapped, memory by memory; or when they are touched
//                 node     placed there when they are mapped, or refused
//                 huge, file, device   those of a file_stretch, where threads first touch them
//
// Invariants
//   1. No source lets the system end a process for want of room: where no memory has any, mapping throws. Huge pages
//      and room on a disk are reserved when memory is mapped.
//   2. A budget (two memories on one node) is shared by all sources of the process, and gets back what a mapping took
//      of it when that is unmapped. It is not the job's, since pages may outlive their process's part in a job; nor is
//      what is promised of nodes.
#pragma once

#include <situ/memory/memory_kind.h>

#include "base/pages.h"
#include "memory/file_stretch.h"
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

// Memory of a source: as `pages`.
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
  pages memory_;  // ends first
};

// A value; copies are the same source. Any thread may use it, several at a time.
class page_source {
 public:
  // The kernel.
  page_source() = default;
  // An intent's ordering is as seen from the processors of the calling thread. populate: of an intent, pages exist from
  // the start; else each comes, from where the ordering has it, when it is touched. Throws, of an intent, bad_file,
  // bad_argument or not_supported where there is no ordering that can be used; of a node, bad_argument where there is
  // none, not_supported where its free memory cannot be read.
  explicit page_source(const memory_kind& kind, bool populate = true);

  // Whether its pages exist, as zeros, from the start.
  [[nodiscard]] bool populates() const noexcept { return placer_ != nullptr && populate_; }
  // "capacity memory (hbm 1 > dram 0)", "memory of NUMA node 1"; of the kernel: "memory".
  [[nodiscard]] const std::string& description() const noexcept { return description_; }

  // So many bytes of zeros. what: names them in errors, "dataset 'u'". Throws out_of_memory, with what the memories
  // hold, where there is no room. cost: of the kernel a system call or two; else the pages' faults.
  [[nodiscard]] sourced_pages map(std::size_t bytes, std::string_view what) const;
  // Likewise, for what is mapped more than once: a file, whose pages `place` then places once it is mapped.
  [[nodiscard]] file_stretch open(std::size_t bytes, std::string_view what) const;
  // Whether the file is of a kind that chooses its pages itself; unit() of a stretch may be more than a page then.
  [[nodiscard]] bool has_file() const noexcept { return kind_.has_file(); }
  // For a mapping of one's own: whole pages that nobody has written. huge: as of placer::place. Nothing where pages are
  // a file's, or the kernel's. Throws out_of_memory.
  [[nodiscard]] budget_share place(void* address, std::size_t bytes, std::string_view what,
                                   huge_page_maker* huge = nullptr) const;

 private:
  memory_kind kind_;
  std::shared_ptr<const placer> placer_;  // of intents and nodes
  bool populate_ = true;
  std::string description_ = "memory";
};

}  // namespace situ::detail
