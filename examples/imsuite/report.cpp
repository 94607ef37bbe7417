#include "report.h"

#include <situ/base/units.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace imsuite {
namespace {

// Rows under a heading, each column as wide as it must be; `left` says which start at the left.
std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& left) {
  std::vector<std::size_t> widths(left.size());
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += left[c] ? fmt::format("  {:<{}}", row[c], widths[c]) : fmt::format("  {:>{}}", row[c], widths[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string range(std::uint64_t least, std::uint64_t most) {
  return least == most ? std::to_string(least) : fmt::format("{}-{}", least, most);
}

std::string typical_text(const copy_summary& s) {
  std::string text;
  for (const combination& c : s.typical)
    text += fmt::format("{}{} objects, {} bytes: {}", text.empty() ? "" : "; ", range(c.least_objects, c.most_objects),
                        range(c.least_bytes, c.most_bytes), c.copies);
  return text;
}

std::int64_t column_sum(const answer& a, std::size_t column) {
  std::int64_t sum = 0;
  for (const row& r : a) sum += r[column];
  return sum;
}

std::string describe_routes(const problem& p, const answer& a) {
  std::int64_t longest = 0, sum = 0;
  for (const row& r : a)
    for (std::size_t to = 0; to < r.size(); to += 2) {
      longest = std::max(longest, r[to]);
      sum += r[to];
    }
  const double pairs = static_cast<double>(p.size()) * (p.size() - 1);
  return fmt::format("longest route {}, average {:.2f}", longest, pairs == 0 ? 0.0 : static_cast<double>(sum) / pairs);
}

std::string describe_committees(const answer& a) {
  std::map<std::int64_t, std::size_t> sizes;
  for (const row& r : a) ++sizes[r[0]];
  const auto largest =
      std::max_element(sizes.begin(), sizes.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
  return fmt::format("{} committees, largest {}", sizes.size(), largest->second);
}

std::string describe_tree(const problem& p, const answer& a) {
  std::int64_t weight = 0;
  std::size_t ends = 0;
  for (vertex v = 0; v < p.size(); ++v)
    for (const std::int64_t to : a[static_cast<std::size_t>(v)]) {
      weight += p.net.find(v, static_cast<vertex>(to))->weight;
      ++ends;
    }
  return fmt::format("{} links, weight {}", ends / 2, weight / 2);
}

std::string describe_colours(const answer& a) {
  std::array<int, 3> count{};
  for (const row& r : a) ++count[static_cast<std::size_t>(r[0])];
  return fmt::format("{}, {} and {} of each colour", count[0], count[1], count[2]);
}

}  // namespace

std::string describe(const problem& p, const answer& a) {
  switch (p.which) {
    case kernel::bfs_bellman_ford:
    case kernel::bfs_dijkstra:
      return fmt::format("depth {} from node {}", (*std::max_element(a.begin(), a.end()))[0], p.root);
    case kernel::byzantine: {
      const std::size_t loyal =
          static_cast<std::size_t>(std::find(p.is_traitor.begin(), p.is_traitor.end(), 0) - p.is_traitor.begin());
      const auto traitors = std::count(p.is_traitor.begin(), p.is_traitor.end(), 1);
      return fmt::format("{} loyal generals decide {}, {} traitors", p.size() - traitors, a[loyal][0], traitors);
    }
    case kernel::dijkstra_routing: return describe_routes(p, a);
    case kernel::dominating_set:
    case kernel::mis: return fmt::format("{} members", column_sum(a, 0));
    case kernel::kcommittee: return describe_committees(a);
    case kernel::leader_elect_lcr:
    case kernel::leader_elect_hs:
    case kernel::leader_elect_dp: {
      const auto leader = std::find_if(a.begin(), a.end(), [](const row& r) { return r[1] == 1; });
      return fmt::format("node {}, identity {}", leader - a.begin(), (*leader)[0]);
    }
    case kernel::mst: return describe_tree(p, a);
    case kernel::vertex_coloring: return describe_colours(a);
  }
  return {};
}

std::string to_text(const report& r) {
  std::vector<std::vector<std::string>> rows{{"kernel", "input", "nodes", "links", "answer", "", "time"}};
  std::vector<std::vector<std::string>> copies{
      {"", "copies", "between places", "avg objects", "avg bytes", "typical combinations"}};
  for (const outcome& o : r.outcomes) {
    rows.push_back({std::string{facts_of(o.which).name}, std::string{name_of(o.input)}, std::to_string(o.nodes),
                    std::to_string(o.links), o.answer, o.fault.empty() ? "validated" : "WRONG: " + o.fault,
                    situ::format_nanoseconds(median(o.seconds) * 1e9)});
    if (o.copied)
      copies.push_back({std::string{facts_of(o.which).abbreviation}, std::to_string(o.copied->copies),
                        std::to_string(o.copied->between_places), fmt::format("{:.1f}", o.copied->objects),
                        fmt::format("{:.0f}", o.copied->bytes), typical_text(*o.copied)});
  }
  std::string text = fmt::format("IMSuite on {} place{}, transfer {}, seed {}\n\n", r.places, r.places == 1 ? "" : "s",
                                 r.transfer, r.outcomes.empty() ? 0 : r.outcomes[0].seed);
  text += table(rows, {true, true, false, false, true, true, false});
  if (copies.size() > 1)
    text += "\nGraph copies, closures and results, in a run of its own\n\n" +
            table(copies, {true, false, false, false, false, true});
  return text;
}

std::string to_json(const report& r) {
  using nlohmann::ordered_json;
  ordered_json kernels = ordered_json::array();
  for (const outcome& o : r.outcomes) {
    ordered_json& k = kernels.emplace_back(ordered_json{{"kernel", facts_of(o.which).name},
                                                        {"input", name_of(o.input)},
                                                        {"nodes", o.nodes},
                                                        {"links", o.links},
                                                        {"seed", o.seed},
                                                        {"answer", o.answer},
                                                        {"validated", o.fault.empty()},
                                                        {"seconds", o.seconds}});
    if (!o.fault.empty()) k["fault"] = o.fault;
    if (o.ats)
      k["ats"] = {
          {"count", o.ats->count}, {"at_seconds", o.ats->at_seconds}, {"function_seconds", o.ats->function_seconds}};
    if (!o.copied) continue;
    ordered_json typical = ordered_json::array();
    for (const combination& c : o.copied->typical)
      typical.push_back({{"objects", {c.least_objects, c.most_objects}},
                         {"bytes", {c.least_bytes, c.most_bytes}},
                         {"copies", c.copies}});
    k["graphs"] = {{"copies", o.copied->copies},
                   {"between_places", o.copied->between_places},
                   {"objects", o.copied->objects},
                   {"bytes", o.copied->bytes},
                   {"typical", typical}};
  }
  return ordered_json{{"places", r.places}, {"transfer", r.transfer}, {"kernels", kernels}}.dump(2) + "\n";
}

}  // namespace imsuite
