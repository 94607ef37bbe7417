// A cache of remote pages: frames, the choice of victims, read-ahead, runs of first writes, room, and the order of
// write-back. It has two fronts, each a `page_cache::front`:
//
//   pager           the memory of this process (region.h)
//   program_memory  the memory of other processes (`situ rmem run`)
//
// A page is
//
//   absent   not in a frame; to a front with blank pages it is stored at the server, or blank: it reads as zeros
//   present  in a frame, and not mapped: the mark of a run fetched ahead, or watched by the policy
//   mapped   its reads are not reported; nor are its writes if it is open
//
// A dirty page (`is_changed`) is written back before its frame is released, while nobody can write to it.
//
// The fronts differ, and have code of their own, in these:
//   - Reports of touches. The kernel reports to a thread of this process, or to the touching thread by SIGBUS; or, by a
//     descriptor for each process, to a process beside it. So locks, requests and the limit of a turn are the front's.
//   - Bytes of a frame, and mappings. The pager has a page_store. program_memory has a memory file, and moves a watched
//     page out of it, as no process can unmap a page of another one and keep it in the file.
//   - Writing back. The pager compares with a copy, since other clients may write to the page, and sends differences,
//     of pinned pages too. program_memory sends whole pages, by copies if the server's memory is mapped here, and none
//     that are zeros.
//   - Before a first write, the pager keeps a copy to compare with; program_memory copies the page to forked children,
//     and makes the writer wait if its process is frozen.
//   - Errors. The pager makes a page inaccessible and goes on, so a failure to read ahead must not fail the touch. An
//     error of program_memory ends the programs, so it is not tried again.
//
// Invariants
//   1. Frames and copies never exceed the budget; fetching several pages first makes room for all of them.
//   2. A pinned page is not evicted, nor watched.
//   3. A frame in the policy is in the table of pages, except between choice and release of a victim.
//
// Not thread-safe, except is_here(). Calls throw the errors of the client and the front.
#pragma once

#include <situ/rmem/client.h>
#include <situ/rmem/region.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rmem/page_store.h"
#include "rmem/read_ahead.h"
#include "rmem/replacement.h"

namespace situ::rmem::detail {

class page_cache {
 public:
  using frame_number = replacement_policy::frame_number;
  using held = page_store::held;
  using page_list = std::span<const std::uint64_t>;  // in ascending order, without duplicates
  static constexpr std::uint64_t no_page = ~std::uint64_t{0};

  struct frame {
    std::uint64_t page = 0;
    bool is_changed = false;  // dirty
    bool is_open = false;     // its writes are not reported while it is mapped
    bool is_mark = false;     // its touch fetches the pages ahead
    std::uint32_t pins = 0;
    std::unique_ptr<std::byte[]> copy;  // of the fetched bytes, to compare with; keep_copy() sets it
  };

  // The functions that the cache calls. Lists of pages are in ascending order.
  class front {
   public:
    [[nodiscard]] virtual bool is_mapped(frame_number which) const noexcept = 0;
    // Fetches the bytes of absent pages, all blank or all stored, into these frames. If it throws, none is there.
    virtual void fetch(page_store::pages which) = 0;
    // Maps pages that are present, and wakes the threads that wait for them (page_store::map).
    [[nodiscard]] virtual page_store::outcome map(page_store::pages which, bool is_protected) = 0;
    // Has the next touch of pages reported; some may be unmapped already.
    virtual void unmap(page_store::pages which) = 0;
    virtual void allow_writes(std::uint64_t first_page, std::uint64_t end) = 0;
    // Prepares for the first write to a page that is not open. Returns false if it must not be opened now.
    [[nodiscard]] virtual bool before_write(frame& of) = 0;
    // Writes dirty pages to the server, and keeps unpinned ones from being written until they are mapped or dropped.
    virtual void write(std::span<const frame_number> which) = 0;
    // Frees the bytes of pages that go.
    virtual void drop(page_store::pages which) = 0;
    // Returns true if a page may be fetched, or opened, together with a touched page.
    [[nodiscard]] virtual bool may_join(std::uint64_t /*touched*/, std::uint64_t /*page*/) const { return true; }
    [[nodiscard]] virtual bool is_blank(std::uint64_t /*page*/) const { return false; }

   protected:
    ~front() = default;
  };

  // The page of a run that becomes its mark.
  enum class middle : std::uint8_t {
    by_address,  // of the run and the touched page, in ascending order
    by_stream,   // of the run alone, in the order of the stream
  };
  struct settings {
    std::uint64_t budget_pages = 0;
    replacement replace = replacement::s3_fifo;
    prefetch ahead = prefetch::majority;
    std::uint32_t most_ahead = 0;             // the most pages of a run
    std::uint64_t least_evicted_at_once = 1;  // one request then writes back all their changes
    middle mark = middle::by_address;
    bool may_write = true;
    bool requests_beyond = false;      // requests a run before its mark is touched
    bool forgives_read_ahead = false;  // fetches the touched page alone if the run with it cannot be fetched
  };

  page_cache(front& with, client through, const capability& of, const settings& how);
  page_cache(const page_cache&) = delete;
  page_cache& operator=(const page_cache&) = delete;

  // --- touches ---

  // Serves a touch of a page that is not mapped. Returns true if it was a mark: then the caller calls fetch_ahead(),
  // now or later.
  [[nodiscard]] bool touch(std::uint64_t page, bool is_write);
  // Serves the first write of a mapped page. If the page before it is open, writes to the following pages are likely:
  // twice as many as last time are opened as well, at the cost of a copy each, or none, instead of a fault of some
  // microseconds.
  void open_from(std::uint64_t page);
  void fetch_ahead(std::uint64_t touched);

  // --- pages ---

