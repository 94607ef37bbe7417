#include "host/host.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace situ::studies::host {

std::vector<host_row> host_rows(bool is_quick) {
  if (is_quick)
    return {{"stream", "stream", 400'000},
            {"chase, 24 KiB", "chase", 24 << 10},
            {"chase, 384 KiB", "chase", 384 << 10},
            {"chase, 2.5 MiB", "chase", 5 << 19},
            {"chase, 96 MiB", "chase", 96 << 20},
            {"hash join", "join", 50'000},
            {"stencil", "stencil", 256},
            {"sort", "sort", 50'000},
            {"graph copy", "graph_copy", 20'000}};
  return {{"stream", "stream", 3'000'000},
          {"chase, 24 KiB", "chase", 24 << 10},
          {"chase, 384 KiB", "chase", 384 << 10},
          {"chase, 2.5 MiB", "chase", 5 << 19},
          {"chase, 96 MiB", "chase", 96 << 20},
          {"hash join", "join", 500'000},
          {"stencil", "stencil", 768},
          {"sort", "sort", 200'000},
          {"graph copy", "graph_copy", 150'000}};
}

kernel_run kernel_run_of(const std::string& line) {
  try {
    const nlohmann::json json = nlohmann::json::parse(line);
    return {json.at("processor_ns").get<double>(), json.at("checksum").get<std::string>()};
  } catch (const nlohmann::json::exception& e) {
    throw_error(errc::bad_file,
                fmt::format("host_kernels wrote \"{}\", which is no line of its JSON: {}", line, e.what()));
  }
}

namespace {

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct deviations {
  double sum = 0;
  double worst = 0;
  std::size_t count = 0;
  void add(double predicted, double measured) {
    const double off = std::abs(predicted - measured) / measured * 100;
    sum += off;
    worst = std::max(worst, off);
    ++count;
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("mean {:.1f} %, worst {:.1f} %", sum / static_cast<double>(std::max<std::size_t>(1, count)),
                       worst);
  }
};

}  // namespace

study_part host_part_of(const std::vector<host_figures>& all) {
  constexpr double ns_a_ms = 1e6;
  study_part part{.name = "kernels", .title = "Kernels, predicted and measured"};
  deviations of_medians, of_least;
  for (const host_figures& each : all) {
    std::vector<double> times;
    for (const kernel_run& run : each.measured) {
      if (run.checksum != each.predicted.checksum)
        throw_error(errc::bad_argument, fmt::format("{}: the native form's checksum is {}, the modelled one's {}",
                                                    each.row.name, run.checksum, each.predicted.checksum));
      times.push_back(run.ns);
    }
    const double least = *std::min_element(times.begin(), times.end());
    const double median = median_of(times);
    of_medians.add(each.predicted.ns, median);
    of_least.add(each.predicted.ns, least);
    part.rows.push_back({.what = std::string{each.row.name},
                         .unit = "ms",
                         .paper = median / ns_a_ms,
                         .ours = each.predicted.ns / ns_a_ms,
                         .from = origin::predicted,
                         .remark = fmt::format("{} runs, the quickest {:.3g} ms: {:+.1f} %", times.size(),
                                               least / ns_a_ms, (each.predicted.ns - least) / least * 100)});
  }
  part.notes.push_back(fmt::format("Deviation from the medians: {}.", of_medians.text()));
  part.notes.push_back(fmt::format("From the quickest runs, which nobody disturbed: {}.", of_least.text()));
  return part;
}

}  // namespace situ::studies::host
