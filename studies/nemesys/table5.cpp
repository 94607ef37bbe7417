#include "nemesys/table5.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <fstream>
#include <iterator>
#include <string_view>

#include "os/find_program.h"
#include "support/child_program.h"

namespace situ::studies::nemesys {
namespace {

struct kernel_statistics {
  std::string_view kernel, abbreviation;
  double copies, objects, bytes;
};
// The paper's table 5.
constexpr std::array<kernel_statistics, 12> paper{{{"bfsBellmanFord", "BF", 2150, 10.5, 16864},
                                                   {"bfsDijkstra", "DST", 8492, 11.3, 16548},
                                                   {"byzantine", "BY", 7362, 16.5, 1875},
                                                   {"dijkstraRouting", "DR", 13550, 6.7, 2382},
                                                   {"dominatingSet", "DS", 38778, 8.7, 2571},
                                                   {"kcommittee", "KC", 58224, 10.4, 709},
                                                   {"leader_elect_lcr", "LCR", 17370, 10.0, 670},
                                                   {"leader_elect_hs", "HS", 46336, 12.0, 764},
                                                   {"leader_elect_dp", "DP", 8830, 15.0, 4582},
                                                   {"mis", "MIS", 6168, 13.4, 16516},
                                                   {"mst", "MST", 18486, 13.3, 3618},
                                                   {"vertexColoring", "VC", 2388, 16.5, 16725}}};

std::string typical_of(const nlohmann::json& graphs) {
  std::string text;
  for (const auto& each : graphs.at("typical"))
    text += fmt::format("{}{} to {} objects of {} to {} bytes: {}", text.empty() ? "typical: " : "; ",
                        each.at("objects").at(0).get<std::uint64_t>(), each.at("objects").at(1).get<std::uint64_t>(),
                        each.at("bytes").at(0).get<std::uint64_t>(), each.at("bytes").at(1).get<std::uint64_t>(),
                        each.at("copies").get<std::uint64_t>());
  return text;
}

}  // namespace

study_part table5_of(const std::string& text) {
  study_part part{.name = "table5", .title = "Table 5: object graphs that the IMSuite kernels copy (14 places)"};
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    for (const kernel_statistics& theirs : paper) {
      const nlohmann::json* found = nullptr;
      for (const auto& each : json.at("kernels"))
        if (each.at("kernel") == theirs.kernel) found = &each;
      if (found == nullptr) throw_error(errc::bad_file, fmt::format("imsuite's JSON has no {}", theirs.kernel));
      if (!found->at("validated").get<bool>())
        throw_error(errc::bad_file, fmt::format("imsuite's answer of {} is wrong", theirs.kernel));
      const nlohmann::json& graphs = found->at("graphs");
      const auto add = [&](std::string_view what, std::string_view unit, double figure, std::string_view key) {
        part.rows.push_back({.what = fmt::format("{} {}", theirs.abbreviation, what),
                             .unit = std::string{unit},
                             .paper = figure,
                             .ours = graphs.at(std::string{key}).get<double>()});
      };
      add("copies", "", theirs.copies, "copies");
      part.rows.back().remark = typical_of(graphs);
      add("objects of a copy", "", theirs.objects, "objects");
      add("size of a copy", "bytes", theirs.bytes, "bytes");
      part.rows.back().remark = "pointers of 8 bytes, the paper's have 4";
    }
  } catch (const nlohmann::json::exception& e) {
    throw_error(errc::bad_file, fmt::format("imsuite's JSON is not what it was: {}", e.what()));
  }
  return part;
}

study_part run_table5(const study_context& context) {
  study_part part{.name = "table5", .title = "Table 5: object graphs that the IMSuite kernels copy (14 places)"};
  if (std::string missing = missing_programs({"situ", "imsuite"}); !missing.empty()) {
    part.missing.push_back(std::move(missing));
    return part;
  }
  const std::string runner = os::find_own_program("situ"), program = os::find_own_program("imsuite");
  context.tell("table 5: the twelve kernels on 14 places");
  const study_folder folder;
  const std::string json = folder.file("imsuite.json");
  const program_result result = run_program(
      {runner, "run", "-n", "14", "--in-process", program, "all", "--log-graphs", "--json", json}, context.is_stopped);
  if (result.was_stopped) return part;
  if (result.exit_code != 0) {
    part.missing.push_back(
        fmt::format("imsuite did not end well ({}); run it by itself: situ run -n 14 --in-process "
                    "imsuite all --log-graphs",
                    result.exit_code));
    return part;
  }
  std::ifstream file{json};
  return table5_of(std::string{std::istreambuf_iterator<char>{file}, {}});
}

}  // namespace situ::studies::nemesys
