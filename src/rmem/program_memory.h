// Remote memory of programs that know nothing of Situ (`situ rmem run`): large allocations of several processes in one
// cache, which is kept by a process of its own. docs/decisions/0031-remote-pages.md says why not by the program's.
//
//   program's process   maps parts of a memory file, at its base + page * 4096; makes a userfaultfd and gives it away
//   this                has the file mapped, too; is told of touches, fills pages, has the kernel map them there
//   server              has what the budget has no room for; on this host its memory is mapped here, so pages come and
//                       go by copies (client::map)
//
// A page is
//
//   blank      free, or never written: no frame, nothing at the server; it comes as zeros
//   stored     at the server only
//   in a frame, and then  mapped   at its owner's; protected until its first write (`is_open`)
//                         marking  in the file, not mapped: fetched ahead, its touch is told
//                         aside    out of the file, in this process's own memory: watched by the policy, as nobody can
//                                  unmap a page of another process and keep it in the file
//
// A forked child has private memory at the same addresses, empty at first. Its pages come from those of its parent as
// they were at the fork: before a page becomes writable at its owner's, or blank, each child that holds it gets it.
// What a child has got so is memory of its own, beyond the budget.
//
// Invariants
//   1. A page of the file is at no time mapped for two processes; it is given to another one when nobody has or holds
//   it.
//   2. A page goes while it is protected. Who writes meanwhile waits for it, and is told of anew.
//   3. Frames are at most the budget's.
//   4. Between freeze() and thaw() no page of that process becomes writable: a child begins with what there was then.
//
// Not thread-safe. All calls throw link_lost and what a client's calls throw; what is lost then is not known, so
// the programs end with it.
#pragma once

#include <situ/rmem/client.h>
#include <situ/rmem/region.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rmem/page_set.h"
#include "rmem/pager.h"
#include "rmem/read_ahead.h"
#include "rmem/replacement.h"
#include "rmem/user_faults.h"

namespace situ::rmem::detail {

struct program_statistics {
  std::uint64_t processes = 0;         // that had remote memory
  std::uint64_t allocations = 0;       // that got some
  std::uint64_t refusals = 0;          // that did not, for want of room at the server
  std::uint64_t most_bytes = 0;        // of all allocations, at a time
  std::uint64_t local_most_bytes = 0;  // of frames, at a time
  std::uint64_t blank_pages = 0;       // that came as zeros
  std::uint64_t missing = 0;           // touches that waited for a fetch
  std::uint64_t seen = 0;              // touches of pages that were here and not mapped
  std::uint64_t first_writes = 0;      // touches that made a page a changed one
  std::uint64_t fetched_pages = 0;     // prefetched ones among them
  std::uint64_t prefetched_pages = 0;
  std::uint64_t evicted_pages = 0;
  std::uint64_t written_pages = 0;
  std::uint64_t copied_pages = 0;  // to forked children
  bool is_mapped = false;          // the server's memory: no page is a message
};

class program_memory {
 public:
  using process_number = std::uint32_t;

  program_memory(client through, const capability& of, std::uint64_t local_bytes);

  [[nodiscard]] int file() const noexcept { return file_.descriptor(); }
  [[nodiscard]] std::uint64_t pages() const noexcept { return pages_; }
  // A process whose touches this userfaultfd tells, and whose page 0 is at `base`.
  [[nodiscard]] process_number enter(descriptor faults, std::uint64_t base);
  // A child of a frozen process.
  [[nodiscard]] process_number enter_forked(process_number parent, descriptor faults, std::uint64_t base);
  void leave(process_number which);
  [[nodiscard]] bool is_there(process_number which) const { return processes_.contains(which); }

  // Pages side by side for a process, all blank; none where there is no room. Their mapping is watched from mapped()
  // on.
  [[nodiscard]] std::optional<std::uint64_t> allocate(process_number which, std::uint64_t pages);
  void mapped(process_number which, std::uint64_t first, std::uint64_t pages);
  // pre: the process has unmapped them. Those that it neither has nor holds are left out, here and below.
  void give_back(process_number which, std::uint64_t first, std::uint64_t pages);
  // They are zeros from now on.
  void make_blank(process_number which, std::uint64_t first, std::uint64_t pages);
  void freeze(process_number which);
  void thaw(process_number which);

