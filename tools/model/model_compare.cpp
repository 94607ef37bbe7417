#include "model_compare.h"

#include "base/print.h"
#include "os/output_file.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using nlohmann::ordered_json;
using situ::detail::print_out;

constexpr std::size_t most_functions = 25;  // in the table; the JSON has all

// What is compared of a region. Misses are the accesses that miss the first cache, fetches of code not among them.
struct region_counts {
  std::uint64_t ps = 0;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t misses = 0;
};
// What a profile has of a function.
struct function_counts {
  std::uint64_t ps = 0;
  std::uint64_t in_machine_ps = 0;
  std::uint64_t misses = 0;
};

struct report {
  std::string file;
  std::string machine;
  bool is_complete = true;
  int exit_code = 0;
  region_counts whole;
  std::vector<std::pair<std::string, region_counts>> regions;  // in the order of the report
  std::optional<std::map<std::string, function_counts>> functions;
};

std::uint64_t number(const ordered_json& of, const char* key) { return of.at(key).get<std::uint64_t>(); }

region_counts counts_of(const ordered_json& of) {
  region_counts sum{.ps = number(of, "modelled_ps")};
  for (const ordered_json& core : of.at("cores")) {
    sum.reads += number(core, "reads");
    sum.writes += number(core, "writes");
    sum.misses += number(core, "to_machine");
  }
  return sum;
}

std::string text_of(const std::string& file) {
  std::ifstream stream{file, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{stream}, {}};
  if (!stream) situ::throw_error(situ::errc::bad_file, fmt::format("{}: cannot be read", file));
  return text;
}

report read_report(const std::string& file) {
  const ordered_json json = ordered_json::parse(text_of(file), nullptr, false);
  if (json.is_discarded() || !json.is_object())
    situ::throw_error(situ::errc::bad_file,
                      fmt::format("{}: is no report; `situ model run --json FILE` writes one", file));
  if (json.contains("runs"))
    situ::throw_error(situ::errc::bad_file,
                      fmt::format("{}: has the reports of a sweep; compare those of single runs", file));
  try {
    report made{.file = file,
                .machine = json.at("machine").get<std::string>(),
                .is_complete = json.at("is_complete").get<bool>(),
                .exit_code = json.at("exit_code").get<int>(),
                .whole = counts_of(json),
                .regions = {},
                .functions = std::nullopt};
    for (const ordered_json& each : json.at("regions"))
      made.regions.emplace_back(each.at("name").get<std::string>(), counts_of(each));
    if (json.contains("profile")) {
      made.functions.emplace();
      for (const ordered_json& each : json.at("profile")) {
        function_counts& sum = (*made.functions)[each.at("function").get<std::string>()];
        sum.ps += number(each, "ps");
        sum.in_machine_ps += number(each, "in_machine_ps");
        sum.misses += number(each, "accesses");
      }
    }
    return made;
  } catch (const nlohmann::json::exception& failure) {
    situ::throw_error(situ::errc::bad_file, fmt::format("{}: is no report of a modelled run ({}); `situ model run "
                                                        "--json FILE` writes one",
                                                        file, failure.what()));
  }
}

// A name in the first report, the second, or both.
template <class Counts>
struct pair_of {
  std::string name;
  const Counts* first = nullptr;
  const Counts* second = nullptr;
};

std::vector<pair_of<region_counts>> regions_of(const report& first, const report& second) {
  std::vector<pair_of<region_counts>> all;
  for (const auto& [name, counts] : first.regions) all.push_back({name, &counts, nullptr});
  for (const auto& [name, counts] : second.regions) {
    const auto found = std::ranges::find(all, name, &pair_of<region_counts>::name);
    if (found == all.end())
      all.push_back({name, nullptr, &counts});
    else
      found->second = &counts;
  }
  return all;
}

// The functions of both profiles, those first whose time differs most.
std::vector<pair_of<function_counts>> functions_of(const report& first, const report& second) {
  std::vector<pair_of<function_counts>> all;
  for (const auto& [name, counts] : *first.functions) all.push_back({name, &counts, nullptr});
  for (const auto& [name, counts] : *second.functions) {
    const auto found = first.functions->find(name);
    if (found == first.functions->end())
      all.push_back({name, nullptr, &counts});
    else
      all[static_cast<std::size_t>(std::distance(first.functions->begin(), found))].second = &counts;
  }
  const auto difference = [](const pair_of<function_counts>& of) {
    const std::uint64_t a = of.first != nullptr ? of.first->ps : 0, b = of.second != nullptr ? of.second->ps : 0;
    return std::max(a, b) - std::min(a, b);
  };
  std::ranges::stable_sort(all, std::ranges::greater{}, difference);
  return all;
}

