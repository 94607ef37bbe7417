// Remote memory of programs that know nothing of Situ (`situ rmem run`): large allocations of several processes in one
// cache, which a separate process keeps: the front of a page_cache for memory of other processes.
// docs/decisions/0031-remote-pages.md says why the program's own process does not.
//
//   program's process   maps parts of a memory file, at its base + page * 4096; makes a userfaultfd and passes it on
//   this process        maps the file, too; receives the faults, fills pages, has the kernel map them in the program
//   server              holds the pages beyond the budget; on this host its memory is mapped here, so pages are fetched
//                       and written back by copies (client::map)
//
// A page is (page_cache.h)
//
//   blank      free, or never written: no frame, nothing at the server; it reads as zeros
//   stored     at the server only
//   in a frame, and then  mapped   in its owner; protected until its first write (`is_open`)
//                         marking  in the file, not mapped: fetched ahead, its touch is reported
//                         aside    out of the file, in this process's own memory: watched by the policy, as no process
//                                  can unmap a page of another process and keep it in the file
//
// A forked child has private memory at the same addresses, empty at first. Its pages are copies of its parent's pages
// as of the fork: before a page becomes writable in its owner, or blank, each child that holds it receives a copy.
// These copies are the child's own memory, beyond the budget.
//
// Invariants
//   1. A page of the file is at no time mapped for two processes; another process gets it only when no process owns or
//      holds it.
//   2. A page is evicted while it is protected. A thread that writes to it waits, and its touch is reported again.
//   3. Between freeze() and thaw() no page of that process becomes writable: a child begins with the pages as of then.
//
// Not thread-safe. All calls throw link_lost and the errors of a client's calls; the extent of the loss is then
// unknown, so the programs end with it.
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

#include "rmem/page_cache.h"
#include "rmem/page_set.h"
#include "rmem/page_store.h"
#include "rmem/protocol.h"
#include "rmem/user_faults.h"

namespace situ::rmem::detail {

struct program_statistics {
  std::uint64_t processes = 0;         // processes that had remote memory
  std::uint64_t allocations = 0;       // successful ones
  std::uint64_t refusals = 0;          // allocations refused because the server had no room
  std::uint64_t most_bytes = 0;        // the most bytes allocated at a time
  std::uint64_t local_most_bytes = 0;  // the most bytes of frames at a time
  std::uint64_t blank_pages = 0;       // pages that were made as zeros
  std::uint64_t missing = 0;           // touches that waited for a fetch
  std::uint64_t seen = 0;              // touches of local pages that were not mapped
  std::uint64_t first_writes = 0;      // touches that made a page dirty
  std::uint64_t fetched_pages = 0;     // including prefetched pages
  std::uint64_t prefetched_pages = 0;
  std::uint64_t evicted_pages = 0;
  std::uint64_t written_pages = 0;
  std::uint64_t copied_pages = 0;  // to forked children
  bool is_mapped = false;          // the server's memory is mapped: pages need no messages
};

class program_memory final : private page_cache::front {
 public:
  using process_number = std::uint32_t;
  static constexpr int longest_silence_ms = detail::longest_silence_ms;

  program_memory(client through, const capability& of, std::uint64_t local_bytes);

  [[nodiscard]] int file() const noexcept { return file_.descriptor(); }
  [[nodiscard]] std::uint64_t pages() const noexcept { return pages_; }
  // Adds a process: `faults` is its userfaultfd, and its page 0 is at `base`.
  [[nodiscard]] process_number enter(os::descriptor faults, std::uint64_t base);
  // Adds a forked child of a frozen process.
  [[nodiscard]] process_number enter_forked(process_number parent, os::descriptor faults, std::uint64_t base);
  void leave(process_number which);
  [[nodiscard]] bool is_there(process_number which) const { return processes_.contains(which); }

  // Allocates adjacent blank pages for a process; nullopt if there is no room. Touches of them are served from mapped()
  // on.
  [[nodiscard]] std::optional<std::uint64_t> allocate(process_number which, std::uint64_t pages);
  void mapped(process_number which, std::uint64_t first, std::uint64_t pages);
  // Takes pages back. pre: the process has unmapped them. Here and below, pages that the process neither owns nor holds
  // are ignored.
  void give_back(process_number which, std::uint64_t first, std::uint64_t pages);
  // Makes pages read as zeros.
  void make_blank(process_number which, std::uint64_t first, std::uint64_t pages);
  void freeze(process_number which);
  void thaw(process_number which);

