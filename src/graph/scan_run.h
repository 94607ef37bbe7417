// The inner loop of discovery for the most frequent case: adjacent objects of one type in the copy, whose only pointers
// are a few to objects of one type without a header. plan.cpp walks all other objects, with the same result.
//
// There is one loop for each number of pointers and of units that a target has, so that a pointer costs a dozen
// instructions if its target is known and two dozen if it is new. An object that was just copied is scanned in the
// source: its words are still in flight to the copy, and waiting for them would make each step of a list longer by a
// store's way through the buffer. A pointer back to the object before needs no look-up in the map.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "graph/copy_map.h"
#include "graph/read_window.h"

namespace situ::detail {

[[nodiscard]] inline std::uint64_t load_unit(const std::byte* from) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}
inline void store_unit(std::byte* at, std::uint64_t word) noexcept { std::memcpy(at, &word, sizeof word); }

// The state of a scan, in units of the copy. Objects that are found are appended at `next`.
struct scanned_run {
  static constexpr unsigned most_pointers = 4;
  static constexpr std::uint32_t most_target_units = 31;

  std::byte* memory = nullptr;     // the whole copy
  std::uint64_t pointer_base = 0;  // base of pointers to the copy's start: its address, or 0
  std::uint64_t scan = 0;          // the next object to scan
  std::uint64_t stop = 0;          // scanning ends here, or if no object is left: then scan == next
  std::uint64_t next = 0;
  std::uint64_t room = 0;    // scanning also ends if the targets of one more object might exceed this
  std::uint32_t stride = 0;  // units from object to object
  std::uint32_t target_units = 0;
  std::uint32_t pointers = 0;                          // 1 to most_pointers
  std::array<std::uint32_t, most_pointers> offsets{};  // bytes
  access_window window;                                // of the targets, if sources are checked
};

// The targets whose entries the loop computes without a look-up: those in one region of the map that may be read.
struct near_targets {
  std::uintptr_t begin = 0;
  std::uint64_t bytes = 0;     // a target is held if it is less than this after `begin`
  std::uintptr_t entries = 0;  // address of the entry of `begin`

  [[nodiscard]] bool hold(std::uintptr_t target) const noexcept { return target - begin < bytes; }
  // Returns the entry of a target. pre: the target is held, or is `begin`.
  [[nodiscard]] std::uint32_t& entry(std::uintptr_t target) const noexcept {
    return *reinterpret_cast<std::uint32_t*>(entries + (target - begin) / 2);
  }
};

// Returns the targets around `target` that are among the `readable` bytes from `begin` on. If `target` itself is not
// among them, the result begins at `target` and holds nothing.
[[nodiscard, gnu::noinline]] inline near_targets find_near(std::uintptr_t target, side_table& map, std::uintptr_t begin,
                                                           std::uint64_t readable) {
  constexpr std::uint64_t region_bytes = std::uint64_t{1} << side_table::region_shift;
  side_table::region_table chunk = map.table()[target >> side_table::region_shift];
  if (chunk == 0) chunk = map.add_chunk(target);
  if (target - begin >= readable) return {target, 0, chunk + target / 2};
  const std::uintptr_t region = target & ~(region_bytes - 1);
  const std::uintptr_t first = std::max(region, begin);
  return {first, std::min(region + region_bytes - first, readable - (first - begin)), chunk + first / 2};
}

