// The addresses of the rows for computing: the cells that each opens, and through which of a cell's two word lines.
//
// Ambit (Seshadri et al., MICRO 2017, section 5.1): the addresses B0 to B15 are own_row's first sixteen, in this order.
#pragma once

#include <array>
#include <cstdint>

#include "pim/bound_program.h"
#include "pim/micro_program.h"

namespace situ::pim {

inline constexpr unsigned named_own_rows = static_cast<unsigned>(own_row::one) + 1;
inline constexpr unsigned named_own_cells = static_cast<unsigned>(own_cell::dcc1) + 1;

// The cells that an address opens. A constant opens none that a program can change: cells is 0.
struct opened_cells {
  std::uint8_t cells = 0;
  std::array<own_cell, 3> cell{};
  // True if the first cell is opened through its n-address, which reads and writes it inverted. Among the addresses of
  // several rows, only pairs have such a cell, and it is the first.
  bool first_inverted = false;

  [[nodiscard]] constexpr bool inverted(unsigned i) const noexcept { return i == 0 && first_inverted; }
};

inline constexpr std::array<opened_cells, named_own_rows> own_row_cells = {{
    {1, {own_cell::t0}},
    {1, {own_cell::t1}},
    {1, {own_cell::t2}},
    {1, {own_cell::t3}},
    {1, {own_cell::dcc0}},
    {1, {own_cell::dcc0}, true},
    {1, {own_cell::dcc1}},
    {1, {own_cell::dcc1}, true},
    {2, {own_cell::dcc0, own_cell::t0}, true},
    {2, {own_cell::dcc1, own_cell::t1}, true},
    {2, {own_cell::t2, own_cell::t3}},
    {2, {own_cell::t0, own_cell::t3}},
    {3, {own_cell::t0, own_cell::t1, own_cell::t2}},
    {3, {own_cell::t1, own_cell::t2, own_cell::t3}},
    {3, {own_cell::dcc0, own_cell::t1, own_cell::t2}},
    {3, {own_cell::dcc1, own_cell::t0, own_cell::t3}},
    {0, {}},
    {0, {}},
}};

constexpr bool is_constant(own_row row) noexcept { return row == own_row::zero || row == own_row::one; }

}  // namespace situ::pim
