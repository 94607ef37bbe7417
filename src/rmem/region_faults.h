// Touches of a region's pages that become signals. SIGBUS: who touches fetches the page itself (fetcher::toucher).
// SIGSEGV: it could not be fetched, and was made inaccessible; the handler ends the call of `guarded` that it is in, or
// the process with a sentence.
//
// Who serves touches looks at mapped pages too, and the program may give one back (madvise) meanwhile. A touch of it
// would then wait for who touches; try_look() ends it.
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

// Why a page cannot be fetched. Never changed once a handler can see it.
struct region_failure {
  errc code;
  std::string text;
};

// The addresses of a region, as the handler knows them; one of at most 256 of a process.
class territory {
 public:
  // Serves a touch in the thread that touches; false where it cannot.
  using server = std::function<bool(const user_fault&)>;
  // Installs the handlers with the first. Throws out_of_memory where there are too many.
  territory(std::byte* begin, std::size_t bytes, int protection, server serves);
  ~territory();
  territory(const territory&) = delete;
  territory& operator=(const territory&) = delete;

  // From now on a touch of this page fails, with these words; pages that failed before, too.
  void fail(std::byte* page, region_failure why);
  // All pages can be touched again, which fetches them.
  void try_again();

  // For the handler.
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
  std::mutex lock_;  // of what follows
  std::deque<region_failure> failures_;
  std::set<std::byte*> failed_pages_;
};

// Calls look(with), which touches pages of a region by whose touches this thread is called, and leaves nothing to be
// destroyed. False where it was ended on the way: a page is not there, or it took over 20 ms. Where touches
// are told by descriptor, a timer interrupts this thread meanwhile. Throws out_of_memory, without a call.
[[nodiscard]] bool try_look(user_faults::told how, void (*look)(const void*), const void* with);
template <class Look>
[[nodiscard]] bool try_look(user_faults::told how, const Look& look) {
  return try_look(how, [](const void* with) { (*static_cast<const Look*>(with))(); }, &look);
}

}  // namespace situ::rmem::detail