  [[nodiscard]] frame* frame_at(std::uint64_t page) noexcept;
  [[nodiscard]] frame_number number_of(const frame& of) const noexcept {
    return static_cast<frame_number>(&of - frames_.data());
  }
  [[nodiscard]] frame& operator[](frame_number which) noexcept { return frames_[which]; }
  [[nodiscard]] held held_by(const frame& of) const noexcept { return {of.page, number_of(of)}; }
  // Returns frames with their pages, in the order of the pages.
  [[nodiscard]] std::vector<held> held_by(std::span<const frame_number> which) const;
  [[nodiscard]] std::vector<frame>& frames() noexcept { return frames_; }
  [[nodiscard]] std::uint64_t used_frames() const noexcept { return frames_.size() - empty_frames_.size(); }
  // Returns true if the page has a frame. Any thread may call it.
  [[nodiscard]] bool is_here(std::uint64_t page) const noexcept {
    return frame_of_page_[page].load(std::memory_order_acquire) != 0;
  }
  // Fetches pages. pre: they are absent. mark: the page whose touch will be reported, or no_page.
  void fetch(page_list pages, std::uint64_t mark);
  // Maps pages that are here, those that are not open protected. Returns true if the kernel has mapped all of them.
  bool map(page_list pages);
  // Marks a page dirty, and has its writes not reported from the next map() or allow_writes() on. Returns false if the
  // front refuses.
  [[nodiscard]] bool open(frame& of);
  // Marks a page dirty that was written before it was protected.
  void note_written(frame& of);
  // Releases the frame of a page whose bytes the front has dropped.
  void forget(frame& of);
  void pin(frame& of) noexcept { pinned_pages_ += of.pins++ == 0; }
  void unpin(frame& of) noexcept { pinned_pages_ -= --of.pins == 0; }
  [[nodiscard]] std::uint64_t pinned_pages() const noexcept { return pinned_pages_; }

  // --- room ---

  // Evicts pages. Throws out_of_memory if too many are pinned, and the errors of writing back.
  void make_room(std::uint64_t pages);
  // Evicts some pages if there are few empty frames. Returns false if there are enough.
  bool make_room_ahead();
  // Evicts all pages that are not pinned.
  void evict_all();
  // Copies count against the budget.
  void keep_copy(frame& of, std::unique_ptr<std::byte[]> copy);
  void drop_copy(frame& of) noexcept;
  [[nodiscard]] std::uint64_t copies() const noexcept { return copies_; }

  // --- the server ---

  [[nodiscard]] client& server() noexcept { return client_; }
  [[nodiscard]] const capability& region() const noexcept { return of_; }
  [[nodiscard]] std::uint64_t bytes_of_page(std::uint64_t page) const noexcept;
  // Reads pages, with a whole page's room for each, by one request. If they are the run that was requested beyond the
  // last one, receives that; the vector is then exchanged for another one. If they are only some of its pages, the run
  // is discarded.
  void read(page_list pages, std::vector<std::byte>& to);
  void read(page_list pages, std::span<std::byte> to);
  // Returns the dirty pages in the order of their addresses, so that one request writes adjacent pages.
  [[nodiscard]] std::vector<frame_number> changed() const;
  void write_back(std::span<const frame_number> which);
  // Returns true if a run was requested and its bytes are still on their way.
  [[nodiscard]] bool is_receiving() const noexcept { return coming_ && !coming_->is_here; }
  // Receives the coming run, so that the connection is free. If it failed, its pages are fetched when they are touched.
  void receive_coming();
  void discard_coming();

  region_statistics counts;  // without local_bytes; the front counts written pages and bytes

 private:
  struct run {
    std::vector<std::uint64_t> pages;  // in ascending order
    std::uint64_t mark = no_page;
  };
  // A run requested before its mark was touched, of a stream whose runs have reached the full length: so the server
  // works while this process maps the previous run. It is requested again if its pages were fetched otherwise.
  struct coming_run {
    std::uint64_t mark;                // of the previous run
    std::vector<std::uint64_t> pages;  // adjacent, in ascending order
    bool is_here = false;
    bool was_passed_over = false;  // by another stream
  };

  void fetch_touched(std::uint64_t page, bool is_write);
  [[nodiscard]] run run_after(std::uint64_t page, bool is_mark);
  [[nodiscard]] std::vector<std::uint64_t> absent_pages(const page_run& of, std::uint64_t touched) const;
  [[nodiscard]] bool take_coming(page_list pages, std::vector<std::byte>& to);
  void request_beyond(std::uint64_t mark, page_list pages);
  [[nodiscard]] std::vector<held> take_frames(page_list pages);
  void set_mark(run& of);
  void open_all(std::vector<std::uint64_t>& pages);
  void map_touched(page_list pages, std::uint64_t touched);
  [[nodiscard]] bool evict_some(std::uint64_t wanted);
  void evict(std::span<const frame_number> victims);
  void release(frame_number which);

  front& front_;
  client client_;
  capability of_;
  settings settings_;
  std::uint64_t pages_;
  std::vector<frame> frames_;
  std::vector<frame_number> empty_frames_;
  std::unique_ptr<std::atomic<std::uint32_t>[], void (*)(void*)> frame_of_page_;  // number + 1; 0: absent
  std::unique_ptr<replacement_policy> policy_;
  read_ahead ahead_;
  std::uint64_t copies_ = 0;
  std::uint64_t pinned_pages_ = 0;
  bool tracks_writes_ = true;    // false: this kernel maps pages for writing only
  std::uint64_t write_run_ = 1;  // number of pages that the last first write opened
  std::optional<coming_run> coming_;
  std::vector<std::byte> beyond_;  // bytes of the coming run
};

}  // namespace situ::rmem::detail
