#include "model/parts/coherence_shadow.h"

#include <situ/base/error_code.h>

#include "os/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

namespace situ::model {

// Bit b of a mask stands for byte b of a line.
//
// A tile's bytes of a line are in place while the tile owns the line, and otherwise in the tile's view. A mark next to
// the line records the bytes that the owner has written since it got the line, or last wrote it back, so that a write
// to an owned line needs no lookup.
struct coherence_shadow::impl {
  static constexpr std::uint32_t memory = none;  // stands for an atomic or a device as the writer

  struct mark {
    std::uint64_t written = 0;
    std::uint64_t stale = 0;    // written by others when the tile became the owner, and not read by it since
    std::uint64_t touched = 0;  // written by the tile since its view's bytes were taken
    std::uintptr_t written_at = 0;
  };
  struct view {
    std::vector<std::byte> bytes;  // the line's bytes; while the tile owns the line, their last known state
    mark marked;                   // while the tile does not own the line
  };
  // The last writer of bytes of the memory's line, through a write-back or at the memory itself.
  struct last_write {
    std::uint32_t tile = memory;
    std::uintptr_t at = 0;
  };
  struct region {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    detail::pages owners;  // one byte per line: 0 for the memory, t + 1 for tile t
    detail::pages marks;   // one mark per line, of its owner
    detail::pages shadow;  // the memory's bytes of lines that a tile owns
  };
  // A line of a region.
  struct spot {
    std::uint64_t number;  // address / line_bytes
    std::byte* place;
    std::byte* shadow;
    std::uint8_t* owner;
    mark* marked;  // the owner's mark
  };

  std::uint32_t tiles = 0;
  std::uint32_t line_bytes = 0;
  std::function<void(const coherence_report&)> report;
  std::vector<region> regions;
  std::vector<std::unordered_map<std::uint64_t, view>> views;  // per tile, by line
  std::unordered_map<std::uint64_t, last_write> last_writes;   // by line
  std::uintptr_t cause = 0;
  std::uint64_t stale_reads = 0;
  std::uint64_t lost_writes = 0;

  [[nodiscard]] std::optional<spot> find(std::uint64_t address) {
    for (region& r : regions) {
      if (address - r.begin >= r.bytes) continue;
      const std::uint64_t line = (address - r.begin) / line_bytes;
      return spot{address / line_bytes, reinterpret_cast<std::byte*>(r.begin + line * line_bytes),
                  r.shadow.data() + line * line_bytes, reinterpret_cast<std::uint8_t*>(r.owners.data()) + line,
                  reinterpret_cast<mark*>(r.marks.data()) + line};
    }
    return std::nullopt;
  }

  [[nodiscard]] std::uint64_t mask_of(std::uint64_t address, std::uint64_t bytes) const {
    const std::uint64_t ones = bytes >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1;
    return ones << (address % line_bytes);
  }

  // Returns the bytes of a tile's line, in place or in the tile's view. pre: the tile has a view of the line.
  [[nodiscard]] std::byte* bytes_of(const spot& at, std::uint32_t tile) {
    return *at.owner == tile + 1 ? at.place : views[tile].at(at.number).bytes.data();
  }
  [[nodiscard]] mark& mark_of(const spot& at, std::uint32_t tile) {
    return *at.owner == tile + 1 ? *at.marked : views[tile].at(at.number).marked;
  }
  [[nodiscard]] std::byte* memory_bytes(const spot& at) const { return *at.owner == 0 ? at.place : at.shadow; }

  // Finds writes to the owner's bytes by code without hooks (the C library's, the host's), and attributes them to the
  // owner. Returns whether there were any since the view's bytes were taken.
  bool find_unseen(const spot& at) {
    if (*at.owner == 0) return false;
    const view& before = views[*at.owner - 1].at(at.number);
    const std::uint64_t unseen = differing(at.place, before.bytes.data(), mask_of(0, line_bytes) & ~at.marked->touched);
    if (unseen == 0) return false;
    if (at.marked->written == 0) at.marked->written_at = 0;
    at.marked->written |= unseen;
    at.marked->touched |= unseen;
    at.marked->stale &= ~unseen;
    return true;
  }
  // Copies the current bytes to the owner's view.
  void take_bytes(const spot& at) {
    views[*at.owner - 1].at(at.number).bytes.assign(at.place, at.place + line_bytes);
    at.marked->touched = 0;
  }

  // Makes the memory the owner of the line: its bytes are put in place, the owner's bytes go to the owner's view.
  void give_back(const spot& at) {
    if (*at.owner == 0) return;
    find_unseen(at);
    view& owners = views[*at.owner - 1].at(at.number);
    owners.bytes.assign(at.place, at.place + line_bytes);
    owners.marked = *at.marked;
    std::memcpy(at.place, at.shadow, line_bytes);
    *at.owner = 0;
  }

