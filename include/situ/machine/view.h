// Views: the same machine with less detail (Yan, Brightwell and Sun, MCHPC 2017, figure 2). Pure functions.
// cost: a new tree.
//
//   full  everything: caches for tiling and sharing, threads, devices          (figure 2a)
//   numa  memories, the cores near them, and what memories hang under           (figure 2b)
//   flat  cores in front of one memory of each kind, all equally near           (figure 2c)
#pragma once

#include <situ/machine/tree.h>

namespace situ::machine {

// How much detail a view shows; the table above says what.
enum class view_kind : std::uint8_t { full, numa, flat };

// The machine in a view. A node that a view hides hands its children to its parent. Accesses survive in the numa view;
// a record from a hidden node becomes one from each of the cores that stand in its place.
[[nodiscard]] tree view(const tree& machine, view_kind kind);

}  // namespace situ::machine
