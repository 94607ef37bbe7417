#include "report.h"

#include <situ/base/units.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace json_ship {
namespace {

// 1234567 as "1,234,567".
std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string step(std::string_view name, std::string_view how, std::uint64_t objects, std::uint64_t bytes, double ns) {
  const double per_object = objects == 0 ? 0 : ns / static_cast<double>(objects);
  return fmt::format(
      "  {:<10} {:<10} {:>12} {:>10} {:>9} {:>8.1f} {:>12}\n", name, how, grouped(objects), situ::format_bytes(bytes),
      situ::format_nanoseconds(ns), per_object,
      situ::format_bandwidth(ns <= 0 ? 0 : static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 / ns)));
}

std::string journey_text(const report& r, const report::journey& j) {
  std::string text =
      fmt::format("\n{} to place {} and back\n  {:<10} {:<10} {:>12} {:>10} {:>9} {:>8} {:>12}\n", j.asked_for,
                  r.destination, "step", "by", "objects", "bytes", "time", "ns each", "bandwidth");
  text += step("there", j.there_by, j.objects_there, j.bytes_there, j.there_ns);
  text += step("change", "", j.objects_there, j.bytes_there, j.change_ns);
  text += step("back", j.back_by, j.objects_back, j.bytes_back, j.back_ns);
  text += step("undo", "", j.objects_back, j.bytes_back, j.undo_ns);
  text += step("compare", "", j.objects_there, j.bytes_there, j.compare_ns);
  return text + (j.difference.empty()
                     ? fmt::format("  {} records had been stamped; the rest is as it was\n", grouped(j.stamps))
                     : "  NOT as it was: " + j.difference + "\n");
}

}  // namespace

bool report::passed() const noexcept {
  return std::all_of(journeys.begin(), journeys.end(), [](const journey& j) { return j.difference.empty(); });
}

std::string to_text(const report& r) {
  const census& c = r.census;
  std::string text = fmt::format("{} of JSON from {}; {} place{}\n", situ::format_bytes(r.text_bytes), r.source,
                                 r.places, r.places == 1 ? "" : "s");
  text += fmt::format(
      "  {} records with {} members of {} names, {} lists, {} texts, {} integers, {} reals, {} constants; {} levels\n",
      grouped(c.records), grouped(c.members), grouped(c.names), grouped(c.lists), grouped(c.texts),
      grouped(c.integers + c.naturals), grouped(c.reals), grouped(c.constants), grouped(c.depth));
  text += fmt::format("  read in {}, parsed in {}", situ::format_nanoseconds(r.read_ns),
                      situ::format_nanoseconds(r.parse_ns));
  if (r.repeats > 1) text += fmt::format("; times below are medians of {} journeys", r.repeats);
  text += "\n";
  for (const report::journey& j : r.journeys) text += journey_text(r, j);
  return text;
}

std::string to_json(const report& r) {
  const census& c = r.census;
  nlohmann::ordered_json out{{"source", r.source},         {"places", r.places},   {"destination", r.destination},
                             {"text_bytes", r.text_bytes}, {"read_ns", r.read_ns}, {"parse_ns", r.parse_ns}};
  out["document"] = {{"records", c.records},     {"members", c.members},   {"names", c.names},       {"lists", c.lists},
                     {"texts", c.texts},         {"integers", c.integers}, {"naturals", c.naturals}, {"reals", c.reals},
                     {"constants", c.constants}, {"levels", c.depth}};
  out["repeats"] = r.repeats;
  out["journeys"] = nlohmann::ordered_json::array();
  for (const report::journey& j : r.journeys)
    out["journeys"].push_back({{"transfer", j.asked_for},
                               {"there_by", j.there_by},
                               {"back_by", j.back_by},
                               {"objects_there", j.objects_there},
                               {"bytes_there", j.bytes_there},
                               {"objects_back", j.objects_back},
                               {"bytes_back", j.bytes_back},
                               {"there_ns", j.there_ns},
                               {"change_ns", j.change_ns},
                               {"back_ns", j.back_ns},
                               {"undo_ns", j.undo_ns},
                               {"compare_ns", j.compare_ns},
                               {"stamps", j.stamps},
                               {"difference", j.difference}});
  out["passed"] = r.passed();
  return out.dump(2) + "\n";
}

}  // namespace json_ship
