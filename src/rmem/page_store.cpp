#include "rmem/page_store.h"

#include <situ/base/error_code.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/racing_reads.h"
#include "os/host.h"
#include "os/mapping.h"
#include "os/mapping_error.h"
#include "rmem/region_faults.h"

namespace situ::rmem::detail {
namespace {

using situ::detail::page_bytes;

[[noreturn]] void refuse_memory(std::uint64_t bytes) {
  throw_error(errc::out_of_memory,
              fmt::format("no memory for {} bytes of remote pages: {}", bytes, std::strerror(errno)));
}

// Calls what(part) for each part with adjacent pages, and, if `frames_follow`, adjacent frames.
template <class What>
void for_each_part(page_store::pages which, bool frames_follow, std::size_t most, const What& what) {
  while (!which.empty()) {
    std::size_t end = 1;
    while (end < std::min(most, which.size()) && which[end].page == which[end - 1].page + 1 &&
           (!frames_follow || which[end].frame == which[end - 1].frame + 1))
      ++end;
    what(which.first(end));
    which = which.subspan(end);
  }
}

// --- pages in a memory file ---

class pages_of_file final : public page_store {
 public:
  pages_of_file(user_faults& faults, std::uint64_t pages, std::uint32_t frames, bool may_write)
      : faults_{faults},
        file_{memory_file("situ-rmem-region", pages * page_bytes)},
        own_{file_.descriptor(), pages * page_bytes, PROT_READ | PROT_WRITE},
        program_{file_.descriptor(), pages * page_bytes, may_write ? PROT_READ | PROT_WRITE : PROT_READ},
        is_mapped_(frames) {
    faults_.watch(program_.begin(), program_.bytes());
  }
  [[nodiscard]] std::byte* program() const noexcept override { return program_.begin(); }

  // pwrite needs no fault for a page, nor zeros in it first.
  void fill(pages which, const std::byte* bytes) override {
    for_each_part(which, false, which.size(), [&](pages part) {
      const std::size_t length = part.size() * page_bytes;
      for (std::size_t done = 0; done < length;) {
        const ssize_t written = ::pwrite(file_.descriptor(), bytes + done, length - done,
                                         static_cast<off_t>(part[0].page * page_bytes + done));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
          const int why = errno;
          drop(which);  // some of the pages may be there
          errno = why;
          refuse_memory(length);
        }
        done += static_cast<std::size_t>(written);
      }
      bytes += length;
    });
  }
  void keep() override {}
  void drop(pages which) noexcept override {
    for_each_part(which, false, which.size(), [&](pages part) {
      (void)::fallocate(file_.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        static_cast<off_t>(part[0].page * page_bytes), static_cast<off_t>(part.size() * page_bytes));
      for (const held& each : part) is_mapped_[each.frame] = false;
    });
  }
  [[nodiscard]] bool is_mapped(std::uint32_t frame) const noexcept override { return is_mapped_[frame]; }
  [[nodiscard]] outcome map(pages which, bool is_protected, const on_written&) override {
    bool can = true;
    for_each_part(which, false, which.size(), [&](pages part) {
      can = can && faults_.map(at(part[0].page), part.size() * page_bytes, is_protected);
      if (can)
        for (const held& each : part) is_mapped_[each.frame] = true;
    });
    return can ? outcome::all : outcome::cannot_protect;
  }
  void unmap(pages which) noexcept override {
    for_each_part(which, false, which.size(), [&](pages part) {
      ::madvise(at(part[0].page), part.size() * page_bytes, MADV_DONTNEED);
      for (const held& each : part) is_mapped_[each.frame] = false;
    });
  }
  void hold(pages which) noexcept override {
    for_each_part(which, false, which.size(),
                  [&](pages part) { faults_.protect(at(part[0].page), part.size() * page_bytes); });
  }
  void allow_writes(std::uint64_t first_page, std::uint64_t end) noexcept override {
    faults_.allow_writes(at(first_page), (end - first_page) * page_bytes);
  }
  [[nodiscard]] const std::byte* view(const held& which, std::byte* copy) const override {
    const std::byte* const bytes = own_.begin() + which.page * page_bytes;
    if (!is_mapped_[which.frame]) return bytes;
    const situ::detail::racing_reads looks;
    return static_cast<const std::byte*>(std::memcpy(copy, bytes, page_bytes));
  }
  [[nodiscard]] bool is_gone(const held&) const noexcept override { return false; }  // the file keeps the page

