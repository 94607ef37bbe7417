#include "pim/pim.h"

#include <situ/machine/ordering.h>
#include <situ/machine/toml.h>
#include <situ/pim/compute.h>
#include <situ/pim/memory.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "pim/allocation.h"
#include "pim/kernels.h"
#include "pim/published.h"
#include "support/machine_files.h"

namespace situ::studies::pim {
namespace {

using situ::pim::command_counts;
using situ::pim::device_figures;
using situ::pim::operation;

std::vector<device_figures> devices_of(std::string_view toml, std::string_view file) {
  const machine::tree tree = machine::parse_toml(toml, file);
  std::vector<device_figures> devices;
  for (const machine::ranked_memory& each : machine::ordering(tree, intent::pim, machine::root_node))
    devices.push_back({tree.label(each.memory), tree.at(each.memory).computes,
                       tree.figures(machine::root_node, each.memory).best_bandwidth()});
  return devices;
}

struct design_file {
  std::string_view name;
  std::vector<device_figures> devices;
};
const std::vector<design_file>& all_designs() {
  static const std::vector<design_file> all{{"imi", devices_of(pim_imi_toml(), "pim-imi.toml")},
                                            {"bitsimd", devices_of(pim_bitsimd_toml(), "pim-bitsimd.toml")},
                                            {"ambit", devices_of(pim_ambit_toml(), "pim-ambit.toml")},
                                            {"simdram", devices_of(pim_simdram_toml(), "pim-simdram.toml")}};
  return all;
}

// --- commands ---

// Counts the commands of one operation while they are carried out on a few elements.
template <class T>
command_counts counted(const std::vector<device_figures>& devices, operation what) {
  situ::pim::memory in{devices, {}, {.threads = 1}};
  const situ::pim::vertical<T> a{in, 64}, b = a.beside();
  auto r = a.beside();
  auto flag = a.template beside_as<bool>();
  in.reset_cost();
  switch (what) {
    case operation::invert: invert(r, a); break;
    case operation::logic_and: bit_and(r, a, b); break;
    case operation::logic_or: bit_or(r, a, b); break;
    case operation::logic_nand: bit_nand(r, a, b); break;
    case operation::logic_xor: bit_xor(r, a, b); break;
    case operation::logic_xnor: bit_xnor(r, a, b); break;
    case operation::add: add(r, a, b); break;
    case operation::subtract: subtract(r, a, b); break;
    case operation::multiply: multiply(r, a, b); break;
    case operation::less: less(flag, a, b); break;
    case operation::greater: greater(flag, a, b); break;
    case operation::greater_equal: greater_equal(flag, a, b); break;
    case operation::equal: equal(flag, a, b); break;
    case operation::not_equal: not_equal(flag, a, b); break;
    case operation::minimum: minimum(r, a, b); break;
    case operation::maximum: maximum(r, a, b); break;
    case operation::absolute: absolute(r, a); break;
    case operation::popcount: popcount(r, a); break;
    default: break;
  }
  return in.cost().commands;
}

template <class T>
std::uint64_t wide_product(const std::vector<device_figures>& devices) {
  using wider = std::conditional_t<sizeof(T) == 1, std::uint16_t, std::uint32_t>;
  situ::pim::memory in{devices, {}, {.threads = 1}};
  const situ::pim::vertical<T> a{in, 64}, b = a.beside();
  auto r = a.template beside_as<wider>();
  in.reset_cost();
  multiply_wide(r, a, b);
  return in.cost().commands.ap + in.cost().commands.aap;
}

std::string triple(std::uint64_t reads, std::uint64_t writes, std::uint64_t logic) {
  return fmt::format("{}/{}/{}", reads, writes, logic);
}

study_part commands(const study_context& context) {
  study_part part{.name = "commands", .title = "Commands of an operation, counted while it is carried out"};
  context.tell("commands");
  const std::vector<device_figures>& simdram = all_designs()[3].devices;
  for (const simdram_row& each : simdram_table)
    for (const int bits : {8, 16}) {
      const bool is_product = each.what == operation::multiply;
      std::uint64_t ours = 0;
      if (is_product) {
        ours = bits == 8 ? wide_product<std::uint8_t>(simdram) : wide_product<std::uint16_t>(simdram);
      } else {
        const command_counts n =
            bits == 8 ? counted<std::uint8_t>(simdram, each.what) : counted<std::uint16_t>(simdram, each.what);
        ours = n.ap + n.aap;
      }
      part.rows.push_back({.what = fmt::format("SIMDRAM {}, {} bits", name(each.what), bits),
                           .unit = "AAP + AP",
                           .paper = each.squares * bits * bits + each.linear * bits + each.constant,
                           .ours = static_cast<double>(ours),
                           .from = origin::measured,
                           .remark = is_product ? "counted; a product of twice the width" : "counted"});
    }
  grid table{"BitSIMD: rows read / rows written / operations on latches",
             {"operation", "PIMeval int8", "ours", "PIMeval int32", "ours"},
             {}};
  const std::vector<device_figures>& bitsimd = all_designs()[1].devices;
  for (const pimeval_row& each : pimeval_table) {
    const command_counts n8 = counted<std::int8_t>(bitsimd, each.what), n32 = counted<std::int32_t>(bitsimd, each.what);
    table.lines.push_back({std::string{name(each.what)}, triple(each.int8[0], each.int8[1], each.int8[2]),
                           triple(n8.row_reads, n8.row_writes, n8.logic),
                           triple(each.int32[0], each.int32[1], each.int32[2]),
                           triple(n32.row_reads, n32.row_writes, n32.logic)});
  }
  part.grids.push_back(std::move(table));
  part.notes.push_back(
      "PIMeval's counts are those of the table that it prices by; its numbers come from host arithmetic. Ours are "
      "counted "
      "while the commands make the numbers.");
  return part;
}

// --- energy ---

study_part energy(const study_context& context) {
  study_part part{.name = "energy", .title = "Energy of bulk logic on Ambit, nJ for 1 KiB"};
  context.tell("energy");
  const std::vector<device_figures>& ambit = all_designs()[2].devices;
  for (const ambit_row& each : ambit_energies) {
    situ::pim::memory in{ambit, {}, {.threads = 1}};
    const std::size_t columns = ambit[0].figures.columns;
    const situ::pim::vertical<bool> a{in, columns}, b = a.beside();
    auto r = a.beside();
    in.reset_cost();
    switch (each.what) {
      case operation::invert: invert(r, a); break;
      case operation::logic_and: bit_and(r, a, b); break;
      case operation::logic_nand: bit_nand(r, a, b); break;
      default: bit_xor(r, a, b); break;
    }
    part.rows.push_back({.what = std::string{name(each.what)},
                         .unit = "nJ",
                         .paper = each.nj,
                         .ours = in.cost().compute_nj * 8192 / static_cast<double>(columns),
                         .from = origin::calibrated});
  }
  part.notes.push_back("Published: from memory of table 3 of the paper, of which no text was at hand.");
  part.notes.push_back(
      "The energies of an AP and an AAP in machines/pim-ambit.toml are fitted to these four figures, so this says how "
      "well "
      "two numbers describe four, and nothing more.");
  return part;
}

// --- operations ---

struct measured_operation {
  std::string_view name;
  operation what;
};
constexpr measured_operation measured_operations[] = {
    {"and", operation::logic_and},     {"xor", operation::logic_xor},     {"add", operation::add},
    {"subtract", operation::subtract}, {"multiply", operation::multiply}, {"less", operation::less},
    {"equal", operation::equal},       {"minimum", operation::minimum}};

std::int32_t on_host(operation what, std::int32_t a, std::int32_t b) {
  const auto ua = static_cast<std::uint32_t>(a), ub = static_cast<std::uint32_t>(b);
  switch (what) {
    case operation::logic_and: return a & b;
    case operation::logic_xor: return a ^ b;
    case operation::add: return static_cast<std::int32_t>(ua + ub);
    case operation::subtract: return static_cast<std::int32_t>(ua - ub);
    case operation::multiply: return static_cast<std::int32_t>(ua * ub);
    case operation::less: return a < b ? 1 : 0;
    case operation::equal: return a == b ? 1 : 0;
    default: return std::min(a, b);
  }
}

// The host's loop, with the operation known to the compiler. The median of five, in us.
double host_us(operation what, const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b,
               std::vector<std::int32_t>& r) {
  std::array<double, 5> times;
  for (double& us : times) {
    const auto begin = std::chrono::steady_clock::now();
    const auto loop = [&](auto one) {
      for (std::size_t i = 0; i < a.size(); ++i) r[i] = on_host(one.value, a[i], b[i]);
    };
    switch (what) {
      case operation::logic_and: loop(std::integral_constant<operation, operation::logic_and>{}); break;
      case operation::logic_xor: loop(std::integral_constant<operation, operation::logic_xor>{}); break;
      case operation::add: loop(std::integral_constant<operation, operation::add>{}); break;
      case operation::subtract: loop(std::integral_constant<operation, operation::subtract>{}); break;
      case operation::multiply: loop(std::integral_constant<operation, operation::multiply>{}); break;
      case operation::less: loop(std::integral_constant<operation, operation::less>{}); break;
      case operation::equal: loop(std::integral_constant<operation, operation::equal>{}); break;
      default: loop(std::integral_constant<operation, operation::minimum>{}); break;
    }
    us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  }
  std::sort(times.begin(), times.end());
  return times[2];
}

struct outcome {
  bool is_right = false;
  situ::pim::memory_cost cost;
};

outcome carry_out(operation what, const std::vector<device_figures>& devices, const std::vector<std::int32_t>& x,
                  const std::vector<std::int32_t>& y, const std::vector<std::int32_t>& expected) {
  situ::pim::memory in{devices};
  const situ::pim::vertical<std::int32_t> a{in, x};
  const auto b = a.beside(y);
  const bool is_flag = what == operation::less || what == operation::equal;
  if (is_flag) {
    auto r = a.beside_as<bool>();
    what == operation::less ? less(r, a, b) : equal(r, a, b);
    const situ::pim::memory_cost cost = in.cost();
    const auto flags = std::make_unique<bool[]>(x.size());
    r.read({flags.get(), x.size()});
    bool is_right = true;
    for (std::size_t i = 0; i < x.size(); ++i) is_right &= flags[i] == (expected[i] != 0);
    return {.is_right = is_right, .cost = cost};
  }
  auto r = a.beside();
  switch (what) {
    case operation::logic_and: bit_and(r, a, b); break;
    case operation::logic_xor: bit_xor(r, a, b); break;
    case operation::add: add(r, a, b); break;
    case operation::subtract: subtract(r, a, b); break;
    case operation::multiply: multiply(r, a, b); break;
    default: minimum(r, a, b); break;
  }
  const situ::pim::memory_cost cost = in.cost();
  std::vector<std::int32_t> values(x.size());
  r.read(values);
  return {.is_right = values == expected, .cost = cost};
}

double pimeval_us(operation what) {
  for (const pimeval_row& each : pimeval_table)
    if (each.what == what) return ((each.int32[0] + each.int32[1]) * 46.5 + each.int32[2] * 3.0) / 1e3;
  return 0;
}

study_part operations(const study_context& context) {
  const std::size_t n = context.is_quick ? std::size_t{1} << 16 : std::size_t{1} << 24;
  study_part part{.name = "operations", .title = fmt::format("{} int32, by operation: microseconds", n)};
  std::mt19937 random{17};
  std::vector<std::int32_t> x(n), y(n), expected(n);
  for (std::int32_t& each : x) each = static_cast<std::int32_t>(random());
  for (std::int32_t& each : y) each = static_cast<std::int32_t>(random());
  for (std::size_t i = 0; i < n; i += 64) y[i] = x[i];
  grid table{"", {"operation", "host, measured", "PIMeval's figures"}, {}};
  for (const design_file& each : all_designs()) table.headings.push_back(std::string{each.name});
  table.headings.push_back("numbers");
  double bus_us = 0;
  for (const measured_operation& each : measured_operations) {
    if (context.stopped()) return part;
    context.tell(each.name);
    std::vector<std::string> line{std::string{each.name}, fmt::format("{:.0f}", host_us(each.what, x, y, expected)),
                                  fmt::format("{:.2f}", pimeval_us(each.what))};
    int right = 0;
    for (const design_file& design : all_designs()) {
      const outcome made = carry_out(each.what, design.devices, x, y, expected);
      right += made.is_right ? 1 : 0;
      line.push_back(fmt::format("{:.2f}", made.cost.compute_ns / 1e3));
      if (design.name == "bitsimd" && each.what == operation::add) bus_us = made.cost.host_ns / 1e3;
    }
    line.push_back(fmt::format("{} of 4 right", right));
    table.lines.push_back(std::move(line));
  }
  part.grids.push_back(std::move(table));
  part.notes.push_back(fmt::format(
      "Modelled times are those of the commands, by the figures of machines/pim-*.toml. To bring two operands to the "
      "memory takes {:.0f} us of its bus besides (BitSIMD), and the host transposes them first.",
      bus_us));
  part.notes.push_back("The host's loops run on one processor of this machine, and are measured.");
  return part;
}

// --- simulation ---

// Nanoseconds in which this host carries out one operation, the median of five.
double simulated_ns(operation what, const std::vector<device_figures>& devices, unsigned threads,
                    const std::vector<std::int32_t>& x, const std::vector<std::int32_t>& y) {
  situ::pim::memory in{devices, {}, {.threads = threads}};
  const situ::pim::vertical<std::int32_t> a{in, x};
  const auto b = a.beside(y);
  auto r = a.beside(y);
  auto flags = a < b;
  std::array<double, 5> times;
  for (double& ns : times) {
    const auto begin = std::chrono::steady_clock::now();
    switch (what) {
      case operation::add: add(r, a, b); break;
      case operation::multiply: multiply(r, a, b); break;
      default: less(flags, a, b); break;
    }
    ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  }
  std::sort(times.begin(), times.end());
  return times[2];
}

study_part simulation(const study_context& context) {
  const std::size_t n = context.is_quick ? std::size_t{1} << 17 : std::size_t{1} << 23;
  study_part part{.name = "simulation", .title = fmt::format("Simulated on this host: M elements/s, {} int32", n)};
  std::mt19937 random{19};
  std::vector<std::int32_t> x(n), y(n);
  for (std::int32_t& each : x) each = static_cast<std::int32_t>(random());
  for (std::int32_t& each : y) each = static_cast<std::int32_t>(random());
  grid table{"", {"operation", "design", "one thread", "two", "two over one"}, {}};
  const std::pair<operation, std::size_t> measured[] = {
      {operation::add, 1}, {operation::multiply, 1}, {operation::less, 1}, {operation::add, 3}};
  for (const auto& [what, design] : measured) {
    if (context.stopped()) return part;
    context.tell(name(what));
    const double one = simulated_ns(what, all_designs()[design].devices, 1, x, y);
    const double two = simulated_ns(what, all_designs()[design].devices, 2, x, y);
    const auto rate = [&](double ns) { return fmt::format("{:.0f}", static_cast<double>(n) * 1e3 / ns); };
    table.lines.push_back({std::string{name(what)}, std::string{all_designs()[design].name}, rate(one), rate(two),
                           fmt::format("{:.2f} x", one / two)});
  }
  const auto begin = std::chrono::steady_clock::now();
  situ::pim::memory in{all_designs()[1].devices};
  const situ::pim::vertical<std::int32_t> a{in, x};
  const double write_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  part.grids.push_back(std::move(table));
  part.notes.push_back(fmt::format(
      "Each command is carried out on all columns. `situ bench pim` has more samples. To transpose one operand "
      "of this size and to write it to pages that are new took {:.0f} us.",
      write_us));
  part.notes.push_back(
      "PIMeval (July 2025), which computes its numbers by host arithmetic: 31 M elements/s in an earlier trial; 10 "
      "added or "
      "multiplied and 13 compared on another day's host of this kind, by its own API.");
  return part;
}

// --- kernels ---

study_part kernels(const study_context& context) {
  const std::size_t n = context.is_quick ? std::size_t{1} << 15 : std::size_t{1} << 22;
  study_part part{.name = "kernels", .title = "Kernels: modelled microseconds of commands, and of the bus"};
  grid table{"", {"kernel", "host, measured"}, {}};
  for (const design_file& each : all_designs()) {
    table.headings.push_back(std::string{each.name});
    table.headings.push_back("bus");
  }
  table.headings.push_back("numbers");
  for (const kernel& each : all_kernels()) {
    std::vector<std::string> line;
    int right = 0;
    for (const design_file& design : all_designs()) {
      if (context.stopped()) return part;
      context.tell(fmt::format("{} on {}", each.name, design.name));
      situ::pim::memory in{design.devices};
      const kernel_result made = each.run(in, n);
      if (line.empty())
        line = {fmt::format("{}: {}", made.name, made.words), fmt::format("{:.0f}", made.host_ns / 1e3)};
      right += made.is_right ? 1 : 0;
      line.push_back(fmt::format("{:.1f}", made.cost.compute_ns / 1e3));
      line.push_back(fmt::format("{:.1f}", (made.cost.host_ns + made.cost.copy_ns) / 1e3));
    }
    line.push_back(fmt::format("{} of 4 right", right));
    table.lines.push_back(std::move(line));
  }
  part.grids.push_back(std::move(table));
  return part;
}

}  // namespace

study_result run(const study_context& context) {
  study_result result{
      .name = "pim",
      .title = "Memory that computes",
      .source = "Bit Contiguous Memory Allocation for Processing In Memory (Leidel et al., MCHPC 2017)",
      .compared_with = "published",
      .method =
          {"Each command of each operation is carried out on all columns and counted; times and energies are these "
           "counts by the figures of machines/pim-*.toml, where each has its source.",
           "Numbers are compared with the host's, element for element."},
      .parts = {}};
  const std::pair<std::string_view, study_part (*)(const study_context&)> parts[] = {
      {"commands", commands},     {"energy", energy},   {"operations", operations},
      {"simulation", simulation}, {"kernels", kernels}, {"allocation", allocation}};
  for (const auto& [name, part] : parts) {
    if (!context.wants(name)) continue;
    if (context.stopped()) break;
    result.parts.push_back(part(context));
  }
  result.was_stopped = context.stopped();
  return result;
}

}  // namespace situ::studies::pim
