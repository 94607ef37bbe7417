#include "pim/device.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
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

namespace {

std::uint64_t quotient_up(std::uint64_t of, std::uint64_t by) noexcept { return (of + by - 1) / by; }

std::uint64_t turns_of(const machine::pim_figures& by, const subarray_loads& loads) noexcept {
  const std::uint64_t at_once = by.concurrent == 0 ? loads.size() : by.concurrent;
  const std::uint64_t of_a_bank = quotient_up(at_once, by.banks);
  std::uint64_t all = 0, turns = 0;
  for (std::size_t first = 0; first < loads.size(); first += by.subarrays) {
    std::uint64_t bank = 0;
    for (std::size_t s = first; s < first + by.subarrays; ++s) {
      bank += loads[s];
      turns = std::max<std::uint64_t>(turns, loads[s]);
    }
    turns = std::max(turns, quotient_up(bank, of_a_bank));
    all += bank;
  }
  return std::max(turns, quotient_up(all, at_once));
}

}  // namespace

price price_of(const machine::pim_figures& by, const command_counts& counts, const subarray_loads& loads) noexcept {
  std::uint64_t times = 0;
  for (const std::uint32_t each : loads) times += each;
  if (times == 0) return {};
  const auto n = [](std::uint64_t count) { return static_cast<double>(count); };
  const double count_ns = by.row_count_ns > 0 ? by.row_count_ns : by.row_read_ns;
  const double all_ns = n(counts.row_reads) * by.row_read_ns + n(counts.row_writes) * by.row_write_ns +
                        n(counts.logic) * by.logic_ns + n(counts.shifts) * by.shift_ns +
                        n(counts.counted_rows) * count_ns + n(counts.ap) * by.ap_ns + n(counts.aap) * by.aap_ns;
  const double all_nj = n(counts.row_reads) * by.row_read_nj + n(counts.row_writes) * by.row_write_nj +
                        n(counts.logic) * by.logic_nj + n(counts.shifts) * by.shift_nj + n(counts.ap) * by.ap_nj +
                        n(counts.aap) * by.aap_nj + n(counts.extra_rows) * by.extra_row_nj;
  constexpr double columns_of_figures = 8192;  // energies are those of a row of 1 KiB
  return {.ns = all_ns / n(times) * n(turns_of(by, loads)), .nj = all_nj * by.columns / columns_of_figures};
}

}  // namespace situ::pim::detail
