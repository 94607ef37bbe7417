// The study `nemesys-ranges`: the kernels with one assumed figure of the machine at an end of its range, and with the
// parts of an L2 miss shared out differently at the same sum.
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "nemesys/macro_runs.h"
#include "nemesys/nemesys.h"

namespace situ::studies::nemesys {
namespace {

using enum variant;

struct changed_machine {
  const char* name;
  std::vector<std::string> settings;
};

// The figures that lie on the way to memory. `situ model run --sweep FIGURE=low,high` does the same with any of the
// others, on one kernel.
const std::vector<changed_machine>& machines() {
  static const std::vector<changed_machine> all{
      {"as in the file", {}},
      {"memory occupied 80 ns an access (low)", {"ddr.occupancy=low"}},
      {"memory occupied 260 ns (high)", {"ddr.occupancy=high"}},
      {"5 operations at an adapter (high)", {"adapter.entries=high"}},
      {"memory 200 ns (low), sum kept by adapters",
       {"ddr.access_time=low", "adapter.latency=185ns", "memory_adapter.latency=185ns"}},
      {"memory 540 ns (high), sum kept by adapters",
       {"ddr.access_time=high", "adapter.latency=100ns", "memory_adapter.latency=100ns"}},
      {"hop 20 ns (low)", {"link.latency=low"}},
      {"hop 100 ns (high)", {"link.latency=high"}},
      {"bus of 128 bits (high)", {"tile.width_bits=high"}},
      {"network of 128 bits (high)", {"link.width_bits=high"}},
  };
  return all;
}

double mean_of(const macro_runs& runs, variant of, double kernel_run::* figure, double scale) {
  const std::vector<std::size_t> kernels = runs.kernels({of});
  double sum = 0;
  for (const std::size_t k : kernels) sum += runs.find(k, of)->*figure * scale;
  return kernels.empty() ? 0 : sum / static_cast<double>(kernels.size());
}

struct figure_column {
  const char* name;
  variant of;
  double kernel_run::* figure;
  double scale;
};
constexpr std::array<figure_column, 8> figure_columns{{
    {"Pegasus NA %", pegasus_single, &kernel_run::adapter_use, 100},
    {"MEM %", pegasus_single, &kernel_run::memory_use, 100},
    {"load", pegasus_single, &kernel_run::load_cycles, 1},
    {"store", pegasus_single, &kernel_run::store_cycles, 1},
    {"NEMESYS MEM %", nemesys_single, &kernel_run::memory_use, 100},
    {"NMA %", nemesys_single, &kernel_run::unit_use, 100},
    {"load", nemesys_single, &kernel_run::load_cycles, 1},
    {"store", nemesys_single, &kernel_run::store_cycles, 1},
}};

std::vector<std::string> line_of(const changed_machine& machine, const macro_runs& runs) {
  std::vector<std::string> line{machine.name};
  double speedups = 0;
  const std::vector<std::size_t> kernels = runs.kernels({pegasus_single, nemesys_single});
  for (const std::size_t k : kernels) speedups += runs.speedup(k, pegasus_single, nemesys_single);
  line.push_back(fmt::format("{:.2f}", kernels.empty() ? 0 : speedups / static_cast<double>(kernels.size())));
  line.push_back(fmt::format("{:.0f}", mean_of(runs, pegasus_single, &kernel_run::seconds, 1e3)));
  line.push_back(fmt::format("{:.0f}", mean_of(runs, nemesys_single, &kernel_run::seconds, 1e3)));
  for (const figure_column& each : figure_columns)
    line.push_back(fmt::format("{:.1f}", mean_of(runs, each.of, each.figure, each.scale)));
  return line;
}

}  // namespace

study_result run_ranges(const study_context& context) {
  study_result result{.name = "nemesys-ranges",
                      .title = "NEMESYS: what the assumed figures of the machine decide",
                      .source = "Paper: NEMESYS: Near-Memory Graph Copy Enhanced System-Software, MEMSYS 2019.",
                      .method = {"Means of the kernels, by one memory. One figure is changed in each line, or, to keep "
                                 "the 90 cycles of an L2 miss, the adapters with the memory.",
                                 "Ranges and reasons are those of machines/nemesys-4x4.toml."}};
  study_part part{.name = "ranges", .title = "Table 6 and the speed-up at the ends of ranges"};
  grid all{.title = {}, .headings = {"machine", "speed-up", "Pegasus ms", "NEMESYS ms"}};
  for (const figure_column& each : figure_columns) all.headings.emplace_back(each.name);
  for (const changed_machine& each : machines()) {
    if (context.stopped()) break;
    const macro_runs runs{
        context, {.is_fitted = false, .settings = each.settings, .variants = {pegasus_single, nemesys_single}}};
    part.missing.insert(part.missing.end(), runs.missing().begin(), runs.missing().end());
    all.lines.push_back(line_of(each, runs));
  }
  part.grids.push_back(std::move(all));
  result.parts.push_back(std::move(part));
  result.was_stopped = context.stopped();
  return result;
}

}  // namespace situ::studies::nemesys
