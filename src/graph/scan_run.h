// The inner loop of discovery for what most graphs consist of: objects of one type side by side in the copy, whose only
// pointers are a few to objects of one type without a header. Everything else is walked by plan.cpp, with the same
// outcome.
//
// The loop is made for each number of pointers and of units that a target has, so that a pointer costs a dozen
// instructions when its target is known and two dozen when it is new. An object that has only just been copied is
// scanned in the source: its words are in flight to the copy, and waiting for them would make each step of a list
// longer by a store's way through the buffer.
#pragma once

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

// What is scanned, in units of the copy. Objects that are found are appended at `next`.
struct scanned_run {
  static constexpr unsigned most_pointers = 4;
  static constexpr std::uint32_t most_target_units = 31;

  std::byte* memory = nullptr;     // of the copy, whole
  std::uint64_t pointer_base = 0;  // what pointers to the copy's start shall be: its address, or 0
  std::uint64_t scan = 0;          // the next object to scan
  std::uint64_t stop = 0;          // scanning ends here, or where nothing is left: then scan == next
  std::uint64_t next = 0;
  std::uint64_t room = 0;    // or where the targets of one more object might not end below
  std::uint32_t stride = 0;  // units from object to object
  std::uint32_t target_units = 0;
  std::uint32_t pointers = 0;                          // 1 to most_pointers
  std::array<std::uint32_t, most_pointers> offsets{};  // bytes
};

// Units 0: as many as the run says.
template <unsigned Pointers, std::uint32_t Units, bool Checked>
void scan_run(scanned_run& run, side_table& map) {
  const side_table::region_table* const table = map.table();
  const std::uint32_t base = map.base();
  const std::uint64_t bytes = 8 * std::uint64_t{Units != 0 ? Units : run.target_units};
  const std::uint64_t stride = 8 * std::uint64_t{run.stride};
  const std::uint64_t bias = run.pointer_base - 8 * std::uint64_t{base};  // what turns entries into pointers
  const std::byte* const stop = run.memory + run.stop * 8;
  std::array<std::uint64_t, Pointers> offsets;
  for (unsigned i = 0; i < Pointers; ++i) offsets[i] = run.offsets[i];
  std::byte* object = run.memory + run.scan * 8;
  std::byte* to = run.memory + run.next * 8;
  const std::byte* const last_room = run.memory + run.room * 8 - Pointers * bytes;
  std::uint32_t fresh = base + static_cast<std::uint32_t>(run.next);
  [[maybe_unused]] access_window window{bytes};
  // Pointers before this one.
  [[maybe_unused]] const auto met_before = [&](const std::byte* at, unsigned pointer) {
    return static_cast<std::uint64_t>(at - (run.memory + run.scan * 8)) / stride * Pointers + pointer;
  };
  const std::byte* last_source = to - bytes;  // of the object that was copied last
  while (object != stop && object != to && to <= last_room) {
    // So many have room whatever they point to.
    const auto room = static_cast<std::uint64_t>(last_room - to) / (Pointers * bytes) + 1;
    const std::byte* const end =
        room < static_cast<std::uint64_t>(stop - object) / stride ? object + room * stride : stop;
    do {
      const std::byte* const source = object + bytes == to ? last_source : object;
      for (unsigned i = 0; i < Pointers; ++i) {
        const std::uint64_t target = load_unit(source + offsets[i]);
        side_table::region_table chunk = table[target >> side_table::region_shift];
        if (chunk == 0) [[unlikely]] {
          if (target == 0) {  // as is the copy's
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
        entry = fresh;
        store_unit(object + offsets[i], bias + std::uint64_t{fresh} * 8);
        last_source = reinterpret_cast<const std::byte*>(target);
        std::memcpy(to, last_source, bytes);
        to += bytes;
        fresh += static_cast<std::uint32_t>(bytes / 8);
      }
      object += stride;
    } while (object != end && object != to);
  }
  if constexpr (Checked) window.finish(met_before(object, 0));
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
// The loop for so many pointers to targets of so many units.
template <bool Checked>
[[nodiscard]] scan_run_function find_scan_run(unsigned pointers, std::uint32_t units) noexcept {
  switch (pointers) {
    case 1: return find_scan_run_for<Checked, 1>(units);
    case 2: return find_scan_run_for<Checked, 2>(units);
    case 3: return find_scan_run_for<Checked, 3>(units);
    default: return find_scan_run_for<Checked, 4>(units);
  }
}

// Fetches what scanning the objects of [scan, stop) will touch: their targets, and these' entries.
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
