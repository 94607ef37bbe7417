// What a region does when its pages are touched: a thread that has them fetched, sees which are written, and makes
// room.
//
// A region is a memory file with two mappings: the one that the program has, whose touches the kernel tells of, and one
// of the pager's own, through which it fills pages and looks at them. A page is
//
//   absent        not in the file
//   present       in the file, not mapped for the program: fetched ahead and marking its run, or watched by the policy
//   mapped        clean: protected, so its first write is told
//   changed       mapped for writing; a copy of what was fetched lies beside it, unless this is the sole writer
//
// Invariants
//   1. Only the pager's thread touches frames_, the policy and the client; others hand it `requests_`.
//   2. A page is written back while it is protected, and so are the steps from there to its end: no write is lost
//      between being compared and being gone. Who writes meanwhile waits, and is told of anew.
//   3. The pager touches the program's mapping never: it would wait for itself.
//   4. Pages and copies that lie here are at most the budget's, whatever is asked for; a fetch of several pages makes
//      room for all of them first.
#pragma once

#include <situ/rmem/client.h>
#include <situ/rmem/region.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "memory/page_file.h"
#include "rmem/page_set.h"
#include "rmem/read_ahead.h"
#include "rmem/region_faults.h"
#include "rmem/replacement.h"
#include "rmem/user_faults.h"

namespace situ::rmem::detail {

// A memory file, whose size stays: who else has it cannot shorten it under a mapping. Throws as page_file does.
[[nodiscard]] situ::detail::page_file memory_file(const char* name, std::uint64_t bytes);

// A mapping of a memory file; unmaps itself.
class file_mapping {
 public:
  file_mapping(int file, std::size_t bytes, int protection);
  ~file_mapping();
  file_mapping(const file_mapping&) = delete;
  file_mapping& operator=(const file_mapping&) = delete;
  // Another file of the same size, at the same addresses. Throws out_of_memory; then nothing may be there.
  void replace(int file, int protection);
  [[nodiscard]] std::byte* begin() const noexcept { return begin_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* begin_;
  std::size_t bytes_;
};

class pager {
 public:
  pager(client through, const capability& of, const region_options& options);
  ~pager();
  pager(const pager&) = delete;
  pager& operator=(const pager&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return program_.begin(); }
  [[nodiscard]] std::uint64_t size() const noexcept { return of_.bytes; }
  void write_back(bool forget);
  void pin(std::uint64_t first_page, std::uint64_t pages);
  void unpin(std::uint64_t first_page, std::uint64_t pages);
  [[nodiscard]] std::future<void> fetch(std::uint64_t first_page, std::uint64_t pages);
  void fetch(std::uint64_t first_page, std::uint64_t pages, std::function<void(std::exception_ptr)> then);
  [[nodiscard]] bool is_here(std::uint64_t first_page, std::uint64_t pages) const noexcept;
  [[nodiscard]] region_statistics counted();
  // The pages that these bytes lie on. Throws bad_argument where they are not all within the region.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> pages_of(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  struct frame {
    std::uint64_t page = 0;
    bool is_mapped = false;
    bool is_changed = false;
    bool is_mark = false;  // of a run that was fetched ahead
    std::uint32_t pins = 0;
    std::unique_ptr<std::byte[]> fetched;  // what it held when it came, while it is a changed one
  };
  using frame_number = replacement_policy::frame_number;

  void run(const std::stop_token& stop);
  void serve(const user_fault& fault);
  void serve_missing(std::uint64_t page, bool is_write);
  void do_requests();
  std::future<void> ask(std::function<void()> what);

  [[nodiscard]] frame* frame_at(std::uint64_t page) noexcept;
  void fetch_pages(const std::vector<std::uint64_t>& pages);
  void read_pages(std::span<const std::uint64_t> pages);
  void make_room(std::uint64_t pages, const std::function<bool(std::uint64_t)>& keep);
  void evict(std::vector<frame_number>& victims);
  void write_frames(std::span<const frame_number> which);
  void note_change(frame& of);
  void note_changes_from(std::uint64_t page);
  void map_pages(std::span<const std::uint64_t> pages);
  void map_frame(frame& which);
  void unmap(std::span<const frame_number> which);
  void fetch_ahead(std::uint64_t page, bool is_mark);
  void fail_page(std::uint64_t page, const error& why);
  void keep_all_fetched(std::uint64_t first_page, std::uint64_t pages);

  [[nodiscard]] std::byte* program_page(std::uint64_t page) const noexcept;
  [[nodiscard]] std::byte* own_page(std::uint64_t page) const noexcept;
  [[nodiscard]] std::uint64_t bytes_of_page(std::uint64_t page) const noexcept;

  client client_;
  capability of_;
  region_options options_;
  std::uint64_t pages_;
  std::uint64_t budget_pages_;
  bool may_write_;
  bool tracks_writes_ = true;
  situ::detail::page_file file_;
  file_mapping own_;
  file_mapping program_;
  user_faults faults_;
  descriptor bell_;
  territory territory_;

  std::vector<frame> frames_;
  std::vector<frame_number> empty_frames_;
  std::unique_ptr<std::atomic<std::uint32_t>[], void (*)(void*)> frame_of_page_;  // number + 1; 0: absent
  std::unique_ptr<replacement_policy> policy_;
  read_ahead ahead_;
  std::uint64_t copies_ = 0;
  std::uint64_t pinned_pages_ = 0;
  std::uint64_t write_run_ = 1;  // pages that the last first write noted
  std::vector<std::byte> staging_;
  region_statistics counts_;

  std::mutex lock_;  // of what follows
  std::deque<std::packaged_task<void()>> requests_;
  std::jthread thread_;  // the last: it ends before what it uses
};

}  // namespace situ::rmem::detail