  [[nodiscard]] int descriptor_number(process_number which) const {
    return processes_.at(which).faults.descriptor_number();
  }
  // Serves touches that wait, up to a limit a call.
  void serve(process_number which);
  // Evicts pages before room is needed. Returns false if there was nothing to do.
  bool work_ahead() { return cache_.make_room_ahead(); }
  // Tells the server that this client is alive. Call it after longest_silence_ms with nothing else to do.
  void keep_alive() { cache_.server().keep_alive(); }
  [[nodiscard]] program_statistics counted() const;
  // Returns the place of a page, for the text of an error.
  [[nodiscard]] std::string place_of(std::uint64_t page) const;

 private:
  using frame = page_cache::frame;
  using frame_number = page_cache::frame_number;
  // Where the bytes of a frame lie: in its page of the file, or aside.
  struct slot {
    bool is_mapped = false;
    std::unique_ptr<std::byte[]> aside;
  };
  struct process {
    process_number number;
    user_faults faults;
    std::uint64_t base;
    page_set owned;
    page_set held;  // pages of its ancestors, as of its fork
    bool is_frozen = false;
    std::vector<std::uint64_t> waiting;  // for a write, until the process is thawed
    [[nodiscard]] std::byte* address(std::uint64_t page) const noexcept {
      return reinterpret_cast<std::byte*>(base + page * 4096);
    }
  };

  [[nodiscard]] static page_cache::settings settings_of(std::uint64_t local_bytes);
  void serve_own(process& of, std::uint64_t page, bool is_write);
  void serve_copy(process& to, std::uint64_t page);
  void read_pages(page_cache::page_list pages);
  void preserve(std::uint64_t page);
  void hand_over(std::uint64_t first, std::uint64_t end);
  [[nodiscard]] const std::byte* bytes_of(const frame& of) const;
  [[nodiscard]] const std::byte* content_of(std::uint64_t page);
  void protect(frame& of);
  void disown(std::uint64_t first, std::uint64_t end);
  void drop(std::uint64_t first, std::uint64_t end);
  void release_unused(std::uint64_t first, std::uint64_t end);
  void punch(page_cache::page_list pages);

  [[nodiscard]] bool is_mapped(frame_number which) const noexcept override { return slots_[which].is_mapped; }
  void fetch(page_store::pages which) override;
  [[nodiscard]] page_store::outcome map(page_store::pages which, bool is_protected) override;
  void unmap(page_store::pages which) override;
  void allow_writes(std::uint64_t first_page, std::uint64_t end) override;
  [[nodiscard]] bool before_write(frame& of) override;
  void write(std::span<const frame_number> which) override;
  void drop(page_store::pages which) override;
  [[nodiscard]] bool may_join(std::uint64_t touched, std::uint64_t page) const override {
    return page < pages_ && owner_of_page_[page] == owner_of_page_[touched];
  }
  [[nodiscard]] bool is_blank(std::uint64_t page) const override { return !is_stored_[page]; }

  [[nodiscard]] process* owner_of(std::uint64_t page) noexcept;
  [[nodiscard]] std::byte* own_page(std::uint64_t page) const noexcept { return own_.begin() + page * 4096; }
  // pre: the server's memory is mapped.
  [[nodiscard]] std::byte* servers_page(std::uint64_t page) const noexcept {
    return servers_->bytes().data() + page * 4096;
  }
  template <class T>
  using page_table = std::unique_ptr<T[], void (*)(void*)>;

  capability of_;
  std::uint64_t pages_;
  situ::detail::page_file file_;
  file_mapping own_;
  page_table<std::uint32_t> owner_of_page_;  // 0: nobody
  page_table<bool> is_stored_;               // the server has the page's bytes
  page_cache cache_;
  std::optional<mapped_region> servers_;  // the server's memory; unmapped before the connection ends
  std::vector<slot> slots_;               // by frame
  page_set free_;
  std::map<process_number, process> processes_;
  process_number last_number_ = 0;
  std::uint32_t holders_ = 0;  // processes that hold pages
  std::vector<std::byte> staging_;
  program_statistics counts_;
};

}  // namespace situ::rmem::detail
