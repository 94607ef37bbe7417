// Remote bytes as ordinary memory: the region fetches a page when it is touched, writes dirty pages back, and keeps no
// more pages in local memory than a budget allows. The kernel's userfaultfd reports the touches, so any code may use
// the pointers, and an access to a local page costs a load.
//
//   situ::rmem::region region{situ::rmem::client{endpoint, key}, capability, {.local_bytes = 64 << 20}};
//   auto* numbers = reinterpret_cast<double*>(region.data());
//   numbers[1 << 20] += 1;      // fetches a page, and marks it dirty
//   region.write_back();        // now it is at the server
//   std::pmr::monotonic_buffer_resource arena{region.data(), region.size(), std::pmr::null_memory_resource()};
//
// Other clients see the bytes that were written back, and this region sees the bytes that others wrote before it
// fetched the page: write_back() here and then refresh() there make all changes visible. The region writes back only
// bytes that differ from the fetched ones, so two regions may change different bytes of a page.
//
// Needs Linux 5.19, and the permission to use userfaultfd. System calls on absent pages work if the process may handle
// faults of the kernel (root, or vm.unprivileged_userfaultfd=1); else they fail with EFAULT: pin the bytes, or fetch
// them first. A forked child does not inherit the memory. Any thread may touch it. Pages are not locked (mlock); if the
// program gives a page back (madvise), it loses the changes since the last write-back, and the next touch fetches the
// page. The first region installs handlers of SIGSEGV and SIGBUS, which call the handlers that were there before; do
// not replace them.
//
// cost: a touch of an absent page is a read of the client and some 20 to 35 us, or 15 to 25 if the touching thread
// fetches the page itself (fetcher::toucher), on the machine of docs/results; a touch of a local page costs nothing.
#pragma once

#include <situ/rmem/capability.h>
#include <situ/rmem/client.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <type_traits>

namespace situ::rmem {

// Policy that chooses the page to evict. The kernel does not report touches of local pages: all policies but fifo
// observe them by unmapping pages for a while, at the cost of a fault (some 6 us) if such a page is touched.
enum class replacement : std::uint8_t {
  fifo,     // evicts the page that was fetched first
  aging,    // evicts the page whose last touches are longest ago, by the last eight looks
  clock,    // evicts the first page, in turn, not touched since the first of two hands passed it
  s3_fifo,  // pages touched once pass a short queue; a page that returns soon enters the long one
};

// Pages to fetch in addition to the touched one.
enum class prefetch : std::uint8_t {
  none,
  next,      // the `prefetch_pages` pages behind it
  stride,    // along the distance of the last three faults, if it is the same
  majority,  // along the distance that most of the last faults have, in growing windows
};

// The thread that fetches a touched page.
enum class fetcher : std::uint8_t {
  own_thread,  // the region's thread, which the kernel wakes, and which wakes the touching thread
  // The touching thread, in a handler of SIGBUS, which saves these two wake-ups. System calls on absent pages fail with
  // EFAULT for all users, so fetch or pin their arguments first. A touching thread must hold no lock that `malloc` or
  // the region's client needs, must not block SIGBUS, and needs 16 KiB of free stack, or an alternate stack (as Situ's
  // own threads have).
  toucher,
};

// Options of a region.
struct region_options {
  std::uint64_t local_bytes = 0;  // budget: the most bytes of local pages and of their copies to compare with
  replacement replace = replacement::s3_fifo;
  prefetch ahead = prefetch::majority;
  std::uint32_t prefetch_pages = 128;  // the most pages that one fetch brings
  // If set, no other client writes to these bytes: the region writes pages back whole, and keeps no copies of them.
  bool is_sole_writer = false;
  fetcher fetches = fetcher::own_thread;
};

// Counters of a region since it was made.
struct region_statistics {
  std::uint64_t local_bytes = 0;    // that lie here now, copies to compare with among them
  std::uint64_t missing = 0;        // touches that waited for a fetch
  std::uint64_t seen = 0;           // touches of local pages that were unmapped
  std::uint64_t first_writes = 0;   // touches that made a page dirty
  std::uint64_t fetched_pages = 0;  // including prefetched pages
  std::uint64_t prefetched_pages = 0;
  std::uint64_t evicted_pages = 0;
  std::uint64_t written_pages = 0;
  std::uint64_t written_bytes = 0;  // bytes sent: those that differ from the fetched ones
};

namespace detail {
class pager;
void run_guarded(void (*call)(void*), void* with);
}  // namespace detail

// Keeps pages in local memory until it is destroyed. Movable.
class pinned {
 public:
  pinned() noexcept = default;
  pinned(std::shared_ptr<detail::pager> of, std::uint64_t first_page, std::uint64_t pages) noexcept;
  ~pinned();
  pinned(pinned&&) noexcept;
  pinned& operator=(pinned&&) noexcept;

