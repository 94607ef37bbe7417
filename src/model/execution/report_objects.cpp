#include "model/execution/report_objects.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "model/execution/object_log.h"
#include "model/execution/stacks.h"
#include "os/source_lines.h"

namespace situ::model {
namespace {

constexpr std::size_t most_objects = 25;  // in the text; the JSON has all
constexpr std::size_t most_lines = 10;

using nlohmann::ordered_json;

const char* kind_name(object_kind kind) {
  switch (kind) {
    case object_kind::block: return "block";
    case object_kind::mapping: return "mapping";
    case object_kind::variable: return "variable";
    case object_kind::stack: return "stack";
    case object_kind::segment: return "segment";
    case object_kind::other: break;
  }
  return "other";
}

// Returns the name of the innermost call that is not in the standard library, for a program without debug information.
std::string function_of_calls(const std::vector<std::uintptr_t>& calls) {
  if (calls.empty()) return "code of libraries";
  for (const std::uintptr_t each : calls) {
    const std::string name = function_name(each - 1);
    if (name.find("std::") != 0 && name.find("__gnu_cxx::") == std::string::npos &&
        name.find(" std::") == std::string::npos)
      return name;
  }
  return function_name(calls.front() - 1);
}

// Returns a name for each site: for blocks the source line of the innermost call outside of the system's headers.
// Most sites have their line in their first call, so a process looks up the first calls of all, then the second ones of
// those without a line.
std::vector<std::string> names_of(const std::vector<object_site>& sites) {
  std::vector<std::string> names;
  for (const object_site& each : sites) names.push_back(each.name);
  for (std::size_t depth = 0;; ++depth) {
    std::vector<std::uintptr_t> code;
    for (std::size_t i = 0; i < sites.size(); ++i)
      if (names[i].empty() && depth < sites[i].calls.size()) code.push_back(sites[i].calls[depth] - 1);
    if (code.empty()) break;
    const std::map<std::uintptr_t, std::string> lines = detail::source_lines(code, true);
    for (std::size_t i = 0; i < sites.size(); ++i) {
      if (!names[i].empty() || depth >= sites[i].calls.size()) continue;
      const auto line = lines.find(sites[i].calls[depth] - 1);
      if (line != lines.end()) names[i] = line->second;
    }
  }
  for (std::size_t i = 0; i < sites.size(); ++i)
    if (names[i].empty()) names[i] = function_of_calls(sites[i].calls);
  return names;
}

// Adds the sites that have one name, and sorts them by the time that was waited for them.
std::vector<object_site> merged(const std::vector<object_site>& sites, const std::vector<std::string>& names) {
  std::map<std::pair<object_kind, std::string_view>, object_site> sums;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const object_site& its = sites[i];
    object_site& sum = sums[{its.kind, names[i]}];
    sum.kind = its.kind;
    sum.name = names[i];
    sum.objects += its.objects;
    sum.most_bytes += its.most_bytes;
    sum.counts.accesses += its.counts.accesses;
    sum.counts.misses += its.counts.misses;
    sum.counts.falsely += its.counts.falsely;
    sum.counts.sharing.coherence_misses += its.counts.sharing.coherence_misses;
    sum.counts.sharing.upgrades += its.counts.sharing.upgrades;
    sum.counts.waited += its.counts.waited;
  }
  std::vector<object_site> made;
  for (auto& [key, each] : sums) made.push_back(std::move(each));
  std::ranges::stable_sort(made, [](const object_site& a, const object_site& b) {
    return a.counts.waited != b.counts.waited ? a.counts.waited > b.counts.waited
                                              : a.counts.accesses > b.counts.accesses;
  });
  return made;
}

struct byte_range {
  std::uint64_t first = 0;  // of the line
  std::uint64_t last = 0;
};

// Returns the ranges of a line's bytes that a set holds.
std::vector<byte_range> ranges_of(false_sharing::byte_set bytes, std::uint32_t line_shift) {
  const std::uint64_t piece = line_shift < 6 ? 1 : std::uint64_t{1} << (line_shift - 6);
  std::vector<byte_range> made;
  for (std::uint64_t i = 0; i < 64; ++i) {
    if ((bytes >> i & 1) == 0) continue;
    if (made.empty() || made.back().last + 1 != i * piece) made.push_back({.first = i * piece, .last = 0});
    made.back().last = (i + 1) * piece - 1;
  }
  return made;
}

struct shared_line {
  std::uint64_t line = 0;
  false_sharing::line_figures figures;
};

// Returns the lines on which cores disturb each other without need, most of it first.
std::vector<shared_line> falsely_shared(const object_log& log) {
  std::vector<shared_line> made;
  log.shared().for_each([&](std::uint64_t line, const false_sharing::line_figures& figures) {
    if (figures.falsely != 0) made.push_back({line, figures});
  });
  std::ranges::sort(made, [](const shared_line& a, const shared_line& b) {
    return a.figures.falsely != b.figures.falsely ? a.figures.falsely > b.figures.falsely : a.line < b.line;
  });
  return made;
}

class writer {
 public:
  explicit writer(const object_log& log) : log_{log}, names_{names_of(log.sites())} {}

  [[nodiscard]] objects_report report() const {
    const std::vector<object_site> all = merged(log_.sites(), names_);
    const std::vector<shared_line> lines = falsely_shared(log_);
    return {.text = objects_text(all) + lines_text(lines), .json = json(all, lines)};
  }

