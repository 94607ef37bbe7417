// Views: the same machine with less detail. Yan, Brightwell and Sun (MCHPC 2017, section 3.1 and figure 2) have a place
// tree parameterized by who looks: a programmer, a compiler, a runtime. Pure functions. cost: a new tree.
//
//   full          everything: caches for tiling and sharing, threads, devices, links    figure 2a
//   numa          memories, the cores near them, and what memories hang under            figure 2b
//   flat          cores in front of one memory of each kind, all equally near            figure 2c
//   accelerators  as flat, and accelerators with their memories, agents and links        figure 2d
//
//   machine::view(tree, {.packages = true, .memories = true, .lowest_cache = 3});        // or what one wants to see
//   machine::view(tree, machine::parse_view("packages,memories,l3"));
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/machine/tree.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace situ::machine {

// How much detail a view shows; the table above says what.
enum class view_kind : std::uint8_t { full, numa, flat, accelerators };

// What a view shows. Workers (cores, or processing units where there are none) are always there.
struct view_detail {
  static constexpr std::uint32_t no_caches = std::numeric_limits<std::uint32_t>::max();

  bool packages = false;  // packages and groups; without: those only that memories hang under, if these are shown
  // each memory where it hangs; without: one of each kind, of the sum of their sizes, before all workers
  bool memories = false;
  // caches of this level and those above: 3 shows L3, 1 all of processors, 0 those of memories (memory-side), too
  std::uint32_t lowest_cache = no_caches;
  bool threads = false;       // the processing units of a core
  bool accelerators = false;  // devices with an agent or a memory of their own, and both of them
  bool devices = false;       // other devices
  bool links = false;         // interconnects and explicit links between what is shown

  // What a named view shows.
  [[nodiscard]] static constexpr view_detail of(view_kind kind) noexcept {
    const bool full = kind == view_kind::full;
    view_detail made;
    made.packages = made.threads = made.devices = full;
    made.memories = full || kind == view_kind::numa;
    if (full) made.lowest_cache = 0;
    made.accelerators = made.links = full || kind == view_kind::accelerators;
    return made;
  }

  friend constexpr bool operator==(const view_detail&, const view_detail&) = default;
};

// "numa", or a list of what is to be seen: "packages", "memories", "caches" (all of them) or "l3" (processors' caches
// of that level and those above), "threads", "accelerators", "devices", "links"; "workers" shows nothing else. Throws
// bad_argument, with what is known.
[[nodiscard]] view_detail parse_view(std::string_view text);

// The machine in a view. A node that a view hides hands its children to its parent. Paths survive where each memory is
// shown; a record from a hidden node becomes one from each of the workers that stand in its place. A link survives
// where two of its ends do, or memories that they have become.
[[nodiscard]] tree view(const tree& machine, const view_detail& detail);
[[nodiscard]] inline tree view(const tree& machine, view_kind kind) { return view(machine, view_detail::of(kind)); }

}  // namespace situ::machine
