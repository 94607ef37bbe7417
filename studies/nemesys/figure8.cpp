#include "nemesys/figure8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace situ::studies::nemesys {
namespace {

using model::map_kind;

constexpr double operating_system_us = 22;  // given: section 5.3.1

constexpr std::uint64_t most_words = 4096;
constexpr std::uint64_t most_array_words(bool is_quick) { return std::uint64_t{1} << (is_quick ? 18 : 24); }
constexpr std::uint64_t most_elements(bool is_quick) { return std::uint64_t{1} << (is_quick ? 13 : 18); }

using points = std::vector<std::pair<double, double>>;

points with_system(points times) {
  for (auto& [x, y] : times) y += operating_system_us;
  return times;
}
points per_element(points times) {
  for (auto& [x, y] : times) y /= x;
  return times;
}
points in_seconds(points times) {
  for (auto& [x, y] : times) y *= 1e-6;
  return times;
}

series line_of(std::string name, const points& times, bool is_hollow = false) {
  return {std::move(name), in_seconds(times), is_hollow};
}

// What counts as faster, in parts of the time: a criterion of ours.
constexpr double clear_gain = 0.01;

// The first size from which on the second takes less time, by more than `gain`; none where it never does.
std::optional<double> crossing(const points& first, const points& second, double gain = clear_gain) {
  std::optional<double> found;
  for (std::size_t i = std::min(first.size(), second.size()); i > 0; --i) {
    if (second[i - 1].second >= (1 - gain) * first[i - 1].second) break;
    found = first[i - 1].first;
  }
  return found;
}

// The criterion of a crossing, and what any gain at all would give.
std::string about_crossing(const points& first, const points& second) {
  const std::optional<double> any = crossing(first, second, 0);
  return fmt::format("by more than {} %; by any margin from {}; powers of two", clear_gain * 100,
                     any ? fmt::format("{}", *any) : "nowhere");
}

// Time that each more element takes, from `from` elements on.
double slope_from(const points& times, double from) {
  const auto begin = std::find_if(times.begin(), times.end(), [&](const auto& point) { return point.first >= from; });
  if (begin == times.end()) return NAN;
  return (times.back().second - begin->second) / (times.back().first - begin->first);
}

// Total time by elements, as the paper's hollow markers have it: the mean of the points from `from` elements on.
double each_from(const points& unit, double from) {
  double sum = 0;
  double count = 0;
  for (const auto& [x, y] : per_element(with_system(unit))) {
    if (x < from) continue;
    sum += y;
    ++count;
  }
  return sum / count;
}

std::optional<double> if_number(double value) {
  return std::isnan(value) || std::isinf(value) ? std::nullopt : std::optional{value};
}

// A figure of the paper's software, which is Pegasus's algorithm; ours is src/graph/plan.cpp on a modelled core.
comparison_row software_row(std::string what, std::string unit, double paper, std::optional<double> ours,
                            std::string remark = {}) {
  return {.what = std::move(what), .unit = std::move(unit), .paper = paper, .ours = ours, .remark = std::move(remark)};
}

// The time at no words, by the first two points.
std::optional<double> set_up_of(const points& times) {
  if (times.size() < 2) return std::nullopt;
  return times[0].second - (times[1].second - times[0].second) / (times[1].first - times[0].first) * times[0].first;
}

// What words of an object cost beyond the one before, in microseconds: the least and the greatest without a new word of
// the mask, and how much more that takes.
struct word_costs {
  double least = INFINITY, most = 0, mask = 0;
};
word_costs costs_of_words(figure8& of) {
  constexpr std::uint64_t mask_entries = 16, line_words = 8;
  word_costs costs;
  for (std::uint64_t words = 2; words <= 64; ++words) {
    const double more = of.single_object(words) - of.single_object(words - 1);
    const bool needs_mask = (words - 1) % mask_entries == 0;
    const bool needs_line = (words - 1) % line_words == 0;
    if (needs_mask) {
      costs.mask = more;  // a new line, too: taken off below
      continue;
    }
    costs.least = std::min(costs.least, more);
    if (needs_line) costs.most = std::max(costs.most, more);
  }
  costs.mask -= costs.most;
  return costs;
}

}  // namespace

figure8::measured figure8::sweep(std::string_view what, std::uint64_t most,
                                 const std::function<double(std::uint64_t)>& time_of) const {
  measured times;
  for (std::uint64_t n = 1; n <= most && !context_.stopped(); n *= 2) {
    context_.tell(fmt::format("figure 8, {}: {} of {}", what, n, most));
    times.emplace_back(static_cast<double>(n), time_of(n));
  }
  return times;
}