 private:
  static std::string objects_text(const std::vector<object_site>& all) {
    std::string text{
        "    accesses      misses   coherence    upgrades     falsely       waited ns     objects        bytes  "
        "object\n"};
    const auto out = std::back_inserter(text);
    for (std::size_t i = 0; i < std::min(all.size(), most_objects); ++i) {
      const object_counts& its = all[i].counts;
      fmt::format_to(out, "{:>12}  {:>10}  {:>10}  {:>10}  {:>10}  {:>14}  {:>10}  {:>11}  {} ({})\n", its.accesses,
                     its.misses, its.sharing.coherence_misses, its.sharing.upgrades, its.falsely, its.waited / 1000,
                     all[i].objects, all[i].most_bytes, all[i].name, kind_name(all[i].kind));
    }
    if (all.size() > most_objects) fmt::format_to(out, "and {} more\n", all.size() - most_objects);
    return text;
  }

  // " writes 0-7, 16-23": a block's header is before its first byte.
  [[nodiscard]] std::string part_text(const shared_line& of, const false_sharing::part& part,
                                      false_sharing::byte_set bytes, const char* verb) const {
    if (bytes == 0) return {};
    const object_log::on_line& object = log_.object(part.object);
    const std::uint64_t at = of.line << log_.line_shift();
    std::string text = fmt::format(" {} ", verb);
    const char* comma = "";
    for (const byte_range& each : ranges_of(bytes, log_.line_shift())) {
      const std::int64_t first = offset(at + each.first, object), last = offset(at + each.last, object);
      if (first < 0) text += std::exchange(comma, ", ") + std::string{"the header"};
      if (last < 0) continue;
      text += std::exchange(comma, ", ") + fmt::format("{}-{}", std::max<std::int64_t>(first, 0), last);
    }
    return text;
  }
  [[nodiscard]] std::string lines_text(const std::vector<shared_line>& lines) const {
    if (lines.empty()) return "no line was shared falsely\n";
    std::string text =
        fmt::format("{} lines of {} bytes were shared falsely\n", lines.size(), std::uint64_t{1} << log_.line_shift());
    const auto out = std::back_inserter(text);
    for (std::size_t i = 0; i < std::min(lines.size(), most_lines); ++i) {
      const shared_line& its = lines[i];
      fmt::format_to(out, "  line {:#x}: {} of {} coherence misses and {} upgrades\n", its.line << log_.line_shift(),
                     its.figures.falsely, its.figures.coherence_misses, its.figures.upgrades);
      for (const false_sharing::part& part : its.figures.parts)
        fmt::format_to(out, "    core {}{}{} (bytes) of {}\n", part.core, part_text(its, part, part.read, "reads"),
                       part_text(its, part, part.written, "writes"), names_[log_.object(part.object).site]);
    }
    if (lines.size() > most_lines) fmt::format_to(out, "  and {} more\n", lines.size() - most_lines);
    return text;
  }

  static std::int64_t offset(std::uint64_t address, const object_log::on_line& object) {
    return static_cast<std::int64_t>(address - object.begin);
  }
  [[nodiscard]] ordered_json offsets_json(const shared_line& of, const false_sharing::part& part,
                                          false_sharing::byte_set bytes) const {
    ordered_json made = ordered_json::array();
    const std::uint64_t at = of.line << log_.line_shift();
    const object_log::on_line& object = log_.object(part.object);
    for (const byte_range& each : ranges_of(bytes, log_.line_shift()))
      made.push_back({offset(at + each.first, object), offset(at + each.last, object)});
    return made;
  }
  [[nodiscard]] std::string json(const std::vector<object_site>& all, const std::vector<shared_line>& lines) const {
    ordered_json made{{"objects", ordered_json::array()}, {"falsely_shared", ordered_json::array()}};
    for (const object_site& each : all)
      made["objects"].push_back({{"object", each.name},
                                 {"kind", kind_name(each.kind)},
                                 {"objects", each.objects},
                                 {"bytes", each.most_bytes},
                                 {"accesses", each.counts.accesses},
                                 {"misses", each.counts.misses},
                                 {"coherence_misses", each.counts.sharing.coherence_misses},
                                 {"upgrades", each.counts.sharing.upgrades},
                                 {"falsely", each.counts.falsely},
                                 {"waited_ps", each.counts.waited}});
    for (const shared_line& each : lines) {
      ordered_json parts = ordered_json::array();
      for (const false_sharing::part& part : each.figures.parts)
        parts.push_back({{"core", part.core},
                         {"object", names_[log_.object(part.object).site]},
                         {"begin", log_.object(part.object).begin},
                         {"read", offsets_json(each, part, part.read)},
                         {"written", offsets_json(each, part, part.written)}});
      made["falsely_shared"].push_back({{"line", each.line << log_.line_shift()},
                                        {"bytes", std::uint64_t{1} << log_.line_shift()},
                                        {"coherence_misses", each.figures.coherence_misses},
                                        {"upgrades", each.figures.upgrades},
                                        {"falsely", each.figures.falsely},
                                        {"parts", std::move(parts)}});
    }
    return made.dump();
  }

  const object_log& log_;
  std::vector<std::string> names_;
};

}  // namespace

objects_report report_objects(object_log& log) {
  log.end();
  return writer{log}.report();
}

}  // namespace situ::model
