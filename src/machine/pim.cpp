#include <situ/machine/pim.h>

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include "machine/pim_keys.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace situ::machine {
namespace {

// The limits of situ::pim's bitmaps (situ/pim/geometry.h).
constexpr std::uint64_t most_subarrays = 32767;
constexpr std::uint32_t most_rows = 65535;
constexpr std::uint32_t column_step = 64;

[[noreturn]] void refuse(std::string_view message) { throw_error(errc::bad_argument, message); }

void check_shape(const pim_figures& of) {
  for (const auto& [key, value] : pim_counts)
    if (of.*value == 0 && value != &pim_figures::concurrent)
      refuse(fmt::format("{} is 0 or missing; a memory that computes has 1 or more", key));
  const std::uint64_t all = std::uint64_t{of.banks} * of.subarrays;
  if (all > most_subarrays)
    refuse(fmt::format("banks x subarrays is {}; write at most {} subarrays in all", all, most_subarrays));
  if (of.rows > most_rows) refuse(fmt::format("rows is {}; write at most {}", of.rows, most_rows));
  if (of.columns % column_step != 0)
    refuse(fmt::format("columns is {}; write a multiple of {}", of.columns, column_step));
  if (of.concurrent > all)
    refuse(fmt::format("concurrent_subarrays is {}, and there are {}; write at most that, or leave it out for all",
                       of.concurrent, all));
}

// Keys of commands that only designs of one kind have (src/pim/micro_program.h).
constexpr std::string_view of_latches[] = {"latch", "shift", "latch_nJ", "shift_nJ"};
constexpr std::string_view of_rows[] = {"AP", "AAP", "AP_nJ", "AAP_nJ", "extra_row_nJ"};

// Refuses figures of commands that a design does not have.
void check_commands(const pim_figures& of) {
  const bool has_latches = of.design == pim_design::imi || of.design == pim_design::bitsimd;
  const std::span<const std::string_view> foreign =
      has_latches ? std::span<const std::string_view>{of_rows} : std::span<const std::string_view>{of_latches};
  const auto look = [&](std::string_view key, double figure) {
    if (!(figure >= 0) || !std::isfinite(figure))
      refuse(fmt::format("{} is {}; write a finite number, not below zero", key, figure));
    if (figure > 0 && std::find(foreign.begin(), foreign.end(), key) != foreign.end())
      refuse(fmt::format("{} is a figure of {}; remove it from a memory with design {}", key,
                         has_latches ? "ambit and simdram" : "imi and bitsimd", name(of.design)));
  };
  for (const auto& [key, value] : pim_times) look(key, of.*value);
  for (const auto& [key, value] : pim_energies) look(key, of.*value);
}

}  // namespace

std::string_view name(pim_design design) noexcept {
  static constexpr std::string_view names[] = {"none", "imi", "bitsimd", "ambit", "simdram"};
  return names[static_cast<std::size_t>(design)];
}

void check(const pim_figures& figures) {
  if (figures.design == pim_design::none) refuse("a memory that computes has a design: imi, bitsimd, ambit or simdram");
  check_shape(figures);
  check_commands(figures);
}

}  // namespace situ::machine
