// Handles touches of a region's pages that raise signals. SIGBUS: the touching thread fetches the page itself
// (fetcher::toucher). SIGSEGV: the page could not be fetched and was made inaccessible; the handler ends the enclosing
// call of `guarded`, or the process with a message.
//
// The thread that serves touches also reads mapped pages, and the program may give one back (madvise) at any time. That
// thread would then wait for itself; try_look() ends such a read.
#pragma once

#include <situ/base/error_code.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "rmem/user_faults.h"

namespace situ::rmem::detail {

// The reason why a page cannot be fetched. Immutable once a handler can see it.
struct region_failure {
  errc code;
  std::string text;
};

// A region's addresses, as the handler knows them; a process has at most 256 territories.
class territory {
 public:
  // Serves a touch in the touching thread; returns false if it cannot.
  using server = std::function<bool(const user_fault&)>;
  // Installs the handlers with the first territory. Throws out_of_memory if there are too many.
  territory(std::byte* begin, std::size_t bytes, int protection, server serves);
  ~territory();
  territory(const territory&) = delete;
  territory& operator=(const territory&) = delete;

  // Makes touches of this page fail with this reason, and those of the pages that failed before, too.
  void fail(std::byte* page, region_failure why);
  // Makes all failed pages accessible again, so that the next touch fetches them.
  void try_again();

  // The members below are for the handler.
  [[nodiscard]] bool has(std::uintptr_t address) const noexcept {
    return address - reinterpret_cast<std::uintptr_t>(begin_) < bytes_;
  }
  [[nodiscard]] bool serve(const user_fault& touch) const { return serves_ && serves_(touch); }
  [[nodiscard]] const region_failure* failure() const noexcept { return latest_.load(std::memory_order_acquire); }

 private:
  std::byte* begin_;
  std::size_t bytes_;
  int protection_;
  server serves_;
  std::size_t number_ = 0;
  std::atomic<const region_failure*> latest_{nullptr};
  std::mutex lock_;  // protects the members below
  std::deque<region_failure> failures_;
  std::set<std::byte*> failed_pages_;
};

// Calls look(with), which touches pages of a region whose touches this thread serves, and leaves no objects to be
// destroyed. Returns false if the call was ended early: a page is missing, or the call took over 20 ms. If touches are
// reported by descriptor, a timer interrupts this thread during the call. Throws out_of_memory without calling.
[[nodiscard]] bool try_look(user_faults::told how, void (*look)(const void*), const void* with);
template <class Look>
[[nodiscard]] bool try_look(user_faults::told how, const Look& look) {
  return try_look(how, [](const void* with) { (*static_cast<const Look*>(with))(); }, &look);
}

}  // namespace situ::rmem::detail
