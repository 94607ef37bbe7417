// The pager of a region: a thread that fetches touched pages, tracks writes to them, and evicts pages to make room.
//
// The kernel reports touches of the program's mapping. Local pages lie in a store (page_store.h), in which the pager
// fills and inspects them. A page is
//
//   absent        not in the store
//   present       in the store, not mapped for the program: the mark of a run fetched ahead, or watched by the policy
//   mapped        clean: protected, so its first write is reported
//   changed       mapped for writing; the frame has a copy of the fetched bytes, unless this is the sole writer
//
// Invariants
//   1. Only a thread that holds working_ accesses frames_, the policy, the store and the client: the pager's thread, or
//      a thread that serves its own touches (fetcher::toucher). Other threads queue `requests_` for the pager's thread.
//   2. A page is written back while nobody can write to it; if it is evicted, that lasts until it is dropped, so no
//      write is lost between comparison and eviction. A thread that writes in between waits, and its touch is reported
//      again.
//   3. The pager touches the program's mapping only at mapped pages: otherwise it would wait for itself.
//   4. Local pages and copies never exceed the budget, whatever the caller requests; a fetch of several pages first
//      makes room for all of them.
#pragma once

#include <situ/base/error.h>
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
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "os/worker.h"
#include "rmem/page_set.h"
#include "rmem/page_store.h"
#include "rmem/read_ahead.h"
#include "rmem/region_faults.h"
#include "rmem/replacement.h"
#include "rmem/user_faults.h"

namespace situ::rmem::detail {

class pager {
 public:
  pager(client through, const capability& of, const region_options& options);
  ~pager();
  pager(const pager&) = delete;
  pager& operator=(const pager&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return store_->program(); }
  [[nodiscard]] std::uint64_t size() const noexcept { return of_.bytes; }
  void write_back(bool forget);
  void pin(std::uint64_t first_page, std::uint64_t pages);
  void unpin(std::uint64_t first_page, std::uint64_t pages);
  [[nodiscard]] std::future<void> fetch(std::uint64_t first_page, std::uint64_t pages);
  void fetch(std::uint64_t first_page, std::uint64_t pages, std::function<void(std::exception_ptr)> then);
  [[nodiscard]] bool is_here(std::uint64_t first_page, std::uint64_t pages) const noexcept;
  [[nodiscard]] region_statistics counted();
  // Returns the first page and the number of pages that these bytes lie on. Throws bad_argument if they are not all
  // within the region.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> pages_of(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  struct frame {
    std::uint64_t page = 0;
    bool is_changed = false;
    bool is_mark = false;  // its touch makes the pager fetch ahead
    std::uint32_t pins = 0;
    std::unique_ptr<std::byte[]> fetched;  // its bytes when it was fetched, while the page is dirty
  };
  using frame_number = replacement_policy::frame_number;
  class work;

  void run(const std::stop_token& stop);
  [[nodiscard]] bool serve_here(const user_fault& fault);
  void serve(const user_fault& fault);
  void serve_missing(std::uint64_t page, bool is_write);
  void do_requests();
  std::future<void> ask(std::function<void()> what);

  [[nodiscard]] frame* frame_at(std::uint64_t page) noexcept;
  void fetch_pages(std::span<const std::uint64_t> pages, std::uint64_t mark);
  void read_pages(std::span<const std::uint64_t> pages);
  [[nodiscard]] bool take_coming(std::span<const std::uint64_t> pages);
  void ask_beyond(std::uint64_t mark, std::span<const std::uint64_t> pages);
  void take_in_coming();
  [[nodiscard]] std::vector<std::uint64_t> absent_pages(const page_run& of);
  [[nodiscard]] std::vector<page_store::held> take_frames(std::span<const std::uint64_t> pages);
  [[nodiscard]] std::vector<page_store::held> held_by(std::span<const frame_number> which) const;
  void make_room(std::uint64_t pages, const std::function<bool(std::uint64_t)>& keep);
  void evict(std::vector<frame_number>& victims);
  void write_frames(std::span<const frame_number> which);
  [[nodiscard]] bool note_change(frame& of);
  void note_changes_from(std::uint64_t page);
  bool map_pages(std::span<const std::uint64_t> pages);
  void map_touched(std::span<const std::uint64_t> pages, std::uint64_t touched);
  [[nodiscard]] bool map_protected(std::span<const page_store::held> clean);
  [[nodiscard]] frame* frame_here(std::uint64_t page);
  void forget_given_back(frame& of);
  void fetch_ahead(std::uint64_t mark);
  void fail_page(std::uint64_t page, const error& why);
  void keep_all_fetched(std::uint64_t first_page, std::uint64_t pages);

  [[nodiscard]] frame_number number_of(const frame& of) const noexcept;
  [[nodiscard]] bool is_mapped(const frame& of) const noexcept { return store_->is_mapped(number_of(of)); }
  [[nodiscard]] const std::byte* view(const frame& of, std::byte* copy) const {
    return store_->view({of.page, number_of(of)}, copy);
  }
  [[nodiscard]] std::byte* program_page(std::uint64_t page) const noexcept;
  [[nodiscard]] std::uint64_t bytes_of_page(std::uint64_t page) const noexcept;

  client client_;
  capability of_;
  region_options options_;
  std::uint64_t pages_;
  std::uint64_t budget_pages_;
  bool may_write_;
  bool tracks_writes_ = true;
  user_faults faults_;
  std::unique_ptr<page_store> store_;
  os::descriptor bell_;
  territory territory_;

  std::vector<frame> frames_;
  std::vector<frame_number> empty_frames_;
  std::unique_ptr<std::atomic<std::uint32_t>[], void (*)(void*)> frame_of_page_;  // number + 1; 0: absent
  std::unique_ptr<replacement_policy> policy_;
  read_ahead ahead_;
  std::uint64_t copies_ = 0;
  std::uint64_t pinned_pages_ = 0;
  std::uint64_t write_run_ = 1;  // number of pages that the last first write marked dirty
  // A run requested before its mark was touched, of a stream whose runs have reached the full length: so the server
  // works while this process maps the previous run. It is requested again if its pages were fetched otherwise.
  struct coming_run {
    std::uint64_t mark;
    std::vector<std::uint64_t> pages;  // adjacent, in ascending order
    bool is_here = false;
    bool was_passed_over = false;  // by another stream
  };
  std::optional<coming_run> coming_;
  std::vector<std::byte> fetched_;       // bytes of the pages being fetched
  std::vector<std::byte> beyond_;        // bytes of the coming run
  std::vector<std::byte> changes_;       // bytes being written back
  std::vector<std::byte> still_mapped_;  // copy of an evicted page that a device keeps mapped
  region_statistics counts_;

  std::mutex working_;  // protects the members above
  std::mutex lock_;     // protects the members below
  std::deque<std::packaged_task<void()>> requests_;
  os::worker thread_;  // the last member, so that it ends before the members that it uses
};

}  // namespace situ::rmem::detail
