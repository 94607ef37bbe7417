#include "pim/device.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <utility>

namespace situ::pim::detail {
namespace {

const machine::pim_figures& checked(const std::string& name, const machine::pim_figures& figures) {
  if (figures.design == machine::pim_design::none)
    throw_error(errc::bad_argument, fmt::format("pim: {} has no design; it is a memory that does not compute", name));
  check(shape_of(figures));
  return figures;
}

}  // namespace

geometry shape_of(const machine::pim_figures& figures) noexcept {
  return {.rows = figures.rows, .columns = figures.columns, .subarrays = figures.subarrays, .banks = figures.banks};
}

device::device(std::string called, const machine::pim_figures& figures, const memory_kind& pages, std::uint64_t bus)
    : name{std::move(called)},
      figures{checked(name, figures)},
      bus_bytes_per_second{bus},
      room{shape_of(figures)},
      cells{shape_of(figures), pages, name} {}

price price_of(const machine::pim_figures& by, const command_counts& counts, std::uint32_t subarrays) noexcept {
  if (subarrays == 0) return {};
  const auto n = [](std::uint64_t count) { return static_cast<double>(count); };
  const double count_ns = by.row_count_ns > 0 ? by.row_count_ns : by.row_read_ns;
  const double all_ns = n(counts.row_reads) * by.row_read_ns + n(counts.row_writes) * by.row_write_ns +
                        n(counts.logic) * by.logic_ns + n(counts.shifts) * by.shift_ns +
                        n(counts.counted_rows) * count_ns + n(counts.ap) * by.ap_ns + n(counts.aap) * by.aap_ns;
  const double all_nj = n(counts.row_reads + counts.counted_rows) * by.row_read_nj +
                        n(counts.row_writes) * by.row_write_nj + n(counts.logic) * by.logic_nj +
                        n(counts.shifts) * by.shift_nj + n(counts.ap) * by.ap_nj + n(counts.aap) * by.aap_nj +
                        n(counts.extra_rows) * by.extra_row_nj;
  const std::uint32_t at_once = by.concurrent == 0 ? subarrays : by.concurrent;
  const std::uint32_t turns = (subarrays + at_once - 1) / at_once;
  constexpr double columns_of_figures = 8192;  // energies are those of a row of 1 KiB
  return {.ns = all_ns / subarrays * turns, .nj = all_nj * by.columns / columns_of_figures};
}

}  // namespace situ::pim::detail