study_part figure8::run() {
  study_part part{.name = "figure8", .title = "Figure 8: microbenchmarks of the graph-copy unit"};
  software_ = run_software_copies(context_);
  if (!software_.missing.empty()) part.missing.push_back(software_.missing);
  add_single_object(part);
  if (!context_.stopped()) add_primitive_array(part);
  if (!context_.stopped()) add_linked_list(part);
  if (!context_.stopped()) add_object_array(part);
  return part;
}

void figure8::add_single_object(study_part& part) {
  const points unit = sweep("single object", most_words, [&](std::uint64_t n) { return single_object(n); });
  part.plots.push_back({"(a) Single object",
                        "object payload size [words]",
                        "graph copy duration [s]",
                        {line_of("hardware, total", with_system(unit)), line_of("unit active", unit),
                         line_of("software", software_.lines['a'])}});
  if (context_.stopped()) return;
  const double set_up = 2 * single_object(1) - single_object(2);  // at no words
  const double wide_set_up = 2 * single_object(1, 8) - single_object(2, 8);
  const word_costs costs = costs_of_words(*this);
  part.rows.push_back({.what = "(a) set-up, total",
                       .unit = "us",
                       .paper = 25,
                       .ours = set_up + operating_system_us,
                       .wide = wide_set_up + operating_system_us,
                       .from = origin::calibrated,
                       .remark = "at no words"});
  part.rows.push_back({.what = "(a) set-up, unit",
                       .unit = "us",
                       .paper = 2.8,
                       .ours = set_up,
                       .wide = wide_set_up,
                       .from = origin::calibrated,
                       .remark = "fixes, with 7.4 us below, 26 cycles an access"});
  part.rows.push_back({.what = "(a) set-up, operating system",
                       .unit = "us",
                       .paper = 22,
                       .ours = operating_system_us,
                       .wide = operating_system_us,
                       .from = origin::given});
  part.rows.push_back({.what = "(a) a word",
                       .unit = "us",
                       .paper = 0.04,
                       .paper_most = 0.1,
                       .ours = costs.least,
                       .ours_most = costs.most,
                       .from = origin::calibrated,
                       .remark = "4 cycles in the line buffer, 10 for a new line"});
  part.rows.push_back({.what = "(a) more for a new mask word",
                       .unit = "us",
                       .paper = 0.2,
                       .paper_most = 0.3,
                       .ours = costs.mask,
                       .from = origin::calibrated,
                       .remark = "an access of 26 cycles"});
  const points& software = software_.lines['a'];
  part.rows.push_back(software_row("(a) software, set-up", "us", 12, set_up_of(software), "at no words"));
  part.rows.push_back(
      software_row("(a) software, a word", "us", 1.4, if_number(slope_from(software, 64)), "from 64 on"));
  part.rows.push_back(
      software_row("(a) software slower from", "words", 8, crossing(software, with_system(unit)), "powers of two"));
}

void figure8::add_primitive_array(study_part& part) {
  const std::uint64_t most = most_array_words(context_.is_quick);
  const points unit = sweep("primitive array", most, [&](std::uint64_t n) { return primitive_array(n); });
  const points total = with_system(unit);
  part.plots.push_back({"(b) Primitive array",
                        "primitive array size [words]",
                        "graph copy duration [s]",
                        {line_of("hardware, total", total), line_of("hardware, a word", per_element(total), true),
                         line_of("software", software_.lines['b'])}});
  if (context_.stopped()) return;
  const auto outweighs = std::find_if(
      total.begin(), total.end(), [&](const auto& point) { return point.second - total[0].second > total[0].second; });
  part.rows.push_back({.what = "(b) set-up, total",
                       .unit = "us",
                       .paper = 25,
                       .ours = total[0].second,
                       .wide = primitive_array(1, 8) + operating_system_us,
                       .from = origin::predicted,
                       .remark = "an array of one word"});
  part.rows.push_back({.what = "(b) a word, from 2048 on",
                       .unit = "us",
                       .paper = 0.02,
                       .ours = if_number(slope_from(unit, 2048)),
                       .wide = (primitive_array(4096, 8) - primitive_array(2048, 8)) / 2048,
                       .from = origin::calibrated,
                       .remark = "a word in and one out on one data path"});
  part.rows.push_back({.what = "(b) full speed from",
                       .unit = "words",
                       .paper = 2048,
                       .ours = outweighs == total.end() ? std::nullopt : std::optional{outweighs->first},
                       .from = origin::criterion,
                       .remark = "first power of two whose words take longer than the set-up"});
  const points& software = software_.lines['b'];
  part.rows.push_back(software_row("(b) software, set-up", "us", 46, set_up_of(software), "at no words"));
  part.rows.push_back(
      software_row("(b) software, a word", "us", 0.12, if_number(slope_from(software, 2048)), "from 2048 on"));
}

