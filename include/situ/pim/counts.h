// The commands that a memory has carried out, by their kind, and their cost by a machine file's figures.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstdint>

namespace situ::pim {

// Numbers of commands, of one subarray unless somebody has added them up.
struct command_counts {
  std::uint64_t row_reads = 0;     // a row to the sense amplifiers
  std::uint64_t row_writes = 0;    // and back
  std::uint64_t logic = 0;         // on latches, with settings and moves
  std::uint64_t shifts = 0;        // of a latch by a column
  std::uint64_t counted_rows = 0;  // rows whose ones the periphery has counted
  std::uint64_t ap = 0;            // activations with a precharge
  std::uint64_t aap = 0;           // two activations with a precharge
  std::uint64_t extra_rows = 0;    // rows opened beside the first one by these

  friend bool operator==(const command_counts&, const command_counts&) = default;
  constexpr command_counts& operator+=(const command_counts& more) noexcept {
    row_reads += more.row_reads, row_writes += more.row_writes, logic += more.logic, shifts += more.shifts;
    counted_rows += more.counted_rows, ap += more.ap, aap += more.aap, extra_rows += more.extra_rows;
    return *this;
  }
};

// Modelled: counted commands by the figures of a machine file. Programs are priced apart from what brings data.
struct memory_cost {
  std::uint64_t programs = 0;          // carried out, each on some subarrays
  command_counts commands;             // of all subarrays
  double compute_ns = 0;               // programs: as many subarrays at a time as the figures say
  double compute_nj = 0;               // programs
  std::uint64_t copied_rows = 0;       // between subarrays, because operands did not lie side by side
  double copy_ns = 0;                  // of these: each row to the host's side and back, over the bus
  std::uint64_t host_bytes = 0;        // between host and memory, in either direction
  double host_ns = 0;                  // of these, at the bus's bandwidth
  std::uint64_t transposed_bytes = 0;  // that the host has brought from elements to bit rows or back, before the bus
};

}  // namespace situ::pim
