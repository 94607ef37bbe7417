// The figures of a memory that computes: a DRAM whose subarrays carry out operations on whole rows (memory_technology::
// pim). A machine file gives them (machines/pim-*.toml); situ::pim carries the operations out and prices them.
// Thread-safe: values. cost: some nanoseconds.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstdint>
#include <string_view>

namespace situ::machine {

// The operations that a subarray has beside reading and writing a row.
enum class pim_design : std::uint8_t {
  none,
  imi,      // logic at the sense amplifiers, on rows and on shifted rows, under mask (Micron In-Memory Intelligence)
  bitsimd,  // a row of one-bit processors with latches beside the sense amplifiers (PIMeval's BitSIMD-V)
  ambit,    // activations of two and three rows at once, rows with inverted cells (Ambit, MICRO 2017)
  simdram,  // those of Ambit, run as programs of majorities (SIMDRAM, ASPLOS 2021)
};

// Returns a design in the spelling of machine files.
[[nodiscard]] std::string_view name(pim_design design) noexcept;

// The shape, times and energies of a memory that computes. Zero means unknown for every figure but `banks`, where it
// says that the memory does not compute. Energies are for one row of 1 KiB (8192 columns).
struct pim_figures {
  pim_design design = pim_design::none;
  std::uint32_t banks = 0;
  std::uint32_t subarrays = 0;   // of a bank
  std::uint32_t rows = 0;        // of a subarray
  std::uint32_t columns = 0;     // of a row, in bits
  std::uint32_t concurrent = 0;  // subarrays that work at once, of the whole memory; 0: all
  double row_read_ns = 0;        // of a row to the sense amplifiers
  double row_write_ns = 0;       // from the sense amplifiers to a row
  double logic_ns = 0;           // one operation on latches
  double shift_ns = 0;           // one shift of a row by a column
  double ap_ns = 0;              // an activation with its precharge
  double aap_ns = 0;             // two activations, then a precharge: the second row gets what the first one opened
  double row_count_ns = 0;       // to count the ones of a row in the periphery; 0: row_read_ns
  double row_read_nj = 0;
  double row_write_nj = 0;
  double logic_nj = 0;
  double shift_nj = 0;
  double ap_nj = 0;         // of one that opens one row
  double aap_nj = 0;        // of one that opens one row, twice
  double extra_row_nj = 0;  // each further row that a command opens at once

  // Returns the bytes of all cells. pre: check() has accepted the figures.
  [[nodiscard]] constexpr std::uint64_t bytes() const noexcept {
    return std::uint64_t{banks} * subarrays * rows * (columns / 8);
  }
  friend bool operator==(const pim_figures&, const pim_figures&) = default;
};

// Throws bad_argument, which names the figure, for figures that no memory can have: no design, numbers of banks,
// subarrays, rows or columns beyond the limits of situ::pim (geometry.h), more subarrays that work at once than there
// are, times and energies below zero, and those of commands that the design does not have.
void check(const pim_figures& figures);

}  // namespace situ::machine