 private:
  [[nodiscard]] std::byte* at(std::uint64_t page) const noexcept { return program_.begin() + page * page_bytes; }

  user_faults& faults_;
  situ::detail::page_file file_;
  file_mapping own_;
  file_mapping program_;
  std::vector<bool> is_mapped_;
};

// --- pages that are moved ---

class moved_pages final : public page_store {
 public:
  moved_pages(user_faults& faults, std::uint64_t pages, std::uint32_t frames, os::descriptor page_map)
      : faults_{faults},
        page_map_{std::move(page_map)},
        own_{-1, frames * page_bytes, PROT_READ | PROT_WRITE},
        program_{-1, pages * page_bytes, PROT_READ | PROT_WRITE},
        states_(frames, state::without_memory),
        lent_(frames),
        before_(most_at_once * page_bytes) {
    faults_.watch_moved(program_.begin(), program_.bytes());
    faults_.watch_moved(own_.begin(), own_.bytes());
  }
  [[nodiscard]] std::byte* program() const noexcept override { return program_.begin(); }

  void fill(pages which, const std::byte* bytes) override {
    filled_.assign(which.begin(), which.end());
    for (const held& each : which) {
      state& its = states_[each.frame];
      lent_[each.frame] = bytes;
      if (its == state::has_memory) {
        its = state::filled;
        std::memcpy(slot(each), bytes, page_bytes);
      } else {
        its = state::lent;
      }
      bytes += page_bytes;
    }
  }
  void keep() override {
    for (const held& each : filled_) {
      if (states_[each.frame] == state::filled) states_[each.frame] = state::has_memory;
      if (states_[each.frame] != state::lent) continue;
      // A store would fault and wait for the pager.
      if (faults_.copy(slot(each), lent_[each.frame], page_bytes, false) == 0) refuse_memory(page_bytes);
      states_[each.frame] = state::has_memory;
    }
    filled_.clear();
  }
  // Keeps the memory of long runs: moving pages back in a run costs less for each page than moving a single page.
  void drop(pages which) noexcept override {
    for_each_part(which, false, which.size(), [&](pages part) {
      if (part.size() >= least_run) unmap(part);
      for (const held& each : part) {
        state& its = states_[each.frame];
        // If a device has the page, its later writes are lost.
        if (its == state::mapped) ::madvise(at(each.page), page_bytes, dont_need_locked);
        its = its == state::has_memory || its == state::filled ? state::has_memory : state::without_memory;
      }
    });
  }
  [[nodiscard]] bool is_mapped(std::uint32_t frame) const noexcept override { return states_[frame] == state::mapped; }