template <class Counts>
struct quantity {
  const char* words;
  const char* key;
  std::uint64_t Counts::* of;
  bool is_time = false;
};
constexpr std::array<quantity<region_counts>, 4> region_quantities{{{"time ns", "ps", &region_counts::ps, true},
                                                                    {"reads", "reads", &region_counts::reads},
                                                                    {"writes", "writes", &region_counts::writes},
                                                                    {"misses", "misses", &region_counts::misses}}};
constexpr std::array<quantity<function_counts>, 3> function_quantities{
    {{"time ns", "ps", &function_counts::ps, true},
     {"in machine ns", "in_machine_ps", &function_counts::in_machine_ps, true},
     {"misses", "misses", &function_counts::misses}}};

template <class Counts>
std::optional<double> ratio_of(const pair_of<Counts>& both, std::uint64_t Counts::* of) {
  if (both.first == nullptr || both.second == nullptr || both.first->*of == 0) return std::nullopt;
  return static_cast<double>(both.second->*of) / static_cast<double>(both.first->*of);
}

template <class Counts>
std::string cell(const Counts* counts, const quantity<Counts>& of) {
  if (counts == nullptr) return "-";
  return of.is_time ? fmt::format("{:.0f}", static_cast<double>(counts->*of.of) * 1e-3)
                    : fmt::format("{}", counts->*of.of);
}

std::string text_of(std::optional<double> ratio) { return ratio ? fmt::format("{:.3f}", *ratio) : "-"; }

template <class Counts, std::size_t N>
void print_block(const pair_of<Counts>& both, const std::array<quantity<Counts>, N>& quantities) {
  print_out("{}\n", both.name);
  for (const quantity<Counts>& each : quantities)
    print_out("  {:<14}  {:>18}  {:>18}  {:>8}\n", each.words, cell(both.first, each), cell(both.second, each),
              text_of(ratio_of(both, each.of)));
}

template <class Counts, std::size_t N>
ordered_json json_of(const pair_of<Counts>& both, const char* name, const std::array<quantity<Counts>, N>& quantities) {
  ordered_json made;
  if (name != nullptr) made[name] = both.name;
  for (const quantity<Counts>& each : quantities) {
    const std::optional<double> ratio = ratio_of(both, each.of);
    ordered_json& entry = made[each.key];
    entry["first"] = both.first != nullptr ? ordered_json(both.first->*each.of) : ordered_json();
    entry["second"] = both.second != nullptr ? ordered_json(both.second->*each.of) : ordered_json();
    entry["ratio"] = ratio ? ordered_json(*ratio) : ordered_json();
  }
  return made;
}

void print_head(const report& of, const char* which) {
  print_out("{}: {}, on {}", which, of.file, of.machine);
  if (!of.is_complete) print_out(", not complete");
  if (of.exit_code != 0) print_out(", exit code {}", of.exit_code);
  print_out("\n");
}

}  // namespace

void compare_reports(const compare_options& options) {
  const report first = read_report(options.first);
  const report second = read_report(options.second);
  const pair_of<region_counts> whole{"whole run", &first.whole, &second.whole};
  const std::vector<pair_of<region_counts>> regions = regions_of(first, second);
  const bool has_functions = first.functions && second.functions;
  const std::vector<pair_of<function_counts>> functions =
      has_functions ? functions_of(first, second) : std::vector<pair_of<function_counts>>{};

  print_head(first, "first ");
  print_head(second, "second");
  print_out("{:<16}  {:>18}  {:>18}  {:>8}\n", "", "first", "second", "ratio");
  print_block(whole, region_quantities);
  for (const pair_of<region_counts>& each : regions)
    print_block({fmt::format("region {}", each.name), each.first, each.second}, region_quantities);
  for (std::size_t i = 0; i < std::min(functions.size(), most_functions); ++i)
    print_block({fmt::format("function {}", functions[i].name), functions[i].first, functions[i].second},
                function_quantities);
  if (functions.size() > most_functions)
    print_out("{} more functions, whose times differ less; --json has all\n", functions.size() - most_functions);
  if (!has_functions)
    print_out("no functions: {} without --profile\n",
              first.functions || second.functions ? "one run was" : "the runs were");
  if (options.json.empty()) return;
  ordered_json made{
      {"first", {{"file", first.file}, {"machine", first.machine}, {"is_complete", first.is_complete}}},
      {"second", {{"file", second.file}, {"machine", second.machine}, {"is_complete", second.is_complete}}},
      {"whole", json_of(whole, nullptr, region_quantities)},
      {"regions", ordered_json::array()},
      {"functions", has_functions ? ordered_json::array() : ordered_json()}};
  for (const pair_of<region_counts>& each : regions)
    made["regions"].push_back(json_of(each, "name", region_quantities));
  for (const pair_of<function_counts>& each : functions)
    made["functions"].push_back(json_of(each, "function", function_quantities));
  situ::detail::write_file(options.json, made.dump(2) + "\n");
}
