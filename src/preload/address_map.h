// The private anonymous memory of this process, range by range, as the kernel lists it: heap, stacks, arenas,
// mappings, also merely reserved ones.
#pragma once

#include "preload/policy.h"
#include "preload/proc_files.h"

#include <cstdint>

namespace situ::preload {

struct range {
  std::uint64_t begin;
  std::uint64_t end;
};

// Parses "7ffff7d8a000-7ffff7d8d000 rw-p 00000000 00:00 0   [heap]". Returns false for files, shared memory, and the
// kernel's own mappings.
[[nodiscard]] inline bool parse_range(text_view line, range& found) noexcept {
  found.begin = line.take_number(16);
  if (line.empty() || *line.begin != '-') return false;
  ++line.begin;
  found.end = line.take_number(16);
  const text_view access = line.take_word();
  if (access.size() < 4 || access.begin[3] != 'p') return false;
  line.take_word();  // offset
  line.take_word();  // device
  const text_view file = line.take_word();
  if (file.size() != 1 || *file.begin != '0') return false;
  while (!line.empty() && *line.begin == ' ') ++line.begin;
  return found.begin < found.end &&
         (line.empty() || line.starts_with("[heap]") || line.starts_with("[stack") || line.starts_with("[anon"));
}

template <class Visit>
void for_each_range(const proc_file& maps, Visit visit) noexcept {
  maps.for_each_line([&](text_view line) {
    range found{};
    return !parse_range(line, found) || visit(found);
  });
}

// Calls add(node, bytes) for the private anonymous memory that this process has on each node. cost: the kernel looks
// at each page.
template <class Add>
void count_by_node(const proc_file& numa_maps, Add add) noexcept {
  numa_maps.for_each_line([&](text_view line) {
    if (line.behind(" anon=").empty() || !line.behind(" file=").empty()) return true;
    const std::uint64_t kilobytes = line.behind("kernelpagesize_kB=").take_number();
    for (text_view word = line.take_word(); !word.empty(); word = line.take_word()) {
      if (word.size() < 4 || *word.begin != 'N' || word.begin[1] < '0' || word.begin[1] > '9') continue;
      ++word.begin;
      const std::uint64_t node = word.take_number();
      if (word.empty() || node >= node_limit) continue;
      ++word.begin;  // =
      add(static_cast<std::uint32_t>(node), word.take_number() * kilobytes << 10);
    }
    return true;
  });
}

// Moves up to `bytes` bytes of this process from one node to another, in ranges for which is_ours() is true. Returns
// the number of bytes moved.
template <class IsOurs>
std::uint64_t move_pages_between(const proc_file& maps, std::uint32_t from, std::uint32_t to, std::uint64_t bytes,
                                 IsOurs is_ours) noexcept;

inline constexpr std::uint32_t most_moved_at_once = 512;

// Moves at most `most` pages of the range [begin, end) that are on `from`, of its first most_moved_at_once pages.
// Returns the number of bytes moved.
[[nodiscard]] inline std::uint64_t move_some(std::uint64_t begin, std::uint64_t end, std::uint32_t from,
                                             std::uint32_t to, std::uint64_t most) noexcept {
  void* pages[most_moved_at_once];
  int status[most_moved_at_once];
  std::uint32_t count = 0;
  for (std::uint64_t at = begin; at < end && count < most_moved_at_once; at += 4096)
    pages[count++] = reinterpret_cast<void*>(at);
  if (system_call(SYS_move_pages, 0, count, address_of(pages), 0, address_of(status), 0) != 0) return 0;
  void* chosen[most_moved_at_once];
  int nodes[most_moved_at_once];
  int moved_status[most_moved_at_once];
  std::uint32_t moved = 0;
  for (std::uint32_t i = count; i-- != 0 && moved < most;) {  // the last pages are likely to be the youngest
    if (status[i] != static_cast<int>(from)) continue;
    nodes[moved] = static_cast<int>(to);
    chosen[moved++] = pages[i];
  }
  if (moved == 0) return 0;
  system_call(SYS_move_pages, 0, moved, address_of(chosen), address_of(nodes), address_of(moved_status), MPOL_MF_MOVE);
  // The kernel moves a huge page as a whole, and the status of its other pages is then an error: so ask for all pages
  // again.
  if (system_call(SYS_move_pages, 0, count, address_of(pages), 0, address_of(moved_status), 0) != 0) return 0;
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < count; ++i)
    if (status[i] == static_cast<int>(from) && moved_status[i] == static_cast<int>(to)) bytes += 4096;
  return bytes;
}

template <class IsOurs>
std::uint64_t move_pages_between(const proc_file& maps, std::uint32_t from, std::uint32_t to, std::uint64_t bytes,
                                 IsOurs is_ours) noexcept {
  constexpr std::uint64_t piece = std::uint64_t{most_moved_at_once} * 4096;
  constexpr std::uint64_t stretch = std::uint64_t{64} << 20;
  static unsigned char present[stretch / 4096];  // for the one thread that moves
  std::uint64_t moved = 0;
  for_each_range(maps, [&](const range& each) {
    if (!is_ours(each)) return true;
    for (std::uint64_t end = each.end; end > each.begin && moved < bytes;) {
      const std::uint64_t begin = end - each.begin > stretch ? end - stretch : each.begin;
      if (system_call(SYS_mincore, static_cast<long>(begin), static_cast<long>(end - begin), address_of(present)) != 0)
        return true;  // the range is gone
      for (std::uint64_t last = end; last > begin && moved < bytes;) {
        if ((present[(last - begin) / 4096 - 1] & 1) == 0) {
          last -= 4096;
          continue;
        }
        const std::uint64_t first = last - begin > piece ? last - piece : begin;
        moved += move_some(first, last, from, to, (bytes - moved + 4095) / 4096);
        last = first;
      }
      end = begin;
    }
    return moved < bytes;
  });
  return moved;
}

}  // namespace situ::preload
