// One memory that computes: its figures, its cells, and the room in them.
#pragma once

#include <situ/machine/pim.h>
#include <situ/pim/bmem.h>
#include <situ/pim/counts.h>
#include <situ/pim/detail/vector_core.h>
#include <situ/pim/memory.h>
#include <situ/pim/operation.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pim/cell_storage.h"
#include "pim/devices.h"
#include "pim/execute.h"
#include "pim/micro_program.h"

namespace situ::pim {

namespace detail {

// Returns the shape of the figures.
[[nodiscard]] geometry shape_of(const machine::pim_figures& figures) noexcept;

class device {
 public:
  // cells: the kind of pages for the cells. bus_bytes_per_second: to the host; 0: unknown. Throws bad_argument, naming
  // the device, for figures without a design or a shape.
  device(std::string name, const machine::pim_figures& figures, const memory_kind& cells,
         std::uint64_t bus_bytes_per_second);

  std::string name;
  machine::pim_figures figures;
  std::uint64_t bus_bytes_per_second;
  bmem room;
  cell_storage cells;
  std::uint32_t next_bank = 0;
};

// The times that each subarray of a device carries out a program in one operation: once for each piece of the result
// there, or, if elements lie in rows, once for each of its rows.
using subarray_loads = std::vector<std::uint32_t>;

// The price of an operation by a device's figures. counts: of all subarrays together; each load is the same commands.
//
// Subarrays take turns: as many work at once as the figures say, of a bank the same share, and a subarray does one
// thing at a time. cost: a pass over the loads.
struct price {
  double ns = 0;
  double nj = 0;
};
[[nodiscard]] price price_of(const machine::pim_figures& figures, const command_counts& counts,
                             const subarray_loads& loads) noexcept;

}  // namespace detail

// The parts of a memory that only this module uses.
class memory_access {
 public:
  [[nodiscard]] static executor& executor_of(memory& which) noexcept;
  // Returns a program, which the memory keeps. Throws as make_program() and make_conversion().
  [[nodiscard]] static std::shared_ptr<const micro_program> program_of(memory& which, machine::pim_design design,
                                                                       const operation_spec& what);
  [[nodiscard]] static std::shared_ptr<const micro_program> conversion_of(memory& which, machine::pim_design design,
                                                                          const detail::element_type& from,
                                                                          unsigned to_bits);

  // Returns the bank in which the next piece of a vector should lie: each in turn.
  [[nodiscard]] static std::uint32_t next_bank(memory& which, std::size_t device) noexcept;

  // Count and price a program that has run, rows copied to a block because operands lay elsewhere, and bytes that host
  // and device have exchanged, transposed or not.
  static void count_program(memory& which, const detail::device& in, const command_counts& counts,
                            const detail::subarray_loads& loads) noexcept;
  static void count_copy(memory& which, const detail::device& in, const block& to) noexcept;
  static void count_transfer(memory& which, const detail::device& with, std::uint64_t bytes,
                             bool is_transposed) noexcept;
  // Returns what each device holds, for words about one vector.
  [[nodiscard]] static std::vector<detail::device_rows> rows_of(memory& which);
};

}  // namespace situ::pim