// Scans by two loops. If only the last copied object is left to scan, as in a list, a chain goes from source to source;
// if more objects wait, they are read from the copy. Units 0: as many as the run says.
template <unsigned Pointers, std::uint32_t Units, bool Checked>
void scan_run(scanned_run& run, side_table& map) {
  const side_table::region_table* const table = map.table();
  const std::uint32_t base = map.base();
  const std::uint64_t bytes = 8 * std::uint64_t{Units != 0 ? Units : run.target_units};
  const std::uint64_t stride = 8 * std::uint64_t{run.stride};
  const std::uint64_t bias = run.pointer_base - 8 * std::uint64_t{base};  // turns entries into pointers
  // turns addresses into pointers
  const std::uint64_t shift = run.pointer_base - reinterpret_cast<std::uintptr_t>(run.memory);
  const std::byte* const stop = run.memory + run.stop * 8;
  std::array<std::uint64_t, Pointers> offsets;
  for (unsigned i = 0; i < Pointers; ++i) offsets[i] = run.offsets[i];
  std::byte* object = run.memory + run.scan * 8;
  std::byte* to = run.memory + run.next * 8;
  const std::byte* const last_room = run.memory + run.room * 8 - Pointers * bytes;
  std::uint32_t fresh = base + static_cast<std::uint32_t>(run.next);
  access_window& window = run.window;
  // Number of pointers before this one.
  [[maybe_unused]] const auto met_before = [&](const std::byte* at, unsigned pointer) {
    return static_cast<std::uint64_t>(at - (run.memory + run.scan * 8)) / stride * Pointers + pointer;
  };
  const auto pointer_to = [&](const std::byte* copy) { return reinterpret_cast<std::uintptr_t>(copy) + shift; };
  const auto append = [&](std::uint32_t& entry, std::uint64_t target) {
    entry = fresh;
    std::memcpy(to, reinterpret_cast<const std::byte*>(target), bytes);
    to += bytes;
    fresh += static_cast<std::uint32_t>(bytes / 8);
  };
  const std::uint64_t chained = stride == bytes ? bytes : 0;  // bytes before `to` if one object is left
  while (object != stop && object != to && to <= last_room) {
    // The other loop does the reads that must be checked on their own.
    if (object + chained == to && (!Checked || window.room() != 0)) {
      const std::byte* const end = std::min<const std::byte*>(last_room, stop);
      const std::byte* source = object;
      auto before = reinterpret_cast<std::uintptr_t>(to);  // source of the object before; no source is at this address
      near_targets near;
      do {
        const std::byte* found = nullptr;
        for (unsigned i = 0; i < Pointers; ++i) {
          const std::uint64_t target = load_unit(source + offsets[i]);
          if (Pointers > 1 && target == before) {
            store_unit(object + offsets[i], pointer_to(object - bytes));
            continue;
          }
          if (!near.hold(target)) [[unlikely]] {
            if (target == 0) {  // stays null in the copy
              if constexpr (Checked) window.skip();
              continue;
            }
            if constexpr (Checked) {
              if (!window.holds(target)) window.move(target, met_before(object, i));
              near = find_near(target, map, window.begin(), window.room());
            } else {
              near = find_near(target, map, 0, ~std::uint64_t{0});
            }
          }
          std::uint32_t& entry = near.entry(target);
          if (const std::uint64_t known = entry; known > base) {
            store_unit(object + offsets[i], bias + known * 8);
            continue;
          }
          store_unit(object + offsets[i], pointer_to(to));
          append(entry, target);
          found = reinterpret_cast<const std::byte*>(target);
        }
        before = reinterpret_cast<std::uintptr_t>(source);
        source = found;
        object += bytes;
      } while (object + bytes == to && to <= end);
      continue;
    }
    // This number of objects fits, whatever they point to.
    const auto room = (static_cast<std::uint64_t>(last_room - to) / (Pointers * bytes) + 1) * stride;
    const std::byte* const end = room < static_cast<std::uint64_t>(stop - object) ? object + room : stop;
    do {
      for (unsigned i = 0; i < Pointers; ++i) {
        const std::uint64_t target = load_unit(object + offsets[i]);
        side_table::region_table chunk = table[target >> side_table::region_shift];
        if (chunk == 0) [[unlikely]] {
          if (target == 0) {  // stays null in the copy
            if constexpr (Checked) window.skip();
            continue;
          }
          chunk = map.add_chunk(target);
        }
        if constexpr (Checked)
          if (!window.holds(target)) [[unlikely]]
            window.move(target, met_before(object, i));
        std::uint32_t& entry = *reinterpret_cast<std::uint32_t*>(chunk + target / 2);
        if (const std::uint64_t known = entry; known > base) {
          store_unit(object + offsets[i], bias + known * 8);
          continue;
        }
        store_unit(object + offsets[i], pointer_to(to));
        append(entry, target);
      }
      object += stride;
    } while (object != end && object + chained < to);
  }
  if constexpr (Checked) window.finish([&] { return met_before(object, 0); });
  run.scan = static_cast<std::uint64_t>(object - run.memory) / 8;
  run.next = static_cast<std::uint64_t>(to - run.memory) / 8;
}

using scan_run_function = void (*)(scanned_run&, side_table&);

template <bool Checked, unsigned Pointers>
[[nodiscard]] scan_run_function find_scan_run_for(std::uint32_t units) noexcept {
  switch (units) {
    case 1: return &scan_run<Pointers, 1, Checked>;
    case 2: return &scan_run<Pointers, 2, Checked>;
    case 3: return &scan_run<Pointers, 3, Checked>;
    case 4: return &scan_run<Pointers, 4, Checked>;
    case 5: return &scan_run<Pointers, 5, Checked>;
    case 6: return &scan_run<Pointers, 6, Checked>;
    default: return &scan_run<Pointers, 0, Checked>;
  }
}
// Returns the loop for this number of pointers to targets of this number of units.
template <bool Checked>
[[nodiscard]] scan_run_function find_scan_run(unsigned pointers, std::uint32_t units) noexcept {
  switch (pointers) {
    case 1: return find_scan_run_for<Checked, 1>(units);
    case 2: return find_scan_run_for<Checked, 2>(units);
    case 3: return find_scan_run_for<Checked, 3>(units);
    default: return find_scan_run_for<Checked, 4>(units);
  }
}

// Prefetches the memory that scanning the objects of [scan, stop) will touch: their targets, and the entries of these.
inline void prefetch_targets(const scanned_run& run, std::uint64_t scan, std::uint64_t stop,
                             const side_table& map) noexcept {
  for (; scan < stop; scan += run.stride) {
    for (unsigned i = 0; i < run.pointers; ++i) {
      const std::uint64_t target = load_unit(run.memory + scan * 8 + run.offsets[i]);
      __builtin_prefetch(reinterpret_cast<const void*>(target));
      __builtin_prefetch(reinterpret_cast<const void*>(map.table()[target >> side_table::region_shift] + target / 2),
                         1);
    }
  }
}

}  // namespace situ::detail