  // Makes a tile the owner of the line; on the tile's first access it takes the memory's bytes.
  void own(const spot& at, std::uint32_t tile) {
    give_back(at);
    std::memcpy(at.shadow, at.place, line_bytes);
    const auto [mine, is_new] = views[tile].try_emplace(at.number);
    if (!is_new) std::memcpy(at.place, mine->second.bytes.data(), line_bytes);
    *at.marked = mine->second.marked;
    *at.owner = static_cast<std::uint8_t>(tile + 1);
    take_bytes(at);
    at.marked->stale = 0;
    find_stale(at, tile, mask_of(0, line_bytes),
               [&](std::uint64_t bytes, std::uint32_t, std::uintptr_t) { at.marked->stale |= bytes; });
  }

  void tell(coherence_report::what kind, const spot& at, std::uint64_t mask, std::uint32_t tile, std::uintptr_t here,
            std::uint32_t other, std::uintptr_t there) {
    ++(kind == coherence_report::what::stale_read ? stale_reads : lost_writes);
    if (!report) return;
    const auto first = static_cast<std::uint32_t>(std::countr_zero(mask));
    const auto count = static_cast<std::uint32_t>(std::countr_one(mask >> first));
    report({.kind = kind,
            .address = at.number * line_bytes + first,
            .bytes = count,
            .tile = tile,
            .other_tile = other,
            .at = here,
            .other_at = there});
  }

  // Returns the bytes of a mask that differ.
  [[nodiscard]] std::uint64_t differing(const std::byte* a, const std::byte* b, std::uint64_t mask) const {
    if (mask == 0 || std::memcmp(a, b, line_bytes) == 0) return 0;
    std::uint64_t result = 0;
    for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1) {
      const int byte = std::countr_zero(rest);
      if (a[byte] != b[byte]) result |= std::uint64_t{1} << byte;
    }
    return result;
  }

  // Finds the bytes of a tile's line that others have written since, in their caches or in memory: calls found(bytes,
  // who, code) for each writer. Bytes that the tile wrote itself are skipped.
  template <class Found>
  void find_stale(const spot& at, std::uint32_t tile, std::uint64_t mask, Found&& found) {
    mask &= ~mark_of(at, tile).written;
    const std::byte* const seen = bytes_of(at, tile);
    for (std::uint32_t other = 0; other < tiles; ++other) {
      if (other == tile) continue;
      if (!views[other].contains(at.number)) continue;
      const mark& theirs = mark_of(at, other);
      const std::uint64_t stale = differing(seen, bytes_of(at, other), mask & theirs.written);
      if (stale == 0) continue;
      found(stale, other, theirs.written_at);
      mask &= ~stale;
    }
    const std::uint64_t stale = differing(seen, memory_bytes(at), mask);
    if (stale == 0) return;
    const last_write& last = last_writes[at.number];
    found(stale, last.tile, last.at);
  }

  // Checks an owner's read of bytes that were stale when the tile became the owner. The other tile's bytes may have
  // been lost since then, so this looks again.
  void check_read(const spot& at, std::uint32_t tile, std::uint64_t mask, std::uintptr_t here) {
    find_stale(at, tile, mask & at.marked->stale, [&](std::uint64_t stale, std::uint32_t who, std::uintptr_t there) {
      tell(coherence_report::what::stale_read, at, stale, tile, here, who, there);
    });
    at.marked->stale &= ~mask;
  }

  // Writes a tile's whole line to memory; bytes that others have written there since the tile got the line are lost.
  void write_back(const spot& at, std::uint32_t tile) {
    mark& mine = mark_of(at, tile);
    std::byte* const memory_has = memory_bytes(at);
    const std::byte* const tile_has = bytes_of(at, tile);
    const std::uint64_t lost = differing(tile_has, memory_has, mask_of(0, line_bytes) & ~mine.written);
    last_write& last = last_writes[at.number];
    if (lost != 0) tell(coherence_report::what::lost_write, at, lost, tile, cause, last.tile, last.at);
    std::memcpy(memory_has, tile_has, line_bytes);
    last = {.tile = tile, .at = mine.written_at};
    mine.written = 0;
    if (*at.owner == tile + 1) take_bytes(at);
  }

  void forget(const spot& at, std::uint32_t tile) {
    if (*at.owner == tile + 1) {
      std::memcpy(at.place, at.shadow, line_bytes);
      *at.owner = 0;
    }
    views[tile].erase(at.number);
  }

  // Removes the regions that overlap the range, with all views of them; their bytes may be unmapped.
  void forget_range(std::uint64_t begin, std::uint64_t end) {
    for (const region& r : regions) {
      if (r.begin >= end || begin >= r.begin + r.bytes) continue;
      const std::uint64_t first = r.begin / line_bytes;
      const auto is_there = [&](const auto& entry) { return entry.first - first < r.bytes / line_bytes; };
      for (auto& of_tile : views) std::erase_if(of_tile, is_there);
      std::erase_if(last_writes, is_there);
    }
    std::erase_if(regions, [&](const region& r) { return r.begin < end && begin < r.begin + r.bytes; });
  }
};