 private:
  std::shared_ptr<detail::pager> of_;
  std::uint64_t first_page_ = 0;
  std::uint64_t pages_ = 0;
};

// Maps the bytes of a capability to addresses of this process. Several threads may make any call at once.
class region {
 public:
  // The region needs the client `through` for itself, since a touch must not wait for another call. Throws bad_argument
  // for a budget of less than 16 pages, access_denied for a capability without the right to read, not_supported if the
  // kernel lacks or forbids userfaultfd.
  region(client through, const capability& of, region_options options);
  // Writes dirty pages back, and logs a failure.
  ~region();
  region(region&&) noexcept;
  region& operator=(region&&) noexcept;

  // Returns the region's first byte, at a multiple of 4096. Without the right to write, the pages are read-only.
  [[nodiscard]] std::byte* data() const noexcept;
  [[nodiscard]] std::uint64_t size() const noexcept;
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data(), size()}; }

  // Writes back every change made in this process before the call; the server has them when it returns. Throws
  // link_lost and the errors of the client's writes; the pages then stay here, dirty. cost: a round trip for each 256
  // dirty pages.
  void write_back();
  // Writes dirty pages back, and then drops all pages that are not pinned: the next touch fetches the bytes that other
  // clients have written.
  void refresh();
  // Fetches these bytes and pins their pages until the result is destroyed. Throws out_of_memory with the figures if
  // this would leave no room for other pages, and the errors of the client's reads.
  [[nodiscard]] pinned pin(std::uint64_t offset, std::uint64_t bytes);
  // Fetches these bytes in the background. Pages may be evicted to make room, as if the bytes had been touched. The
  // future fails with the errors of the client's reads.
  [[nodiscard]] std::future<void> fetch(std::uint64_t offset, std::uint64_t bytes);
  // Fetches these bytes in the background, and then calls `then` once: with null, with an error of the client's reads,
  // or with link_lost if the region ends first. The region's own thread makes the call, or the thread that ends the
  // region. So `then` should only wake a waiter (through a condition, a word, a queue); it must not touch this region's
  // memory and must not throw. cost: the caller does not wait.
  void fetch(std::uint64_t offset, std::uint64_t bytes, std::function<void(std::exception_ptr)> then);
  // Returns true if a touch of these bytes would not wait for a fetch. cost: a load a page.
  [[nodiscard]] bool is_here(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  [[nodiscard]] region_statistics counted() const;

 private:
  std::shared_ptr<detail::pager> pager_;
};

// Calls f(). If f touches a page that cannot be fetched, f ends there, and guarded throws an error that names the
// region, the offset and the server; the next touch tries again. Outside guarded such a touch ends the process, with
// the same message. f is left as by longjmp: its objects are not destroyed, so it should own nothing, and it may not
// wait for anything of Situ's. cost: some 30 ns.
template <class F>
void guarded(F&& f) {
  using function = std::remove_reference_t<F>;
  auto* const address = const_cast<void*>(static_cast<const void*>(std::addressof(f)));
  detail::run_guarded([](void* with) { (*static_cast<function*>(with))(); }, address);
}

}  // namespace situ::rmem
