// Remote bytes as ordinary memory: a page is fetched when it is touched, changed ones are written back, and no more of
// them lie here than a budget allows. The kernel's userfaultfd tells of touches, so any code may use the pointers, and
// what is here costs a load.
//
//   situ::rmem::region region{situ::rmem::client{endpoint, key}, capability, {.local_bytes = 64 << 20}};
//   auto* numbers = reinterpret_cast<double*>(region.data());
//   numbers[1 << 20] += 1;      // fetches a page, and notes that it has changed
//   region.write_back();        // now it is at the server
//   std::pmr::monotonic_buffer_resource arena{region.data(), region.size(), std::pmr::null_memory_resource()};
//
// Others see what was written back, and this region what others wrote before it fetched the page: write_back() here and
// refresh() there, in that order, pass everything on. Only bytes that differ from what was fetched are written, so two
// regions may change different bytes of a page.
//
// Needs Linux 5.19, and userfaultfd to be allowed. System calls on absent pages work where the process may have the
// kernel's own touches told to it (root, or vm.unprivileged_userfaultfd=1); else they fail with EFAULT: pin the bytes,
// or fetch them first. A forked child has no such memory. Transparent to threads. Pages are not locked (mlock); one
// that the program gives back (madvise) loses what was changed there since it last was written back, and is fetched
// when it is touched. SIGSEGV and SIGBUS stay with the handlers that the first region installs, which call those before
// them.
//
// cost: a touch of a page that is not here is a read of the client and some 20 to 35 us, or 15 to 25 where who touches
// fetches it (fetcher::toucher), on the machine of docs/results; of one that is here, nothing.
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

// Which page goes when there is no room. What is touched while it is here is not told to anybody: all but fifo look by
// unmapping pages for a while, at the cost of a fault (some 6 us) where one is touched then.
enum class replacement : std::uint8_t {
  fifo,     // the one that came first
  aging,    // the one whose last touches are longest ago, by eight looks
  clock,    // the first, in turn, that was not touched since the first of two hands went over it
  s3_fifo,  // those that are touched once go through a short queue; a page that comes back soon goes to the long one
};

// What is fetched beside the page that is touched.
enum class prefetch : std::uint8_t {
  none,
  next,      // as many pages behind it as `prefetch_pages` says
  stride,    // along the distance of the last three faults, where it is the same
  majority,  // along the distance that most of the last faults have, in growing windows
};

// Who fetches the page that is touched.
enum class fetcher : std::uint8_t {
  own_thread,  // of the region, which is woken, and wakes who touches
  // Who touches, in a handler of SIGBUS: without these two wake-ups. System calls on absent pages fail with EFAULT for
  // all users, so what they are given is fetched or pinned before. Who touches holds no lock that `malloc` or the
  // region's client needs, has SIGBUS unblocked, and 16 KiB of stack left, or an alternate one (as Situ's own threads
  // have).
  toucher,
};

// How a region behaves.
struct region_options {
  std::uint64_t local_bytes = 0;  // budget: most bytes of pages, and of their copies to compare with, that lie here
  replacement replace = replacement::s3_fifo;
  prefetch ahead = prefetch::majority;
  std::uint32_t prefetch_pages = 128;  // most pages that are fetched at once
  // Nobody else writes to these bytes: pages are written back whole, and no copies of them are kept.
  bool is_sole_writer = false;
  fetcher fetches = fetcher::own_thread;
};

// What a region has done so far.
struct region_statistics {
  std::uint64_t local_bytes = 0;    // that lie here now, copies to compare with among them
  std::uint64_t missing = 0;        // touches that waited for a fetch
  std::uint64_t seen = 0;           // touches of pages that were here and unmapped
  std::uint64_t first_writes = 0;   // touches that made a page a changed one
  std::uint64_t fetched_pages = 0;  // prefetched ones among them
  std::uint64_t prefetched_pages = 0;
  std::uint64_t evicted_pages = 0;
  std::uint64_t written_pages = 0;
  std::uint64_t written_bytes = 0;  // that were sent; those that differ
};

namespace detail {
class pager;
void run_guarded(void (*call)(void*), void* with);
}  // namespace detail

// Pages stay where they are while it lives. Movable.
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

// The bytes that a capability is for, at addresses of this process. All calls may be made by several threads at once.
class region {
 public:
  // through: the region's own, since no touch may wait for another call. Throws bad_argument for a budget of less than
  // 16 pages, access_denied for a capability that may not read, not_supported where the kernel lacks or forbids this.
  region(client through, const capability& of, region_options options);
  // Writes back; what fails then is logged.
  ~region();
  region(region&&) noexcept;
  region& operator=(region&&) noexcept;

  // Where it begins, at a multiple of 4096; without the right to write these are read-only pages.
  [[nodiscard]] std::byte* data() const noexcept;
  [[nodiscard]] std::uint64_t size() const noexcept;
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data(), size()}; }

  // Everything that was changed here before this call is at the server when it returns. Throws link_lost and what the
  // client's writes throw; then it is still here, changed. cost: a round trip for each 256 pages that have changed.
  void write_back();
  // write_back(), and then forgets what is not pinned: the next touch has what others have written.
  void refresh();
  // Fetches these bytes, and keeps them here as long as what it returns lives. Throws out_of_memory with the figures
  // where no room would be left, and what the client's reads throw.
  [[nodiscard]] pinned pin(std::uint64_t offset, std::uint64_t bytes);
  // Fetches these bytes meanwhile; what they push out is as if they were touched. The future has what the client's
  // reads throw.
  [[nodiscard]] std::future<void> fetch(std::uint64_t offset, std::uint64_t bytes);
  // Fetches these bytes meanwhile, and then calls `then`, once: with null, or what the client's reads throw; with
  // link_lost where the region ends first. It is called by the region's own thread, or at its end, so it wakes whoever
  // waits (a condition, a word, a queue) and touches nothing of this region; it throws nothing. cost: nobody waits
  // here.
  void fetch(std::uint64_t offset, std::uint64_t bytes, std::function<void(std::exception_ptr)> then);
  // Whether a touch of each of these bytes would wait for no fetch. cost: a load a page.
  [[nodiscard]] bool is_here(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  [[nodiscard]] region_statistics counted() const;

 private:
  std::shared_ptr<detail::pager> pager_;
};

// Calls f(). Where a touch within it is of a page that cannot be fetched, f ends there and an error is thrown that
// names region, offset and server; the next touch tries again. Without it such a touch ends the process, with the same
// words. f is left as by longjmp: what it holds is not destroyed, so it should hold nothing; and it may not wait for
// anything of Situ's. cost: some 30 ns.
template <class F>
void guarded(F&& f) {
  using function = std::remove_reference_t<F>;
  auto* const address = const_cast<void*>(static_cast<const void*>(std::addressof(f)));
  detail::run_guarded([](void* with) { (*static_cast<function*>(with))(); }, address);
}

}  // namespace situ::rmem