  [[nodiscard]] int descriptor_number(process_number which) const {
    return processes_.at(which).faults.descriptor_number();
  }
  // Those that wait, some at a time.
  void serve(process_number which);
  // Makes room before it is needed. False where there is nothing to do.
  bool work_ahead();
  // From time to time where there is nothing to do.
  void keep_alive() { client_.keep_alive(); }
  [[nodiscard]] program_statistics counted() const;
  // For an error's text: where a page is.
  [[nodiscard]] std::string place_of(std::uint64_t page) const;

 private:
  struct frame {
    std::uint64_t page = 0;
    bool is_mapped = false;
    bool is_open = false;     // mapped for writing
    bool is_changed = false;  // not as at the server
    bool is_mark = false;     // of a run that was fetched ahead
    std::unique_ptr<std::byte[]> aside;
  };
  struct process {
    process_number number;
    user_faults faults;
    std::uint64_t base;
    page_set owned;
    page_set held;  // of its ancestors, as they were when it was forked
    bool is_frozen = false;
    std::vector<std::uint64_t> waiting;  // for writing, until it is thawed
    [[nodiscard]] std::byte* address(std::uint64_t page) const noexcept {
      return reinterpret_cast<std::byte*>(base + page * 4096);
    }
  };
  using frame_number = replacement_policy::frame_number;

  void serve_own(process& of, std::uint64_t page, bool is_write);
  void serve_missing(process& of, std::uint64_t page, bool is_write);
  void serve_copy(process& to, std::uint64_t page);
  void fetch_ahead(process& of, std::uint64_t page);
  [[nodiscard]] std::vector<std::uint64_t> coming_along(const process& of, std::uint64_t page, bool is_mark);
  void bring(std::span<const std::uint64_t> pages);
  void read_pages(std::span<const std::uint64_t> pages);
  void map(process& of, std::span<const std::uint64_t> pages, bool for_writing);
  void open_from(process& of, std::uint64_t page);
  void preserve(std::uint64_t page);
  void hand_over(std::uint64_t first, std::uint64_t end);
  [[nodiscard]] const std::byte* content_of(std::uint64_t page);
  void make_room(std::uint64_t pages);
  void evict_some(std::uint64_t wanted);
  void set_aside(std::span<const frame_number> which);
  void write_changed(std::span<const frame_number> which);
  void drop(std::uint64_t first, std::uint64_t end);
  void release_unused(std::uint64_t first, std::uint64_t end);
  void punch(std::span<const std::uint64_t> pages);

  [[nodiscard]] frame* frame_at(std::uint64_t page) noexcept;
  [[nodiscard]] process* owner_of(std::uint64_t page) noexcept;
  [[nodiscard]] std::byte* own_page(std::uint64_t page) const noexcept { return own_.begin() + page * 4096; }
  // pre: mapped.
  [[nodiscard]] std::byte* servers_page(std::uint64_t page) const noexcept {
    return servers_->bytes().data() + page * 4096;
  }
  template <class T>
  using page_table = std::unique_ptr<T[], void (*)(void*)>;

  client client_;
  capability of_;
  std::optional<mapped_region> servers_;  // the region itself
  std::uint64_t pages_;
  std::uint64_t budget_pages_;
  situ::detail::page_file file_;
  file_mapping own_;
  std::vector<frame> frames_;
  std::vector<frame_number> empty_frames_;
  page_table<std::uint32_t> frame_of_page_;  // number + 1; 0: none
  page_table<std::uint32_t> owner_of_page_;  // 0: nobody
  page_table<bool> is_stored_;               // the server has what it is
  std::unique_ptr<replacement_policy> policy_;
  read_ahead ahead_;
  page_set free_;
  std::map<process_number, process> processes_;
  process_number last_number_ = 0;
  std::uint32_t holders_ = 0;  // processes that hold something
  bool maps_protected_ = true;
  std::uint64_t open_run_ = 1;  // pages that the last first write opened
  std::vector<std::byte> staging_;
  program_statistics counts_;
};

}  // namespace situ::rmem::detail
