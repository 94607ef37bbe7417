// Views: the same machine with less detail. In Yan, Brightwell and Sun (MCHPC 2017, section 3.1 and figure 2) the place
// tree has a parameter for its user: a programmer, a compiler, a runtime. Pure functions. cost: a new tree.
//
//   full          everything: caches for tiling and sharing, threads, devices, links    figure 2a
//   numa          memories, the cores near them, and what memories hang under            figure 2b
//   flat          cores in front of one memory of each kind, all equally near            figure 2c
//   accelerators  as flat, and accelerators with their memories, agents and links        figure 2d
//
//   machine::view(tree, {.packages = true, .memories = true, .lowest_cache = 3});        // or the parts wanted
//   machine::view(tree, machine::parse_view("packages,memories,l3"));
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/machine/tree.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace situ::machine {

// The named views; the table above lists their contents.
enum class view_kind : std::uint8_t { full, numa, flat, accelerators };

// The parts of a machine that a view shows. It always shows workers (cores, or processing units if there are no cores).
struct view_detail {
  static constexpr std::uint32_t no_caches = std::numeric_limits<std::uint32_t>::max();

  bool packages = false;  // packages and groups; if false: only those that memories hang under, if memories are shown
  // each memory at its position; if false: one memory of each kind, with the sum of the sizes, before all workers
  bool memories = false;
  // caches of this level and above: 3 shows L3, 1 all caches of processors, 0 those of memories (memory-side), too
  std::uint32_t lowest_cache = no_caches;
  bool threads = false;       // the processing units of a core
  bool accelerators = false;  // devices with an agent or a memory of their own, and both of them
  bool devices = false;       // other devices
  bool links = false;         // interconnects and explicit links between nodes that are shown

  // Returns the detail of a named view.
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

// Parses the name of a view, "numa", or a list of the parts to show: "packages", "memories", "caches" (all of them) or
// "l3" (processors' caches of that level and above), "threads", "accelerators", "devices", "links"; "workers" shows
// nothing else. Throws bad_argument, with the known words.
[[nodiscard]] view_detail parse_view(std::string_view text);

// Returns the machine in a view. A hidden node's children become its parent's. A path is kept if its memory is shown; a
// path from a hidden node becomes one from each of the workers that replace it. A link is kept if two of its ends are
// shown, themselves or as the memories that replace them.
[[nodiscard]] tree view(const tree& machine, const view_detail& detail);
[[nodiscard]] inline tree view(const tree& machine, view_kind kind) { return view(machine, view_detail::of(kind)); }

}  // namespace situ::machine