  // The kernel moves pages unprotected, so a write may come before they are protected. Therefore map() keeps the
  // previous bytes until then, and compares.
  [[nodiscard]] outcome map(pages which, bool is_protected, const on_written& written) override {
    std::size_t all = 0;
    for_each_run_of(which, state::lent, [&](pages run) {
      for_each_part(run, false, run.size(), [&](pages part) {
        const auto copy = [&](std::size_t first, std::size_t count) {
          return faults_.copy(at(part[first].page), lent_[part[first].frame], count * page_bytes, is_protected);
        };
        all += for_each_done(part, copy, state::mapped, [](std::size_t, std::size_t) {});
      });
    });
    std::vector<held> moved;  // the other pages, which may lie between those mapped above
    for (const held& each : which)
      if (states_[each.frame] == state::has_memory || states_[each.frame] == state::filled) moved.push_back(each);
    for_each_part(moved, true, is_protected ? most_at_once : which.size(), [&](pages part) {
      // The bytes given to fill() are still there; otherwise a copy is needed.
      const bool is_new =
          std::all_of(part.begin(), part.end(), [&](const held& each) { return states_[each.frame] == state::filled; });
      if (is_protected && !is_new) std::memcpy(before_.data(), slot(part[0]), part.size() * page_bytes);
      const auto move = [&](std::size_t first, std::size_t count) {
        return faults_.move(at(part[first].page), slot(part[first]), count * page_bytes);
      };
      all += for_each_done(part, move, state::mapped, [&](std::size_t begin, std::size_t end) {
        if (!is_protected) return;
        faults_.protect(at(part[begin].page), (end - begin) * page_bytes);
        const auto was = [&](std::size_t i) { return is_new ? lent_[part[i].frame] : before_.data() + i * page_bytes; };
        volatile std::size_t i = begin;  // a look may end at any page
        while (i < end) {
          const bool is_done = try_look(faults_.how_told(), [&] {
            while (i < end) {
              if (std::memcmp(at(part[i].page), was(i), page_bytes) != 0) return;
              i = i + 1;
            }
          });
          if (i == end) break;
          if (is_done)
            written(part[i], was(i));
          else if (!is_gone(part[i]))
            continue;  // the look was only slow
          i = i + 1;
        }
      });
    });
    for_each_part(which, false, which.size(),
                  [&](pages part) { faults_.wake(at(part[0].page), part.size() * page_bytes); });
    return all == which.size() ? outcome::all : outcome::some;
  }
  void unmap(pages which) noexcept override {
    for_each_run_of(which, state::mapped, [&](pages run) {
      for_each_part(run, true, run.size(), [&](pages part) {
        const auto move = [&](std::size_t first, std::size_t count) {
          return faults_.move(slot(part[first]), at(part[first].page), count * page_bytes);
        };
        (void)for_each_done(part, move, state::has_memory, [](std::size_t, std::size_t) {});
      });
    });
  }
  void hold(pages which) noexcept override {
    unmap(which);
    for (const held& each : which)
      if (states_[each.frame] == state::mapped) faults_.protect(at(each.page), page_bytes);
  }
  void allow_writes(std::uint64_t first_page, std::uint64_t end) noexcept override {
    faults_.allow_writes(at(first_page), (end - first_page) * page_bytes);
  }
  [[nodiscard]] const std::byte* view(const held& which, std::byte* copy) const override {
    if (states_[which.frame] == state::lent) return lent_[which.frame];
    if (states_[which.frame] != state::mapped) return slot(which);
    return look_at(which, [&] { std::memcpy(copy, at(which.page), page_bytes); }) ? copy : nullptr;
  }
  [[nodiscard]] bool is_gone(const held& which) const noexcept override {
    std::uint64_t entry = here_or_swapped;
    const auto place = reinterpret_cast<std::uintptr_t>(at(which.page)) / page_bytes * sizeof entry;
    (void)::pread(page_map_.number(), &entry, sizeof entry, static_cast<off_t>(place));
    return (entry & here_or_swapped) == 0;
  }

 private:
  // filled: has memory, and lent_ points to the same bytes.
  enum class state : std::uint8_t { without_memory, lent, filled, has_memory, mapped };
  static constexpr std::size_t most_at_once = 32;  // so that the bytes to compare are still in the cache
  static constexpr std::size_t least_run = 8;
  static constexpr int dont_need_locked = 24;  // MADV_DONTNEED_LOCKED, newer than the headers of Debian 12

  static constexpr std::uint64_t here_or_swapped = std::uint64_t{3} << 62;  // the kernel's Documentation, pagemap