coherence_shadow::coherence_shadow(std::uint32_t tiles, std::uint32_t line_bytes,
                                   std::function<void(const coherence_report&)> report)
    : impl_{std::make_unique<impl>()} {
  if (tiles == 0 || tiles > 254) throw_error(errc::bad_argument, "a coherence shadow is for 1 to 254 tiles");
  if (!std::has_single_bit(line_bytes) || line_bytes > 64)
    throw_error(errc::bad_argument, "a coherence shadow's lines are a power of two of bytes, at most 64");
  impl_->tiles = tiles;
  impl_->line_bytes = line_bytes;
  impl_->report = std::move(report);
  impl_->views.resize(tiles);
}

coherence_shadow::~coherence_shadow() {
  for (const auto& views : impl_->views)  // puts the memory's bytes in place
    for (const auto& [line, view] : views)
      if (const auto at = impl_->find(line * impl_->line_bytes); at && *at->owner != 0)
        std::memcpy(at->place, at->shadow, impl_->line_bytes);
}

void coherence_shadow::add_region(void* begin, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uint64_t>(begin);
  if (bytes == 0 || at % impl_->line_bytes != 0 || bytes % impl_->line_bytes != 0)
    throw_error(errc::bad_argument, fmt::format("a region of a coherence shadow is a number of whole lines of {} bytes",
                                                impl_->line_bytes));
  impl_->forget_range(at, at + bytes);
  const std::size_t lines = bytes / impl_->line_bytes;
  impl::region added{.begin = at,
                     .bytes = bytes,
                     .owners = detail::pages{lines},
                     .marks = detail::pages{lines * sizeof(impl::mark)},
                     .shadow = detail::pages{bytes}};
  if (added.owners.empty() || added.marks.empty() || added.shadow.empty())
    throw_error(errc::out_of_memory, fmt::format("no address space for the shadow of {} bytes", bytes));
  impl_->regions.push_back(std::move(added));
}

void coherence_shadow::see(std::uint32_t tile, std::uint64_t address, std::uint32_t bytes, bool write,
                           std::uintptr_t at) {
  for (const std::uint64_t end = address + bytes; address < end;) {
    const std::uint64_t next = std::min(end, (address / impl_->line_bytes + 1) * impl_->line_bytes);
    if (const auto line = impl_->find(address)) {
      if (*line->owner != tile + 1) impl_->own(*line, tile);
      const std::uint64_t mask = impl_->mask_of(address, next - address);
      if (write) {
        line->marked->written |= mask;
        line->marked->touched |= mask;
        line->marked->stale &= ~mask;
        line->marked->written_at = at;
      } else if ((line->marked->stale & mask) != 0) {
        impl_->check_read(*line, tile, mask, at);
      }
    }
    address = next;
  }
}

void coherence_shadow::see_memory(std::uint64_t address, std::uint64_t bytes, bool write, std::uintptr_t at) {
  for (const std::uint64_t end = address + bytes; address < end;) {
    const std::uint64_t next = std::min(end, (address / impl_->line_bytes + 1) * impl_->line_bytes);
    if (const auto line = impl_->find(address)) {
      impl_->give_back(*line);
      if (write) impl_->last_writes[line->number] = {impl::memory, at};
    }
    address = next;
  }
}

void coherence_shadow::set_cause(std::uintptr_t at) noexcept { impl_->cause = at; }

void coherence_shadow::on_line(std::uint32_t tile, std::uint64_t line, std::uint32_t line_bytes, line_event what,
                               bool was_dirty) {
  const auto at = impl_->find(line * line_bytes);
  if (!at || !impl_->views[tile].contains(at->number)) return;
  if (*at->owner == tile + 1) was_dirty |= impl_->find_unseen(*at);
  const impl::mark mine = impl_->mark_of(*at, tile);
  was_dirty |= mine.written != 0;  // written by code without hooks before another tile's bytes were put in place
  if (what == line_event::invalidated) {
    if (was_dirty && mine.written != 0)
      if (const std::uint64_t lost =
              impl_->differing(impl_->bytes_of(*at, tile), impl_->memory_bytes(*at), mine.written);
          lost != 0)
        impl_->tell(coherence_report::what::lost_write, *at, lost, tile, impl_->cause, tile, mine.written_at);
  } else if (was_dirty) {
    impl_->write_back(*at, tile);
  }
  if (what != line_event::written_back) impl_->forget(*at, tile);
}

std::uint64_t coherence_shadow::stale_reads() const noexcept { return impl_->stale_reads; }
std::uint64_t coherence_shadow::lost_writes() const noexcept { return impl_->lost_writes; }

}  // namespace situ::model
