#include <situ/pim/memory.h>

#include <situ/base/error_code.h>
#include <situ/machine/processor_set.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pim/device.h"
#include "pim/devices.h"
#include "pim/execute.h"
#include "pim/programs.h"

namespace situ::pim {

struct memory::state {
  std::vector<std::unique_ptr<detail::device>> devices;
  executor runs;
  memory_cost cost;
  std::map<std::string, std::shared_ptr<const micro_program>, std::less<>> programs;  // that it has carried out

  explicit state(const memory_options& how) : runs{threads_of(how)} {}
  // Each scalar has a program of its own, so that a loop over scalars would keep as many.
  std::shared_ptr<const micro_program> keep(const std::string& key, micro_program made) {
    constexpr std::size_t most = 256;
    if (programs.size() >= most) programs.clear();
    return programs.emplace(key, std::make_shared<const micro_program>(std::move(made))).first->second;
  }
  static unsigned threads_of(const memory_options& how) {
    if (how.threads != 0) return how.threads;
    return std::max(1U, static_cast<unsigned>(machine::processor_set::of_this_thread().size()));
  }
};

memory::memory(const std::vector<device_figures>& devices, const memory_kind& cells, memory_options how)
    : state_{std::make_unique<state>(how)} {
  if (devices.empty()) throw_error(errc::bad_argument, "pim: a memory that computes has at least one device");
  for (const device_figures& each : devices)
    state_->devices.push_back(
        std::make_unique<detail::device>(each.name, each.figures, cells, each.bus_bytes_per_second));
}
memory::memory(const memory_kind& kind, memory_options how) : state_{std::make_unique<state>(how)} {
  for (const detail::device_entry& each : detail::read_devices(kind))
    state_->devices.push_back(std::make_unique<detail::device>(each.name, each.figures, each.pages, each.bandwidth));
}
memory::~memory() = default;

std::size_t memory::devices() const noexcept { return state_->devices.size(); }
const machine::pim_figures& memory::figures(std::size_t device) const noexcept {
  return state_->devices[device]->figures;
}
bmem& memory::room(std::size_t device) noexcept { return state_->devices[device]->room; }
detail::device& memory::device_at(std::size_t device) noexcept { return *state_->devices[device]; }
const memory_cost& memory::cost() const noexcept { return state_->cost; }
void memory::reset_cost() noexcept { state_->cost = {}; }

std::string memory::report() const {
  std::string text;
  for (const auto& each : state_->devices) {
    const bmem_usage rows = each->room.usage();
    const block largest = each->room.largest_free();
    text += fmt::format("{} ({}): {} rows taken, {} free; the largest free rectangle is {} subarrays x {} rows\n",
                        each->name, machine::name(each->figures.design), rows.live_granules, rows.free_granules,
                        largest.subarrays, largest.rows);
  }
  const memory_cost& of = state_->cost;
  const command_counts& n = of.commands;
  text += fmt::format("modelled: {} programs, {:.3g} us, {:.3g} uJ\n", of.programs, of.compute_ns / 1e3,
                      of.compute_nj / 1e3);
  const auto line = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) text += fmt::format("  {:>12} {}\n", count, what);
  };
  line(n.row_reads, "row reads");
  line(n.row_writes, "row writes");
  line(n.logic, "operations on latches");
  line(n.shifts, "shifts of a row by a column");
  line(n.counted_rows, "rows whose ones were counted");
  line(n.ap, "AP");
  line(n.aap, "AAP");
  if (of.copied_rows > 0)
    text += fmt::format("copied because operands lay apart: {} rows, {:.3g} us\n", of.copied_rows, of.copy_ns / 1e3);
  text += fmt::format("host and memory exchanged {} bytes, {:.3g} us; {} of them transposed\n", of.host_bytes,
                      of.host_ns / 1e3, of.transposed_bytes);
  return text;
}

executor& memory_access::executor_of(memory& which) noexcept { return which.state_->runs; }

std::shared_ptr<const micro_program> memory_access::program_of(memory& which, machine::pim_design design,
                                                               const operation_spec& what) {
  auto& programs = which.state_->programs;
  const std::string key = fmt::format("{} {}{}", machine::name(design), text(what), what.wide ? " wide" : "");
  if (const auto known = programs.find(key); known != programs.end()) return known->second;
  return which.state_->keep(key, make_program(design, what));
}

std::shared_ptr<const micro_program> memory_access::conversion_of(memory& which, machine::pim_design design,
                                                                  const detail::element_type& from, unsigned to_bits) {
  auto& programs = which.state_->programs;
  const std::string key =
      fmt::format("{} convert {}{} {}", machine::name(design), from.is_signed ? 'i' : 'u', from.bits, to_bits);
  if (const auto known = programs.find(key); known != programs.end()) return known->second;
  return which.state_->keep(key, make_conversion(design, from.bits, from.is_signed, to_bits));
}

void memory_access::count_program(memory& which, const detail::device& in, const command_counts& counts,
                                  const detail::subarray_loads& loads) noexcept {
  memory_cost& cost = which.state_->cost;
  const detail::price its = detail::price_of(in.figures, counts, loads);
  ++cost.programs;
  cost.compute_ns += its.ns;
  cost.compute_nj += its.nj;
  cost.commands += counts;
}

std::uint32_t memory_access::next_bank(memory& which, std::size_t device) noexcept {
  detail::device& in = *which.state_->devices[device];
  const std::uint32_t bank = in.next_bank;
  in.next_bank = (bank + 1) % in.figures.banks;
  return bank;
}

void memory_access::count_copy(memory& which, const detail::device& in, const block& to) noexcept {
  memory_cost& cost = which.state_->cost;
  cost.copied_rows += to.granules();
  const double bytes = 2.0 * static_cast<double>(to.granules() * in.cells.shape().row_bytes());
  if (in.bus_bytes_per_second > 0) cost.copy_ns += bytes * 1e9 / static_cast<double>(in.bus_bytes_per_second);
}

void memory_access::count_transfer(memory& which, const detail::device& with, std::uint64_t bytes,
                                   bool is_transposed) noexcept {
  memory_cost& cost = which.state_->cost;
  cost.host_bytes += bytes;
  if (is_transposed) cost.transposed_bytes += bytes;
  if (with.bus_bytes_per_second > 0)
    cost.host_ns += static_cast<double>(bytes) * 1e9 / static_cast<double>(with.bus_bytes_per_second);
}

std::vector<detail::device_rows> memory_access::rows_of(memory& which) {
  std::vector<detail::device_rows> rows;
  for (const auto& each : which.state_->devices)
    rows.push_back({.name = each->name, .figures = each->figures, .used = each->room.usage().live_granules});
  return rows;
}

}  // namespace situ::pim
