// The pager of a region: the front of a page_cache for memory of this process. A thread serves touches and requests; or
// the touching threads serve their touches themselves.
//
// The kernel reports touches of the program's mapping. Local pages lie in a store (page_store.h), in which the pager
// fills and inspects them; page_cache.h has the states of a page. A dirty page has a copy of the fetched bytes, unless
// this is the sole writer.
//
// Invariants
//   1. Only a thread that holds working_ accesses the cache, the store and the client: the pager's thread, or a thread
//      that serves its own touches (fetcher::toucher). Other threads queue `requests_` for the pager's thread.
//   2. A page is written back while nobody can write to it; if it is evicted, that lasts until it is dropped, so no
//      write is lost between comparison and eviction. A thread that writes in between waits, and its touch is reported
//      again.
//   3. The pager touches the program's mapping only at mapped pages: otherwise it would wait for itself.
#pragma once

#include <situ/base/error.h>
#include <situ/rmem/client.h>
#include <situ/rmem/region.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "os/worker.h"
#include "rmem/page_cache.h"
#include "rmem/page_store.h"
#include "rmem/region_faults.h"
#include "rmem/user_faults.h"

namespace situ::rmem::detail {

class pager final : private page_cache::front {
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
  using frame = page_cache::frame;
  using frame_number = page_cache::frame_number;
  class work;

  [[nodiscard]] static page_cache::settings settings_of(const capability& of, const region_options& options);
  void run(const std::stop_token& stop);
  [[nodiscard]] bool serve_here(const user_fault& fault);
  void serve(const user_fault& fault);
  void fail_page(std::uint64_t page, const error& why);
  void do_requests();
  std::future<void> ask(std::function<void()> what);
  [[nodiscard]] frame* frame_here(std::uint64_t page);
  void keep_all_fetched(std::uint64_t first_page, std::uint64_t pages);

  [[nodiscard]] bool is_mapped(frame_number which) const noexcept override { return store_->is_mapped(which); }
  void fetch(page_store::pages which) override;
  [[nodiscard]] page_store::outcome map(page_store::pages which, bool is_protected) override;
  void unmap(page_store::pages which) override { store_->unmap(which); }
  void allow_writes(std::uint64_t first_page, std::uint64_t end) override { store_->allow_writes(first_page, end); }
  [[nodiscard]] bool before_write(frame& of) override;
  void write(std::span<const frame_number> which) override;
  void drop(page_store::pages which) override { store_->drop(which); }

  [[nodiscard]] bool is_mapped(const frame& of) const noexcept { return is_mapped(cache_.number_of(of)); }
  [[nodiscard]] const std::byte* view(const frame& of, std::byte* copy) const {
    return store_->view(cache_.held_by(of), copy);
  }
  [[nodiscard]] std::byte* program_page(std::uint64_t page) const noexcept;

  capability of_;
  region_options options_;
  std::uint64_t pages_;
  std::uint64_t budget_pages_;
  bool may_write_;
  user_faults faults_;
  std::unique_ptr<page_store> store_;
  os::descriptor bell_;
  territory territory_;
  page_cache cache_;
  std::vector<std::byte> fetched_;       // bytes of the pages being fetched
  std::vector<std::byte> changes_;       // bytes being written back
  std::vector<std::byte> still_mapped_;  // copy of an evicted page that a device keeps mapped

  std::mutex working_;  // protects the members above
  std::mutex lock_;     // protects the members below
  std::deque<std::packaged_task<void()>> requests_;
  os::worker thread_;  // the last member, so that it ends before the members that it uses
};

}  // namespace situ::rmem::detail