  // Calls look(), which touches a mapped page, and repeats it if it was only slow. Returns false if the program has
  // given the page back; that takes a few milliseconds, so call it only for pages unlikely to be gone.
  template <class Look>
  [[nodiscard]] bool look_at(const held& which, const Look& look) const {
    while (!try_look(faults_.how_told(), look))
      if (is_gone(which)) return false;
    return true;
  }
  // Calls what(run) for each run of neighbors in the list that are in this state.
  template <class What>
  void for_each_run_of(pages which, state in, const What& what) {
    for (std::size_t begin = 0; begin < which.size();) {
      std::size_t end = begin;
      while (end < which.size() && states_[which[end].frame] == in) ++end;
      if (begin < end) what(which.subspan(begin, end - begin));
      begin = std::max(end, begin + 1);
    }
  }
  // Applies act(first, count) to the pages of a part; it returns the number of bytes done, from the first on. These
  // pages then get the state `into`, and then(begin, end) is called for each group done at once. Tries all at once; if
  // the kernel stops, goes on one by one, and some pages may stay. Returns the number of pages done.
  template <class Act, class Then>
  std::size_t for_each_done(pages part, const Act& act, state into, const Then& then) {
    std::size_t all = 0;
    std::size_t most = part.size();
    for (std::size_t begin = 0; begin < part.size();) {
      const std::size_t wanted = std::min(most, part.size() - begin);
      const std::size_t done = act(begin, wanted) / page_bytes;
      for (const held& each : part.subspan(begin, done)) states_[each.frame] = into;
      if (done > 0) then(begin, begin + done);
      all += done;
      begin += done;
      if (done == wanted) continue;
      if (wanted == 1) ++begin;
      most = 1;
    }
    return all;
  }
  [[nodiscard]] std::byte* at(std::uint64_t page) const noexcept { return program_.begin() + page * page_bytes; }
  [[nodiscard]] std::byte* slot(const held& which) const noexcept {
    return own_.begin() + std::uint64_t{which.frame} * page_bytes;
  }

  user_faults& faults_;
  os::descriptor page_map_;  // /proc/self/pagemap
  file_mapping own_;
  file_mapping program_;
  std::vector<state> states_;
  std::vector<const std::byte*> lent_;  // by frame: the bytes of those that are lent or filled
  std::vector<held> filled_;            // the pages of the last fill()
  std::vector<std::byte> before_;
};

}  // namespace

situ::detail::page_file memory_file(const char* name, std::uint64_t bytes) {
  situ::detail::page_file made = situ::detail::page_file::create(memory_kind{}, name);
  made.resize(bytes);
  return made;
}

namespace {

os::backing shown(int file) noexcept {
  return (file < 0 ? os::backing::zeros() : os::backing::shared(file)).uncommitted();
}

[[noreturn]] void refuse_addresses(std::size_t bytes) {
  throw_error(errc::out_of_memory,
              fmt::format("no room for {} bytes of addresses: {}", bytes, situ::detail::why_not_mapped(errno)));
}

// A child has no pager to fetch pages, and a dump would wait for them.
void keep_apart(const os::mapping& range) noexcept {
  ::madvise(range.begin(), range.bytes(), MADV_DONTFORK);
  ::madvise(range.begin(), range.bytes(), MADV_DONTDUMP);
  ::madvise(range.begin(), range.bytes(), MADV_NOHUGEPAGE);
}

}  // namespace

file_mapping::file_mapping(int file, std::size_t bytes, int protection)
    : range_{os::mapping::anywhere(bytes, protection, shown(file))} {
  if (!range_) refuse_addresses(bytes);
  keep_apart(range_);
}
void file_mapping::replace(int file, int protection) {
  if (!os::map_over(range_.begin(), range_.bytes(), protection, shown(file))) refuse_addresses(range_.bytes());
  keep_apart(range_);
}

std::unique_ptr<page_store> make_page_store(user_faults& faults, std::uint64_t pages, std::uint32_t frames,
                                            bool may_write) {
  if (may_write && faults.can_move())
    if (os::descriptor page_map{::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)}; page_map)
      return std::make_unique<moved_pages>(faults, pages, frames, std::move(page_map));
  return std::make_unique<pages_of_file>(faults, pages, frames, may_write);
}

}  // namespace situ::rmem::detail