void figure8::add_linked_list(study_part& part) {
  const std::uint64_t most = most_elements(context_.is_quick);
  const auto times = [&](map_kind map, std::uint64_t pointer_bytes) {
    return sweep(map == map_kind::linear ? "list, linear search" : "list, hashing", most,
                 [=, this](std::uint64_t n) { return linked_list(n, map, pointer_bytes); });
  };
  const points linear = times(map_kind::linear, 4), hash = times(map_kind::hash, 4);
  part.plots.push_back(
      {"(c) Doubly-linked list",
       "list length [elements]",
       "graph copy duration [s]",
       {line_of("linear search, total", with_system(linear)), line_of("hashing, total", with_system(hash)),
        line_of("linear search, an element", per_element(with_system(linear)), true),
        line_of("hashing, an element", per_element(with_system(hash)), true),
        line_of("software", software_.lines['c'])}});
  const points wide_linear = times(map_kind::linear, 8), wide_hash = times(map_kind::hash, 8);
  if (context_.stopped()) return;
  part.rows.push_back({.what = "(c) hashing, an element from 64 on",
                       .unit = "us",
                       .paper = 7.4,
                       .ours = if_number(each_from(hash, 64)),
                       .wide = if_number(each_from(wide_hash, 64)),
                       .from = origin::calibrated,
                       .remark = "total by elements; see the unit's set-up"});
  part.rows.push_back({.what = "(c) hashing faster than linear from",
                       .unit = "elements",
                       .paper = 64,
                       .ours = crossing(linear, hash),
                       .wide = crossing(wide_linear, wide_hash),
                       .from = origin::criterion,
                       .remark = about_crossing(linear, hash)});
  part.rows.push_back({.what = "(c) hashing slower at length 1 by",
                       .unit = "us",
                       .paper = 0.4,
                       .ours = hash[0].second - linear[0].second,
                       .wide = wide_hash[0].second - wide_linear[0].second,
                       .from = origin::calibrated,
                       .remark = "fixes the start of zeroing, 8 cycles"});
  part.rows.push_back(software_row(
      "(c) software faster than linear from", "elements", 1024, crossing(with_system(linear), software_.lines['c']),
      fmt::format("linear search takes {:.1f} us an element there", linked_list(1024, map_kind::linear) / 1024)));
}

void figure8::add_object_array(study_part& part) {
  const std::uint64_t most = most_elements(context_.is_quick);
  const auto times = [&](map_kind map, std::uint64_t pointer_bytes) {
    return sweep(map == map_kind::linear ? "array of objects, linear search" : "array of objects, hashing", most,
                 [=, this](std::uint64_t n) { return object_array(n, map, pointer_bytes); });
  };
  const points linear = times(map_kind::linear, 4), hash = times(map_kind::hash, 4);
  part.plots.push_back(
      {"(d) Array of objects",
       "array length [elements]",
       "graph copy duration [s]",
       {line_of("linear search, total", with_system(linear)), line_of("hashing, total", with_system(hash)),
        line_of("linear search, an object", per_element(with_system(linear)), true),
        line_of("hashing, an object", per_element(with_system(hash)), true),
        line_of("software", software_.lines['d'])}});
  const points wide_linear = times(map_kind::linear, 8), wide_hash = times(map_kind::hash, 8);
  if (context_.stopped()) return;
  part.rows.push_back({.what = "(d) hashing faster than linear from",
                       .unit = "elements",
                       .paper = 64,
                       .ours = crossing(linear, hash),
                       .wide = crossing(wide_linear, wide_hash),
                       .from = origin::criterion,
                       .remark = fmt::format("{}; hashing takes {:.1f} us an object", about_crossing(linear, hash),
                                             slope_from(hash, 64))});
  part.rows.push_back(software_row(
      "(d) software faster than linear from", "elements", 1024, crossing(with_system(linear), software_.lines['d']),
      fmt::format("linear search takes {:.1f} us an object there", object_array(1024, map_kind::linear) / 1024)));
}

}  // namespace situ::studies::nemesys
