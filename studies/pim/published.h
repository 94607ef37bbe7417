// What others have published of memories that compute: facts, to stand beside what Situ counts.
#pragma once

#include <situ/pim/operation.h>

#include <array>
#include <cstdint>

namespace situ::studies::pim {

// Commands of PIMeval's BitSIMD-V, from the table that it prices operations by (commit 40ce162,
// July 2025): rows read, rows written, operations on latches. Of 8 and of 32 bits, signed.
struct pimeval_row {
  situ::pim::operation what;
  std::array<std::uint32_t, 3> int8, int32;
};
inline constexpr pimeval_row pimeval_table[] = {
    {situ::pim::operation::invert, {8, 8, 8}, {32, 32, 32}},
    {situ::pim::operation::logic_and, {16, 8, 16}, {64, 32, 64}},
    {situ::pim::operation::logic_or, {16, 8, 16}, {64, 32, 64}},
    {situ::pim::operation::logic_xor, {16, 8, 16}, {64, 32, 64}},
    {situ::pim::operation::logic_xnor, {16, 8, 24}, {64, 32, 96}},
    {situ::pim::operation::add, {16, 8, 25}, {64, 32, 97}},
    {situ::pim::operation::subtract, {16, 8, 25}, {64, 32, 97}},
    {situ::pim::operation::multiply, {72, 36, 136}, {1056, 528, 2080}},
    {situ::pim::operation::less, {16, 1, 25}, {64, 1, 97}},
    {situ::pim::operation::greater, {16, 1, 25}, {64, 1, 97}},
    {situ::pim::operation::equal, {16, 1, 26}, {64, 1, 98}},
    {situ::pim::operation::not_equal, {16, 1, 26}, {64, 1, 98}},
    {situ::pim::operation::minimum, {32, 8, 41}, {128, 32, 161}},
    {situ::pim::operation::maximum, {32, 8, 41}, {128, 32, 161}},
    {situ::pim::operation::absolute, {9, 8, 34}, {33, 32, 130}},
};

// Commands (AAP and AP) of SIMDRAM's programs for n bits, a n^2 + b n + c, in the source of MIMDRAM. Those of
// selection, minimum, maximum and absolute value give wrong numbers under Ambit's rules, so they are not here.
struct simdram_row {
  situ::pim::operation what;
  std::int32_t squares, linear, constant;
};
inline constexpr simdram_row simdram_table[] = {
    {situ::pim::operation::add, 0, 8, 1},         {situ::pim::operation::subtract, 0, 8, 1},
    {situ::pim::operation::multiply, 11, -5, -1},  // of 2 n bits
    {situ::pim::operation::greater, 0, 3, 2},     {situ::pim::operation::greater_equal, 0, 3, 2},
    {situ::pim::operation::equal, 0, 4, 3},
};

// Energy of bulk logic in nJ for 1 KiB (Ambit, MICRO 2017, table 3; from memory of it).
struct ambit_row {
  situ::pim::operation what;
  double nj;
};
inline constexpr ambit_row ambit_energies[] = {{situ::pim::operation::invert, 1.6},
                                               {situ::pim::operation::logic_and, 3.2},
                                               {situ::pim::operation::logic_nand, 4.0},
                                               {situ::pim::operation::logic_xor, 5.5}};

}  // namespace situ::studies::pim
